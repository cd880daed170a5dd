"""Bring a package's upstream source here, once, without touching the machine's own apt.

The machine's own source lists say from which host and suite; they are copied with `deb` turned
into `deb-src` to a configuration of ours, whose package lists and archives lie in the cache folder
too.  apt checks signatures and sums, and the catalogue's sum is checked on top.  It is the upstream
tarball that is pinned: security updates change the distribution's revision and keep the tarball.

Works for root and for anybody else; only `install_tools` needs root.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from .catalogue import Edit

CLIENT_SECONDS = 300


class UnavailableError(Exception):
    """The package cannot be had here and now: no network, no apt, a tool that is missing."""


class CorruptError(Exception):
    """What arrived is not what the catalogue promises."""


class Pinned(Protocol):
    """An upstream source at one version, with what has to be changed in it."""

    @property
    def name(self) -> str:
        """As its registry calls it."""

    @property
    def version(self) -> str:
        """Upstream's version."""

    @property
    def sha256(self) -> str:
        """The sum of its archive."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Changes without which it cannot be built here."""

    @property
    def suite(self) -> str:
        """Of the distribution, where the machine's own have not this version; else empty."""


class Equipped(Protocol):
    """Something that needs tools."""

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        """Commands, or shell patterns of files, each with the package that holds it."""


def cache_folder() -> Path:
    """Everything these tests keep: SMPMAKE_TESTS_CACHE, or a folder in the user's cache."""
    override = os.environ.get("SMPMAKE_TESTS_CACHE")
    if override:
        return Path(override).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "smpmake-tests"


@contextmanager
def locked(cache: Path, name: str) -> Iterator[None]:
    """Keep other test runs away from one part of the cache."""
    folder = cache / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def fetch(package: Pinned, cache: Path) -> Path:
    """The folder with the package's unpacked source; fetched unless it is there already."""
    source = cache / "source" / f"{package.name}-{package.version}"
    with locked(cache, "fetch"):
        if not source.is_dir():
            unpack(_archive(package, cache), source, package.edits)
    return source


def missing_tools(packages: Sequence[Equipped]) -> list[str]:
    """The distribution's packages that hold the commands which are not installed."""
    wanted = {item for package in packages for item in package.tools}
    return sorted({holder for tool, holder in wanted if not _present(tool)})


def _present(tool: str) -> bool:
    return bool(glob.glob(tool) if tool.startswith("/") else shutil.which(tool))


def install_tools(holders: Sequence[str]) -> None:
    """Install build tools with the machine's own apt; needs root."""
    if os.geteuid() != 0:
        raise UnavailableError(f"missing build tools; as root: apt-get install {' '.join(holders)}")
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-q", "-y", "--no-install-recommends", *holders)


def _archive(package: Pinned, cache: Path) -> Path:
    folder = cache / "archives"
    folder.mkdir(parents=True, exist_ok=True)
    found = _find_archive(package, folder)
    if found is None:
        _download(package, _private_apt(cache, package.suite), folder)
        found = _find_archive(package, folder)
    if found is None:
        raise UnavailableError(f"{package.name}: apt brought no {package.version} tarball")
    verify(found, package.sha256)
    return found


def verify(archive: Path, expected: str) -> None:
    """CorruptError unless the archive has this sum."""
    with archive.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    if digest != expected:
        raise CorruptError(f"{archive}: sha256 is {digest}, the catalogue says {expected}")


def _find_archive(package: Pinned, folder: Path) -> Path | None:
    found = sorted(folder.glob(f"{package.name}_{package.version}.orig.tar.*"))
    return next((path for path in found if path.suffix in {".gz", ".bz2", ".xz"}), None)


def _download(package: Pinned, apt: Path, folder: Path) -> None:
    revisions = _revisions(package, apt)
    said = ""
    if not revisions:
        said = run("apt-get", "-c", str(apt), "-q", "update")
        revisions = _revisions(package, apt)
    if not revisions:
        complaints = re.findall(r"^[WE]: .*$", said, re.MULTILINE)
        raise UnavailableError(
            f"{package.version} is not among the sources of this machine's suites;"
            f" apt says: {complaints[0] if complaints else 'nothing'}"
        )
    # One tarball may lie in several archives, and a mirror need not have all of them.
    for revision in revisions:
        try:
            run(
                *("apt-get", "-c", str(apt), "-q", "source", "--download-only", "--tar-only"),
                *("--only-source", f"{package.name}={revision}"),
                cwd=folder,
            )
            return
        except UnavailableError:
            if revision == revisions[-1]:
                raise


