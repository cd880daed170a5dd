"""The guard's table of hooks against libc's own list of symbols."""

from __future__ import annotations

import ctypes
import fnmatch
import re
import subprocess
from pathlib import Path

import pytest

from smpmake import native

GUARD = Path(native.__file__).parent / "guard"
_HOOK = re.compile(
    r"^(?:(?:HOOK|ENTRY|GONE|OWN)\([^,]+, |(?:LOOK|OPEN|STREAM|TEMP)\()(\w+),", re.MULTILINE
)
#: What only newer versions of libc have: 2.39, 2.43.
NEWER = {"pidfd_spawn", "pidfd_spawnp", "openat2"}
#: What no library has.
NO_NAME = "no_such_function"
_ABOUT_FILES = re.compile(
    r"(open|stat|dir|link|path|exec|spawn|temp|tmp|chmod|chown|utime|rename|mknod|mkfifo|access|"
    r"glob|ftw|fts|xattr|trunc|walk|mount|acct|swap|chroot|quota|uselib|handle|watch|mntent|exp$)"
)


def exports(library: str) -> set[str]:
    """Functions that a library exports."""
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    lines = (line.split() for line in text.splitlines())
    return {words[-1].partition("@")[0] for words in lines if words[-2] in "TWi"}


def libc() -> str:
    """The path of the C library in this process."""
    maps = Path("/proc/self/maps").read_text()
    return next(line.split()[-1] for line in maps.splitlines() if "/libc.so" in line)


def hooks() -> list[str]:
    return _HOOK.findall((GUARD / "hooks/hooks.def").read_text())


def unhooked() -> list[str]:
    patterns: list[str] = []
    for line in (GUARD / "hooks/unhooked.txt").read_text().splitlines():
        if line.startswith("    "):
            patterns += line.split()
    return patterns


def left_alone(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in unhooked())


def base(name: str) -> str:
    """A function's name without what makes siblings of it."""
    name = re.sub(r"^_*(IO_|libc_)?f?x?(?=l?stat)|^_+(IO_|libc_)?", "", name)
    return re.sub(r"(at)?(64)?(_chk|_2|_nocancel)?$", "", name)


def test_the_table_is_what_the_library_exports() -> None:
    assert sorted(hooks()) == sorted(set(hooks()))
    assert exports(native.guard()) == set(hooks())


def test_every_hook_is_one_of_libc() -> None:
    known = ctypes.CDLL(None)
    assert {name for name in hooks() if not hasattr(known, name)} <= NEWER


def test_no_sibling_of_a_hooked_function_is_forgotten() -> None:
    hooked = set(hooks())
    bases = {base(name) for name in hooked}
    siblings = {n for n in exports(libc()) - hooked if base(n) in bases and not left_alone(n)}
    assert siblings == set()


def test_what_is_not_hooked_has_a_reason() -> None:
    rest = exports(libc()) - set(hooks())
    unknown = {
        name
        for name in rest
        if not name.startswith("_") and _ABOUT_FILES.search(name) and not left_alone(name)
    }
    assert unknown == set()


@pytest.mark.parametrize("pattern", unhooked())
def test_reasons_are_given_for_what_exists(pattern: str) -> None:
    assert fnmatch.filter(exports(libc()), pattern) != []


#: Says which names it finds otherwise than dlsym does; "none" where both find nothing.
_FINDER = """
#include "guard/chain.c"
#include <stdlib.h>
#include <dlfcn.h>
#include <stdio.h>
__attribute__((constructor)) static void compare(void) {
  for (char *name = strtok(getenv("NAMES"), " "); name != NULL; name = strtok(NULL, " ")) {
    void *found = next_in_chain(name), *right = dlsym(RTLD_NEXT, name);
    if (found != right || right == NULL)
      dprintf(1, "%s %s\\n", name, found != NULL ? "wrong" : right != NULL ? "missed" : "none");
  }
}
"""
_OTHER = "int open(void) { return 7; } int __xstat(void) { return 7; }"


def test_the_walk_along_the_chain_finds_what_dlsym_finds(tmp_path: Path) -> None:
    """Also where another library has two of the names."""
    for name, text in (("finder", _FINDER), ("other", _OTHER)):
        (tmp_path / f"{name}.c").write_text(text)
        options = f"-w -D_GNU_SOURCE -I{GUARD.parent} -shared -fPIC -o {name}.so {name}.c"
        subprocess.run(["gcc", *options.split()], cwd=tmp_path, check=True)
    for libraries in ("finder.so", "finder.so:./other.so"):
        done = subprocess.run(
            ["/bin/sh", "-c", ":"],
            cwd=tmp_path,
            env={"LD_PRELOAD": f"./{libraries}", "NAMES": " ".join([*hooks(), NO_NAME])},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        said = dict(line.split() for line in done.stdout.splitlines())
        assert set(said.values()) == {"none"} and NO_NAME in said, said
        assert set(said) <= {*NEWER, NO_NAME}, said


#: Asks for every name while the list goes on, behind libc, with an object that is no more.
_UNLOADING = """
#include "guard/chain.c"
#include <stdlib.h>
#include <stdio.h>
__attribute__((constructor)) static void look(void) {
  struct link_map *last = _r_debug.r_map;
  while (last->l_next != NULL) last = last->l_next;
  last->l_next = (struct link_map *)(uintptr_t)4096;
  int count = 0;
  for (char *name = strtok(getenv("NAMES"), " "); name != NULL; name = strtok(NULL, " "))
    count += next_in_chain(name) != NULL && is_next_of_libc(name);
  last->l_next = NULL;
  dprintf(1, "%d\\n", count);
}
"""


def test_what_another_thread_unloads_is_not_looked_at(tmp_path: Path) -> None:
    """dlclose frees what it takes out of the list, where libc stands before it."""
    (tmp_path / "look.c").write_text(_UNLOADING)
    options = f"-w -D_GNU_SOURCE -I{GUARD.parent} -shared -fPIC -o look.so look.c"
    subprocess.run(["gcc", *options.split()], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["/bin/sh", "-c", ":"],
        cwd=tmp_path,
        env={"LD_PRELOAD": "./look.so", "NAMES": " ".join([*hooks(), NO_NAME])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert int(done.stdout) >= len(set(hooks()) - NEWER)
