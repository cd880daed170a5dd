"""What another user may put where smpmake looks: nothing of it is run, believed or obeyed."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from smpmake import config, folders, native, private
from smpmake.capacity.neighbours import neighbours
from smpmake.decide.known_failures import KnownFailures
from smpmake.errors import SmpmakeError
from smpmake.guard.proofs import Proofs, identity
from smpmake.history import History
from smpmake.server.daemon import base_folder
from smpmake.server.rundir import clean_up_after_the_dead
from smpmake.server.shim_cache import shims_for
from smpmake.session import memo
from tests.support import made, needs
from tests.support.needs import ANOTHER
from tests.support.others import as_user
from tests.support.space import SMPMAKE

XDG: Final = ("CACHE", "STATE", "CONFIG")
DIGEST: Final = "1" * 32
HERS: Final = "#!/bin/sh\necho hers\n"
#: Looked at by us: where smpmake lies in a home that is closed to her, she can not.
GUARD: Final = identity(native.guard())


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user's folders are: others come here, and what is made is of her group."""
    needs.require_another_user()
    another_history()
    where = Path(tempfile.mkdtemp(prefix="smp-"))
    os.chown(where, 0, ANOTHER)
    where.chmod(0o2755)
    for name in XDG:
        monkeypatch.setenv(f"XDG_{name}_HOME", str(where / name))
    monkeypatch.setattr("smpmake.capacity.neighbours.places", lambda: [folders.cache()])
    monkeypatch.setenv("HOME", str(where))
    monkeypatch.setenv("TMPDIR", str(where / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(where / "tmp"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    before = os.umask(0o022)
    (where / "tmp").mkdir()
    (where / "project").mkdir()
    yield where
    os.umask(before)
    shutil.rmtree(where)


class Kind(NamedTuple):
    """A file or folder that smpmake makes, and later uses.

    make      lets smpmake make it; returns where it is.
    forge     writes another one there; `her` is who does.
    believed  whether smpmake uses the other one.
    """

    make: Callable[[Path], Path]
    forge: Callable[[Path], object]
    believed: Callable[[Path], bool]


def project(root: Path) -> str:
    return str(root / "project")


def shims(root: Path) -> Path:
    session = root / "tmp" / "session"
    session.mkdir(exist_ok=True)
    return shims_for("/usr/bin:/bin", session)


def forge_shims(path: Path) -> None:
    put_folder(path)
    (path / "gcc").write_text(HERS)


def is_hers(path: Path) -> bool:
    """Whether she can change a file, or says what it is."""
    return ANOTHER in (path.lstat().st_uid, path.parent.stat().st_uid)


def index_of(root: Path) -> Path:
    shims(root)
    (path,) = (root / "CACHE/smpmake/shims/by-path").iterdir()
    return path


def forge_index(path: Path) -> None:
    """It says the same, of another folder beside the right one."""
    _, _, state = path.read_bytes().partition(b"\0")
    hers = path.parent.parent / "hers"
    hers.mkdir()
    (hers / "gcc").write_text(HERS)
    put(path, os.fsencode(hers) + b"\0" + state)


def programs(root: Path) -> Path:
    path = folders.cache() / "guarded-programs"
    Proofs(native.guard(), path).add_programs(["/bin/true"], time.time_ns())
    return path


def forge_programs(path: Path) -> None:
    program = identity("/bin/sh")
    assert GUARD is not None
    assert program is not None
    put(path, " ".join(map(str, (*GUARD, *program))).encode() + b"\n")


def believes_programs(root: Path) -> bool:
    return Proofs(native.guard(), folders.cache() / "guarded-programs").has_seen("/bin/sh")


def failures(root: Path) -> Path:
    known = KnownFailures(project(root))
    known.add("0" * 32, b"gcc\0")
    known.save()
    return folders.of_project(project(root))


def history(root: Path) -> Path:
    path = folders.state() / "history.db"
    made.keep(path, made.build(made.ran(0, 0, 1, 2)))
    return path


@functools.cache
def another_history() -> bytes:
    """Made once, by us: she may not read where modules are loaded from."""
    other = Path(tempfile.mkdtemp(dir="/tmp")) / "history.db"
    try:
        made.keep(other, made.build(made.ran(0, 0, 1, 2), wall=77))
        return other.read_bytes()
    finally:
        shutil.rmtree(other.parent)


def forge_history(path: Path) -> None:
    put(path, another_history())


def believes_history(root: Path) -> bool:
    try:
        last = History().last()
    except SmpmakeError:
        return False
    return last is not None and last.ended == 77 * made.S


def slots(root: Path) -> Path:
    table = neighbours(config.Settings())
    assert table is not None
    (path,) = folders.cache().glob("smpmake-slots-*")
    found = path.read_bytes()
    table.close()
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(found)
    return path


def believes_slots(root: Path) -> bool:
    table = neighbours(config.Settings())
    if table is None:
        return False
    (path,) = folders.cache().glob("smpmake-slots-*")
    hers = is_hers(path)
    table.close()
    return hers


def services(root: Path) -> Path:
    return base_folder()


def believes_services(root: Path) -> bool:
    try:
        return base_folder().stat().st_uid == ANOTHER
    except SmpmakeError:
        return False


def store(root: Path) -> Path:
    session = root / "tmp" / "session"
    session.mkdir(exist_ok=True)
    memo.prepare("on", session, 1 << 30)
    return memo.folder() / "counts.json"


def forge_counts(path: Path) -> None:
    put_folder(path.parent, mode=0o700)
    hits = {"hits": 77, "saved_us": 0, "misses": {}, "unkept": {}}
    put(path, json.dumps({"last": hits, "days": {}, "bytes": 0}).encode())


def believes_counts(root: Path) -> bool:
    session = root / "tmp" / "session"
    (session / memo.TOLD).write_text("h 1\n")
    memo.settle(session, 1 << 30)
    counts = memo.folder() / "counts.json"
    return counts.exists() and counts.lstat().st_uid != ANOTHER and is_hers(counts)


def own_settings(root: Path) -> Path:
    path = folders.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("jobs = 3\n")
    return path


def settings(root: Path) -> Path:
    path = root / "project" / ".smpmake.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("jobs = 3\n")
    return path


def pyproject(root: Path) -> Path:
    path = root / "project" / "pyproject.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[tool.smpmake]\njobs = 3\n")
    return path


def obeys(root: Path) -> bool:
    return config.load(root / "project").jobs == 77


def put(path: Path, data: bytes) -> None:
    """Hers, in the place of what is there, or in it where she may do no more."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        path.write_bytes(data)
    else:
        path.write_bytes(data)


def put_folder(path: Path, mode: int = 0o755) -> None:
    """The same of a folder."""
    with contextlib.suppress(FileNotFoundError):
        path.rename(path.with_name(f"{path.name}.before"))
    path.mkdir(parents=True)
    path.chmod(mode)


KINDS: Final = {
    "shims": Kind(shims, forge_shims, lambda root: is_hers(shims(root) / "gcc")),
    "which shims": Kind(index_of, forge_index, lambda root: is_hers(shims(root) / "gcc")),
    "programs": Kind(programs, forge_programs, believes_programs),
    "failures": Kind(
        failures,
        lambda path: put(path, f"{DIGEST}\tgcc\n".encode()),
        lambda root: DIGEST in KnownFailures(project(root)),
    ),
    "history": Kind(history, forge_history, believes_history),
    "slots": Kind(slots, lambda path: put(path, bytes(4096)), believes_slots),
    "servers": Kind(services, lambda path: put_folder(path, mode=0o700), believes_services),
    "counts": Kind(store, forge_counts, believes_counts),
    "own settings": Kind(own_settings, lambda path: put(path, b"jobs = 77\n"), obeys),
    "project's settings": Kind(settings, lambda path: put(path, b"jobs = 77\n"), obeys),
    "pyproject": Kind(pyproject, lambda path: put(path, b"[tool.smpmake]\njobs = 77\n"), obeys),
}
#: What a person makes, with the umask of an editor; and what was always right.
BY_HAND: Final = ("own settings", "project's settings", "pyproject")


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022])
@pytest.mark.parametrize("name", KINDS)
def test_what_smpmake_has_made(root: Path, name: str, mask: int) -> None:
    """From nothing, under that umask, in folders that are of her group."""
    kind = KINDS[name]
    os.umask(mask)
    if name in BY_HAND:
        (root / "project").chmod(0o2777 & ~mask)
    path = kind.make(root)
    could = as_user(lambda: kind.forge(path))
    assert not kind.believed(root)
    if name not in BY_HAND:
        assert not could
        assert kind.make(root) == path  # which is used as before


@pytest.mark.parametrize("name", KINDS)
def test_what_was_left_open(root: Path, name: str) -> None:
    """As an older smpmake did, under umask 000."""
    kind = KINDS[name]
    path = kind.make(root)
    for each in root.rglob("*"):
        if not each.is_symlink():
            each.chmod(0o777 if each.is_dir() else 0o666)
    assert as_user(lambda: kind.forge(path))
    assert not kind.believed(root)


@pytest.mark.parametrize("name", KINDS)
def test_a_folder_that_she_makes_first(root: Path, name: str) -> None:
    """Where everybody's folders lie in one, in which each may remove his own."""
    kind = KINDS[name]
    path = kind.make(root)
    for each in (*XDG, "tmp", "project"):
        shutil.rmtree(root / each, ignore_errors=True)
        (root / each).mkdir()
        (root / each).chmod(0o1777)

    def forge() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "which shims":
            path.write_bytes(b"x\0y")
        kind.forge(path)

    (root / "tmp" / "session").mkdir()
    assert as_user(forge)
    assert not kind.believed(root)


@pytest.mark.parametrize("name", KINDS)
def test_root_with_a_users_home(root: Path, name: str) -> None:
    """As by `sudo -E`: what is hers is not root's."""
    kind = KINDS[name]
    path = kind.make(root)
    for each in (root, *root.rglob("*")):
        os.lchown(each, ANOTHER, ANOTHER)
    if name != "servers":
        os.chown(root / "tmp", 0, 0)
    if (root / "tmp" / "session").exists():
        os.chown(root / "tmp" / "session", 0, 0)
    assert as_user(lambda: kind.forge(path))
    assert not kind.believed(root)


# ---------------------------------------------------------------------- whole builds


def build(root: Path, *command: str, mask: int = 0o022) -> subprocess.CompletedProcess[str]:
    (root / "project" / "a.c").write_text("int a;\n")
    (root / "project" / "a.o").unlink(missing_ok=True)
    return subprocess.run(
        [SMPMAKE, *command],
        cwd=root / "project",
        umask=mask,
        env={**os.environ, "XDG_RUNTIME_DIR": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize("opened", [0o777, 0o775])
def test_her_compiler_is_not_run(root: Path, opened: int) -> None:
    """She has put one before the right one, and is told of; the build is the plain one."""
    compile_ = ("sh", "-c", "gcc -c a.c")
    ended = build(root, *compile_, mask=0o777 & ~opened)
    assert (ended.returncode, (root / "project" / "a.o").exists()) == (0, True), ended.stderr
    shims = root / "CACHE/smpmake/shims"
    for folder in (shims.parent.parent, shims.parent, shims):
        folder.chmod(opened)

    def attack() -> None:
        for each in shims.iterdir():
            if each.name != "by-path":
                put_folder(each)
                (each / "gcc").write_text(f"#!/bin/sh\nid -u > {root}/tmp/ran\n")
                (each / "gcc").chmod(0o755)

    assert as_user(attack)
    ended = build(root, *compile_)
    assert (ended.returncode, (root / "project" / "a.o").exists()) == (0, True), ended.stderr
    assert not (root / "tmp" / "ran").exists()
    (line,) = [each for each in ended.stderr.splitlines() if "shims" in each]
    assert line.startswith(f"smpmake: {root}/CACHE may be changed by ")
    assert f"(chmod go-w {root}/CACHE)" in line
    assert ended.stderr.count(f"{root}/CACHE") == 2, ended.stderr  # said once
    assert list((root / "tmp").iterdir()) == []


@pytest.mark.slow
def test_what_smpmake_makes_is_closed(root: Path) -> None:
    for name in XDG:
        assert not (root / name).exists()
    ended = build(root, "--memo=on", "sh", "-c", "gcc -c a.c", mask=0)
    assert ended.returncode == 0, ended.stderr
    assert "smpmake: /" not in ended.stderr
    made_ = [each for name in XDG for each in (root / name, *(root / name).rglob("*"))]
    assert len(made_) > 20
    for each in made_:
        if each.exists() and not each.is_symlink():
            assert each.stat().st_mode & 0o022 == 0, each
            assert each.is_file() or each.stat().st_mode & 0o077 == 0, each


def test_a_leftover_that_others_could_change_is_no_sessions(root: Path) -> None:
    """It says how to undo what a killed session has done, and whoever says that moves files."""
    left = root / "tmp" / f"smpmake-{os.getuid()}-hers"
    left.mkdir()
    (left / "lock").write_text("")
    left.chmod(0o777)
    assert clean_up_after_the_dead() == 0
    assert left.exists()
    left.chmod(0o700)
    assert clean_up_after_the_dead() == 1
    assert not left.exists()


# ---------------------------------------------------------------------- settings


def test_settings_above_a_repository_are_nobodys(root: Path) -> None:
    inner = root / "project" / "inner"
    inner.mkdir()
    (root / ".smpmake.toml").write_text("jobs = 3\n")
    assert config.load(inner).jobs == 3  # no repository, and all folders are ours
    (root / "project" / ".git").write_text("gitdir: elsewhere\n")
    assert config.load(inner).jobs == 0
    (root / "project" / ".smpmake.toml").write_text("jobs = 4\n")
    assert config.load(inner).jobs == 4


def test_without_a_repository_her_folders_end_the_search(root: Path) -> None:
    inner = root / "project" / "inner"
    inner.mkdir()
    (root / ".smpmake.toml").write_text("x = 1\n")
    for user, mode in ((ANOTHER, 0o755), (0, 0o777), (0, 0o1777)):
        os.chown(root / "project", user, 0)
        (root / "project").chmod(mode)
        loaded = config.load(inner)
        assert (loaded.jobs, loaded.notices) == (0, ())


def test_the_search_ends_at_the_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = root / "project" / "inner"
    inner.mkdir()
    (root / ".smpmake.toml").write_text("x = 1\n")
    monkeypatch.setenv("HOME", str(root / "project"))
    assert config.load(inner).jobs == 0
    (root / "project" / ".smpmake.toml").write_text("jobs = 4\n")
    assert config.load(inner).jobs == 4


def test_what_is_ignored_is_said(root: Path) -> None:
    path = root / "project" / ".smpmake.toml"
    path.write_text("x = 1\n")
    os.chown(path, ANOTHER, ANOTHER)
    (notice,) = config.load(root / "project").notices
    assert notice == (
        f"{path} is ignored: it belongs to user {ANOTHER} (only files of yours and of root count)"
    )
    os.chown(path, 0, ANOTHER)
    path.chmod(0o664)
    (notice,) = config.load(root / "project").notices
    assert notice == (
        f"{path} is ignored: it may be changed by group {ANOTHER} (chmod go-w {path})"
    )
    os.chown(path, 0, 0)  # root's own group has nobody else in it
    with pytest.raises(config.ConfigError, match="unknown key 'x'"):
        config.load(root / "project")


def test_a_checkout_of_a_user_with_a_group_of_her_own(root: Path) -> None:
    """Under umask 002: files are 0664, folders 0775."""
    path = root / "project" / ".smpmake.toml"
    path.write_text("jobs = 3\n")
    for each in (root / "project", path):
        os.chown(each, ANOTHER, ANOTHER)
        each.chmod(each.stat().st_mode | 0o020)

    def check() -> None:
        assert config.load(root / "project").jobs == 3

    assert as_user(check)


def test_settings_may_be_a_link_of_ours(root: Path) -> None:
    """As of people who keep such files elsewhere."""
    own_settings(root).rename(root / "kept.toml")
    folders.user_file().symlink_to(root / "kept.toml")
    assert config.load(root / "project").jobs == 3
    hers = root / "project" / ".smpmake.toml"
    hers.symlink_to(root / "tmp" / "hers.toml")
    (root / "tmp").chmod(0o1777)
    as_user(lambda: (root / "tmp" / "hers.toml").write_text("jobs = 77\n"))
    loaded = config.load(root / "project")
    assert (loaded.jobs, len(loaded.notices)) == (3, 1)


@pytest.mark.parametrize("others", [False, True])
def test_a_group_that_others_have_from_the_beginning(
    root: Path, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    """A group's list of members does not have them."""
    another = pwd.struct_passwd(("she", "", 77, 0, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", lambda: [another] if others else [])
    private._is_own_group.cache_clear()
    path = root / "file"
    path.write_text("text")
    os.chown(path, 0, 0)
    path.chmod(0o664)
    os.chown(root, 0, 0)
    root.chmod(0o755)
    try:
        if others:
            with pytest.raises(private.SharedError):
                private.read(path)
        else:
            assert private.read(path) == b"text"
    finally:
        private._is_own_group.cache_clear()


def test_a_closed_home_of_another_user_has_no_settings(root: Path) -> None:
    """As where a container's user has root's HOME."""
    home = root / "home"
    home.mkdir(mode=0o700)
    file = home / "config.toml"

    def read() -> None:
        assert config.merge(config.Settings(), file) == config.Settings()

    assert not as_user(lambda: file.read_bytes())
    assert as_user(read)
