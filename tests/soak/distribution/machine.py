"""A root of Debian for each package: an overlay on one that is made once."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.soak.distribution import inside
from tests.soak.distribution.oracle import Build
from tests.soak.section import ROOT, SkippedError, UnavailableError

#: What the root has besides what a package names: with it most packages can be built.
_PACKAGES: Final = (
    *("build-essential", "dpkg-dev", "debhelper", "fakeroot", "ca-certificates", "autoconf"),
    *("automake", "libtool", "pkg-config", "cmake", "python3-venv", "python3-dev"),
)
#: Mounts an overlay and what a root needs, and runs a command in it; $1 what is below, $2 the
#: package's folder, $3 where archives are kept, $4 the number of a process from which others count.
#: Nothing in it waits for the disk.
_ENTER: Final = """
rm -rf "$2/work"
mkdir -p "$2/upper" "$2/work" "$2/root"
mount -t overlay overlay -o "volatile,lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
echo "$4" >"$2/root/proc/sys/kernel/ns_last_pid"
mount --bind /dev "$2/root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$2/root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$2/root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$2/root/tmp"
mount --bind "$3" "$2/root/var/cache/apt/archives"
exec env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \\
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
    chroot "$2/root" /bin/sh -ec "$COMMANDS"
"""
_TIMED_OUT: Final = 124  # the status of timeout(1)
_MOST_ARCHIVES: Final = 3 << 30  # bytes
_MOST_PACKAGE: Final = 4 << 30  # bytes: with two bases of some 1.3 GiB it is less than 10 GiB


class TooLongError(Exception):
    """A build did not end in its time; the message says which."""


class Machine:
    """The base, in a folder that is kept; it is made if it is not there.

    Raises UnavailableError where there can be none: it takes root, mounts and Debian's archive.
    """

    def __init__(self, folder: Path, suite: str) -> None:
        self._base = folder / suite
        self._layer = folder / f"{suite}-smpmake"
        self._suite = suite
        self._bare = _bare_machine()
        # No two builds have the same, as elsewhere: files are named by them.
        self._numbers = itertools.cycle(range(1000, 30000, 700))
        if not (folder / f"{suite}.made").exists():
            self._make(folder)
            (folder / f"{suite}.made").touch()
        self._furnish(folder)

    @property
    def lower(self) -> str:
        """What each package's root begins with."""
        return f"{self._layer}:{self._base}"

    def _make(self, folder: Path) -> None:
        bare = self._bare
        shutil.rmtree(self._base, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            bare.prepare()
            bare.make(self._base, folder, list(_PACKAGES), self._suite)
        except bare.NotHereError as error:
            raise UnavailableError(str(error)) from None
        for path in (self._base / "etc/apt/sources.list.d").glob("*.sources"):
            text = path.read_text().replace("Types: deb\n", "Types: deb deb-src\n")
            path.write_text(text)

    def _furnish(self, folder: Path) -> None:
        """The layer with this checkout's smpmake, made anew for each run."""
        made = folder / "layer"
        for each in (made, self._layer):
            shutil.rmtree(each, ignore_errors=True)
        (made / "upper/root").mkdir(parents=True)
        self._bare.settle(made / "upper")
        commands = """
        apt-get update -qq
        python3 -m venv /opt/smpmake
        /opt/smpmake/bin/pip install -q /root/smpmake
        rm -rf /root/smpmake /root/.cache
        """
        done = self.entered(made, commands, network=True, lower=str(self._base))
        if done.returncode:
            raise UnavailableError(done.stdout[-2000:])
        (made / "upper").rename(self._layer)
        shutil.rmtree(made)

    def root(self, folder: Path) -> Root:
        """A root of its own, in a folder that is not there."""
        return Root(self, folder)

    def entered(
        self, folder: Path, commands: str, *, network: bool, lower: str
    ) -> subprocess.CompletedProcess[str]:
        apart = () if network else ("--net",)
        archives = self._base.parent / "archives"
        if network:
            _bound(archives)
        return subprocess.run(
            [
                *self._bare.ALONE,
                *apart,
                "sh",
                "-ec",
                _ENTER,
                "sh",
                lower,
                str(folder),
                str(archives),
                str(next(self._numbers)),
            ],
            env={**os.environ, "COMMANDS": commands},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )


class Root:
    """A package's; what is done in it stays until `close`."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self._machine = machine
        self._folder = folder
        folder.mkdir(parents=True)
        self._put("opt/inside.py", Path(inside.__file__).read_text())

    def _put(self, name: str, text: str) -> None:
        path = self._folder / "upper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fetch(self, commands: str) -> str:
        """Runs commands of a shell with the network; what they printed.  Raises SkippedError."""
        done = self._machine.entered(
            self._folder, commands, network=True, lower=self._machine.lower
        )
        if done.returncode:
            lines = done.stdout.splitlines()
            errors = [line for line in lines if line.startswith("E: ")]
            raise SkippedError(" | ".join((errors or lines)[-3:]))
        return done.stdout

    def build(
        self, command: Sequence[str], folder: str, environment: dict[str, str], seconds: int
    ) -> Build:
        """Runs one without the network.  Raises TooLongError."""
        self._put(
            "opt/request",
            json.dumps({"command": command, "folder": folder, "environment": environment}),
        )
        commands = f"timeout {seconds} python3 /opt/inside.py /opt/result < /opt/request"
        done = self._machine.entered(
            self._folder, commands, network=False, lower=self._machine.lower
        )
        if done.returncode == _TIMED_OUT:
            raise TooLongError(f"{' '.join(command)} did not end in {seconds} s")
        if done.returncode:
            raise RuntimeError(
                f"status {done.returncode} of {' '.join(command)}: {done.stdout[-500:]}"
            )
        if _size(self._folder) > _MOST_PACKAGE:
            raise SkippedError("takes too much of the disk")
        return Build(**json.loads((self._folder / "upper/opt/result").read_text()))

    def close(self) -> None:
        """Removes it."""
        subprocess.run(["rm", "-rf", "--one-file-system", str(self._folder)], check=True)


def _size(folder: Path) -> int:
    """Bytes on the disk of all that is in it."""
    return sum(
        os.lstat(os.path.join(place, name)).st_blocks * 512
        for place, _, names in os.walk(folder)
        for name in names
    )


def _bound(archives: Path) -> None:
    """The folder is there, and holds no more than it may."""
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    kept = sorted(archives.glob("*.deb"), key=lambda path: path.stat().st_mtime)
    size = sum(path.stat().st_size for path in kept)
    while size > _MOST_ARCHIVES:
        size -= kept[0].stat().st_size
        kept.pop(0).unlink()


def _bare_machine() -> ModuleType:
    """scripts/bare-machine, which makes Debians."""
    loader = importlib.machinery.SourceFileLoader(
        "bare_machine", str(ROOT / "scripts/bare-machine")
    )
    spec = importlib.util.spec_from_loader("bare_machine", loader)
    assert spec is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["bare_machine"] = found
    loader.exec_module(found)
    return found
