"""icecream: how many compiles its scheduler has room for, and how one is handed to it.

Which machine has it is for the scheduler to say, so all of them are one host here.  The client's
log tells how far a compile is, and who has it; it compiles here by itself where nobody is free.
https://github.com/icecc/icecream/blob/master/README.md
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
from pathlib import Path
from typing import Final

from smpmake.cluster.farm import TEMPORARY, ClusterError, Host

_PATIENCE: Final = 3.0  # s for the scheduler's answer
_LATER: Final = 1.0  # the same, when there has been one: a session's end may wait for it
_TELNET: Final = 8766  # its port for people: --port and one more
_HOST: Final = re.compile(
    r"^ (?P<name>\S+) \((?P<address>[^)]*):(?P<port>\d+)\) .*\bjobs=(?P<busy>\d+)/(?P<most>\d+)",
    re.MULTILINE,
)
_END: Final = b"200 done"
_LOG: Final = "log"
#: In the client's log (client/remote.cpp, client/main.cpp of 1.4): the source has gone; it is done
#: here; who has it.  The log is written out with lines of that kind, not with those of its blocks.
_SENT: Final = re.compile(rb": sent \d+ bytes")
_HERE: Final = (b"building myself", b"local build forced", b"building_local")
_THERE: Final = re.compile(rb"Have to use host (\S+)")
_CONFIGURATION: Final = "/etc/icecc/icecc.conf"


class Icecream:
    """The program at `path`; `scheduler` is where its machines are asked for, "" for nowhere."""

    name = "icecream"
    comes_back = True
    litter = "/tmp/.icecream-"  # its locks, whatever TMPDIR says

    def __init__(self, path: str, scheduler: str) -> None:
        self.path = path
        self._scheduler = scheduler

    @property
    def changes(self) -> bool:
        """See Client."""
        return bool(self._scheduler)

    def slots(self, host: Host) -> int | None:
        """See Client."""
        del host
        with contextlib.suppress(OSError):
            return slots_of(ask(self._scheduler, _LATER), socket.gethostname())
        return None

    def words(self, argv: tuple[str, ...], real: str) -> tuple[str, ...]:
        """See Client."""
        del real
        return ("icecc", *argv)

    def prefix(self, folder: Path) -> str:
        """See Client."""
        del folder
        return self.path

    def environment(self, host: Host, folder: Path) -> dict[str, str]:
        """See Client.  What is printed there is wanted as it is: we run that again ourselves."""
        del host
        return {
            "ICECC_DEBUG": "debug",
            "ICECC_LOGFILE": str(folder / "state" / _LOG),
            "ICECC_CARET_WORKAROUND": "0",
            "TMPDIR": str(folder / TEMPORARY),
        }

    def prepare(self, folder: Path) -> Path:
        """See Client."""
        state = folder / "state"
        state.mkdir(parents=True, exist_ok=True)
        (folder / TEMPORARY).mkdir(exist_ok=True)
        (state / _LOG).unlink(missing_ok=True)
        return state

    def is_sent(self, folder: Path) -> bool | None:
        """See Client."""
        log = _read(folder)
        if any(said in log for said in _HERE):
            return False
        return True if _SENT.search(log) else None

    def host_of(self, folder: Path) -> str:
        """See Client."""
        found = _THERE.findall(_read(folder))
        return os.fsdecode(found[-1]) if found else ""

    def was_called(self, folder: Path) -> bool:
        """See Client."""
        return bool(_THERE.search(_read(folder)))

    def fault(self, said: str) -> str:
        """See Client."""
        return said.strip().rpartition("\n")[2]

    def blames_host(self, status: int) -> bool:
        """See Client.  It tries another machine, or this one, by itself."""
        del status
        return False


def _read(folder: Path) -> bytes:
    with contextlib.suppress(OSError):
        return (folder / "state" / _LOG).read_bytes()
    return b""


def find(environment_path: str) -> str | None:
    """Its program on a PATH, or None."""
    return shutil.which("icecc", path=environment_path)


def scheduler_of(configuration: str = _CONFIGURATION) -> str:
    """The scheduler's machine, as its daemon is told (the variable, Debian's file); or this one."""
    said = os.environ.get("ICECC_SCHEDULER") or os.environ.get("USE_SCHEDULER")
    if not said:
        with contextlib.suppress(OSError):
            text = Path(configuration).read_text(errors="replace")
            found = re.findall(r'^\s*ICECC_SCHEDULER_HOST="?([^"\s]+)"?\s*$', text, re.MULTILINE)
            said = found[-1] if found else ""
    return said or "127.0.0.1"


def ask(scheduler: str, patience: float = _PATIENCE) -> str:
    """What the scheduler says of its machines (`listcs`).

    scheduler  a machine's name, perhaps with the scheduler's port.
    patience   seconds for each word of it.  Raises OSError.
    """
    name, _, port = scheduler.partition(":")
    address = (name, int(port) + 1 if port.isdecimal() else _TELNET)
    said = b""
    with socket.create_connection(address, patience) as line:
        line.settimeout(patience)
        line.sendall(b"listcs\n")
        while _END not in said:
            more = line.recv(1 << 16)
            if not more:
                break
            said += more
    return said.decode(errors="replace")


def slots_of(said: str, this_machine: str) -> int:
    """How many compiles its other machines take at once.

    Port 0: a machine that takes none from others.
    """
    return sum(
        int(found["most"])
        for found in _HOST.finditer(said)
        if found["port"] != "0" and found["name"] != this_machine
    )


def hosts(scheduler: str) -> tuple[Host, ...]:
    """All its machines as one host.  Raises ClusterError where the scheduler does not answer."""
    try:
        slots = slots_of(ask(scheduler), socket.gethostname())
    except OSError as error:
        raise ClusterError(
            f"icecream's scheduler at {scheduler} does not answer ({error}): name its machine in "
            "ICECC_SCHEDULER, or leave out --engine=icecream"
        ) from None
    return (Host("icecream", scheduler, slots),) if slots else ()
