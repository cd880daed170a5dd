"""What a command inherits: a job has all of it, or there is no job."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from smpmake import native
from smpmake.protocol import frames, layout, wire, working
from tests.protocol.test_wire import Listener
from tests.support.space import SMPMAKE, Space
from tests.support.terminal import Terminal

AS_ROOT = os.geteuid() == 0

# ------------------------------------------------------------------ what counts

#: Fields of /proc/self/status that are in the number, with a change that shows it: Python, with
#: `prctl(...)` for the system call, or what stands before a command; "" where none can be made.
COUNTED: dict[str, str | list[str]] = {
    "Uid": "os.setresuid(1, 0, 0)",
    "Gid": "os.setresgid(1, 0, 0)",
    "Groups": "os.setgroups([1, 2])",
    "CapInh": ["setpriv", "--inh-caps", "+net_raw"],
    "CapPrm": ["setpriv", "--bounding-set", "-net_raw"],
    "CapEff": ["setpriv", "--bounding-set", "-chown"],
    "CapBnd": "prctl(24, 13)",
    "CapAmb": ["setpriv", "--inh-caps", "+net_raw", "--ambient-caps", "+net_raw"],
    "NoNewPrivs": "prctl(38, 1, 0, 0, 0)",
    "Seccomp": "filters(1)",
    "Seccomp_filters": "filters(2)",
    "Speculation_Store_Bypass": "prctl(53, 0, 4, 0, 0)",
    "SpeculationIndirectBranch": "prctl(53, 1, 4, 0, 0)",
    "THP_enabled": "prctl(41, 1, 0, 0, 0)",
    "Cpus_allowed": "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
    "Mems_allowed": "",  # by a cpuset alone
}
#: What no field there tells.
COUNTED_BESIDE: dict[str, str | list[str]] = {
    "I/O priority": ["ionice", "-c3"],
    "policy": ["chrt", "-b", "0"],
    "oom_score_adj": ["choom", "-n", "500", "--"],
    "personality": ["setarch", "-R"],
    "timer slack": "prctl(29, 70000)",
    "securebits": "prctl(28, 1 << 2)",
    "memory policy": "c.syscall(238, 2, ctypes.byref(ctypes.c_ulong(1)), 64)",
}
HANDED_ON = {"Umask", "SigBlk", "SigIgn"}
OWN = "another one's in any process"
SAME = "what another field says"
NO_MATTER = {
    **dict.fromkeys(("Name", "State", "Tgid", "Ngid", "Pid", "PPid", "FDSize", "Threads"), OWN),
    **dict.fromkeys(("NStgid", "NSpid", "NSpgid", "NSsid", "CoreDumping", "Kthread"), OWN),
    **dict.fromkeys(("SigQ", "SigPnd", "ShdPnd", "HugetlbPages", "untag_mask"), OWN),
    **dict.fromkeys(("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"), OWN),
    **dict.fromkeys(("Cpus_allowed_list", "Mems_allowed_list"), SAME),
    "SigCgt": "an exec sets all handlers to the default",
    "TracerPid": "a tracer sees what is started in its place, and changes nothing",
    "x86_Thread_features": "an exec sets them anew",
    "x86_Thread_features_locked": "an exec sets them anew",
}
#: Namespaces that count, and how others are made.
NAMESPACES: dict[str, str | list[str]] = {
    "mnt": ["unshare", "-m"],
    "net": [],  # by what socket a shim makes: see CALLERS
    "pid": ["unshare", "-p", "--fork"],
    "user": ["unshare", "-U", "-r"],
    "uts": ["unshare", "-u", "sh", "-c", 'hostname another; exec "$@"', "sh"],
}
NO_NAMESPACES = {
    "cgroup": "by what names it sees cgroups",
    "ipc": "queues and memory by number, which are no files",
    "time": "how long the machine has been up",
    "pid_for_children": SAME,
    "time_for_children": SAME,
}

CHANGED = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
def prctl(*words):
    if c.prctl(*map(ctypes.c_ulong, words)) < 0:
        sys.exit(77)
def filters(count):
    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("t", ctypes.c_uint8), ("f", ctypes.c_uint8),
                    ("k", ctypes.c_uint32)]
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("first", ctypes.POINTER(Instruction))]
    allow = Instruction(6, 0, 0, 0x7fff0000)
    for _ in range(count):
        if c.prctl(22, 2, ctypes.byref(Program(1, ctypes.pointer(allow)))) < 0:
            sys.exit(77)
"""


