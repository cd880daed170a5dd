"""Whatever a command could see has changed: the next answer is the plain one's."""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import struct
import subprocess
import tempfile
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from smpmake.protocol import layout
from tests.support.remembered import Remembered, settle, with_limit

Change = Callable[[Path], dict[str, Any] | None]
COMPILE: Final = ("gcc", "-c", "conftest.c", "-Ifirst", "-Isecond")
USES: Final = '#include "x.h"\nint x = X;\n'
LOOKS: Final = "#if __has_include(<y.h>)\nint y;\n#endif\n"


class Case(NamedTuple):
    """Something that changes between two runs of a command.

    files    what is there before.
    change   makes the change; what it returns is how the second command is run (Remembered.run).
    reasons  why the second is no hit; nothing: it is another question.
    command  `prepare` makes what files cannot be.
    """

    files: dict[str, str]
    change: Change
    reasons: tuple[int, ...] = ()
    command: tuple[str, ...] = COMPILE
    prepare: Change = lambda folder: None


def write(name: str, text: str, *, as_old: bool = False) -> Change:
    """Writes a file; its time, and its folder's, may be what they were."""

    def change(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        times = {each: each.stat() for each in (path, path.parent) if each.exists()}
        path.write_text(text)
        for each, info in times.items():
            if as_old:
                os.utime(each, ns=(info.st_atime_ns, info.st_mtime_ns))

    return change


def replace(name: str, text: str) -> Change:
    """Another file of that name, and of the same time."""

    def change(folder: Path) -> None:
        path = folder / name
        info = path.stat()
        fresh = folder / "fresh"
        fresh.write_text(text)
        os.utime(fresh, ns=(info.st_atime_ns, info.st_mtime_ns))
        fresh.replace(path)

    return change


def relink(name: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return change


def given(**how: Any) -> Change:
    return lambda folder: how


def variable(name: str, value: str) -> Change:
    return lambda folder: {"env": {name: value.replace("FOLDER", os.fspath(folder))}}


def tool(name: str, *, at: str = "tools") -> Change:
    """A program that fails, where `name` is looked for."""

    def change(folder: Path) -> None:
        (folder / at).mkdir(exist_ok=True)
        (folder / at / name).unlink(missing_ok=True)
        shutil.copy("/bin/false", folder / at / name)

    return change


def copied(name: str, *, at: str = "tools") -> Change:
    """The real one there."""

    def change(folder: Path) -> None:
        (folder / at).mkdir(exist_ok=True)
        found = shutil.which(name)
        assert found is not None
        shutil.copy(found, folder / at / name)

    return change


def both(*changes: Change) -> Change:
    def change(folder: Path) -> dict[str, Any] | None:
        told = [each(folder) for each in changes]
        return next((how for how in told if how), None)

    return change


def library(folder: Path) -> dict[str, Any]:
    """One that compilers load, with a copy before it."""
    (folder / "lib").mkdir(exist_ok=True)
    for path in Path("/").glob("lib/*-linux-gnu/libz.so.1"):
        shutil.copy(path, folder / "lib" / "libz.so.1")
    return {"env": {"LD_LIBRARY_PATH": f"{folder}/lib"}}


def appended(name: str, data: bytes) -> Change:
    def change(folder: Path) -> dict[str, Any]:
        with (folder / name).open("ab") as file:
            file.write(data)
        return {"env": {"LD_LIBRARY_PATH": f"{folder}/lib"}}

    return change


def compiled(name: str) -> Change:
    """Its object, as the real compiler makes it."""

    def change(folder: Path) -> None:
        subprocess.run(["/usr/bin/gcc", "-c", name], cwd=folder, check=True)

    return change


def before_path(folder: Path) -> dict[str, Any]:
    return {"env": {"PATH": f"{folder}/tools:{os.environ['PATH']}"}}


def telling(folder: Path) -> None:
    """An assembler that says that it is ours."""
    (folder / "tools").mkdir()
    (folder / "as.c").write_text(TELLING)
    subprocess.run(["/usr/bin/gcc", "-o", "tools/as", "as.c"], cwd=folder, check=True)


def twice_beside_libraries(folder: Path) -> None:
    """One assembler in two folders, that finds another library in each; `tools` leads to one."""
    (folder / "as.c").write_text(ASKING)
    for name in ("a", "b"):
        (folder / name / "lib").mkdir(parents=True)
        (folder / "says.c").write_text(f'const char *says(void) {{ return "{name}\\n"; }}\n')
        library = ("-shared", "-fPIC", "-o", f"{name}/lib/libsays.so", "says.c")
        found = ("-La/lib", "-lsays", "-Wl,-rpath,$ORIGIN/lib")
        subprocess.run(["/usr/bin/gcc", *library], cwd=folder, check=True)
        if name == "a":
            subprocess.run(["/usr/bin/gcc", "-o", "a/as", "as.c", *found], cwd=folder, check=True)
    shutil.copy(folder / "a/as", folder / "b/as")
    (folder / "tools").mkdir()
    relink("tools/as", "../a/as")(folder)


def listed(folder: Path) -> None:
    """New files there are for user and group, whatever the umask: u::rw, g::rw, o::-."""
    rights = ((1, 6), (4, 6), (0x20, 0))
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each, -1) for each in rights)
    try:
        os.setxattr(folder, "system.posix_acl_default", value)
    except OSError:
        pytest.skip("needs a file system with access control lists")


