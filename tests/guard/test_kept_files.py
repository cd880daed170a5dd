"""What a job finds in the place of a file that others have changed: the file as it was, in all that
a look shows."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from smpmake.disk.copying import copy_whole, remove_whole
from tests.support.space import Space

#: Writes down what there is to be seen of a file, by its names and open; but for its ctime, and for
#: which file it is.  With an operand that is held, when it is let go.
LOOK = """#!{python} -I
import os, stat, sys
out, names, is_held = sys.argv[2], sys.argv[3][2:], sys.argv[4:] == ["held"]
paths = names.split(",")
if is_held:
    if stat.S_ISFIFO(os.stat({gate!r}).st_mode):
        open({gate!r}).read()
FIELDS = ("mode", "uid", "gid", "nlink", "size", "mtime_ns", "atime_ns", "blocks")
seen = []
for path in paths:
    try:
        info = [os.stat(path), os.lstat(path)]
        file = os.open(path, os.O_RDONLY | os.O_NOATIME)
    except FileNotFoundError:
        seen.append([path, "is not there"])
        continue
    info.append(os.fstat(file))
    seen += [[getattr(each, "st_" + field) for field in FIELDS] for each in info]
    seen += [[name, os.getxattr(file, name)] for name in sorted(os.listxattr(file))]
    seen.append([path, os.read(file, 1 << 21), len(set((i.st_dev, i.st_ino) for i in info))])
with open(out, "w") as to:
    to.write("\\n".join(map(repr, seen)))
"""

#: Version 2; owner, user 1, group, mask, others.
ACL = bytes.fromhex(
    "0200000001000600ffffffff020004000100000004000400ffffffff10000600ffffffff20000000ffffffff"
)


def python(code: str) -> str:
    """A command that runs Python."""
    return f'{sys.executable} -I -c "{code}"'


ATTRIBUTES = (
    "import os; os.setxattr('f', 'user.note', b'1'); "
    f"os.setxattr('f', 'system.posix_acl_access', bytes.fromhex('{ACL.hex()}'))"
)
SET_UP = (
    "echo old > f; cp f new; echo old > two; ln two too; mkdir sub; echo old > sub/f; "
    f"chmod 640 f; {python(ATTRIBUTES)}; "
    "touch -d @1000000000.123456789 two sub/f; touch -a -d @1000000001.5 f; "
    "touch -m -d @1000000000.123456789 f; "
    + ("chown 1:2 f; chmod 4755 sub/f; " if os.geteuid() == 0 else "")
)

CHANGES = {
    "written to": "echo new > f; echo new > two",
    "appended to": "echo new >> f; echo new >> too",
    "truncated": "truncate -s 1 f",
    "replaced": "mv -f new f",
    "one of its names is replaced": "mv -f new two",
    "removed": "rm f",
    "removed, and made again": "rm f; echo new > f",
    "removed by both names": "rm two; rm too",
    "one of its names is removed": "rm two",
    "removed, and the other name is written to": "rm two; echo new > too",
    "not removed, as that fails, but written to": (
        python("import contextlib as c, os; x = c.suppress(OSError); x.__enter__(); os.rmdir('f')")
        + " || true; echo new > f"
    ),
    "moved": "mv f g",
    "given another name": "ln f g",
    "given another name, then removed": "ln f g; rm f",
    "another mode": "chmod 600 f",
    "another mode, while it is open": python("import os; os.fchmod(os.open('f', 0), 0o600)"),
    "another time": "touch f",
    "another time of access": "touch -a f; touch -a too",
    "another time, while it is open": python("import os; os.utime(os.open('f', 0), (1, 2))"),
    "an attribute more": python("import os; os.setxattr('f', 'user.more', b'2')"),
    "an attribute more, while it is open": python(
        "import os; os.setxattr(os.open('f', 0), 'user.more', b'2')"
    ),
    "an attribute less": python("import os; os.removexattr('f', 'user.note')"),
    "an attribute less, while it is open": python(
        "import os; os.removexattr(os.open('f', 0), 'user.note')"
    ),
    "another access list": python("import os; os.removexattr('f', 'system.posix_acl_access')"),
    "changed time and again": "chmod 600 f; echo new > f; touch f; ln f g; rm f; mv g f",
}
if os.geteuid() == 0:
    CHANGES["another owner"] = "chown 3:4 f"
    CHANGES["another owner, while it is open"] = python(
        "import os; os.chown(os.open('f', 0), 3, 4)"
    )


@pytest.mark.parametrize("name", CHANGES)
def test_p1_a_job_sees_a_file_as_it_was(space: Space, name: str) -> None:
    """Nobody waits for the job: it is let go by the driver, behind the change."""
    gate = space.root / "gate"
    space.fake("look", LOOK.format(python=sys.executable, gate=str(gate)))
    gate.touch()
    script = (
        f"{SET_UP}look -o first -@new first.in; cat first > /dev/null; "
        f"look -o seen -@f,two,too,sub/f held; {CHANGES[name]}; "
        f"[ ! -p {gate} ] || echo > {gate}\n"
    )
    files = {
        ".smpmake.toml": '[tools.look]\nkind = "compile"\noutput = ["-o"]\nflags = ["-@*"]\n',
        "first.in": "",
        "held": "",
        "build.sh": script,
    }
    space.write(files)
    space.ok("sh", "-e", "build.sh")
    expected = (space.folder / "seen").read_text()
    space.clear()
    gate.unlink()
    os.mkfifo(gate)
    space.write(files)
    ended = space.smpmake("-j4", "--", "sh", "-e", "build.sh")
    assert ended.status == 0, ended.err
    assert (space.folder / "seen").read_text() == expected
    space.expect_clean()


def statx_fields(path: Path) -> dict[str, int]:
    info = os.stat(path)
    other = {"st_ctime", "st_ctime_ns", "st_ino", "st_birthtime", "st_birthtime_ns"}
    return {
        name: getattr(info, name)
        for name in dir(info)
        if name.startswith("st_") and name not in other
    }


def test_a_copy_is_whole_or_not_there(tmp_path: Path) -> None:
    file, copy = tmp_path / "file", tmp_path / "copy"
    file.write_bytes(b"x" * 5000)
    os.truncate(file, 1 << 20)  # a hole
    file.chmod(0o4751)
    os.utime(file, ns=(10**18 + 1, 10**18 + 2))
    os.link(file, tmp_path / "other")
    assert copy_whole(str(file), str(copy), os.stat(file), 2, 1 << 20)
    assert statx_fields(copy) == statx_fields(file)
    assert copy.read_bytes() == file.read_bytes()
    remove_whole(str(copy))
    assert not copy_whole(str(file), str(copy), os.stat(file), 2, 1 << 19), "too large"
    assert not copy_whole(str(file), str(copy), os.stat(copy.parent), 1, 1 << 20), "another file"
    (tmp_path / "copy").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "file", "other"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o4751
