"""`smpmake doctor`: what smpmake sees of this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click

_PROBE_MS = 200


@click.command()
@click.option("--no-probe", is_flag=True, help="Leave out the CPU probe (a second or two).")
def doctor(no_probe: bool) -> int:
    """Show tools, CPUs and server, and probe what the CPUs give together."""
    from smpmake import cpus, native
    from smpmake.commands import families
    from smpmake.config import load
    from smpmake.server import shims

    families.learn(load(Path.cwd()).tools)
    usable = cpus.usable()
    click.echo(f"CPUs      {usable.count} usable ({usable.explanation})")
    for name in ("shim", "worker", "keeper"):
        click.echo(f"{name:9} {native.program(name)}")
    click.echo(f"server    {_server()}")
    found = shims.find_tools(os.environ.get("PATH", os.defpath))
    click.echo(f"tools     {len(found)} known tools on PATH" + (":" if found else ""))
    for tool in found:
        click.echo(f"  {tool.name:28} {describe(tool.path)}")
    if not any(families.is_compiler(tool.name) for tool in found):
        click.echo("warning   no C compiler on PATH: nothing would be deferred", err=True)
    if not no_probe:
        click.echo(
            f"probe     work done by n at a time, in units of one alone ({_PROBE_MS} ms each)"
        )
        click.echo(f"  {'n':>4} {'ideal':>7} {'in cache':>9} {'in memory':>10}")
        for row in probe(usable.count):
            click.echo(f"  {row[0]:4} {row[0]:7.2f} {row[1]:9.2f} {row[2]:10.2f}")
    return 0


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


def _server() -> str:
    from smpmake.protocol.client import Client, ServerGoneError

    path = os.environ.get("SMPMAKE_SOCKET")
    if not path:
        return "none in this shell (smpmake make brings its own; smpmake serve for a lasting one)"
    try:
        Client(path).close()
    except ServerGoneError as error:
        return str(error)
    return f"answers at {path}"


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
