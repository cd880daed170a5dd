"""One source package: plainly twice, then under smpmake in several ways."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from tests.soak.distribution.machine import Root, TooLongError
from tests.soak.distribution.oracle import Build, Oracle
from tests.soak.distribution.reduction import Reduction, reduced
from tests.soak.distribution.verdict import Verdict
from tests.soak.section import SkippedError

_PLACE: Final = "/build/package"
_ELSEWHERE: Final = "/build/elsewhere"
_SMPMAKE: Final = "/opt/smpmake/bin/smpmake"
_TESTS: Final = ("dh_auto_test",)
#: s: of one plain build, of one under smpmake (over that it hangs), of a package's tests.
_LONGEST, _HANGS, _LONGEST_TESTS = 120, 480, 60
_SOURCES: Final = (".c", ".cc", ".cpp", ".cxx", ".C", ".f", ".f90", ".adb", ".m", ".ml", ".d")
_COMPILED: Final = (".o", ".lo", ".os", ".a", ".so")
_ENVIRONMENT: Final = {
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SOURCE_DATE_EPOCH": "1700000000",
    "DEB_BUILD_OPTIONS": "nocheck parallel=1",
    "DEB_BUILD_PROFILES": "nocheck",
}
_PARALLEL: Final = {**_ENVIRONMENT, "DEB_BUILD_OPTIONS": "nocheck parallel=2"}
_TESTED: Final = {**_ENVIRONMENT, "DEB_BUILD_OPTIONS": "parallel=1", "DEB_BUILD_PROFILES": ""}
_TOO_LONG: Final = Build(-1, 0, 0, [], {}, {})
#: What the first build does not know and the second does.
_FORGET: Final = "rm -rf /root/.cache/smpmake /root/.local/state/smpmake"
#: A compiler's programs, wherever a release has them.
_TOUCH: Final = """
touch "$(readlink -f /usr/bin/cc)"
find /usr/lib/gcc /usr/libexec/gcc -name 'cc1*' -exec touch {} + 2>/dev/null || true
"""


class Package:
    """One of them, in a root.

    lists   the folder in which what is known of a difference is kept.
    """

    def __init__(self, verdict: Verdict, root: Root, lists: Path) -> None:
        self._root = root
        self._verdict = verdict
        self._lists = lists
        self._build: tuple[str, ...] = ("debian/rules", "build")

    def tried(self) -> None:
        """All steps; the verdict tells what was found, also if it raises SkippedError.

        It does so where the package cannot be built plainly here.
        """
        try:
            self._fetch()
            self._steps()
        except TooLongError as error:  # of a plain build
            raise SkippedError(str(error)) from error

    def _steps(self) -> None:
        verdict = self._verdict
        first = self._plain()
        if not first.status and not any(path.endswith(_COMPILED) for path in first.tree):
            self._build = ("debian/rules", "binary")  # so do packages of R
            first = self._plain()
        if first.status:
            raise SkippedError(f"fails plainly: {' | '.join(first.lines[-3:])}")
        oracle = Oracle(first)
        tests = [self._plain_tests()]
        oracle.add(self._plain())
        tests.append(self._plain_tests())
        verdict.files, verdict.unlike = len(oracle.first.tree), len(oracle.unlike)
        verdict.plain = oracle.first.spent
        parallel = self._plain(environment=_PARALLEL)
        verdict.parallel = parallel.spent
        verdict.serial = self._serial(parallel)

        cold = self._compared("first", oracle, fresh=True)
        if cold is None:
            return
        verdict.smpmake = cold.spent
        self._note()
        if not verdict.commands and not verdict.differences:
            raise SkippedError("compiles nothing")
        if all(each.status == 0 for each in tests):
            self._compare_tests(*tests)
        warm = self._compared("second", oracle)
        if warm is not None:
            verdict.again = warm.spent
            verdict.given = self._given()
        self._root.fetch(_TOUCH)
        self._compared("compiler touched", oracle)
        elsewhere = oracle.like(self._plain(_ELSEWHERE))
        self._compared("another folder", elsewhere, folder=_ELSEWHERE)
        source = self._middle(oracle.first.tree)
        if source:
            fault = f"printf '\\n}} this is @ no language;\\n' >> {source}"
            self._compared("fault", oracle.like(self._plain(fault=fault)), fault=fault)

    def _fetch(self) -> None:
        name = self._verdict.name
        told = self._root.fetch(
            f"""
            mkdir -p /build/source && cd /build/source
            apt-get source -qq {name} >/dev/null
            apt-get build-dep -y -qq -P nocheck --no-install-recommends {name} >/dev/null
            rm -f *.dsc *.tar.* *.diff.* *.asc
            mv ./* ../original
            cd ../original
            chmod +x debian/rules
            dpkg-parsechangelog -S Version
            ls -a | tr '\\n' ' '
            echo
            """
        ).splitlines()
        self._verdict.version, names = told[-2], set(told[-1].split())
        self._verdict.system = _system(names)

    def _prepared(self, folder: str, fault: str) -> None:
        """A fresh copy of the sources."""
        self._root.fetch(
            f"rm -rf {folder}; cp -a /build/original {folder}; cd {folder}; {fault or 'true'}"
        )

    def _plain(
        self, folder: str = _PLACE, fault: str = "", environment: dict[str, str] = _ENVIRONMENT
    ) -> Build:
        self._prepared(folder, fault)
        return self._root.build(self._build, folder, environment, _LONGEST)

    def _plain_tests(self) -> Build:
        """The tests, in what the last build left."""
        try:
            return self._root.build(_TESTS, _PLACE, _TESTED, _LONGEST_TESTS)
        except TooLongError:
            return _TOO_LONG

    def _compare_tests(self, first: Build, other: Build) -> None:
        oracle = Oracle(first)
        oracle.add(other)
        self._verdict.tests = round(first.wall, 1)

        def again(*options: str) -> Build:
            return self._root.build((_SMPMAKE, "-q", *options, *_TESTS), _PLACE, _TESTED, _HANGS)

        self._judge("tests", oracle, self._plain_tests, again)

    def _compared(
        self,
        step: str,
        oracle: Oracle,
        *,
        folder: str = _PLACE,
        fault: str = "",
        fresh: bool = False,
    ) -> Build | None:
        """A build under smpmake; None for one that does not end.

        `fresh` is with nothing remembered of builds before.
        """

        def again(*options: str) -> Build:
            self._prepared(folder, fault)
            if fresh:
                self._root.fetch(_FORGET)
            words = (_SMPMAKE, "-q", *options, *self._build)
            return self._root.build(words, folder, _ENVIRONMENT, _HANGS)

        return self._judge(step, oracle, partial(self._plain, folder, fault), again, folder)

    def _judge(
        self,
        step: str,
        oracle: Oracle,
        plain: Callable[[], Build],
        again: Callable[..., Build],
        folder: str = _PLACE,
    ) -> Build | None:
        """Runs one under smpmake and notes what differs; None if it does not end."""
        try:
            ours = again()
        except TooLongError as error:
            self._verdict.differences[step] = [str(error)]
            return None
        if oracle.differences(ours):
            told = reduced(oracle, ours, Reduction(plain, again, partial(self._why, folder)))
            if told.differences:
                self._lists.mkdir(parents=True, exist_ok=True)
                words = (self._verdict.name, self._verdict.suite, *step.split())
                (self._lists / f"{'-'.join(words)}.json").write_text(told.text())
                self._verdict.differences[step] = told.differences[:40]
        return ours

    def _why(self, folder: str, path: str) -> str:
        return self._root.fetch(f"cd {folder}; {_SMPMAKE} why '{path}' 2>&1 || true")

    def _serial(self, parallel: Build) -> str:
        """See Verdict."""
        if not any(re.search(r"(^|\s)-j ?2(\s|$)", line) for line in parallel.lines):
            return "no -j"
        if self._verdict.system == "CMake":  # its makefile only begins another
            return ""
        told = self._root.fetch(
            f"grep -rlE '^\\.NOTPARALLEL *:? *$' --include='[Mm]akefile' {_PLACE} || true"
        )
        return ".NOTPARALLEL" if told.strip() else ""

    def _report(self, *options: str) -> str:
        """What smpmake itself says of the build before; "" if there is nothing."""
        words = " ".join((_SMPMAKE, "report", *options))
        return self._root.fetch(f"cd {_PLACE}; {words} 2>/dev/null || true")

    def _note(self) -> None:
        told = self._report("--json")
        if not told:
            return
        report = json.loads(told)
        verdict, commands = self._verdict, report["commands"]
        verdict.commands, verdict.deferred = len(commands), report["figures"]["deferred"]
        reasons = Counter(each["reason"] for each in commands if each["reason"])
        verdict.in_place = dict(reasons.most_common())
        languages = Counter(each["language"] for each in commands if each["kind"] == "compile")
        verdict.language = languages.most_common(1)[0][0] if languages else ""

    def _given(self) -> int:
        found = re.search(r"gave (\d+) remembered", self._report())
        return int(found[1]) if found else 0

    def _middle(self, built: dict[str, str]) -> str:
        """The source in the middle of those whose object the build has made; "" for none."""
        objects = {Path(path).stem for path in built if path.endswith((".o", ".lo"))}
        ours = self._root.fetch("cd /build/original; find . -type f -printf '%P\\n'").splitlines()
        sources = sorted(
            path for path in ours if path.endswith(_SOURCES) and _stems(path) & objects
        )
        return sources[len(sources) // 2] if sources else ""


def _stems(path: str) -> set[str]:
    """What its object may be called: CMake's keeps the suffix."""
    return {Path(path).stem, Path(path).name}


def _system(names: set[str]) -> str:
    """By what lies in the sources' folder."""
    for name, system in (
        ("CMakeLists.txt", "CMake"),
        ("meson.build", "meson"),
        ("configure.ac", "autotools"),
        ("configure.in", "autotools"),
        ("configure", "autotools"),
        ("Makefile.PL", "Perl"),
        ("Build.PL", "Perl"),
        ("DESCRIPTION", "R"),
        ("setup.py", "Python"),
        ("pyproject.toml", "Python"),
        ("SConstruct", "scons"),
        ("wscript", "waf"),
        ("Makefile", "make"),
        ("makefile", "make"),
        ("GNUmakefile", "make"),
    ):
        if name in names:
            return system
    return "qmake" if any(name.endswith(".pro") for name in names) else "other"
