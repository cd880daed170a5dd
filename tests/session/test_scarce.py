"""Where the system gives little: the plain build, or one without a record; never a traceback."""

from __future__ import annotations

import os
import shutil

import psutil
import pytest

from tests.support import needs
from tests.support.held import Held
from tests.support.space import SMPMAKE, Space, objects
from tests.support.variants import often

pytestmark = pytest.mark.slow

FILES = {
    **objects(4),
    "Makefile": "all: f0.o f1.o f2.o f3.o\n%.o: %.c\n\tgcc -c $<\n",
}


def short_of(space: Space, limit: str, *command: str, **environment: str) -> str:
    """Builds plainly and under smpmake, within a limit; returns what smpmake said."""
    command = command or ("make",)
    space.write(FILES)
    plain = space.run("sh", "-c", f'{limit}; exec "$@"', "sh", *command)
    expected = space.tree()
    space.clear()
    space.write(FILES)
    ended = space.run(
        "sh", "-c", f'{limit}; exec "$@"', "sh", SMPMAKE, "-j16", *command, **environment
    )
    assert "Traceback" not in ended.err, ended.err
    assert (ended.status, space.tree()) == (plain.status, expected), ended.err
    assert len(ended.err) < len(plain.err) + 2000
    return ended.err


@pytest.mark.parametrize("count", [11, 16, 20, 22, 30, 48])
def test_p5_few_descriptors(space: Space, count: int) -> None:
    said = short_of(space, f"ulimit -n {count}")
    assert said.count("smpmake:") == 1
    assert f"at most {count} open files" in said
    assert "running the build plainly" in said


def test_p5_descriptors_for_fewer_workers_than_were_wanted(space: Space) -> None:
    assert "4 in parallel" in short_of(space, "ulimit -n 60")


def test_p5_more_tools_wait_than_there_are_descriptors(space: Space) -> None:
    """Each has a connection; what is left over is not theirs."""
    held = Held(space)
    many = " ".join(f"wait{n}" for n in range(70))
    make = f"all: {many}\nwait%:\n\t@cat held.o > /dev/null\n"
    space.write({"held.c": "int held;\n", "many.mk": make})
    os.mkfifo(held.gate)
    build = ("sh", "-c", "gcc -c held.c; make -j70 -f many.mk")
    # From the beginning: what is left over is reckoned when the server opens its door.
    process = space.start("sh", "-c", 'ulimit -n 70; exec "$@"', "sh", SMPMAKE, *build)
    server = psutil.Process(process.pid)
    while process.poll() is None and server.num_fds() < 70 - 20:
        pass
    held.release(process)
    ended = space.finish(process)
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err
    assert ended.err.count("Too many open files") <= 1


@pytest.mark.parametrize("limit", ["ulimit -f 1", "ulimit -f 512", "ulimit -v 60000"])
def test_p5_short_files_and_little_memory(space: Space, limit: str) -> None:
    short_of(space, limit)


@pytest.mark.parametrize("kilobytes", [30_000, 40_000])
def test_p5_too_little_memory_for_us(space: Space, kilobytes: int) -> None:
    """Which piece fails depends on the machine; that the plain build follows does not."""
    short_of(space, f"ulimit -v {kilobytes}", "sh", "-c", "echo > made")


#: Root has no limit: another user, who may open what the test has made, has one.
ANOTHER = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
ANOTHER += [f"--{kind}-caps=+dac_override,+dac_read_search" for kind in ("inh", "ambient")]


@pytest.mark.parametrize("count", often([5], [4, 5, 6, 8]))
def test_p3_few_processes(space: Space, count: int) -> None:
    """What followed a promise that was not kept is undone: that takes a process."""
    if os.getuid() != 0 or space.run(*ANOTHER, "true").status != 0:
        pytest.skip("only root can become a user who has no process")
    space.fake("gcc", "#!/bin/sh\nexit 1\n")  # the real one waits for processes
    script = "gcc -c bad.c || exit 3; echo > on"
    space.write({"bad.c": "int bad = 1 +;\n"})
    limited = ["bash", "-c", f'ulimit -u {count}; exec "$@"', "bash"]
    ended = space.run(*ANOTHER, *limited, SMPMAKE, "sh", "-c", script)
    assert "Traceback" not in ended.err, ended.err
    assert ended.status == 3, ended.err
    assert list(space.tree()) == ["bad.c"]


@pytest.mark.parametrize("output", ["live", "serial"])
@pytest.mark.parametrize(
    "script",
    [
        "gcc -c f1.c; rm -r $TMPDIR; mkdir $TMPDIR; make",
        "gcc -c f1.c; gcc -c bad.c; rm -r $TMPDIR; mkdir $TMPDIR; gcc -c f2.c",
    ],
)
def test_p5_the_sessions_folder_is_removed_during_the_build(
    space: Space, script: str, output: str
) -> None:
    short_of(space, "ulimit -c 0", "sh", "-c", script, SMPMAKE_OUTPUT=output)