def before(change: str | list[str]) -> list[str]:
    """What stands before a command, so that it inherits something else."""
    if isinstance(change, list):
        if shutil.which(change[0]) is None:
            pytest.skip(f"no {change[0]} here")
        return change
    code = f"{CHANGED}{change}\nos.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-I", "-c", code]


def number(*prefix: str) -> working.Inherited:
    """What a worker says of itself; skips the test where nothing can be changed so."""
    ours, theirs = socket.socketpair()
    with ours:
        end = str(theirs.fileno())
        process = subprocess.Popen(
            [*prefix, native.program("worker"), end, "-1"],
            pass_fds=[theirs.fileno()],
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        said = ours.recv(1 << 10)
    process.wait()
    if not said:
        pytest.skip("not allowed here")
    ((kind, payload),) = frames.Splitter().feed(said)
    assert kind == layout.WIRE_WORKER
    return working.decode_worker(payload)


def test_every_field_of_a_status_is_one_that_counts_or_does_not() -> None:
    """A new one of a newer kernel has to be put into one of these tables."""
    found = {line.partition(":")[0] for line in Path("/proc/self/status").read_text().splitlines()}
    sizes = {name for name in found if name.startswith(("Vm", "Rss"))}
    assert found - sizes - COUNTED.keys() - HANDED_ON <= NO_MATTER.keys()


def test_every_namespace_is_one_that_counts_or_does_not() -> None:
    assert set(os.listdir("/proc/self/ns")) - NAMESPACES.keys() <= NO_NAMESPACES.keys()


@pytest.mark.parametrize("name", [*COUNTED, *COUNTED_BESIDE, *NAMESPACES])
def test_what_counts_gives_another_number(name: str) -> None:
    change = {**COUNTED, **COUNTED_BESIDE, **NAMESPACES}[name]
    if not change:
        pytest.skip("cannot be changed here")
    plain = number(*before("pass"))
    changed = number(*before(change))
    if name == "Cpus_allowed" and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("there is one CPU")
    assert changed.number not in (0, plain.number)


def test_a_second_filter_gives_another_number() -> None:
    assert number(*before("filters(1)")).number != number(*before("filters(2)")).number


def test_niceness_is_told_beside_the_number() -> None:
    plain, nicer = number(), number("nice", "-n", "3")
    assert nicer == (plain.number, min(19, plain.nice + 3))


def test_a_shim_tells_what_a_worker_does(space: Space) -> None:
    shims = space.root / "shims"
    shims.mkdir()
    (shims / "gcc").symlink_to(native.program("shim"))
    space.environment["PATH"] = f"{shims}:{space.environment['PATH']}"
    listener = Listener(space.root / "s", wire.answer_exit(0))
    code = (
        "import os, signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN); "
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); os.nice(2); "
        "os.execvp('gcc', ['gcc', '-c', 'a.c'])"
    )
    space.ok("env", f"_SMPMAKE_SOCKET={listener.path}", sys.executable, "-I", "-c", code)
    listener.close()
    invoke = wire.decode_invoke(listener.frames[0][1])
    own = number()
    assert (invoke.inherited, invoke.nice) == (own.number, own.nice + 2)
    assert invoke.ignored >> 9 & 1
    assert invoke.blocked == 1 << 11


# ------------------------------------------------------------------ builds

#: Writes down what it is beside what it makes.
GCC = f"""#!/bin/sh
{shutil.which("gcc")} "$@" || exit
for out; do :; done
{{
    grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|THP|Cpus|Mems|Sig(Blk|Ign)|Umask)' \\
        /proc/self/status | sed -E '/^Sig/s/[0-9a-f]{{9}}([0-9a-f]{{7}})$/\\1/'
    nice
    cat /proc/self/oom_score_adj /proc/self/timerslack_ns
    ionice; chrt -p $$ | sed s/.*:// ; setarch --show 2> /dev/null
    uname -n
    stat -c '%u %g %a' "$out"
}} > "$out.as" 2>&1
"""

BUILD = {
    "Makefile": ("all: p\np: a.o b.o c.o\n\tgcc $^ -o $@\n%.o: %.c\n\tgcc -c $< -o $@\n"),
    "a.c": "int a;\n",
    "b.c": "int b;\n",
    "c.c": "int main(void) { return 0; }\n",
}


