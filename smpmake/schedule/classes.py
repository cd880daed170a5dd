"""Classes of jobs of which only so many run at once: links, which need much memory, or whatever the
user names."""

from __future__ import annotations

from collections.abc import Sequence


class Class:
    """One of them.

    name  which jobs are meant (decide.policy.is_of).
    most  how many of them run at once; used: how many do.
    waited_ns  how long jobs waited for it, all in all.
    """

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.used = 0
        self.waited_ns = 0

    @property
    def is_full(self) -> bool:
        """Whether none of it can start."""
        return self.used >= self.most


def classes_of(slots: Sequence[str]) -> tuple[Class, ...]:
    """Of `NAME=N`; of two with one name the last one counts."""
    most = {name: int(number) for name, _, number in (each.rpartition("=") for each in slots)}
    return tuple(Class(name, number) for name, number in most.items())