@pytest.mark.parametrize("output", ["live", "serial"])
def test_p5_the_sessions_folder_is_removed_before_a_promise_is_broken(
    space: Space, output: str
) -> None:
    """What would be given back to its second run has no place any more."""
    gate = Held(space).gate
    os.mkfifo(gate)
    script = "gcc -c f0.c; cmp f0.o f0.o; gcc -c -DHELD=held bad.c; : >issued; gcc -c f1.c"
    space.write({**FILES, "bad.c": "int bad = 1 +;\n"})
    process = space.start(SMPMAKE, "sh", "-c", script, SMPMAKE_OUTPUT=output)
    while process.poll() is None and not (space.folder / "issued").exists():
        pass
    while os.path.exists(space.environment["TMPDIR"]):  # somebody may just be making a file there
        shutil.rmtree(space.environment["TMPDIR"], ignore_errors=True)
    with gate.open("r+b", buffering=0) as word:  # its reader may have ended with the session
        gate.unlink()  # its second run waits for nobody
        word.write(b"go\n")
        ended = space.finish(process)
    assert "Traceback" not in ended.err, ended.err
    assert "expected expression" in ended.out + ended.err
    assert ended.status == 0


@pytest.mark.parametrize("script", ["make; mv $STATE $STATE.gone", "mv $STATE $STATE.gone; make"])
def test_p5_the_state_folder_is_removed_during_the_build(space: Space, script: str) -> None:
    state = space.root / "state"
    state.mkdir()
    space.environment["STATE"] = str(state)
    short_of(space, f"rm -rf {state}.gone; mkdir -p {state}", "sh", "-c", script)


@pytest.mark.parametrize("driver", ["make", "echo there is no room for this"])
def test_p8_output_that_cannot_be_written_is_no_success(space: Space, driver: str) -> None:
    """make itself would say so; where smpmake writes in its place it has to."""
    space.write(FILES)
    ended = space.run("sh", "-c", f"{SMPMAKE} --output-sync=serial sh -c '{driver}' >/dev/full")
    assert ended.status == 125
    assert "output that could not be written: No space left on device" in ended.err


@pytest.mark.parametrize("kibibytes", [1536, 3000, 8192])
def test_p5_little_room_for_temporary_files(space: Space, kibibytes: int) -> None:
    """The build's own tools need it: a failing build ends as ever, on what is left."""
    needs.require_mounts()
    room = f"mount -t tmpfs -o size={kibibytes}k none $TMPDIR"
    space.write({**FILES, "bad.c": "int bad = 1 +;\n"})
    script = "gcc -c f0.c; gcc -c bad.c || exit 3; echo > on"
    ended = space.run(
        *("unshare", "--mount", "sh", "-ec", f'{room}; exec "$@"', "sh"),
        *(SMPMAKE, "sh", "-c", script),
    )
    assert ended.status == 3, ended.err
    assert "No space left on device" in ended.err
    assert "running the build plainly" in ended.err
    assert "on" not in space.tree()


def test_p1_a_disk_that_fills_up_has_the_objects_of_the_plain_build(space: Space) -> None:
    """What is put aside for a repetition takes none of the room that this needs."""
    needs.require_mounts()
    names = [f"f{number}" for number in range(1, 13)]
    for name in names:
        space.write({f"{name}.c": f"char {name}[200000] = {{1, 2, 3}};\n"})
    space.write({"Makefile": f"all: {' '.join(f'{name}.o' for name in names)}\n"})
    (space.root / "disk").mkdir()
    script = "mount -t tmpfs -o size=1700k none {0} && cp * {0} && cd {0}; {1}make; echo $?; ls *.o"
    found = []
    for smpmake in ("", f"{SMPMAKE} -j4 --memo=on -- "):
        text = script.format(space.root / "disk", smpmake)
        found.append(space.run("unshare", "-m", "sh", "-c", text).out.splitlines()[-9:])
    assert found[0][0] == "2"
    assert found[1] == found[0]


def test_p5_without_proc(space: Space) -> None:
    hidden = ["unshare", "--mount", "sh", "-ec", 'umount -l /proc; exec "$@"', "sh"]
    if space.run(*hidden, "true").status != 0:
        pytest.skip("/proc cannot be hidden here: that takes a namespace of mounts")
    ended = space.run(*hidden, SMPMAKE, "sh", "-c", "echo > made")
    assert ended.status == 0
    assert ended.err == "smpmake: /proc is not mounted; running the build plainly\n"
    assert "made" in space.tree()


def test_p5_the_state_folder_is_a_file(space: Space) -> None:
    (space.root / "state").write_text("")
    assert "is not in the history" in short_of(space, ":")


def test_p5_what_is_run_plainly_has_the_signals_that_it_would_have(space: Space) -> None:
    """Python ignores SIGPIPE and SIGXFSZ; `yes` would complain of a pipe that breaks."""
    assert "Broken pipe" not in short_of(space, "ulimit -n 20", "sh", "-c", "yes | head -1")
