"""Which engine compiles elsewhere, and for whom: what the user has said, and what is there."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
from typing import NamedTuple

from smpmake.cluster import distcc, icecream
from smpmake.cluster.farm import Client, ClusterError, Host
from smpmake.disk.elf import takes_guard


class Found(NamedTuple):
    """An engine that can be used."""

    client: Client
    hosts: tuple[Host, ...]


@functools.lru_cache(4)
def discover(engine: str, path: str, guard: bool = True) -> Found | None:
    """The engine of that name (smpmake.options); None for this machine alone.

    path   a PATH, on which its program is looked for.
    guard  whether the build's processes have one, by which it is known what a compile reads.

    "auto" is the first that is installed and has hosts that are no names for this machine.
    Raises ClusterError where another one cannot be used.
    """
    if not guard and engine != "local":
        if engine == "auto":
            return None
        raise ClusterError(
            "without the guard nobody knows what a compile has read, and whether a host can know "
            f"it too: leave out --no-guard, or --engine={engine}"
        )
    if engine == "distcc":
        return _distcc(path)
    if engine == "icecream":
        return _icecream(path)
    if engine == "auto":
        with contextlib.suppress(ClusterError):
            found = _distcc(path)
            others = tuple(host for host in found.hosts if not _is_this_machine(host))
            if others:
                return found._replace(hosts=others)
        with contextlib.suppress(ClusterError):
            return _icecream(path)
    return None


def _distcc(path: str) -> Found:
    program = _able("distcc", distcc.find(path), "distcc")
    hosts = distcc.hosts(program)
    if not hosts:
        raise ClusterError(
            "distcc has no host besides this machine: name some in DISTCC_HOSTS or in "
            "~/.distcc/hosts, or leave out --engine=distcc"
        )
    return Found(distcc.Distcc(program), hosts)


def _icecream(path: str) -> Found:
    program = _able("icecream", icecream.find(path), "icecc")
    scheduler = icecream.scheduler_of()
    hosts = icecream.hosts(scheduler)
    if not hosts:
        raise ClusterError(
            f"icecream's scheduler at {scheduler} knows no machine besides this one: start iceccd "
            "on some, or leave out --engine=icecream"
        )
    return Found(icecream.Icecream(program, scheduler), hosts)


def _able(engine: str, program: str | None, name: str) -> str:
    """An engine's program, if it can be used.  Raises ClusterError."""
    if program is None:
        raise ClusterError(f"{name} is not on PATH: install it, or leave out --engine={engine}")
    if not takes_guard(program):
        raise ClusterError(
            f"{program} is linked statically, so nobody could see what it reads too early: "
            f"install one that is not, or leave out --engine={engine}"
        )
    return program


def _is_this_machine(host: Host) -> bool:
    """Whether it is one by its address; Debian's distcc comes with 127.0.0.1 as its only host."""
    name = host.name[1:].partition("]")[0] if host.name.startswith("[") else host.name
    try:
        return ipaddress.ip_address(name.rpartition(":")[0] or name).is_loopback
    except ValueError:
        return False