def dated(name: str, when: int) -> Change:
    return lambda folder: os.utime(folder / name, (when, when))


def thin(folder: Path) -> None:
    subprocess.run(["ar", "rcDT", "libq.a", "q.o"], cwd=folder, check=True)


TELLING: Final = """
#include <unistd.h>
int main(int argc, char **argv) { return write(2, "ours\\n", 5) + execv("/usr/bin/as", argv); }
"""


def archived(folder: Path) -> dict[str, Any]:
    """An archive of an older text; the new one is no younger than its member says."""
    text = (folder / "conftest.c").read_text()
    (folder / "conftest.c").write_text("older")
    subprocess.run(["ar", "rcD", "older.a", "conftest.c"], cwd=folder, check=True)
    (folder / "conftest.c").write_text(text)
    os.utime(folder / "conftest.c", (0, 0))
    return {}


ASKING: Final = """
#include <unistd.h>
const char *says(void);
int main(int argc, char **argv) { return write(2, says(), 2) + execv("/usr/bin/as", argv); }
"""
TWO: Final = '#include "a/x.h"\n#include "b/x.h"\n'
PRAGMA: Final = "#pragma \tonce\nint x = 1;\n"
COMMENTED: Final = "#pragma /* a\n * comment */ once\nint x = 1;\n"
STRING: Final = "#define S(x) #x\n_Pragma(S(once))\nint x = 1;\n"
OPERATOR: Final = '_Pragma("once")\nint x = 1;\n'
#: More ways to say "once", and what the command line says.
HIDDEN: Final = {
    "a macro for it": ("#define P(x) _Pragma(#x)\nP(once)\n", ()),
    "a macro for the operator": ('#define X _Pragma\nX("once")\n', ()),
    "a pasted operator": ('#define P _Pra##gma\n#define Q(x) x##gma("once")\nQ(_Pra)\n', ()),
    "a pasted word": ("#define P(x) _Pragma(#x)\n#define Q(x) P(x)\nQ(on##ce)\n", ()),
    "a macro behind a comment that goes on": (
        "#define Q(x) _Pragma(#x)\n// foo \\\n /*\nQ(once)\n// */\n",
        (),
    ),
    "a macro behind a comment that is split": (
        "#define Q(x) _Pragma(#x)\n/\\\n/ it\\\n /*\nQ(once)\n// */\n",
        (),
    ),
    "a comment in which another seems to begin": ("#pragma /* /* \n*/ once\n", ()),
    "a split word": ("#pra\\\ngma once\n", ()),
    "a word that is split elsewhere": ("#pragma on\\ \t\nce\n", ()),
    "the command line": ("O\n", ('-DO=_Pragma("once")',)),
}
#: Ways of a source to include once, and to say that it depends on a file.
IMPORTING: Final = {
    "": ("#import", ()),
    ", behind a comment": ("#/**/import", ()),
    ", behind a comment in which another seems to begin": ("#/* /* */import", ()),
    ", by a trigraph": ("??=import", ("-std=c99",)),
}
DEPENDING: Final = {
    "": "#pragma GCC dependency",
    ", on two lines": "#pragma GCC \\\n dependency",
    ", behind a comment": "#pragma GCC /*\n*/ dependency",
}
ONCE: Final = "#pragma once\nint x(void) { return 1; }\n"
FILE, APPEARED, FOLDER = layout.MEMO_FILE, layout.MEMO_APPEARED, layout.MEMO_FOLDER
OUTPUT: Final = layout.MEMO_OUTPUT
X: Final = {"conftest.c": USES, "first/other.h": "", "second/x.h": "#define X 1\n"}
Y: Final = {"conftest.c": LOOKS, "first/other.h": "", "second/other.h": ""}
ASM: Final = '__asm__(".incbin \\"data\\"");\n'
CASES: Final = {
    "an absent header appears, its folder's time is set back": Case(
        Y, write("first/y.h", "", as_old=True), (APPEARED,)
    ),
    "a header appears before the one that was found": Case(
        X, write("first/x.h", "#define X 2\n", as_old=True), (APPEARED,)
    ),
    "a folder of headers appears": Case(
        {"conftest.c": USES, "second/x.h": "#define X 1\n"},
        write("first/x.h", "#define X 2\n"),
        (APPEARED,),
    ),
    "a folder becomes a file": Case(
        Y, both(lambda f: shutil.rmtree(f / "first"), write("first", "")), (FOLDER, FILE, APPEARED)
    ),
    "a link on the way leads elsewhere": Case(
        {"conftest.c": USES, "a/x.h": "#define X 1\n", "b/x.h": "#define X 2\n"},
        relink("second", "b"),
        (FILE,),
        prepare=relink("second", "a"),
    ),
    "a header of the same size and time": Case(X, replace("second/x.h", "#define X 2\n"), (FILE,)),
    "a header is changed in place, its time set back": Case(
        X, write("second/x.h", "#define X 2\n", as_old=True), (FILE,)
    ),
    "a header goes": Case(Y | {"second/y.h": ""}, lambda f: (f / "second/y.h").unlink(), (FILE,)),
    "a source of the same size and time": Case(
        {"conftest.c": "int a = 1;\n"}, replace("conftest.c", "int a = 2;\n")
    ),
    "umask": Case(X, given(umask=0o077)),
    "a limit": Case(X, given(preexec_fn=with_limit(resource.RLIMIT_NOFILE, 200))),
    "PWD": Case(
        {"conftest.c": "int a;\n"},
        variable("PWD", "FOLDER/link"),
        command=("gcc", "-g", "-c", "conftest.c"),
        prepare=relink("link", "."),
    ),
    "TMPDIR": Case(X, variable("TMPDIR", "FOLDER/second")),
    "COMPILER_PATH": Case(X, both(tool("as"), variable("COMPILER_PATH", "FOLDER/tools"))),
    "CPATH": Case(
        X | {"third/x.h": "#define X 3\n"},
        variable("CPATH", "FOLDER/third"),
        command=("gcc", "-c", "conftest.c", "-Ifirst", "-idirafter", "second"),
    ),
    "the locale": Case(
        {"conftest.c": "int a = b;\n"},
        variable("LC_ALL", "C.UTF-8"),
    ),
    "an assembler earlier on PATH": Case(
        X | {"tools/none": ""},
        tool("as"),
        (APPEARED,),
    ),
    "PATH no longer leads to an assembler": Case(
        X, given(env={}), prepare=both(telling, before_path)
    ),
    "an assembler of -B appears": Case(
        X | {"tools/none": ""}, tool("as"), (APPEARED,), (*COMPILE, "-Btools/")
    ),
    "an assembler of -B is another": Case(
        X, tool("as"), (FILE,), (*COMPILE, "-Btools/"), prepare=copied("as")
    ),
    "an assembler of -B is the same beside another library": Case(
        {"conftest.c": "int a;\n"},
        relink("tools/as", "../b/as"),
        (FOLDER,),
        ("gcc", "-c", "conftest.c", "-Btools/"),
        prepare=twice_beside_libraries,
    ),
    "what the assembler includes": Case(
        {"conftest.c": ASM, "data": "a"}, write("data", "b", as_old=True), (FILE,)
    ),
    "a linker script leads elsewhere": Case(
        {
            "conftest.c": "int main(void) { return 0; }\n",
            "libq.so": "INPUT(a.ld)\n",
            "a.ld": "q = 1;\n",
        },
        write("a.ld", "q = 2;\n", as_old=True),
        (FILE,),
        ("gcc", "-o", "conftest", "conftest.c", "-L.", "-lq"),
    ),
    "a library appears where it is looked for first": Case(
        {
            "conftest.c": "int main(void) { return 0; }\n",
            "first/none": "",
            "second/libq.so": "q = 1;\n",
        },
        write("first/libq.so", "q = 2;\n", as_old=True),
        (APPEARED,),
        ("gcc", "-o", "conftest", "conftest.c", "-Lfirst", "-Lsecond", "-lq"),
    ),
    "a member of a thin archive": Case(
        {"conftest.c": "extern int q;\nint main(void) { return q; }\n", "q.c": "int q = 1;\n"},
        both(write("q.c", "int q = 2;\n"), compiled("q.c")),
        (FILE,),
        ("gcc", "-o", "conftest", "conftest.c", "-L.", "-lq"),
        prepare=both(compiled("q.c"), thin),
    ),
    "a name with a newline": Case(
        {"conftest.c": USES, "a\nb/x.h": "#define X 1\n"},
        write("a\nb/x.h", "#define X 2\n", as_old=True),
        (FILE,),
        ("gcc", "-c", "conftest.c", "-Ia\nb"),
    ),
    "two headers of one content become one": Case(
        {"conftest.c": '#include "a/x.h"\n#include "b/x.h"\n', "a/x.h": ONCE, "b/x.h": ONCE},
        dated("a/x.h", 1),
        (FILE,),
        prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
    ),
    "two headers, once by another spelling": Case(
        {"conftest.c": TWO, "a/x.h": PRAGMA, "b/x.h": PRAGMA},
        dated("b/x.h", 1),
        (FILE,),
        prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
    ),
    "two headers, once by an operator": Case(
        {"conftest.c": TWO, "a/x.h": OPERATOR, "b/x.h": OPERATOR},
        dated("b/x.h", 1),
        (FILE,),
        prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
    ),
    "two headers, once behind a comment": Case(
        {"conftest.c": TWO, "a/x.h": COMMENTED, "b/x.h": COMMENTED},
        dated("b/x.h", 1),
        (FILE,),
        prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
    ),
    "two headers, once by a string": Case(
        {"conftest.c": TWO, "a/x.h": STRING, "b/x.h": STRING},
        dated("b/x.h", 1),
        (FILE,),
        prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
    ),
    **{
        f"two headers, once by who includes them{name}": Case(
            {"conftest.c": f'{word} "a/x.h"\n#include "b/x.h"\n'}
            | {"a/x.h": "int x = 1;\n", "b/x.h": "int x = 1;\n"},
            dated("b/x.h", 1),
            (FILE,),
            ("gcc", "-c", "conftest.c", *words),
            prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
        )
        for name, (word, words) in IMPORTING.items()
    },
    **{
        f"two headers, once by {name}": Case(
            {"conftest.c": TWO, "a/x.h": f"{text}int x = 1;\n", "b/x.h": f"{text}int x = 1;\n"},
            dated("b/x.h", 1),
            (FILE,),
            ("gcc", "-c", "conftest.c", *words),
            prepare=both(dated("a/x.h", 9), dated("b/x.h", 9)),
        )
        for name, (text, words) in HIDDEN.items()
    },
    **{
        f"a source that is younger than what it depends on{name}": Case(
            {"conftest.c": f'{words} "conftest.y"\nint x;\n', "conftest.y": ""},
            dated("conftest.y", 99),
            (FILE,),
            prepare=both(dated("conftest.c", 9), dated("conftest.y", 1)),
        )
        for name, words in DEPENDING.items()
    },
    "an archive is updated by a younger file": Case(
        {"conftest.c": "newer"},
        dated("conftest.c", 99),
        (FILE,),
        ("sh", "-c", "cp -p older.a conftest.a; exec ar ru conftest.a conftest.c > log"),
        prepare=archived,
    ),
    "the folder of an output gets a list of rights": Case(X, listed, (layout.MEMO_UNDO,)),
    "an output has another mode": Case(X, lambda f: (f / "conftest.o").chmod(0o444), (OUTPUT,)),
    "an output is empty": Case(
        X, both(lambda f: (f / "conftest.o").unlink(), write("conftest.o", "")), (OUTPUT,)
    ),
    "an output is a link": Case(
        X, both(write("target", ""), relink("conftest.o", "target")), (OUTPUT,)
    ),
    "an output is a folder": Case(
        X,
        both(lambda f: (f / "conftest.o").unlink(), lambda f: (f / "conftest.o").mkdir()),
        (OUTPUT, FOLDER, FILE, APPEARED),
    ),
    "an output has two names": Case(
        X, lambda f: (f / "second name").hardlink_to(f / "conftest.o"), (OUTPUT,)
    ),
    "an old list of dependencies": Case(
        X,
        write("conftest.d", "old: list\n"),
        (OUTPUT,),
        ("sh", "-c", "exec gcc -MD -c conftest.c -Isecond > log"),
    ),
}


