"""Where a build runs: the computer, what smpmake was told, and the compilers that it called."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from typing import Final

from smpmake.commands import families
from smpmake.records import CommandRecord, Compiler, Surroundings

_MOST: Final = 8  # compilers of a build; cross builds have two or three
_PATIENCE: Final = 2.0  # s for one to say its version
_INFO: Final = 1 << 13  # bytes: of /proc/cpuinfo the first CPU; the whole is slow with many
#: As ARM and others call what x86 calls "model name".
_MODELS: Final = ("model name", "cpu model", "Hardware", "cpu")


def here(options: tuple[str, ...]) -> Surroundings:
    """This computer; `options` as Surroundings has them."""
    system = os.uname()
    return Surroundings(
        host=system.nodename,
        cpu=_cpu(),
        cpus=os.cpu_count() or 0,
        threads=_lines("/sys/devices/system/cpu/smt/active") == ["1"],
        kernel=f"{system.sysname} {system.release} {system.machine}",
        system=_assigned("/etc/os-release").get("PRETTY_NAME", ""),
        options=options,
    )


def with_compilers(
    place: Surroundings, commands: Iterable[CommandRecord], known: Iterable[Compiler] = ()
) -> Surroundings:
    """The same with the compilers that commands have called.

    known  compilers of earlier builds: one whose file is still the same is not asked again.
    """
    programs: dict[str, str] = {}
    for name, program in dict.fromkeys(map(_called, commands)):
        if families.tells_version(name) and (path := _file_of(name, program)):
            programs.setdefault(path, name)
    said = {(each.path, each.stamp): each.version for each in known}
    found = []
    for path, name in list(programs.items())[:_MOST]:
        stamp = _stamp(path)
        version = said.get((path, stamp)) if stamp else ""
        found.append(Compiler(name, path, _version(path) if version is None else version, stamp))
    return place._replace(compilers=tuple(found))


def _called(command: CommandRecord) -> tuple[str, str]:
    """A command's compiler: the name it was called by ("" where its file is not known), and its
    program ("" where a launcher looks for it on PATH)."""
    if not families.is_launcher(command.tool):
        return command.tool if command.program else "", command.program
    words = command.argv.split(b"\0")[1:2]
    return os.fsdecode(words[0]) if words else "", ""


def _file_of(name: str, program: str) -> str:
    """The file of a compiler; "" where that is not known."""
    real = os.path.realpath(program) if program else ""
    return real if real and not _is_launcher(real) else _on_path(name)


def _on_path(name: str) -> str:
    """The compiler that a launcher would find; "" for none."""
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        real = os.path.realpath(os.path.join(folder, name))
        ours = os.path.basename(real).startswith("smpmake-")
        if not ours and not _is_launcher(real) and os.access(real, os.X_OK):
            return real
    return ""


def _is_launcher(path: str) -> bool:
    return families.is_launcher(os.path.basename(path))


def _cpu() -> str:
    fields = {
        name.strip(): value.strip()
        for name, colon, value in (line.partition(":") for line in _lines("/proc/cpuinfo"))
        if colon
    }
    return next((fields[name] for name in _MODELS if fields.get(name)), "")


def _assigned(path: str) -> Mapping[str, str]:
    """NAME=VALUE lines of a file, the values without their quotes."""
    parts = (line.strip().partition("=") for line in _lines(path))
    return {name: value.strip("\"'") for name, _, value in parts}


def _lines(path: str) -> list[str]:
    """The first lines of a file of the system; none of what is not there."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_INFO).decode(errors="replace").splitlines()
    except OSError:
        return []


def _stamp(path: str) -> str:
    """What changes when a compiler is replaced; "" for a script: it may start any other one, and
    may do more than to answer, which would be our doing."""
    try:
        with open(path, "rb", buffering=0) as file:
            if file.read(2) == b"#!":
                return ""
            info = os.fstat(file.fileno())
    except OSError:
        return ""
    return f"{info.st_mtime_ns}:{info.st_size}"


def _version(path: str) -> str:
    import tempfile  # a compiler is asked once

    environment = {**os.environ, "LC_ALL": "C"}
    with tempfile.TemporaryDirectory(
        prefix="smpmake-version-", ignore_cleanup_errors=True
    ) as folder:
        try:
            return version_of(path, folder, _PATIENCE, environment)
        except (OSError, subprocess.TimeoutExpired):
            return ""


def version_of(
    path: str, folder: str, patience: float, environment: Mapping[str, str] | None = None
) -> str:
    """The first line of what a compiler says of itself; "" if it does not.

    folder    where it runs and may leave anything.
    patience  for so long, s.

    Raises OSError where it cannot be run, subprocess.TimeoutExpired.
    """
    done = subprocess.run(
        [path, "--version"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=patience,
        check=False,
    )
    first = done.stdout.decode(errors="replace").strip().partition("\n")[0]
    return first if done.returncode == 0 else ""
