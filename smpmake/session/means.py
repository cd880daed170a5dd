"""What is done beside the build, where there is a thread for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

BREATH: Final = 0.1  # s for the first commands, before anything is loaded that they do not need


async def in_a_thread(what: Callable[[], T]) -> T:
    """Does it beside the build; where the system gives no thread, in its way."""
    # Not the loop's own executor, whose end needs one more thread.
    executor = ThreadPoolExecutor(1)
    try:
        future = executor.submit(what)
    except RuntimeError:
        return what()
    finally:
        executor.shutdown(wait=False)
    return await asyncio.wrap_future(future)