CALLERS: dict[str, list[str]] = {
    "sg": ["sg", "daemon", "-c"],
    "without capabilities": ["setpriv", "--bounding-set", "-chown,-dac_override"],
    "no_new_privs": ["setpriv", "--no-new-privs"],
    "taskset": ["taskset", "1"],
    "ionice": ["ionice", "-c3"],
    "chrt": ["chrt", "-b", "0"],
    "choom": ["choom", "-n", "500", "--"],
    "setarch": ["setarch", "-R"],
    "mounts": ["unshare", "-m"],
    "network": ["unshare", "-n"],
}


@pytest.mark.parametrize("name", CALLERS)
def test_p1_what_a_job_would_not_inherit_is_run_in_place(space: Space, name: str) -> None:
    caller = before(CALLERS[name])
    if space.run(*caller, "true").status != 0:
        pytest.skip("not allowed here")
    space.fake("gcc", GCC)
    ended = space.expect_same(BUILD, [*caller, "make"], "--memo=off")  # which adds a filter
    assert ended.status == 0
    assert "inherited" in space.smpmake("why").out


IN_A_SCRIPT = {
    "nice": "nice -n 4 make",
    "nice twice": "nice -n 4 make a.o; nice -n 3 nice -n 4 make",
    "one is nice": "nice gcc -c a.c -o a.o; make",
    "ignored signals": "trap '' HUP INT PIPE TERM USR1; make",
    "umask": "umask 027; make",
}


@pytest.mark.parametrize("name", IN_A_SCRIPT)
def test_p1_what_can_be_handed_on_makes_jobs(space: Space, name: str) -> None:
    space.fake("gcc", GCC)
    ended = space.expect_same(BUILD, ["sh", "-c", IN_A_SCRIPT[name]], "--memo=off")
    assert ended.status == 0
    assert "Every command ran in parallel" in space.smpmake("why").out


def test_a_caller_of_smpmake_hands_on_what_it_is(space: Space) -> None:
    """Its workers are what its driver is."""
    for caller in (["nice"], ["taskset", "1"], ["setpriv", "--no-new-privs"], ["unshare", "-n"]):
        if shutil.which(caller[0]) is None or space.run(*caller, "true").status != 0:
            continue
        space.clear()
        space.write(BUILD)
        space.ok(*caller, SMPMAKE, "make")
        assert "Every command ran in parallel" in space.smpmake("why").out


# ------------------------------------------------------------------ descriptors

#: What a build may have open: nothing of it matters to commands that do not name it.
OPEN = {
    "a log": "exec 3> log 9< a.c; {}",
    "a pipe": "true | {{ {}; }}",
    "a file": "{{ {}; }} < a.c",
    "nothing": "{{ {}; }} < /dev/null",
    "no input": "{{ {}; }} <&-",
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_open_and_not_named_is_no_matter(space: Space, name: str) -> None:
    for make in ("make", "make -j2"):
        script = OPEN[name].format(make)
        space.clear()
        ended = space.expect_same(BUILD, ["sh", "-c", script])
        assert "4 in parallel, 0 in place" in ended.err, script


def test_a_terminal_as_standard_input_is_no_matter(space: Space) -> None:
    space.write(BUILD)
    terminal = Terminal(space, SMPMAKE, "make")
    assert terminal.finish() == 0
    assert "Every command ran in parallel" in space.smpmake("why").out


def test_below_a_make_with_a_job_server_there_are_as_many_jobs(space: Space) -> None:
    space.write({**BUILD, "outer.mk": f"all:\n\t+{SMPMAKE} make -f Makefile\n"})
    ended = space.ok("make", "-j3", "-f", "outer.mk")
    assert "4 in parallel, 0 in place" in ended.err


NAMED = {
    "a source": "gcc -x c -c /dev/fd/3 -o a.o 3< a.c",
    "a source, by /proc": "gcc -x c -c /proc/self/fd/3 -o a.o 3< a.c",
    "an output": "gcc -x c -c a.c -o /dev/fd/3 3<> a.o",
    "an included file": "gcc -include /proc/self/fd/4 -c c.c -o a.o 4< b.c",
    "standard input": "gcc -x c -c - -o a.o < a.c",
    "standard input, by name": "gcc -x c -c /dev/stdin -o a.o < a.c",
    "standard output": "gcc -E a.c -o - > a.i",
    "a dependency file": "gcc -MD -MF /dev/fd/5 -c a.c -o a.o 5> a.d",
}


@pytest.mark.parametrize("name", NAMED)
def test_p1_what_is_named_is_the_callers(space: Space, name: str) -> None:
    space.expect_same(BUILD, ["sh", "-c", f": > a.o; {NAMED[name]}; exec 3>&-; cat a.c > b.c"])
