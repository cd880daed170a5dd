"""What is nobody's costs a job little to look for; and no less is seen."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from smpmake import native
from smpmake.guard.files import file_of, programs_of_system
from smpmake.guard.scoreboard import Scoreboard, file_hash, name_hash, output_check
from smpmake.guard.traces import MOST_INPUTS, Traces
from smpmake.protocol import layout
from smpmake.protocol.layout import ROLE_ANYWHERE, ROLE_KEPT, ROLE_OUTPUT, ROLE_STALE
from smpmake.undo.journal import now_ns
from tests.support.guarded import Answering, guarded, output

pytestmark = pytest.mark.slow

HOUR = 3600 * 10**9


class Job:
    """A job, issued an hour ago or in an hour, beside others of which the board tells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Answering(folder / "s")
        self.board = Scoreboard(folder / "board")
        self.board.show_counts(2)
        self._traces = Traces(folder)
        self._env: dict[str, str] = {}

    def begin(
        self,
        *,
        issued: int = HOUR,
        inputs: Sequence[int] = (),
        older: int | None = None,
    ) -> None:
        """older: when the newest earlier command was issued that has not ended, from now."""
        trace = self._traces.begin_trace(
            0,
            now_ns() + issued,
            older_ns=None if older is None else now_ns() + older,
            watched=True,
            inputs=inputs,
        )
        self._env = {"_SMPMAKE_COMMAND": "8", "_SMPMAKE_TRACE": os.fsdecode(trace)}

    def run(self, *argv: str, **more: str) -> str:
        return guarded(self.folder, *argv, **self._env, **more)

    def asked(self) -> set[str]:
        """Names of what was asked about below our folder."""
        paths = [question.path for question in self.server.asked]
        self.server.asked.clear()
        ours = f"{self.folder}/"
        return {path.removeprefix(ours) for path in paths if path.startswith(ours)}

    def read(self) -> set[str]:
        """Names of what it read below our folder, by its notes."""
        ours = f"{self.folder}/"
        return {path.removeprefix(ours) for path in self._traces.end_trace(0).reads if ours in path}

    def wrote(self, path: str) -> bool:
        """Whether it has noted that it writes there."""
        return path in self._traces.end_trace(0).writes

    def close(self) -> None:
        self._traces.close()
        self.board.close()
        self.server.close()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path)
    made.begin()
    yield made
    made.close()


def look_at(*names: str) -> tuple[str, ...]:
    """Opens each, and looks at each."""
    code = "import os, sys\nfor n in sys.argv[1:]:\n os.path.exists(n)\n"
    code += " try: open(n).close()\n except OSError: pass"
    return (sys.executable, "-I", "-c", code, *names)


NAMES = ("there", "none", "link", "dangling")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "there").touch()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "dangling").symlink_to("gone")
    return tmp_path


def test_what_is_nobodys_is_not_asked_about(job: Job, folder: Path) -> None:
    """But a link that leads nowhere: to what is pending, perhaps."""
    job.run(*look_at(*NAMES))
    assert job.asked() == {"dangling"}
    assert job.read() == {"there", "link"}


def test_a_name_of_what_is_to_be_replaced_is(job: Job, folder: Path) -> None:
    """By whatever name: here a link's."""
    file = file_of(str(folder / "there"))
    assert file is not None
    os.link(folder / "there", folder / "second")
    job.board.publish_claims(3, [(file_hash(*file), ROLE_STALE)])
    job.run(*look_at(*NAMES, "second"))
    assert job.asked() == {"there", "link", "second", "dangling"}


def test_what_the_job_itself_replaces_is_not(job: Job, folder: Path) -> None:
    file = file_of(str(folder / "there"))
    assert file is not None
    job.board.publish_claims(7, [(file_hash(*file), ROLE_STALE)])  # the job, by its number
    job.run(*look_at("there"))
    assert job.asked() == set()
    job.board.publish_claims(3, [(file_hash(*file), ROLE_STALE)])
    job.run(*look_at("there"))
    assert job.asked() == {"there"}


def test_a_link_to_what_was_changed_is(job: Job, folder: Path) -> None:
    job.board.publish_claims(3, [(name_hash(b"gone"), ROLE_KEPT)])
    job.board.publish_claims(3, [(name_hash(b"there"), ROLE_KEPT)])
    job.board.count_versions(1)
    job.run(*look_at("link"))
    assert job.asked() == {"link"}


