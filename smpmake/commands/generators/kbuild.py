"""Tools that the kernel's build makes for itself, and runs behind each of its compiles.

They are told by their names and by what is in their files (`Family.alone`): a project's own tool
of such a name may be another one.
"""

from __future__ import annotations

from smpmake.commands.model import Analysis, Invocation, Kind, Reason


def analyse_fixdep(inv: Invocation) -> Analysis:
    """fixdep: prints a compile's dependencies for make, having read them and what they name."""
    if len(inv.argv) != 4 or inv.argv[1].startswith("-"):
        return Analysis(Kind.INSPECT, refusal=Reason.WRITES_STDOUT)
    return Analysis(
        Kind.INSPECT,
        (inv.argv[1],),
        undeclared=True,
        refusal=Reason.WRITES_STDOUT,
        prints=True,
    )


def analyse_check_local_export(inv: Invocation) -> Analysis:
    """check-local-export: reads an object's symbols; nothing but its status counts."""
    if len(inv.argv) != 2 or inv.argv[1].startswith("-"):
        return Analysis(Kind.INSPECT, refusal=Reason.WRITES_NOTHING)
    return Analysis(Kind.INSPECT, (inv.argv[1],), refusal=Reason.WRITES_NOTHING, checks=True)
