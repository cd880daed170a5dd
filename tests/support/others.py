"""Another user of this machine, as a process of hers."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.support.needs import ANOTHER


def as_user(act: Callable[[], object], user: int = ANOTHER, group: int = ANOTHER) -> bool:
    """Does something as another user; returns whether the system let it be done."""
    child = os.fork()
    if child == 0:
        status = 2
        try:
            os.setgroups([])
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            act()
            status = 0
        except PermissionError:
            status = 1
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1), "see what the child has printed"
    return status == 0
