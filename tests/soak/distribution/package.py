"""One source package: plainly twice, then under smpmake in several ways."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.soak.distribution.machine import Root
from tests.soak.section import SkippedError

_PLACE: Final = "/build/package"
_ELSEWHERE: Final = "/build/elsewhere"
_SMPMAKE: Final = ("/opt/smpmake/bin/smpmake", "-q")
_LONGEST: Final = 240  # s of one build
_SOURCES: Final = (".c", ".cc", ".cpp", ".cxx", ".C", ".f", ".f90", ".adb", ".m", ".ml", ".d")
_ENVIRONMENT: Final = {
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SOURCE_DATE_EPOCH": "1700000000",
    "DEB_BUILD_OPTIONS": "nocheck parallel=1",
    "DEB_BUILD_PROFILES": "nocheck",
}
#: They frame a job's messages, as make's own do.
_FRAMES: Final = re.compile(r"^g?make\[0\]: (Entering|Leaving) directory ")
#: smpmake's own lines, of which -q leaves one.
_OURS: Final = re.compile(r"^(\x1b\[[\d;]*m)?smpmake: ")


@dataclasses.dataclass
class Verdict:
    """A line of the results.

    differences   what differs from the plain build, by step.
    unlike        paths in which two plain builds differ: they are not compared.
    plain, smpmake, parallel   s of wall and of CPU: plain, first under smpmake, plain with -j2.
    again         the same of the second under smpmake.
    deferred, in_place  commands of the first: in the background, and in place by reason.
    """

    name: str
    suite: str
    version: str = ""
    skipped: str = ""
    system: str = ""
    language: str = ""
    files: int = 0
    unlike: int = 0
    plain: tuple[float, float] = (0.0, 0.0)
    parallel: tuple[float, float] = (0.0, 0.0)
    smpmake: tuple[float, float] = (0.0, 0.0)
    again: tuple[float, float] = (0.0, 0.0)
    deferred: int = 0
    in_place: dict[str, int] = dataclasses.field(default_factory=dict)
    differences: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def line(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self))


class Package:
    """One of them, in a root."""

    def __init__(self, verdict: Verdict, root: Root) -> None:
        self._root = root
        self._verdict = verdict
        self._unlike: set[str] = set()
        self._vague: Counter[str] = Counter()

    def tried(self) -> None:
        """All steps; the verdict tells what was found.

        Raises SkippedError where the package cannot be built plainly here.
        """
        verdict = self._verdict
        self._fetch()
        first, second = self._built(()), self._built(())
        if first["status"]:
            raise SkippedError(f"fails plainly: {' | '.join(first['lines'][-3:])}")
        trees = first["tree"], second["tree"]
        self._unlike = {p for p in trees[0].keys() | trees[1] if trees[0].get(p) != trees[1].get(p)}
        self._vague = _unlike_lines(first["lines"], second["lines"])
        verdict.files, verdict.unlike = len(trees[0]), len(self._unlike)
        verdict.plain = first["wall"], first["cpu"]
        parallel = self._built((), environment={"DEB_BUILD_OPTIONS": "nocheck parallel=2"})
        verdict.parallel = parallel["wall"], parallel["cpu"]
        cold = self._compared("first", first, _SMPMAKE)
        verdict.smpmake = cold["wall"], cold["cpu"]
        self._note()
        warm = self._compared("second", first, _SMPMAKE)
        verdict.again = warm["wall"], warm["cpu"]
        self._root.fetch('touch "$(readlink -f /usr/bin/cc)" /usr/lib/gcc/*/*/cc1*')
        self._compared("compiler touched", first, _SMPMAKE)
        elsewhere = self._built((), _ELSEWHERE)
        self._compared("another folder", elsewhere, _SMPMAKE, _ELSEWHERE)
        source = self._middle(first["tree"])
        if source:
            fault = f"printf '\\n}} this is @ no language;\\n' >> {source}"
            broken = self._built((), fault=fault)
            self._compared("fault", broken, _SMPMAKE, fault=fault)

    def _fetch(self) -> None:
        name = self._verdict.name
        told = self._root.fetch(
            f"""
            apt-get update -qq
            mkdir -p /build/source && cd /build/source
            apt-get source -qq {name} >/dev/null
            apt-get build-dep -y -qq -P nocheck --no-install-recommends {name} >/dev/null
            rm -f *.dsc *.tar.* *.asc
            mv ./* ../original
            cd ../original
            dpkg-parsechangelog -S Version
            ls -a | tr '\\n' ' '
            echo
            """
        ).splitlines()
        self._verdict.version, names = told[-2], set(told[-1].split())
        self._verdict.system = _system(names)

    def _built(
        self,
        before: tuple[str, ...],
        folder: str = _PLACE,
        environment: dict[str, str] | None = None,
        fault: str = "true",
    ) -> dict[str, Any]:
        """From a fresh copy of the sources."""
        self._root.fetch(
            f"rm -rf {folder}; cp -a /build/original {folder}; cd {folder};"
            f" {fault}; chmod +x debian/rules"
        )
        words = [*before, "debian/rules", "build"]
        return self._root.build(words, folder, {**_ENVIRONMENT, **(environment or {})}, _LONGEST)

    def _compared(
        self,
        step: str,
        plain: dict[str, Any],
        before: tuple[str, ...],
        folder: str = _PLACE,
        fault: str = "true",
    ) -> dict[str, Any]:
        ours = self._built(before, folder, fault=fault)
        found = []
        if ours["status"] != plain["status"]:
            found.append(f"status {ours['status']}, plain {plain['status']}")
        for path in sorted(plain["tree"].keys() | ours["tree"]):
            one, other = plain["tree"].get(path), ours["tree"].get(path)
            if one != other and path not in self._unlike:
                found.append(f"{path}: {one} plainly, {other}")
        told = [line for line in ours["lines"] if not _OURS.match(line)]
        lines = _unlike_lines(plain["lines"], told)
        if plain["status"]:  # more is printed, and again; nothing is missing
            lines = Counter(set(lines) - set(map(_likened, told)))
        found += [f"line: {line}" for line in sorted((lines - self._vague).elements())]
        if found:
            self._verdict.differences[step] = found[:40]
        return ours

    def _note(self) -> None:
        """What smpmake itself says of the build before."""
        told = self._root.fetch(f"cd {_PLACE}; {_SMPMAKE[0]} report --json || echo null")
        report = json.loads(told[told.find("{") if "{" in told else told.find("null") :])
        if report is None:
            return
        self._verdict.deferred = report["figures"]["deferred"]
        reasons = Counter(each["reason"] for each in report["commands"] if each.get("reason"))
        self._verdict.in_place = dict(reasons)

    def _middle(self, built: dict[str, str]) -> str:
        """The source in the middle of those whose object the build has made; "" for none."""
        objects = {Path(path).stem for path in built if path.endswith((".o", ".lo"))}
        sources = sorted(
            path
            for path, what in built.items()
            if what.startswith("-") and path.endswith(_SOURCES) and Path(path).stem in objects
        )
        kinds = Counter(Path(path).suffix for path in sources)
        self._verdict.language = kinds.most_common(1)[0][0][1:] if kinds else ""
        return sources[len(sources) // 2] if sources else ""


def _unlike_lines(one: list[str], other: list[str]) -> Counter[str]:
    """Lines that one has and the other has not, in whatever order."""
    first, second = (Counter(map(_likened, each)) for each in (one, other))
    both = (first - second) + (second - first)
    return Counter({line: count for line, count in both.items() if not _FRAMES.match(line)})


def _likened(line: str) -> str:
    """Figures count as alike: times, numbers of processes."""
    return re.sub(r"\d+", "0", line)


def _system(names: set[str]) -> str:
    """By what lies in the sources' folder."""
    for name, system in (
        ("CMakeLists.txt", "CMake"),
        ("meson.build", "meson"),
        ("configure.ac", "autotools"),
        ("configure.in", "autotools"),
        ("configure", "autotools"),
        ("setup.py", "Python"),
        ("pyproject.toml", "Python"),
        ("Makefile.PL", "Perl"),
        ("Build.PL", "Perl"),
        ("DESCRIPTION", "R"),
        ("SConstruct", "scons"),
        ("wscript", "waf"),
        ("Makefile", "make"),
        ("makefile", "make"),
        ("GNUmakefile", "make"),
    ):
        if name in names:
            return system
    return "other"
