"""smpmake's modules that are loaded: their functions, and what they remember of the system."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator


def _ours() -> Iterator[types.ModuleType]:
    for name, module in list(sys.modules.items()):
        if name.startswith("smpmake.") and not name.startswith("smpmake.recording"):
            yield module


def functions() -> Iterator[types.FunctionType]:
    """All of smpmake's that are loaded, methods included."""
    for module in _ours():
        for value in list(vars(module).values()):
            if isinstance(value, types.FunctionType):
                yield value
            elif isinstance(value, type) and value.__module__ == module.__name__:
                inner = (getattr(each, "__func__", each) for each in vars(value).values())
                yield from (each for each in inner if isinstance(each, types.FunctionType))


def forget_answers() -> None:
    """What smpmake remembers of the system from before would be missing in a recording."""
    for module in _ours():
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    texts = sys.modules.get("smpmake.disk.paths")
    if texts is not None:
        texts._texts.clear()
