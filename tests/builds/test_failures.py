"""The end in every case of failure (P2, P3, P4, P5, P8)."""

from __future__ import annotations

import os
import signal
import stat

import psutil
import pytest

from tests.support.held import Held
from tests.support.space import MAIN, SMPMAKE, Space, objects

pytestmark = pytest.mark.slow

FLAT = """
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
prog: $(OBJECTS)
\tgcc -o $@ $(OBJECTS)
%.o: %.c
\tgcc -O1 -c -o $@ $<
"""


def test_p2_a_failed_job_fails_the_build_and_is_shown_last(space: Space) -> None:
    space.write({**objects(3), "bad.c": "int x = oops;\n", "main.c": MAIN, "Makefile": FLAT})
    script = "for f in *.c; do gcc -O1 -c -o ${f%.c}.o $f; done"
    ended = space.smpmake("--no-guard", "sh", "-c", script)
    assert ended.status != 0
    last = ended.err.splitlines()[-7:]
    assert last[0].startswith("smpmake: failed: gcc -O1 -c -o bad.o bad.c")
    assert last[1] == f"  in {space.folder}"
    assert last[-2] == "  exit status 1"
    assert last[-1].startswith("smpmake: sh failed, status 1: gcc -O1 -c -o bad.o bad.c (")
    assert ended.err.count("'oops' undeclared") == 1  # shown once
    assert "bad.o" not in space.tree()
    assert "prog" not in space.tree()
    space.expect_clean()


def test_p2_where_nothing_can_be_undone_all_is_not_well(space: Space) -> None:
    space.write({"bad.c": "int x = oops;\n", "build.sh": "gcc -c bad.c\nexit 0\n"})
    ended = space.smpmake("--no-guard", "sh", "build.sh")
    assert ended.status == 1
    assert "failed: gcc -c bad.c" in ended.err
    assert "nothing could be undone: targets" in ended.err
    assert "bad.o may be wrong" in ended.err


@pytest.mark.parametrize("status", [0, 1, 2, 42, 255])
def test_p2_the_drivers_status_passes_through(space: Space, status: int) -> None:
    assert space.smpmake("sh", "-c", f"exit {status}").status == status


def test_p2_a_driver_killed_by_a_signal(space: Space) -> None:
    assert space.smpmake("sh", "-c", "kill -SEGV $$").status == -signal.SIGSEGV


def test_p2_a_command_that_cannot_be_run(space: Space) -> None:
    ended = space.smpmake("no-such-command-here")
    assert ended.status == 127
    assert "no-such-command-here: cannot be run" in ended.err
    space.write({"plain.txt": "text"})
    assert space.smpmake("./plain.txt").status == 126


def test_nothing_after_a_failure_is_started(space: Space) -> None:
    """One slot: the failure comes first, the rest must not leave objects."""
    space.write({"bad.c": "int x = oops;\n", **objects(5)})
    script = "gcc -c bad.c\n" + "".join(f"gcc -c f{n}.c\n" for n in range(5))
    space.write({"build.sh": script})
    ended = space.smpmake("-j1", "sh", "-e", "build.sh")
    assert ended.status != 0
    # The driver may have got ahead; what it issued before the failure is cancelled.
    assert not any(name.endswith(".o") for name in space.tree())
    space.expect_clean()


def test_what_was_issued_before_the_failure_finishes(space: Space) -> None:
    fifo = space.folder / "go"
    os.mkfifo(fifo)
    space.fake(
        "gcc",
        '#!/bin/sh\ncase "$*" in *slow*) read line < go; echo made > slow.o;; *) exit 3;; esac\n',
    )
    space.write({"build.sh": "gcc -c slow.c\ngcc -c bad.c\n", "slow.c": "", "bad.c": ""})
    process = space.start(SMPMAKE, "-j2", "sh", "build.sh")
    fifo.write_text("go\n")  # once: what was made before the script is run again is used again
    ended = space.finish(process)
    assert ended.status == 3
    assert (space.folder / "slow.o").read_text() == "made\n"