def run_twice(
    one: Remembered, case: Case, *, through_shims: bool
) -> tuple[list[object], list[int]]:
    """Both results and what is left; of shims also how often they had a hit."""
    one.clear()
    for name, text in case.files.items():
        (one.folder / name).parent.mkdir(exist_ok=True, parents=True)
        (one.folder / name).write_text(text)
    how = {"through_shims": through_shims, **(case.prepare(one.folder) or {})}
    if "earlier on PATH" in str(case.change) or case is CASES["an assembler earlier on PATH"]:
        how["env"] = {"PATH": f"{one.folder}/tools:{one.plain['PATH']}"}
    settle(one.folder)
    results: list[object] = []
    hits = []
    for turn in range(3):
        if turn == 1:
            for path in one.folder.glob("conftest.[od]"):
                path.unlink()
            (one.folder / "conftest").unlink(missing_ok=True)
        if turn == 2:
            if OUTPUT not in case.reasons:
                for path in one.folder.glob("conftest.[od]"):
                    path.unlink()
                (one.folder / "conftest").unlink(missing_ok=True)
            how.update(case.change(one.folder) or {})
            settle(one.folder)
        results += [one.run(*case.command, **how), one.tree()]
        hits.append(one.told.hits)
    return results, hits


@pytest.mark.parametrize("name", CASES)
def test_what_has_changed_is_seen(remembered: Remembered, name: str) -> None:
    case = CASES[name]
    expected, _ = run_twice(remembered, case, through_shims=False)
    found, hits = run_twice(remembered, case, through_shims=True)
    told = remembered.told
    assert found == expected, told
    assert hits == [0, 1, 1], told
    why = set(told.misses) - {layout.MEMO_UNKNOWN}
    assert why <= set(case.reasons), told
    assert bool(why) == bool(case.reasons), told


