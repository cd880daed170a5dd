"""A guarded process for which something becomes pending while it stands still."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from smpmake import native
from smpmake.guard import traces
from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.traces import Traces
from smpmake.undo.journal import now_ns
from tests.support.guarded import Answering, output

#: Its begin, in Python; `name` is a name of its `text`, which it has open as 5 and as its input.
USER = """
import os, shutil, sys
os.dup2(os.open("text", os.O_RDONLY), 5)
os.dup2(5, 0)
print("ready", flush=True)
open("go").close()
name = sys.argv[1].format(pid=os.getpid())
"""


class Waiting:
    """A process in the folder `work`, where `text` is pending from when it goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("session", "work"):
            (folder / name).mkdir()
        (folder / "work" / "text").write_text("text\n")
        os.mkfifo(folder / "work" / "go")
        self.server = Answering(folder / "session" / "s")
        self.board = Scoreboard(folder / "session" / "board")
        self.traces = Traces(folder / "session")

    def run(self, name: str, code: str, *, job: bool = False) -> None:
        """Runs code that uses the file by a name; raises AssertionError where it fails."""
        more = {}
        if job:
            trace = self.traces.begin_trace(0, now_ns(), watched=True)
            more = {"_SMPMAKE_COMMAND": "8", "_SMPMAKE_TRACE": os.fsdecode(trace)}
        session = self.folder / "session"
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", USER + code, name],
            cwd=self.folder / "work",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "LD_PRELOAD": native.guard(),
                "_SMPMAKE_SOCKET": str(session / "s"),
                "_SMPMAKE_BOARD": str(session / "board"),
                "_SMPMAKE_GUARD": native.guard(),
                "_SMPMAKE_SHIMS": str(session),
                "_SMPMAKE_BUILD": "main",
                **more,
            },
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            self.board.publish_claims(3, output(self.folder / "work" / "text"))
            self.board.show_counts(1)
            (self.folder / "work" / "go").write_text("")
        assert process.returncode == 0

    def noted(self, name: str) -> list[str]:
        """The letters under which it is noted, in order."""
        path = str(self.folder / "work" / name)
        return [letter for letter, noted in self.notes() if noted == path]

    def notes(self) -> list[tuple[str, str]]:
        """All of them, as they stand there: letters and paths."""
        noted = bytes(self.traces._maps[0])[traces._HEAD :].split(b"\0")
        return [
            (chr(note[0]), os.path.normpath(os.fsdecode(note[1:])))
            for note in noted
            if note and note[:1] != b"-"
        ]

    def asked(self, kind: int) -> bool:
        """Whether somebody asked so about the file."""
        path = str(self.folder / "work" / "text")
        return (kind, path) in [(q.kind, os.path.normpath(q.path)) for q in self.server.asked]

    def kinds(self) -> set[int]:
        """What kinds of questions there were."""
        return {question.kind for question in self.server.asked}

    def close(self) -> None:
        self.traces.close()
        self.board.close()
        self.server.close()