def test_keep_going_builds_what_does_not_depend_on_the_failure(space: Space) -> None:
    space.write({**objects(4), "bad.c": "int x = oops;\n"})
    script = "gcc -c bad.c; " + "".join(f"gcc -c f{n}.c; " for n in range(4))
    script += "gcc -o prog bad.o; gcc -shared -o lib.so f0.o f1.o"
    ended = space.smpmake("-k", "-j1", "sh", "-c", script)
    assert ended.status != 0
    made = set(space.tree())
    assert {"f0.o", "f1.o", "f2.o", "f3.o"} <= made
    assert not {"bad.o", "prog"} & made
    space.expect_clean()


@pytest.mark.parametrize("way", ["make", "make -i", "a script"])
def test_p1_behind_a_failure_that_is_tolerated_the_next_command_speaks_for_itself(
    space: Space, way: str
) -> None:
    files = {
        "bad.c": "int x = oops;\n",
        "Makefile": "all:\n\t-gcc -c bad.c\n\t-gcc -o p bad.o\n\techo on > on\n",
        "build.sh": "gcc -c bad.c\ngcc -o p bad.o\necho $? > status\n",
    }
    command = ["sh", "build.sh"] if way == "a script" else way.split()
    plain_files = {**files, "Makefile": files["Makefile"].replace("-gcc", "gcc")}
    files = plain_files if way == "make -i" else files
    space.write(files)
    plain = space.run(*command)
    space.clear()
    ended = space.expect_same(files, command)
    own = [line for line in plain.err.splitlines() if "cannot find bad.o" in line]
    assert own
    assert set(own) <= set(ended.err.splitlines())
    assert "not run" not in ended.err


def test_make_k_keeps_going_without_our_option(space: Space) -> None:
    space.write({**objects(4), "bad.c": "int x = oops;\n", "Makefile": FLAT})
    plain = space.run("make", "-k")
    expected = space.tree()
    space.ok("sh", "-c", "rm -f *.o")
    ended = space.smpmake("-j1", "make", "-k")
    assert ended.status == plain.status
    assert space.tree() == expected


def test_a_stale_object_stays_when_its_compile_was_cancelled(space: Space) -> None:
    space.write({"bad.c": "int x = oops;\n", "a.c": "int a;\n", "a.o": "stale"})
    os.utime(space.folder / "a.o", (1000, 1000))
    space.smpmake("-j1", "sh", "-c", "gcc -c bad.c; gcc -c a.c")
    stale = space.folder / "a.o"
    if stale.read_bytes() == b"stale":
        assert stale.stat().st_mtime == 1000
    space.expect_clean()


def test_a_stale_object_stays_when_its_compile_failed_as_it_does_serially(space: Space) -> None:
    files = {
        "bad.c": "int x = oops;\n",
        "bad.o": "stale",
        "Makefile": "bad.o: bad.c\n\tgcc -c bad.c\n",
    }

    def prepare() -> None:
        space.write(files)
        os.utime(space.folder / "bad.o", (1000, 1000))

    prepare()
    space.run("make")
    expected = space.tree()
    prepare()
    assert space.smpmake("make").status != 0
    assert space.tree() == expected


def test_p1_a_compiler_killed_by_a_signal_leaves_what_it_leaves_plainly(space: Space) -> None:
    space.fake(
        "gcc",
        '#!/bin/sh\ncase "$*" in *die*) echo half > die.o; kill -KILL $$;; esac\n'
        'exec /usr/bin/gcc "$@"\n',
    )
    files = {"die.c": "", "a.c": "int a;\n", "build.sh": "gcc -c a.c\ngcc -c die.c\n"}
    ended = space.expect_same(files, ["sh", "build.sh"])
    assert (space.folder / "die.o").read_text() == "half\n"
    assert ended.status == 137
    files["Makefile"] = "all: a.o die.o\n%.o: %.c\n\tgcc -c $<\n"
    space.clear()
    assert "Deleting file 'die.o'" in space.expect_same(files, ["make"]).err
    assert "die.o" not in space.tree()


