"""Build hook: compiles the native programs into the package and tags the wheel."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What stands in for libc in the shim and the recorder, which are started for each command.
BARE = ("bare", "texts")
#: Each program's rooms in native/; what a room has and a program does not need is left out.
PROGRAMS = {
    "shim": ("shim", *BARE, "memo", "base"),
    "memo": ("trace", *BARE, "memo", "base"),
    "recall": ("recall", "memo", "base"),
    "ahead": ("ahead", "base"),
    "worker": ("worker", "base"),
    "keeper": ("keeper", "base"),
    "probe": ("probe", "base"),
}
GUARD = ("guard", "guard/*", "texts")
#: What native/layout says, for Python (hatch_layout.py).
LAYOUT = "smpmake/protocol/layout.py"
#: Beside the programs: what was compiled otherwise than it should be (native/__init__.py).
FALLBACKS = "smpmake-fallbacks"
#: And which sources they are from, where that is known: the commit.
BUILD_ID = "smpmake-build"
#: Flags of what runs under the guard as the commands themselves do, and so is never static.
GUARDED = {"recall": ["-DMEMO_GUARDED"]}
BARE_FLAGS = [
    "-nostdlib",
    "-static",
    "-no-pie",
    "-fno-pie",
    "-ffreestanding",
    "-fno-lto",
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",
]
FLAGS = [
    "-O2",
    "-std=c11",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Wmissing-prototypes",
    "-Wpedantic",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wl,--gc-sections",
]


GUARD_FLAGS = [
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",  # it would have libc's functions for texts, not ours
    "-nostartfiles",  # whose destructor asks libc for what nobody needs here
    "-Wl,-soname,smpmake-guard.so",
    "-Wl,-Bsymbolic-functions",
    "-Wl,-init,guard_begin",
    "-Wl,-fini,guard_end",
    "-Wl,-z,initfirst",  # other libraries' constructors open files too
    "-Wl,-z,now",
    "-Wl,-z,noseparate-code",  # fewer mappings: every process of a build pays for them
    "-Wl,-z,norelro",  # what lies ASIDE (guard.h) is written to, and would be within
]


def compile_programs(root: Path, *, werror: bool = False) -> None:
    """Compiles smpmake/native to smpmake/_bin/, statically where libc allows, and the guard.

    $CC (default cc), $CPPFLAGS, $CFLAGS and $LDFLAGS are respected; $SMPMAKE_STATIC_CC compiles
    what is static, where that is another one.  What could not be compiled as it should be, and was
    otherwise, is said on stderr, and written down for `smpmake doctor`.  Raises SystemExit with the
    compiler's own words.
    """
    write_layout(root)
    source, target = root / "smpmake" / "native", root / "smpmake" / "_bin"
    target.mkdir(exist_ok=True)
    compiler = _words("CC") or ["cc"]
    static = _words("SMPMAKE_STATIC_CC")
    flags = [*FLAGS, *(["-Werror"] if werror else []), *_words("CPPFLAGS"), *_words("CFLAGS")]
    flags += [f"-I{source}", *_names_of_tools(root), *_words("LDFLAGS")]
    library = str(target / "smpmake-guard.so")
    # First what takes longest.
    sources = _sources(source, GUARD)
    wanted = [("the guard", [[*compiler, *flags, *GUARD_FLAGS, "-o", library, *sources]])]
    for program, rooms in PROGRAMS.items():
        words = [*flags, "-o", str(target / f"smpmake-{program}")]
        sources = _sources(source, [room for room in rooms if room not in BARE])
        tried = [[*static, *words, *sources, "-static"]] if static else []
        tried = tried or [
            [*compiler, *words, *sources, "-static"],
            [*compiler, *words, *sources],
        ]
        if program in GUARDED:
            tried = [[*compiler, *words, *sources, *GUARDED[program]]]
        if BARE[0] in rooms:
            bare = [*words, *_sources(source, rooms), *BARE_FLAGS]
            tried.insert(0, [*(static or compiler), *bare])
        wanted.append((f"the {program}", tried))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        fallbacks = [line for why in pool.map(_first_to_succeed, wanted) for line in why]
    (target / FALLBACKS).write_text("".join(f"{line}\n" for line in fallbacks), encoding="utf-8")
    (target / BUILD_ID).write_text(commit_of(root), encoding="utf-8")
    for line in fallbacks:
        print(f"smpmake: {line}", file=sys.stderr)


def _sources(native: Path, rooms: Iterable[str]) -> list[str]:
    """All that is to be compiled of some rooms, which may be patterns."""
    return [str(path) for room in rooms for path in sorted(native.glob(f"{room}/*.c"))]


def write_layout(root: Path) -> None:
    """Writes what Python knows of the headers, if it is not that already."""
    with _importable(root):
        from hatch_layout import HeaderError, module
    try:
        text = module(root / "smpmake" / "native")
    except HeaderError as error:
        sys.exit(f"smpmake: {error}")
    path = root / LAYOUT
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def commit_of(root: Path) -> str:
    """The commit that lies in `root`, with a + where files differ from it; "" if none does."""
    if not (root / ".git").exists():  # an sdist; a repository above it would be another's
        return ""
    said = []
    for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"]):
        try:
            git = ["git", "-C", str(root), *words]
            done = subprocess.run(git, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        said.append(done.stdout.strip())
    commit, changed = said
    return f"{commit}+" if changed else commit


def require_glibc(root: Path) -> None:
    """Ends with smpmake's own sentence on a system whose libc the guard does not know."""
    with _importable(root):
        from smpmake.libc import NoGlibcError, require_glibc  # needs the standard library alone
    try:
        require_glibc()
    except NoGlibcError as error:
        sys.exit(f"smpmake: {error}")


