"""Runs one build in a package's root, and lists what it left.  Needs nothing but Python.

    python3 inside.py RESULT < REQUEST

Both are JSON.  Asked: `command`, `folder`, `environment`; told: see `run`.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import stat
import subprocess
import sys
import time
from typing import Any

_MAKEFILES = {"GNUmakefile", "makefile", "Makefile"}
_LONGEST = 30  # s of one make -q


def run(command: list[str], folder: str, environment: dict[str, str]) -> dict[str, Any]:
    """status; wall and cpu in seconds; lines that it printed; tree: what each path is; asked: what
    make -q ends with in the folders that a build begins in.
    """
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "status": done.returncode,
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "lines": done.stdout.decode(errors="backslashreplace").splitlines(),
        "tree": tree(folder),
        "asked": asked(folder, environment),
    }


def tree(top: str) -> dict[str, str]:
    """Of each path below a folder its type, mode, and what it holds."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            info = os.lstat(path)
            what = f"{stat.filemode(info.st_mode)} "
            if stat.S_ISLNK(info.st_mode):
                what += os.readlink(path)
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    what += hashlib.file_digest(file, "sha256").hexdigest()
                what += f" {info.st_nlink}" if info.st_nlink > 1 else ""
            found[os.path.relpath(path, top)] = what
    return found


def asked(top: str, environment: dict[str, str]) -> dict[str, int]:
    """By folder; one that make -q cannot answer in time is left out."""
    found = {}
    folders = [".", *(name for name in sorted(os.listdir(top)) if name.startswith("obj-"))]
    for name in folders:
        folder = os.path.join(top, name)
        if not os.path.isdir(folder) or not _MAKEFILES & set(os.listdir(folder)):
            continue
        try:
            done = subprocess.run(
                ["make", "-q"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            continue
        found[name] = done.returncode
    return found


if __name__ == "__main__":
    request = json.load(sys.stdin)
    with open(sys.argv[1], "w") as result:
        json.dump(run(**request), result)