def test_what_is_younger_than_the_job_is(job: Job, folder: Path) -> None:
    job.begin(issued=-HOUR)
    job.run(*look_at(*NAMES))
    assert job.asked() == {"there", "link", "dangling"}


@pytest.mark.parametrize("others", [0, 5, MOST_INPUTS - 1])
def test_what_the_job_has_said_that_it_reads_is_not(job: Job, folder: Path, others: int) -> None:
    """However young.  Where that is a link only its name has been said."""
    above = file_of(str(folder))
    assert above is not None
    names = [*(f"other{n}".encode() for n in range(others)), b"there"]
    job.begin(issued=-HOUR, inputs=[output_check(above, name) for name in names])
    job.run(*look_at(*NAMES))
    assert job.asked() == {"link", "dangling"}
    job.begin(issued=-HOUR, inputs=[output_check(above, b"link")])
    job.run(*look_at(*NAMES))
    assert job.asked() == {"there", "link", "dangling"}


def test_of_more_inputs_than_can_be_told_it_asks(job: Job, folder: Path) -> None:
    above = file_of(str(folder))
    assert above is not None
    names = [*(f"other{n}".encode() for n in range(MOST_INPUTS)), b"there"]
    job.begin(issued=-HOUR, inputs=[output_check(above, name) for name in names])
    job.run(*look_at("there"))
    assert job.asked() == {"there"}


@pytest.mark.parametrize("issued", [HOUR, -HOUR])
def test_a_pipe_is_opened_once(job: Job, folder: Path, issued: int) -> None:
    os.mkfifo(folder / "pipe")
    job.begin(issued=issued)
    writer = threading.Thread(target=(folder / "pipe").write_text, args=("said once",))
    writer.start()
    assert job.run("cat", "pipe") == "said once"
    writer.join()


def test_what_is_made_is_noted_before_it_is_there(job: Job, folder: Path) -> None:
    """Who lists the folder at that moment is not to take it for somebody else's."""
    os.mkfifo(folder / "pipe")
    code = "open('pipe', 'w').close()"  # waits for a reader
    writer = threading.Thread(target=job.run, args=(sys.executable, "-I", "-c", code))
    writer.start()
    end = time.monotonic() + 20
    while not job.wrote(f"{folder}/pipe") and time.monotonic() < end:
        pass
    was_noted = job.wrote(f"{folder}/pipe")
    (folder / "pipe").read_text()
    writer.join()
    assert was_noted


LOCKED = """
import errno, fcntl, os, subprocess, sys
book = os.open("there", os.O_RDWR)
fcntl.lockf(book, fcntl.LOCK_EX)
again = os.open("there", os.O_RDONLY)
test = "import fcntl; fcntl.lockf(open('there', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
sys.exit(subprocess.run([sys.executable, "-I", "-c", test], stderr=-3).returncode == 0)
"""


def test_a_look_gives_up_no_lock(job: Job, folder: Path) -> None:
    """As every close of a file does: it is young, and yet what it was."""
    job.begin(issued=-HOUR)
    job.run(sys.executable, "-I", "-c", LOCKED)


INTERRUPTED = """
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.05)
print(libc.open(b"pipe", 0), ctypes.get_errno())
"""


