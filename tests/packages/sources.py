"""Bring a project's source here, once, by the ordinary client of the registry that has it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import fetch
from .project import Debian, GoModule, NpmPackage, Project, Sdist, Wheel

DATA = Path(__file__).parent / "data"


def fetched(project: Project, cache: Path) -> Path | None:
    """The folder with the unpacked source; None where the project's data is all there is."""
    source = project.source
    if isinstance(source, Debian):
        return fetch.fetch(source, cache)
    with fetch.locked(cache, "fetch"):
        if isinstance(source, Sdist):
            return _sdist(source, cache)
        if isinstance(source, NpmPackage):
            return _npm_package(source, cache)
        _go_module(source, DATA / project.data, cache)
    return None


def lay_out(project: Project, source: Path | None, target: Path) -> None:
    """Make the target a fresh copy of the source with the project's data over it."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for layer in (source, DATA / project.data if project.data else None):
        if layer is not None:
            copied = ["cp", "-a", "--reflink=auto", f"{layer}/.", str(target)]
            subprocess.run(copied, check=True)


def _sdist(source: Sdist, cache: Path) -> Path:
    target = cache / "source" / f"{source.name}-{source.version}"
    wheels = cache / "wheels"
    _constrain(source, wheels)
    for wheel in source.requires:
        _wheel(wheel, wheels)
    if not target.is_dir():
        folder = cache / "archives"
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder / f"{source.name}-{source.version}.tar.gz"
        if not archive.exists():
            _pip_download(source, folder, "--no-binary", source.name, find=wheels)
        fetch.verify(archive, source.sha256)
        fetch.unpack(archive, target, source.edits)
    return target


def _constrain(source: Sdist, wheels: Path) -> None:
    """Name the versions that every build shall take."""
    wheels.mkdir(parents=True, exist_ok=True)
    path = wheels / "constraints.txt"
    lines = set(path.read_text().splitlines()) if path.exists() else set()
    names = {wheel.name for wheel in source.requires}
    lines = {line for line in lines if line.partition("==")[0] not in names}
    lines |= {f"{wheel.name}=={wheel.version}" for wheel in source.requires}
    path.write_text("".join(f"{line}\n" for line in sorted(lines)))


def _wheel(wheel: Wheel, folder: Path) -> None:
    pattern = f"{wheel.name}-{wheel.version}-*-none-any.whl"
    if not list(folder.glob(pattern)):
        _pip_download(wheel, folder, "--only-binary", ":all:", "--platform", "any")
    for found in folder.glob(pattern):
        fetch.verify(found, wheel.sha256)


def _pip_download(
    wanted: Sdist | Wheel, folder: Path, *options: str, find: Path | None = None
) -> None:
    """Have pip download one file of the pinned version and sum."""
    more = (
        {"PIP_FIND_LINKS": str(find), "PIP_CONSTRAINT": f"{find}/constraints.txt"} if find else {}
    )
    with tempfile.TemporaryDirectory() as scratch:
        pinned = Path(scratch) / "pinned.txt"
        pinned.write_text(f"{wanted.name}=={wanted.version} --hash=sha256:{wanted.sha256}\n")
        fetch.run(
            *(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes"),
            *("-d", str(folder), *options, "-r", str(pinned)),
            more=more,
        )


def _npm_package(source: NpmPackage, cache: Path) -> Path:
    """A folder with the package and what it needs where npm would install them."""
    target = cache / "source" / f"{source.name}-{source.version}"
    if not target.is_dir():
        archives = [(one, _npm_archive(one, cache)) for one in (source, *source.requires)]
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            whole = Path(scratch) / "whole"
            for one, archive in archives:
                fetch.unpack(archive, whole / "node_modules" / one.name, one.edits)
            whole.rename(target)
    return target


def _npm_archive(package: NpmPackage, cache: Path) -> Path:
    folder = cache / "archives"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{package.name}-{package.version}.tgz"
    if not archive.exists():
        # npm leaves half an archive behind when it is ended.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            pinned = f"{package.name}@{package.version}"
            fetch.run("npm", "pack", "--fetch-retries=1", pinned, cwd=Path(scratch))
            Path(scratch, archive.name).rename(archive)
    fetch.verify(archive, package.sha256)
    return archive


def _go_module(source: GoModule, data: Path, cache: Path) -> None:
    """Have go download a module; it checks the sum that the project's `go.sum` gives."""
    folder = cache / "go"
    if (folder / "cache/download" / _escaped(source.name) / f"@v/{source.version}.zip").exists():
        return
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("go.mod", "go.sum"):
            shutil.copy(data / name, scratch)
        command = ("go", "mod", "download", source.name)
        more = {"GOMODCACHE": str(folder), "GOTOOLCHAIN": "local"}
        fetch.run(*command, cwd=Path(scratch), more=more)


def _escaped(path: str) -> str:
    """A module's path as go writes it in file names."""
    return "".join(f"!{letter.lower()}" if letter.isupper() else letter for letter in path)