def test_p8_a_jobs_output_is_whole(space: Space) -> None:
    """Many noisy compilers at once, each printing its block slowly: no block is torn."""
    space.fake(
        "gcc",
        '#!/bin/sh\nn=0\nwhile [ $n -lt 40 ]; do echo "$5 line $n"; echo "$5 err $n" >&2; '
        "n=$((n+1)); done\necho x > $4\n",
    )
    script = "".join(f"gcc -c -Wall -o {n}.o {n}.c\n" for n in range(12))
    space.write({"build.sh": script, **{f"{n}.c": "" for n in range(12)}})
    ended = space.run("sh", "-c", f"{SMPMAKE} -j4 sh build.sh 2>&1")
    assert ended.status == 0, ended.out
    lines = [line for line in ended.out.splitlines() if " line " in line or " err " in line]
    assert len(lines) == 12 * 80
    for start in range(0, len(lines), 80):
        block = lines[start : start + 80]
        assert len({line.split()[0] for line in block}) == 1
        assert block == [
            f"{block[0].split()[0]} {k} {n}" for n in range(40) for k in ("line", "err")
        ]
    assert ended.out.count("smpmake: gcc -c -Wall") == 12


def test_p8_a_large_output_is_not_lost(space: Space) -> None:
    space.write({"a.c": "", "build.sh": "gcc -c a.c -o a.o\n"})
    space.fake("gcc", "#!/bin/sh\nseq 1 100000 >&2\necho x > a.o\n")
    ended = space.smpmake("sh", "build.sh")
    assert ended.status == 0
    wanted = "".join(f"{n}\n" for n in range(1, 100001))
    assert wanted in ended.err


def test_output_in_the_order_of_the_serial_build(space: Space) -> None:
    source = "int f(void) {{ int unused_{0}; return 0; }}\n"
    files = {f"{n}.c": source.format(n) for n in range(6)}
    script = "".join(f"echo before {n}\ngcc -Wall -c {n}.c\n" for n in range(6)) + "echo end\n"
    space.write({**files, "build.sh": script})
    plain = space.run("sh", "-c", "sh build.sh 2>&1")
    ended = space.run("sh", "-c", f"{SMPMAKE} --output-sync=serial -q sh build.sh 2>/dev/null")
    assert ended.out == plain.out


def test_p4_an_unknown_option_is_a_barrier_with_a_name(space: Space) -> None:
    space.fake(
        "gcc",
        '#!/bin/sh\ncase "$*" in *-fnot-yet-known*) ls *.o > seen;; '
        '*) exec /usr/bin/gcc "$@";; esac\n',
    )
    script = "".join(f"gcc -c f{n}.c\n" for n in range(4)) + "gcc -fnot-yet-known -c x.c\n"
    space.write({**objects(4), "x.c": "", "build.sh": script})
    assert space.smpmake("sh", "-e", "build.sh").status == 0
    assert (space.folder / "seen").read_text().split() == [f"f{n}.o" for n in range(4)]
    why = space.smpmake("why")
    assert "1  unknown-option" in why.out
    assert "[-fnot-yet-known]" in why.out


def test_p5_a_shim_whose_server_is_gone_is_the_real_tool(space: Space) -> None:
    space.write({"a.c": "int a;\n"})
    space.ok(SMPMAKE, "shims", "install", str(space.root / "shims"))
    ended = space.run(
        str(space.root / "shims/gcc"),
        "-c",
        "a.c",
        _SMPMAKE_SOCKET=str(space.root / "nothing"),
        PATH=f"{space.root}/shims:{os.environ['PATH']}",
    )
    assert ended.status == 0, ended
    assert "a.o" in space.tree()