def write_man_page(root: Path) -> Path:
    """Writes smpmake(1) beside the programs; it is made from the texts of the commands' help."""
    path = root / "smpmake" / "_bin" / "smpmake.1"
    with _importable(root):
        from smpmake.cli.man import page  # needs click alone
    path.write_text(page(), encoding="utf-8")
    return path


@contextlib.contextmanager
def _importable(root: Path) -> Iterator[None]:
    """The package as it lies here, before it is installed."""
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))


def _words(variable: str) -> list[str]:
    return shlex.split(os.environ.get(variable, ""))


def _names_of_tools(root: Path) -> list[str]:
    """What only smpmake.commands knows, as macros that fill a table: DISK_TOOLS="cp","ln"..."""
    with _importable(root):
        from smpmake.commands.compilers.words import valued  # these need
        from smpmake.commands.families import NATIVE_NAMES  # the standard library alone
    return [
        f"-D{macro}=" + ",".join([f'"{name}"' for name in names])
        for macro, names in {**NATIVE_NAMES, "VALUED": valued()}.items()
    ]


def _first_to_succeed(wanted: tuple[str, list[list[str]]]) -> list[str]:
    """Runs one command after the other until one succeeds; returns why that is not the first.

    wanted  what is to be made, and the commands.
    """
    what, commands = wanted
    why: list[str] = []
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            sys.exit(f"smpmake: no C compiler '{command[0]}': install gcc or set CC")
        if done.returncode == 0:
            return why
        if not why:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            reason = (errors or done.stderr.splitlines() or [f"status {done.returncode}"])[0]
            why = [f"{what} was not compiled as it should be, and starts later: {reason.strip()}"]
    sys.exit(f"smpmake: compiling {what} failed:\n{done.stderr}")


class NativePrograms(BuildHookInterface[Any]):
    """Runs before a wheel is packed; an sdist carries the sources alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        require_glibc(Path(self.root))
        compile_programs(Path(self.root))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"] += ["smpmake/_bin/smpmake-*", LAYOUT]
        page = write_man_page(Path(self.root))
        build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"


if __name__ == "__main__":
    compile_programs(Path(__file__).parent, werror=True)