def test_the_width_of_a_terminal(remembered: Remembered) -> None:
    """Some compilers ask for it, others only where they write to a terminal."""
    case = Case({"conftest.c": "int a = b;\n"}, variable("COLUMNS", "20"))
    expected, _ = run_twice(remembered, case, through_shims=False)
    found, hits = run_twice(remembered, case, through_shims=True)
    assert found == expected, remembered.told
    assert hits[:2] == [0, 1]


def test_a_library_of_the_tools_is_upgraded_in_place(remembered: Remembered) -> None:
    case = Case(X, appended("lib/libz.so.1", b"newer"), (FILE,), prepare=library)
    expected, _ = run_twice(remembered, case, through_shims=False)
    found, hits = run_twice(remembered, case, through_shims=True)
    assert (found, hits) == (expected, [0, 1, 1]), remembered.told
    assert layout.MEMO_FILE in remembered.told.misses


def test_a_header_that_is_written_again_and_again(remembered: Remembered) -> None:
    """Each is as large as the one before, and often of the same tick."""
    (remembered.folder / "conftest.c").write_text('#include "h"\nint a = K;\n')
    script = 'for K in 1 2 3; do echo "#define K $K" > h; gcc -c conftest.c -o a$K.o; done'
    remembered.run("sh", "-c", script, through_shims=False)
    expected = remembered.tree()
    for _ in range(3):
        assert remembered.run("sh", "-c", script).status == 0
        assert remembered.tree() == expected


