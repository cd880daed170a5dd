"""`smpmake doctor`: whether smpmake works here, and what it sees of this machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from smpmake.console import show
from smpmake.units import size

if TYPE_CHECKING:
    from smpmake.cluster.discovery import Found
    from smpmake.cluster.farm import Host
    from smpmake.config import Settings
    from smpmake.cpus import Usable
    from smpmake.server.shims import Tool

_PROBE_MS: Final = 200
_COMPILERS: Final = 8
_PATIENCE: Final = 10.0  # s for a compiler to say its version


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Also show every tool, and measure the CPUs.")
@click.option(
    "--no-probe",
    is_flag=True,
    help="With -v, do not measure the CPUs, which takes a second or two.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def doctor(verbose: bool, no_probe: bool, as_json: bool) -> int:
    """Say whether smpmake works here, and what it sees of this machine.

    To find out, smpmake builds one file in a folder of its own.  The status is 0 if that works,
    else 1.
    """
    from smpmake import cpus, native
    from smpmake.commands import families
    from smpmake.config import Settings, load
    from smpmake.errors import SmpmakeError
    from smpmake.server import shims

    faults = []
    settings = Settings()
    try:
        settings = load(Path.cwd())
        families.learn(settings.tools)
    except SmpmakeError as error:
        faults.append(str(error))
    tools = shims.find_tools(os.environ.get("PATH", os.defpath))
    compilers = [tool for tool in tools if families.is_compiler(tool.name)]
    with tempfile.TemporaryDirectory(prefix="smpmake-doctor-", ignore_cleanup_errors=True) as place:
        guard = _guard(compilers, Path(place), settings)
        if not guard.startswith("works"):
            faults.append(f"guard: {guard}")
        versions = list(_versions(compilers, place))
    engine, hosts = _engine(settings, compilers)
    seen = _Seen(
        faults=faults,
        guard=guard,
        fallbacks=native.fallbacks(),
        compilers=versions,
        cpus=cpus.usable(),
        sessions=_sessions(),
        engine=engine,
        hosts=hosts,
        settings=settings.sources,
        cache=_cache(),
        history=_history(),
        server=_server(),
        system=_system(),
        tools=tools,
    )
    if as_json:
        click.echo(json.dumps(_document(seen), indent=1))
    else:
        _show(seen)
        if verbose:
            _details(tools, None if no_probe else seen.cpus.count)
        else:
            show(f"tools     {len(tools)} known tools on PATH (smpmake doctor -v shows them)")
    return 1 if faults else 0


class _Seen(NamedTuple):
    """What there is to tell."""

    faults: list[str]
    guard: str
    fallbacks: list[str]
    compilers: list[_Compiler]
    cpus: Usable
    sessions: str
    engine: str
    hosts: list[str]
    settings: tuple[str, ...]
    cache: str
    history: str
    server: str
    system: str
    tools: list[Tool]


class _Compiler(NamedTuple):
    """A compiler that has a file of its own, by all its names."""

    names: list[str]
    path: str
    version: str


def _show(seen: _Seen) -> None:
    """For a person."""
    from smpmake import __version__

    show(f"smpmake {__version__} {_verdict(seen.faults, seen.cpus.count)}")
    show(f"guard     {seen.guard}")
    for fallback in seen.fallbacks:
        show(f"built     {fallback}")
    for number, compiler in enumerate(seen.compilers[:_COMPILERS]):
        label = "" if number else "compilers"
        show(f"{label:9} {', '.join(compiler.names[:3])}: {compiler.version}")
    if len(seen.compilers) > _COMPILERS:
        show(f"{'':9} … and {len(seen.compilers) - _COMPILERS} more")
    show(f"CPUs      {seen.cpus.count} usable ({seen.cpus.explanation})")
    show(f"sessions  {seen.sessions}")
    show(f"engine    {seen.engine}")
    for number, host in enumerate(seen.hosts):
        show(f"{'' if number else 'hosts':9} {host}")
    show(f"settings  {', '.join(seen.settings) or 'no file: all is as it comes'}")
    show(f"cache     {seen.cache}")
    show(f"history   {seen.history}")
    show(f"server    {seen.server}")
    show(f"system    {seen.system}")


def _document(seen: _Seen) -> dict[str, Any]:
    """For programs."""
    from smpmake import __version__, native

    return {
        "format": "smpmake-doctor",
        "version": 1,
        "smpmake": __version__,
        "build": native.build_id(),
        "works": not seen.faults,
        "faults": seen.faults,
        "guard": seen.guard,
        "fallbacks": seen.fallbacks,
        "compilers": [compiler._asdict() for compiler in seen.compilers],
        "cpus": {
            "usable": seen.cpus.count,
            "online": seen.cpus.online,
            "affinity": seen.cpus.affinity,
            "quota": seen.cpus.quota,
        },
        "sessions": seen.sessions,
        "engine": seen.engine,
        "hosts": seen.hosts,
        "settings": list(seen.settings),
        "cache": seen.cache,
        "history": seen.history,
        "server": seen.server,
        "system": seen.system,
        "tools": [{"name": tool.name, "path": tool.path} for tool in seen.tools],
    }


def _engine(settings: Settings, compilers: list[Tool]) -> tuple[str, list[str]]:
    """Who compiles, by the settings, or who could; and for each host what came of one file."""
    from smpmake.cluster.discovery import discover
    from smpmake.cluster.farm import ClusterError

    engine = os.environ.get("SMPMAKE_ENGINE") or settings.engine
    wanted = engine if engine != "local" else "auto"
    try:
        found = discover(wanted, os.environ.get("PATH", os.defpath))
    except ClusterError as error:
        return f"{engine} cannot be used: {error}", []
    if found is None:
        return "local: this machine", []
    slots = sum(host.slots for host in found.hosts)
    shown = ", ".join(f"{host.name} ({host.slots})" for host in found.hosts)
    there = f"{found.client.name}, {slots} compiles at once on {shown}"
    said = there if engine != "local" else f"local; --engine=auto would be {there}"
    return said, _tried(found, compilers)


def _tried(found: Found, compilers: list[Tool]) -> list[str]:
    """Whether each host makes what this machine makes of one file, with the usual compiler."""
    import asyncio

    from smpmake.cluster.canary import Canaries
    from smpmake.cluster.compilers import compiler_of, is_program

    names = {tool.name: tool.path for tool in compilers}
    name = min(names, key=lambda each: (len(each), each), default="")
    if not name:
        return []
    if not is_program(names[name]):
        return [f"not tried: {names[name]} is a script, and hosts have the compiler without it"]
    compiler = compiler_of(name, names[name], os.environ.get("PATH", os.defpath))

    async def fault(canaries: Canaries, host: Host, number: int) -> str:
        try:
            return await asyncio.wait_for(canaries.fault(host, compiler, number), _PATIENCE)
        except TimeoutError:
            return f"no answer within {_PATIENCE:.0f} s"

    async def faults(folder: Path) -> list[str]:
        canaries = Canaries(found.client, folder)
        asked = (fault(canaries, host, number) for number, host in enumerate(found.hosts))
        return await asyncio.gather(*asked)

    with tempfile.TemporaryDirectory(prefix="smpmake-doctor-", ignore_cleanup_errors=True) as place:
        told = asyncio.run(faults(Path(place)))
    return [
        f"{host.name}: nothing that {name} compiles is sent there: {wrong}"
        if wrong
        else f"{host.name}: works, it makes what {name} makes here"
        for host, wrong in zip(found.hosts, told, strict=True)
    ]


def _verdict(faults: list[str], count: int) -> str:
    if faults:
        return f"does not work here as it should: {'; '.join(faults)}"
    several = f"builds run on {count} CPUs" if count > 1 else "but there is only one CPU to use"
    return f"works here; {several}"


def _guard(compilers: list[Tool], folder: Path, settings: Settings) -> str:
    """Whether it does what it is for: "works", or what is wrong."""
    from smpmake.cli import trial
    from smpmake.errors import SmpmakeError

    if not compilers:
        return "not tried: there is no C compiler on PATH (install one; or set PATH)"
    name = min((tool.name for tool in compilers), key=lambda name: (len(name), name))
    try:
        wrong = trial.fault(name, folder)
    except (SmpmakeError, OSError) as error:
        wrong = str(error)
    if wrong:
        return wrong
    off = "" if settings.guard else "; but your settings say guard = false"
    return f"works: a compile by {name} ran in parallel, and who read its object waited for it{off}"


def _versions(compilers: list[Tool], folder: str) -> Iterator[_Compiler]:
    """Each compiler that has a file of its own; the versions of the first few, which takes time."""
    from smpmake.commands import families

    names: dict[str, list[Tool]] = {}
    for tool in compilers:
        real = os.path.realpath(tool.path)
        key = tool.path if families.is_launcher(os.path.basename(real)) else real
        names.setdefault(key, []).append(tool)
    groups = sorted(names.values(), key=lambda group: min(len(tool.name) for tool in group))
    for number, group in enumerate(groups):
        group.sort(key=lambda tool: (len(tool.name), tool.name))
        path = group[0].path
        version = _version(path, folder) if number < _COMPILERS else ""
        yield _Compiler([tool.name for tool in group], path, version)


def _version(path: str, folder: str) -> str:
    from smpmake.session.host_info import version_of

    try:
        said = version_of(path, folder, _PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"its version is not known ({error})"
    return said or "its version is not known"


def _sessions() -> str:
    """Where builds have their sockets, and whether there is room."""
    import shutil

    from smpmake.server import rundir

    base = rundir.base()
    try:
        free = size(shutil.disk_usage(base).free)
    except OSError as error:
        return f"{base}: {error.strerror}"
    writable = "" if os.access(base, os.W_OK) else ", but it cannot be written to"
    return f"in {base}, {free} free{writable}"


def _cache() -> str:
    from smpmake import folders, private

    try:
        place = folders.cache()
        fault = private.fault_of(place, private.ANOTHER_CACHE)
    except folders.NoHomeError as error:
        fault = str(error)
    return f"cannot be used: {fault}" if fault else os.fspath(place)


def _history() -> str:
    from smpmake.errors import SmpmakeError
    from smpmake.history import History

    history = History()
    try:
        heads = history.heads(limit=1)
        return f"{history.path}, {f'up to build {heads[0].id}' if heads else 'with no build yet'}"
    except SmpmakeError as error:
        return str(error)


def _server() -> str:
    from smpmake import variables
    from smpmake.protocol.client import Client, ServerGoneError

    path = os.environ.get(variables.SOCKET)
    if not path:
        return "none in this shell (smpmake make brings its own; smpmake serve for a lasting one)"
    try:
        Client(path).close()
    except ServerGoneError as error:
        return str(error)
    return f"answers at {path}"


def _system() -> str:
    import sqlite3
    from importlib.metadata import version

    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or "no glibc"
    except (OSError, ValueError):
        libc = "no glibc"
    return (
        f"{platform.system()} {platform.release()} {platform.machine()}, {libc}, "
        f"Python {platform.python_version()}, click {version('click')}, "
        f"psutil {version('psutil')}, SQLite {sqlite3.sqlite_version}"
    )


def _details(tools: list[Tool], cpus: int | None) -> None:
    from smpmake import native
    from smpmake.errors import SmpmakeError

    for name in ("shim", "worker", "keeper"):
        try:
            show(f"{name:9} {native.program(name)}")
        except SmpmakeError as error:
            show(f"{name:9} {error}")
    show(f"tools     {len(tools)} known tools on PATH" + (":" if tools else ""))
    for tool in tools:
        show(f"  {tool.name:28} {describe(tool.path)}")
    if cpus is not None:
        show(f"probe     work done by n at a time, in units of one alone ({_PROBE_MS} ms each)")
        show(f"  {'n':>4} {'ideal':>7} {'in cache':>9} {'in memory':>10}")
        for row in probe(cpus):
            show(f"  {row[0]:4} {row[0]:7.2f} {row[1]:9.2f} {row[2]:10.2f}")


def describe(path: str) -> str:
    """A tool's path, what it links to, and whether it is a launcher's masquerade."""
    from smpmake.commands import families

    real = os.path.realpath(path)
    text = path if real == path else f"{path} -> {real}"
    launcher = os.path.basename(real)
    if families.is_launcher(launcher):
        behind = _behind(path)
        text += f" ({launcher} in front of {behind or 'nothing: no such tool on PATH'})"
    return text


def _behind(path: str) -> str | None:
    """The tool that a masquerade will run: the next of its name that is no launcher."""
    from smpmake.commands import families

    name = os.path.basename(path)
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        file = os.path.join(folder, name)
        real = os.path.basename(os.path.realpath(file))
        if os.access(file, os.X_OK) and not families.is_launcher(real):
            return file
    return None


def probe(count: int) -> list[tuple[int, float, float]]:
    """(n, cache-resident, memory-bound) work done by n at a time relative to one alone."""
    steps = [n for n in (1, 2, 3, 4, 6, 8) if n < count]
    while steps and steps[-1] * 2 < count and steps[-1] >= 8:
        steps.append(steps[-1] * 2)
    rows = [(n, _rate("cache", n), _rate("memory", n)) for n in [*steps, count]]
    return [(n, cache / rows[0][1], memory / rows[0][2]) for n, cache, memory in rows]


def _rate(kind: str, at_a_time: int) -> float:
    """Rounds per second of `at_a_time` probes together."""
    from smpmake import native

    command = [native.program("probe"), kind, str(_PROBE_MS)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(at_a_time)]
    return sum(float(process.communicate()[0].split()[0]) for process in running)