def test_p5_without_a_folder_the_build_runs_plainly(space: Space) -> None:
    space.write({"a.c": "int a;\n", "Makefile": "a.o: a.c\n\tgcc -c a.c\n"})
    ended = space.smpmake("make", TMPDIR="/proc/no-such-folder")
    assert ended.status == 0, ended.err
    assert "a.o" in space.tree()


def test_a_job_gets_the_invocations_surroundings(space: Space) -> None:
    space.fake(
        "gcc",
        "#!/bin/sh\n{ pwd; umask; ulimit -n; echo $MARK; readlink /proc/self/fd/0; "
        'echo $PATH; echo "$0"; } > surroundings\n',
    )
    space.write({"sub/a.c": "", "build.sh": "cd sub; umask 027; ulimit -n 77; MARK=m gcc -c a.c\n"})
    assert space.smpmake("sh", "build.sh").status == 0
    made = space.folder / "sub" / "surroundings"
    lines = made.read_text().splitlines()
    path = space.environment["PATH"]  # as it was given, whatever the user's folders are called
    assert lines[:6] == [str(space.folder / "sub"), "0027", "77", "m", "/dev/null", path]
    assert stat.S_IMODE(made.stat().st_mode) == 0o640


@pytest.mark.parametrize("stamp", ["touch new", "touch old.d", "mv half.loT half.lo"])
def test_p3_a_stamp_does_not_vouch_for_what_failed(space: Space, stamp: str) -> None:
    """Without a guard it waits for a compile that was only promised, and is not made then."""
    held = Held(space)
    files = {"bad.c": "int x = oops;\n", "old.d": "kept", "half.loT": "# by libtool\n"}
    script = f"touch -d @1000 old.d\ngcc -Dheld -c bad.c\n{stamp}\n"
    ended, tree = held.parallel({**files, "build.sh": script}, ["sh", "build.sh"], "--no-guard")
    assert ended.status == 1, ended.err
    assert tree.keys() == {*files, "build.sh"}
    assert (space.folder / "old.d").stat().st_mtime == 1000


@pytest.mark.parametrize("killed", [False, True], ids=["fails", "killed"])
@pytest.mark.parametrize("stamp", ["touch new", "touch old.d; touch old.d", "mv half.loT half.lo"])
def test_p3_a_false_stamp_goes_where_nothing_is_undone(
    space: Space, stamp: str, killed: bool
) -> None:
    """A guarded driver makes it without waiting, and with undo = "off" its changes stay."""
    held = Held(space)
    files = {"bad.c": "int x = oops;\n", "old.d": "kept", "half.loT": "# by libtool\n"}
    script = f"touch -d @1000 old.d\ngcc -Dheld -c bad.c\n{stamp}\necho x > own\n: > after\n"
    space.write({**files, ".smpmake.toml": 'undo = "off"\n', "build.sh": script})
    process = held.start("sh", "build.sh")
    while not (space.folder / "after").exists():
        assert process.poll() is None
    assert (space.folder / "old.d").stat().st_mtime > 1000 or "old.d" not in stamp
    made = {"touch new": {"new"}, "mv half.loT half.lo": {"half.lo"}}.get(stamp, set())
    assert made <= set(space.tree())
    if killed:
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        psutil.wait_procs(below)
    else:
        held.release(process)
    assert space.finish(process).status == (-signal.SIGKILL if killed else 1)
    left = files.keys() - {"half.loT"} if stamp.startswith("mv") else files.keys()
    assert space.tree().keys() == {*left, ".smpmake.toml", "build.sh", "own", "after"}
    assert (space.folder / "old.d").stat().st_mtime == 1000
    space.expect_clean()


def test_stamps_stay_when_all_is_well(space: Space) -> None:
    space.write({"a.c": "int a;\n", "build.sh": "gcc -c a.c\ntouch new\nmv x.loT x.lo\n"})
    space.write({"x.loT": ""})
    assert space.smpmake("sh", "build.sh").status == 0
    assert {"a.o", "new", "x.lo"} <= set(space.tree())


