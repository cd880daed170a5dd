"""An engine on this very computer: real workers, the real disk, the loop's clock."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from smpmake import folders, native
from smpmake.capacity.memory import reserve_of
from smpmake.capacity.pressure import Pressure
from smpmake.capacity.tokens import Tokens
from smpmake.commands.reading.makes import options_of
from smpmake.config import Settings
from smpmake.decide.procfs import Processes
from smpmake.disk.disk import Disk
from smpmake.engine.computer import Chaos, Computer, LoopClock
from smpmake.engine.elsewhere import Elsewhere, Here, Nowhere
from smpmake.engine.engine import Engine
from smpmake.engine.pool import OnLost, OnResult, Pool
from smpmake.errors import SmpmakeError
from smpmake.guard.proofs import Proofs
from smpmake.guard.scoreboard import Scoreboard
from smpmake.schedule.classes import classes_of
from smpmake.undo.journal import UndoJournal

log = logging.getLogger("smpmake")

_LOAD: Final = re.compile(r"(?:-l|--load-average=|--max-load=)(\d+(?:\.\d+)?)")
_AT_ONCE: Final = 8  # workers that are started before there is anything to do


class EngineError(SmpmakeError):
    """No engine can be had: no worker can be started."""


def create_engine(
    settings: Settings,
    folder: Path,
    journal: UndoJournal,
    board: Scoreboard,
    slots: int,
    *,
    alive: int,
    keeper: int,
    tokens: Tokens | None = None,
) -> Engine:
    """An engine with its first workers started.

    alive   a descriptor that is open as long as one of the workers lives.
    keeper  the process that looks after the driver, or after us: a child, but no stray.
    tokens  who else has a say in how many slots may be used.

    Raises ClusterError, EngineError or NativeMissingError; nothing is left then, and the board is
    the caller's.
    """

    def hire(on_result: OnResult, on_lost: OnLost) -> Pool:
        pool = Pool(on_result, on_lost, slots, alive=alive)
        held.callback(pool.close)
        pool.keepers.add(keeper)
        pool.start(min(slots, _AT_ONCE))
        return pool

    with contextlib.ExitStack() as held:
        disk = Disk(folder)
        held.callback(disk.let_go)
        computer = Computer(disk, journal, LoopClock(), Processes(), Chaos(settings.chaos))
        try:
            engine = Engine(
                computer,
                board,
                hire,
                slots,
                reserve=reserve_of(settings),
                pressure=Pressure(settings.pressure, _load(settings.load_average)),
                classes=classes_of(settings.slots),
                tokens=tokens,
                elsewhere=_elsewhere(settings, folder),
                proofs=_proofs(),
            )
        except OSError as error:
            raise EngineError(f"no worker can be started: {error.strerror}") from None
        held.pop_all()
    return engine


def _load(named: str) -> float | None:
    """How many processes may run when a job begins: as the user says, or the make that has called
    us; None for any number."""
    words = options_of(os.environ.get("MAKEFLAGS", ""))
    told = [match[1] for match in map(_LOAD.fullmatch, words) if match is not None]
    found = [named] if named else told
    return float(found[-1]) if found else None


def _proofs() -> Proofs:
    """Which programs earlier builds have seen with a guard."""
    try:
        return Proofs(native.guard(), folders.cache() / "guarded-programs")
    except folders.NoHomeError:
        return Proofs(native.guard(), None)


def _elsewhere(settings: Settings, folder: Path) -> Callable[[Here], Elsewhere]:
    """The other machines that compile; without them all is done here, with a word about it."""
    if settings.engine == "local":
        return Nowhere
    from smpmake.cluster.cluster import FOLDER, Cluster
    from smpmake.cluster.discovery import discover
    from smpmake.cluster.distribution import Distribution

    found = discover(settings.engine, os.environ.get("PATH", os.defpath), settings.guard)
    if found is None:
        return Nowhere

    def distribute(here: Here) -> Elsewhere:
        try:
            cluster = Cluster(
                *(found.client, found.hosts, settings.remote, folder / FOLDER),
                *(here.wake, here.say),
            )
        except OSError as error:
            log.warning("%s cannot be watched: %s", found.client.name, error.strerror)
            return Nowhere(here)
        return Distribution(cluster, here)

    return distribute