def _revisions(package: Pinned, apt: Path) -> list[str]:
    """The distribution's revisions made from the pinned upstream version, the newest first."""
    shown = subprocess.run(
        ["apt-cache", "-c", str(apt), "showsrc", "--only-source", package.name],
        capture_output=True,
        text=True,
    ).stdout
    revisions = re.findall(r"^Version: (\S+)$", shown, re.MULTILINE)
    matching = [text for text in revisions if upstream(text) == package.version]
    return list(dict.fromkeys(reversed(matching)))


def upstream(version: str) -> str:
    """The upstream part of `epoch:upstream-revision`."""
    return version.partition(":")[2 if ":" in version else 0].rpartition("-")[0]


def _private_apt(cache: Path, suite: str) -> Path:
    """Write the configuration of ours, perhaps for another suite, and return its path."""
    if not shutil.which("apt-get"):
        raise UnavailableError("apt-get is not installed: these packages come from a Debian system")
    root = cache / (f"apt-{suite}" if suite else "apt")
    for folder in ("sources.list.d", "state", "lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, text in _source_lists():
        text = of_suite(text, suite) if suite else text
        (root / "sources.list.d" / name).write_text(text)
    configuration = root / "apt.conf"
    configuration.write_text(
        f'Dir::State "{root}/state";\n'
        f'Dir::State::lists "{root}/lists";\n'
        f'Dir::Cache "{root}/cache";\n'
        'Dir::Etc::sourcelist "/dev/null";\n'
        f'Dir::Etc::sourceparts "{root}/sources.list.d";\n'
        'APT::Sandbox::User "";\n'
        'Acquire::Retries "1";\n'
        'Acquire::http::Timeout "20";\n'
        "#clear APT::Update::Pre-Invoke;\n"
        "#clear APT::Update::Post-Invoke;\n"
        "#clear APT::Update::Post-Invoke-Success;\n"
    )
    return configuration


def _source_lists() -> Iterator[tuple[str, str]]:
    """The machine's source lists with `deb` turned into `deb-src`."""
    shell = run(
        "apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"
    )
    where = dict(re.findall(r"^(LIST|PARTS)='(.*)'$", shell, re.MULTILINE))
    paths = [Path(where.get("LIST", "")), *sorted(Path(where.get("PARTS", "/none")).glob("*"))]
    for path in paths:
        if path.suffix in {".list", ".sources"} and path.is_file():
            yield path.name, as_sources(path.read_text(), path.suffix)


def as_sources(text: str, suffix: str) -> str:
    """A source list in either of apt's two forms, asking for sources instead of binaries."""
    if suffix == ".sources":
        return re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
    lines = [re.sub(r"^\s*deb(-src)?\s", "deb-src ", line) for line in text.splitlines()]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def of_suite(text: str, suite: str) -> str:
    """The same hosts' lists of another suite; what is only about parts of a suite goes."""
    stanzas = [part for part in text.split("\n\n") if "-security" not in part]
    whole = "\n\n".join(re.sub(r"(?m)^Suites:.*$", f"Suites: {suite}", part) for part in stanzas)
    return re.sub(r"(?m)^(deb-src\s+(?:\[[^]]*\]\s+)?\S+\s+)\S+", rf"\g<1>{suite}", whole)


def unpack(archive: Path, target: Path, edits: Sequence[Edit] = ()) -> None:
    """Unpack beside the target and rename, so that a target that exists is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        with tarfile.open(archive) as tar:
            # Python 3.11 before 3.11.4 has no filters; the sum has vouched for the archive.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(scratch)
        (top,) = Path(scratch).iterdir()
        for edit in edits:
            _apply(edit, top)
        top.rename(target)


def _apply(edit: Edit, top: Path) -> None:
    path = top / edit.path
    text = path.read_text()
    if edit.old not in text:
        raise CorruptError(f"{path}: {edit.old!r} is not there to be edited ({edit.reason})")
    path.write_text(text.replace(edit.old, edit.new))


def run(
    *command: str, cwd: Path | None = None, more: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Run a registry's client; its whole output, or UnavailableError if it fails."""
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    environment.update(more)
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise UnavailableError(f"{' '.join(command)}: exit status {done.returncode}\n{last}")
    return done.stdout + done.stderr
