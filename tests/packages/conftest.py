"""Fixtures of the package tests, and what their run reports at its end.

A package that cannot be fetched skips its tests with the reason.  Where CI is set, a run in which
every package test was skipped has failed: nothing was tested.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from . import fetch
from .catalogue import PACKAGES, Package
from .project import Project
from .workshop import Workshop


@dataclass(eq=False)  # a plugin must be hashable
class PackageRun:
    """What is known of this run's package tests; a plugin of its own, for its hooks."""

    ran: int = 0
    skipped: int = 0
    times: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def tested_nothing(self) -> bool:
        """Whether there were package tests and all of them were skipped."""
        return bool(self.skipped) and not self.ran

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count."""
        if not any(name in report.nodeid for name in COUNTED):
            return
        self.skipped += report.skipped
        self.ran += report.when == "call" and not report.skipped
        self.ran += report.when == "setup" and report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a CI run that tested nothing."""
        if self.tested_nothing and os.environ.get("CI"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of times."""
        if self.tested_nothing:
            terminalreporter.write_line("packages: every test was skipped", yellow=True)
        if self.times:
            terminalreporter.section("packages: seconds from scratch")
            terminalreporter.write_line(f"{'package':<12}{'serial':>9}{'smpmake':>9}{'ratio':>7}")
        for name, (serial, parallel) in self.times.items():
            ratio = serial / parallel
            terminalreporter.write_line(f"{name:<12}{serial:9.1f}{parallel:9.1f}{ratio:7.2f}")


COUNTED = ("test_packages.py", "test_exports.py", "test_corpus.py")

RUN = pytest.StashKey[PackageRun]()


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run."""
    run = config.stash[RUN] = PackageRun()
    config.pluginmanager.register(run)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who runs several at once (`--dist loadgroup`) gives a package's tests to one of them.

    No table of times is printed then: builds beside each other tell nothing.
    """
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        for value in parameters.values():
            if isinstance(value, Package | Project):
                item.add_marker(pytest.mark.xdist_group(value.name))


@pytest.fixture(scope="session")
def package_run(pytestconfig: pytest.Config) -> PackageRun:
    """Where times for the table go."""
    return pytestconfig.stash[RUN]


@pytest.fixture(scope="session")
def interruptible() -> Iterator[None]:
    """Let children see SIGINT even if this process was started with it ignored (as by `&`)."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def smpmake() -> str:
    """The program under test: the one installed beside this Python."""
    path = Path(sys.executable).with_name("smpmake")
    if not path.exists():
        pytest.fail(f"{path} does not exist: install smpmake for this Python")
    return str(path)


@pytest.fixture(scope="module", params=PACKAGES, ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> Package:
    """Each of the packages in turn."""
    chosen: Package = request.param
    return chosen


@pytest.fixture(scope="module")
def workshop(package: Package, interruptible: None) -> Iterator[Workshop]:
    """The package's build folder, for us alone, with the serial results at hand."""
    cache = fetch.cache_folder()
    try:
        source = fetch.fetch(package, cache)
    except fetch.UnavailableError as error:
        pytest.skip(f"{package.name}: {error}")
    missing = fetch.missing_tools([package])
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)} (scripts/fetch-packages, as root, does)")
    with fetch.locked(cache, f"build-{package.name}"):
        yield Workshop(package, source, cache)
