"""Which engine compiles elsewhere, and for whom: what the user has said, and what is there."""

from __future__ import annotations

import functools
import ipaddress
from typing import NamedTuple

from smpmake.cluster import distcc
from smpmake.cluster.client import Client, ClusterError, Host
from smpmake.disk.elf import takes_guard


class Found(NamedTuple):
    """An engine that can be used."""

    client: Client
    hosts: tuple[Host, ...]


@functools.lru_cache(4)
def discover(engine: str, path: str) -> Found | None:
    """The engine of that name (config.ENGINES); None for this machine alone.

    path  a PATH, on which its program is looked for.

    "auto" is distcc where that is installed and has hosts that are no names for this machine.
    Raises ClusterError where another one cannot be used.
    """
    if engine == "local":
        return None
    program = distcc.find(path)
    if program is None:
        if engine == "auto":
            return None
        raise ClusterError("distcc is not on PATH: install it, or leave out --engine=distcc")
    try:
        hosts = distcc.hosts(program)
    except ClusterError:
        if engine == "auto":
            return None
        raise
    if engine == "auto":
        hosts = tuple(host for host in hosts if not _is_this_machine(host))
        return Found(distcc.Distcc(program), hosts) if hosts and takes_guard(program) else None
    if not hosts:
        raise ClusterError(
            "distcc has no host besides this machine: name some in DISTCC_HOSTS or in "
            "~/.distcc/hosts, or leave out --engine=distcc"
        )
    if not takes_guard(program):
        raise ClusterError(
            f"{program} is linked statically, so nobody could see what it reads too early: "
            "install one that is not, or leave out --engine=distcc"
        )
    return Found(distcc.Distcc(program), hosts)


def _is_this_machine(host: Host) -> bool:
    """Whether it is one by its address; Debian's distcc comes with 127.0.0.1 as its only host."""
    name = host.name[1:].partition("]")[0] if host.name.startswith("[") else host.name
    try:
        return ipaddress.ip_address(name.rpartition(":")[0] or name).is_loopback
    except ValueError:
        return False