def test_p3_an_interrupt_never_parts_an_object_from_its_dependency_file(space: Space) -> None:
    """What waits for a running compile goes with it, whether that is the end or not."""
    space.fake(
        "gcc",
        "#!/bin/sh\ntrap '' TERM\necho dep > a.Tpo\necho up > started\nread line < go\n"
        "echo whole > a.o\n",
    )
    for name in ("go", "started", "never"):
        os.mkfifo(space.folder / name)
    script = "gcc -MMD -MF a.Tpo -c a.c\nmv -f a.Tpo a.Po\necho x > issued\nread x < never\n"
    space.write({"a.c": "", "build.sh": script})
    process = space.start(SMPMAKE, "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    while not (space.folder / "issued").exists():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    (space.folder / "go").write_text("go\n")
    assert space.finish(process).status == -signal.SIGTERM
    made = set(space.tree())
    assert ("a.o" in made) == ("a.Po" in made)
    assert "a.Tpo" not in made
    space.expect_clean()


REFUSED = {
    "itself": "a.o a.o",
    "itself by another name": "-f a.o ./sub/../a.o",
    "through a folder's link": "a.o here/a.o",
    "a link that leads there": "link a.o",
    "a slash behind it": "a.o/ b.o",
    "another's link": "a.o link",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_mv_refuses_is_refused(space: Space, name: str) -> None:
    """And what it does not, it does as ever."""
    recipe = (
        f"\tln -s a.o link\n\tln -s . here\n\tgcc -c a.c\n\tmv {REFUSED[name]}\n\techo x > end\n"
    )
    files = {"a.c": "int a;\n", "sub/x": "", "Makefile": f"all:\n{recipe}"}
    space.expect_same(files, ["make"])


def test_a_rename_that_fails_is_mvs_to_explain(space: Space) -> None:
    os.mkfifo(space.folder / "go")
    space.fake("gcc", "#!/bin/sh\nread line < go\nexit 0\n")
    space.write({"a.c": "", "build.sh": "gcc -c a.c\nmv -f a.o b.o\necho x > go\n"})
    ended = space.smpmake("--no-guard", "sh", "build.sh")
    assert ended.status == 1
    assert "failed: mv -f a.o b.o" in ended.err
    assert "mv: cannot stat 'a.o'" in ended.err


def test_serial_output_of_many_sources_in_one_command(space: Space) -> None:
    warning = "int {0}(void) {{ int unused_{0}; return 0; }}\n"
    space.write({"a.c": warning.format("a"), "main.c": MAIN})
    space.write({"build.sh": "echo before\ngcc -Wall a.c main.c -o p\necho after\ngcc -c a.c\n"})
    plain = space.run("sh", "-c", "sh build.sh 2>&1")
    ended = space.run("sh", "-c", f"{SMPMAKE} --output-sync=serial -q sh build.sh 2>/dev/null")
    assert ended.out == plain.out


@pytest.mark.parametrize("options", [(), ("--output-sync=serial",)], ids=["live", "serial"])
def test_a_driver_whose_output_nobody_reads_any_more_ends(
    space: Space, options: tuple[str, ...]
) -> None:
    """As it does plainly: `make | head`."""
    space.write({"build.sh": "gcc -c a.c\nwhile :; do echo more; done\n", "a.c": "int a;\n"})
    status = "{{ {0} sh build.sh; echo $? > status; }} 2>err | head -n 1"
    plain = space.run("sh", "-c", status.format(""))
    assert (space.folder / "status").read_text() == "141\n"
    ended = space.run("sh", "-c", status.format(" ".join((SMPMAKE, *options))))
    assert (space.folder / "status").read_text() == "141\n"
    assert ended.out == plain.out
    assert (space.folder / "a.o").exists()
    space.expect_clean()
