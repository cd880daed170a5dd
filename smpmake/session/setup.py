"""What must be there before a driver of our own can start: folder, socket, scoreboard, journal.

A build waits for this module.
"""

# Annotations are no texts here: a NamedTuple would compile them, and the first takes 1 ms.
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from smpmake import cpus
from smpmake.commands.reading.makes import PARALLEL, names_jobserver
from smpmake.console import say
from smpmake.disk.elf import takes_guard
from smpmake.disk.shared import NoRoomError
from smpmake.guard.files import programs_of_system
from smpmake.guard.scoreboard import Scoreboard
from smpmake.server.rundir import FolderError, SessionFolder, open_listener
from smpmake.server.shim_cache import shims_for
from smpmake.session.driver_environment import driver_environment
from smpmake.undo.journal import UndoJournal

if TYPE_CHECKING:
    from smpmake.config import Settings
    from smpmake.session.jobserver import JobServer
    from smpmake.session.memo_remote import Remote

#: The one build's name that a server of its own has.
BUILD: Final = "main"


class SetupOptions(NamedTuple):
    """What settings say of a stage; the defaults are theirs.

    guard      whether the driver's processes get one.
    budget     bytes of older contents that may be kept; below 0: nothing is to be undone.
    described  what the names of tools match that the configuration has besides.
    output     whether the driver writes into a pipe (`SessionSetup.pipe` is its other end).
    memo       whether results are remembered (config.Settings), and how many bytes of them.
    remote     the address of a server that has some, if it is to be asked.
    pushes     whether it is to get some.
    ahead      whether checks of configure may run ahead of their script.
    """

    guard: bool = True
    budget: int = 1 << 30
    described: tuple[str, ...] = ()
    output: bool = False
    memo: str = "auto"
    memo_bytes: int = 5 << 30
    remote: str = ""
    pushes: bool = False
    ahead: bool = True


def setup_options(settings: "Settings") -> SetupOptions:
    """What they say of a stage."""
    described: tuple[str, ...] = ()
    if settings.tools:
        from smpmake.commands import families

        described = tuple(families.described())
    # Who names a server wants results at once, and on a machine that builds only one time.
    shares = settings.memo in ("auto", "on") and settings.memo_remote != "off"
    return SetupOptions(
        settings.guard,
        settings.undo,
        described,
        settings.output == "serial",
        "on" if shares else settings.memo,
        settings.memo_size << 20,
        settings.memo_remote if shares else "",
        settings.memo_push,
        settings.run_ahead and settings.guard and settings.jobs != 1,
    )


class SessionSetup:
    """A session's folder and what is in it; what the driver asks can wait a moment, in a queue.

    program    the driver's.
    doubt      why nothing can be undone, if so.
    jobserver  that of the make that has called us, if there is one for us; `alone` says if it
               should be.
    Raises SmpmakeError.
    """

    def __init__(self, program: str, terms: SetupOptions) -> None:
        self.folder = SessionFolder()
        self.path = path = self.folder.path
        self.listener = self.alive = self.alive_write = self.pipe = -1
        self.output: int | None = None
        self.doubt = self.alone = ""
        self._remembers = terms.memo != "off"
        self._memo_bytes = terms.memo_bytes
        self._remote: Remote | None = None
        self.jobserver: JobServer | None = None
        self._board: Scoreboard | None = None
        self.journal: UndoJournal | None = None
        try:
            self.shims = shims_for(os.environ.get("PATH", os.defpath), path, terms.described)
            try:
                self.listener = open_listener(self.folder.socket)
                self.journal = UndoJournal(path)
                self._board = Scoreboard(path / "board")
                self._board.set_initial_dirs(programs_of_system(os.environ.get("PATH", os.defpath)))
                self.alive, self.alive_write = os.pipe2(os.O_CLOEXEC)
                if terms.output:
                    self.pipe, self.output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
                    os.set_blocking(self.output, True)
            except OSError as error:
                raise FolderError(f"{path} cannot be used: {error.strerror}") from None
            if names_jobserver(os.environ):
                self._find_jobserver()
            if terms.guard and terms.budget >= 0 and takes_guard(program):
                try:  # from now on all that the build changes can be undone
                    self.journal.begin(os.getcwd(), terms.budget)
                    self._board.keep_journal()
                except OSError as error:
                    self.doubt = f"what follows a failure could not be undone: {error}"
            self.environment = driver_environment(
                self.shims,
                self.folder.socket,
                path / "board",
                BUILD,
                guarded=program if terms.guard else "",
            )
            if terms.memo != "off":
                from smpmake.session import memo

                # One of the CPUs is the script's.
                count = cpus.usable().count if terms.ahead and terms.memo != "check" else 1
                self.environment.update(
                    memo.prepare(terms.memo, path, terms.memo_bytes, ahead=count)
                )
                if terms.remote:
                    self._remote = memo.begin_remote(terms.remote, path, pushes=terms.pushes)
            # A ninja runs several commands at once whatever we say; it is to ask for each.
            if self.jobserver is not None and os.path.basename(program) not in PARALLEL:
                from smpmake.commands.reading.makes import without_jobs

                self.environment.pop("CARGO_MAKEFLAGS", None)
                if "MAKEFLAGS" in self.environment:
                    self.environment["MAKEFLAGS"] = without_jobs(self.environment["MAKEFLAGS"])
        except BaseException:
            self.close()
            raise

    def _find_jobserver(self) -> None:
        from smpmake.session.jobserver import NotPassedError, of_caller

        try:
            self.jobserver = of_caller(os.environ, self.path)
        except (NotPassedError, NoRoomError):
            self.alone = (
                "the make above has a job server, but not for its recipe that runs smpmake: their "
                "jobs are counted apart (a + before the recipe's line passes it on)"
                if "--jobserver-" in os.environ.get("MAKEFLAGS", "")
                else "cargo's job server is not there for smpmake: their jobs are counted apart"
            )

    def take_board(self) -> Scoreboard:
        """Whoever takes it closes it."""
        assert self._board is not None
        board, self._board = self._board, None
        return board

    def take_listener(self) -> int:
        """The same of the descriptor that listens."""
        listener, self.listener = self.listener, -1
        return listener

    def take_pipe(self) -> int:
        """And of that by which the driver's output is read."""
        pipe, self.pipe = self.pipe, -1
        return pipe

    def close(self, *, to_keeper: bool = False) -> None:
        """Gives back what nobody has taken, and removes the folder; once.

        to_keeper  the folder stays, and is the driver's keeper's, which undoes by what is in it.
        """
        if self._board is not None:
            self._board.close()
        if self.journal is not None:
            self.journal.close(to_keeper=to_keeper)
        if self.jobserver is not None:
            self.jobserver.close()
        if self._remembers:
            from smpmake.session import memo

            memo.end_ahead(self.path)
            exchanged = self._remote.close() if self._remote is not None else None
            memo.settle(self.path, self._memo_bytes, exchanged)
        for notice in self._remote.notices() if self._remote is not None else ():
            say(notice)
        if to_keeper:
            self.folder.leave()
        else:
            self.folder.remove()
        for fd in (self.listener, self.alive, self.alive_write, self.pipe, self.output):
            if fd is not None and fd >= 0:
                os.close(fd)