def test_a_signal_ends_an_opening(job: Job, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert job.run(sys.executable, "-I", "-c", INTERRUPTED) == f"-1 {errno.EINTR}\n"


MOVES = {
    "chdir": "os.chdir('sub')",
    "fchdir": "os.fchdir(os.open('sub', 0))",
    "a child that has moved": "subprocess.run(['cat', 'a'], cwd='sub')\nos.chdir('sub')",
    "syscall": "ctypes.CDLL(None).syscall(80, b'sub')",
    "its folder is moved": "os.chdir('sub')\nopen('a')\nos.rename('../sub', '../new')",
}


@pytest.mark.parametrize("way", MOVES)
def test_notes_follow_who_moves_about(job: Job, tmp_path: Path, way: str) -> None:
    if way == "syscall" and os.uname().machine != "x86_64":
        pytest.skip("the number of chdir(2) is this machine's")
    (tmp_path / "sub").mkdir()
    for name in ("first", "sub/a", "sub/last"):
        (tmp_path / name).touch()
    code = f"import ctypes, os, subprocess\nopen('first')\n{MOVES[way]}\nopen('last')"
    job.run(sys.executable, "-I", "-c", code)
    after = "new" if "moved" in way and "folder" in way else "sub"
    assert {"first", f"{after}/last"} <= job.read()
    assert "last" not in job.read()


def test_a_child_that_moves_leaves_its_parent_where_it_was(job: Job, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("first", "last", "sub/a"):
        (tmp_path / name).touch()
    code = "import subprocess\nopen('first')\nsubprocess.run(['cat', 'a'], cwd='sub')\nopen('last')"
    job.run(sys.executable, "-I", "-c", code)
    assert {"first", "sub/a", "last"} <= job.read()


@pytest.mark.parametrize(("name", "asks"), [("there.h", True), ("none.h", False)])
def test_what_is_not_there_is_removed_unasked(
    job: Job, folder: Path, name: str, asks: bool
) -> None:
    """By the driver, while a compile is pending that could read whatever is called so."""
    (folder / "there.h").touch()
    job.board.show_counts(1, undeclared_ns=now_ns() + HOUR)
    guarded(folder, "rm", "-f", name)
    assert job.asked() == ({name} if asks else set())


@pytest.mark.parametrize(("issued", "asks"), [(HOUR, True), (-HOUR, False)])
def test_a_folder_younger_than_any_compile_is_removed_unasked(
    job: Job, folder: Path, issued: int, asks: bool
) -> None:
    """By the driver; in one that a job removes later commands may have outputs."""
    job.board.show_counts(1, undeclared_ns=now_ns() + issued)
    (folder / "new").mkdir()
    guarded(folder, "rmdir", "new")
    assert job.asked() == ({"new"} if asks else set())
    (folder / "new").mkdir()
    job.begin(older=issued)
    job.run("rmdir", "new")
    assert job.asked() == {"new"}


@pytest.mark.parametrize(("older", "asks"), [(None, True), (HOUR, True), (0, False)])
def test_who_was_issued_after_a_job_is_nothing_to_it(
    job: Job, folder: Path, older: int | None, asks: bool
) -> None:
    """A change concerns commands that are older than the job, and younger than the file."""
    job.board.show_counts(2, undeclared_ns=now_ns() + 2 * HOUR)
    job.begin(older=older)
    pause = now_ns()
    while now_ns() == pause:  # the file is younger than the others
        pass
    (folder / "there").write_text("young")
    job.run("truncate", "-s", "1", "there")
    assert job.asked() == ({"there"} if asks else set())


def test_a_move_that_cannot_be_is_not_asked_about(job: Job, folder: Path) -> None:
    """mv(1) tries first whether there is something in the way."""
    (folder / "new").touch()
    job.board.show_counts(1, undeclared_ns=now_ns() + HOUR)
    guarded(folder, "mv", "new", "there")
    moves = [question for question in job.server.asked if question.kind == layout.ASK_MOVE]
    assert [question.other for question in moves] == [f"{folder}/there"]
    assert not (folder / "new").exists()
    job.asked()
    job.board.publish_claims(3, [(name_hash(b"new"), ROLE_OUTPUT | ROLE_ANYWHERE)])  # it is to come
    code = "import ctypes; ctypes.CDLL(None).renameat2(-100, b'new', -100, b'there', 1)"
    guarded(folder, sys.executable, "-I", "-c", code)
    assert "new" in job.asked()


def test_what_has_no_folder_yet_is_not_meant_in_one_that_stands(job: Job, folder: Path) -> None:
    """A program of the system's is not the one of its name that comes into a new folder."""
    for name in ("bin", "other"):
        (folder / name).mkdir()
        (folder / name / "mv").touch()
    standing = file_of(str(folder / "bin"))
    assert standing is not None
    job.board.publish_claims(3, [(name_hash(b"mv"), ROLE_OUTPUT | ROLE_KEPT | ROLE_ANYWHERE)])
    job.run(*look_at("bin/mv", "other/mv", "bin/none"))
    assert job.asked() == {"bin/mv", "other/mv"}
    job.board.set_initial_dirs([standing])
    job.run(*look_at("bin/mv", "other/mv", "new/mv"))
    assert job.asked() == {"other/mv", "new/mv"}
    job.board.names_alone(tell=True)
    job.run(*look_at("bin/mv"))
    assert job.asked() == {"bin/mv"}


def test_what_is_pending_in_a_folder_that_stands_is_seen(job: Job, folder: Path) -> None:
    (folder / "bin").mkdir()
    standing = file_of(str(folder / "bin"))
    assert standing is not None
    job.board.set_initial_dirs([standing])
    job.board.publish_claims(
        3, [(name_hash(b"mv"), ROLE_OUTPUT | ROLE_ANYWHERE), *output(folder / "bin" / "mv")]
    )
    job.run(*look_at("bin/mv", "bin/none"))
    assert job.asked() == {"bin/mv"}


def test_folders_of_the_systems_programs_stand(tmp_path: Path) -> None:
    system = file_of("/usr/bin")
    search = f"/usr/bin:{tmp_path}:bin::/usr/nowhere:/usr/../usr/bin"
    assert programs_of_system(search) == [system]


SEEN = """
import fcntl, os, sys
def tried(what, *args, **more):
    try: result = what(*args, **more)
    except OSError as error: return error.errno
    if type(result) is int:
        info, flags = os.fstat(result), fcntl.fcntl(result, fcntl.F_GETFL)
        return os.close(result), info.st_ino, info.st_mode, flags
    return tuple(result)[:6] if isinstance(result, os.stat_result) else result
folder = os.open(".", os.O_RDONLY)
for name in sys.argv[1:]:
    print(tried(os.stat, name), tried(os.lstat, name), tried(os.stat, name, dir_fd=folder))
    print(tried(os.lstat, name, dir_fd=folder), tried(os.access, name, os.R_OK))
    for more in (0, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_PATH, os.O_PATH | os.O_NOFOLLOW):
        print(tried(os.open, name, more), tried(os.open, name, more, dir_fd=folder))
"""


def test_looks_and_openings_are_as_without_a_guard(job: Job, folder: Path) -> None:
    """One system call does for most: files, folders, links to either, to nothing, to themselves."""
    (folder / "sub").mkdir()
    (folder / "to_sub").symlink_to("sub")
    (folder / "loop").symlink_to("loop")
    names = (*NAMES, "sub", "to_sub", "loop", "there/", "sub/", "to_sub/", "link/x", "to_sub/x")
    code = (sys.executable, "-I", "-c", SEEN, *names)
    for issued in (HOUR, -HOUR):  # with what is there before its issue, and without
        job.begin(issued=issued)
        plain = subprocess.run(code, cwd=folder, capture_output=True, text=True, check=True).stdout
        assert job.run(*code) == plain


LIAR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define TOLD(path) (strcmp(path, "none") == 0 ? "there" : path)
struct stat;
extern int stat(const char *path, struct stat *info);
extern int open(const char *path, int flags, ...);
int stat(const char *path, struct stat *info) { return REAL(stat)(TOLD(path), info); }
int open(const char *path, int flags, ...) { return REAL(open)(TOLD(path), flags, 0); }
"""

LOOKER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
int main(void)
{
	struct stat info;
	printf("%d ", stat("none", &info));
	printf("%d\n", open("none", O_RDONLY) < 0);
}
"""


WRONG = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	struct stat info;
	errno = 0;
	printf("%d %d\n", open("link", O_RDONLY), errno);
	printf("%d %d\n", stat("link", &info), errno);
	printf("%d %d\n", stat("there", (struct stat *)8), errno);
	printf("%d %d\n", access("none", 0xff), errno);
	printf("%d %d\n", fstatat(AT_FDCWD, "none", &info, 0x40000000), errno);
	printf("%d %d\n", open("none", O_RDONLY), errno);
}
"""


def test_what_is_wrong_is_as_without_a_guard(job: Job, folder: Path) -> None:
    (folder / "wrong.c").write_text(WRONG)
    subprocess.run(["gcc", "-w", "-o", "wrong", "wrong.c"], cwd=folder, check=True)
    plain = subprocess.run(["./wrong"], cwd=folder, capture_output=True, text=True, check=True)
    assert job.run("./wrong") == plain.stdout


@pytest.mark.parametrize(("other", "sees"), [("", "-1 1\n"), ("liar.so", "0 0\n")])
def test_another_preload_keeps_its_say(job: Job, folder: Path, other: str, sees: str) -> None:
    """As fakeroot and its like: what they make of a file is what the job finds."""
    (folder / "liar.c").write_text(LIAR)
    (folder / "looker.c").write_text(LOOKER)
    for words in (("-shared", "-fPIC", "-o", "liar.so", "liar.c"), ("-o", "looker", "looker.c")):
        subprocess.run(["gcc", "-w", *words], cwd=folder, check=True)
    preload = {"LD_PRELOAD": f"{native.guard()} {folder / other}"} if other else {}
    assert job.run("./looker", **preload) == sees