MAPPED: Final = {"on a disk": None, "in memory": "/dev/shm"}


@pytest.mark.parametrize("name", MAPPED)
def test_a_header_is_changed_through_a_mapping(remembered: Remembered, name: str) -> None:
    """The second change of a page leaves the times as the first has set them."""
    folder = remembered.folder
    if MAPPED[name] is not None and not os.access(MAPPED[name] or "", os.W_OK):
        pytest.skip(f"needs {MAPPED[name]}")
    headers = Path(tempfile.mkdtemp(dir=MAPPED[name] or folder))
    (folder / "conftest.c").write_text('#include "x.h"\nint a = X;\n')
    (headers / "x.h").write_text("#define X 1\n")
    command = ("gcc", "-c", "conftest.c", f"-I{headers}")
    with (headers / "x.h").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[10:11] = b"1"
        settle(folder)
        made = []
        for value in (b"1", b"1", b"2"):
            memory[10:11] = value
            assert remembered.run(*command).status == 0
            made.append((folder / "conftest.o").read_bytes())
            (folder / "conftest.o").unlink()
    shutil.rmtree(headers)
    assert made[0] == made[1] != made[2]
    assert remembered.told.hits == 1, remembered.told


def test_the_width_of_a_terminal_at_standard_input(remembered: Remembered) -> None:
    """gcc asks standard input how wide its lists of options may be, wherever they go."""
    answers = []
    remembered.plain.pop("COLUMNS", None)
    for through_shims in (False, True):
        for columns in (40, 120):
            master, slave = os.openpty()
            termios.tcsetwinsize(slave, (24, columns))
            answers.append(
                remembered.run("gcc", "--help=common", stdin=slave, through_shims=through_shims)
            )
            os.close(slave)
            os.close(master)
    assert answers[0] != answers[1]
    assert answers[2:] == answers[:2]
    assert remembered.told.stored == 2


def test_outputs_behind_a_link_to_a_folder(tmp_path: Path) -> None:
    """As long as it leads where it led the result is given back; else the command runs."""
    one = Remembered(tmp_path, guarded=True)
    away, other = tmp_path / "away", tmp_path / "other"
    for folder in (away, other):
        (folder / "sub").mkdir(parents=True)
    link = one.folder / "out"
    link.symlink_to(away)
    (one.folder / "conftest.c").write_text("int a;\n")
    settle(one.folder)
    command = ("gcc", "-c", "conftest.c", "-o", "out/sub/conftest.o")
    for hits in (0, 1):
        for path in (away / "sub").iterdir():
            path.unlink()
        assert one.run(*command).status == 0
        assert sorted(os.listdir(away / "sub")) == ["conftest.o"]
        assert one.told.hits == hits, one.told
    link.unlink()
    link.symlink_to(other)
    assert one.run(*command).status == 0
    assert sorted(os.listdir(other / "sub")) == ["conftest.o"]
    assert (one.told.hits, one.told.stored) == (1, 2), one.told
    one.close()
