"""Threads whose end is always seen, or that are not there.

A thread may die before it has run a line of ours, where there is no memory for its first call;
threading.Thread.start then waits for ever.  Here a new thread says that it has come before anything
is expected of it.  The starter gives up a thread that does not come, as if the system had refused
it; such a thread leaves at once, should it come later.  Its work lies between `try` and `finally`.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import queue
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_PATIENCE: Final = 2.0  # s for a new thread to come
_LOOK: Final = 1.0  # s between two looks at a thread that is to tell of its end


class Thread:
    """Does one thing.  Nobody waits for it but by `join`, the end of the program neither."""

    def __init__(self, what: Callable[[], object]) -> None:
        """Raises RuntimeError where the system gives no thread, or one that does not live."""
        self._what = what
        self._claim = _thread.allocate_lock()  # whose it is: the thread's, or of who gives it up
        self._came = _thread.allocate_lock()
        self._works = _thread.allocate_lock()
        self._came.acquire()
        self._works.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except MemoryError as error:
            raise RuntimeError("there is no memory for a thread") from error
        if not self._came.acquire(timeout=_PATIENCE) and self._claim.acquire(blocking=False):
            raise RuntimeError("a thread did not start")

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return not self._works.locked()

    def join(self) -> None:
        """Waits for its end."""
        with self._works:
            pass

    def _run(self) -> None:
        try:
            if self._claim.acquire(blocking=False):
                self._came.release()
                self._what()
        finally:
            self._works.release()


class Worker:
    """Does one thing after the other in a thread."""

    def __init__(self) -> None:
        """Raises RuntimeError where there is no thread to be had."""
        self._left: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = Thread(self._run)

    def submit(self, what: Callable[[], object]) -> None:
        """One thing more, which is to raise nothing.  RuntimeError if the thread has died."""
        if self._thread.is_over:
            raise RuntimeError("the thread has died")
        self._left.put(what)

    def close(self) -> None:
        """Waits until all is done; what a thread that died has left is done here."""
        self._left.put(None)
        self._thread.join()
        while not self._left.empty():
            what = self._left.get()
            if what is not None:
                what()

    def _run(self) -> None:
        while (what := self._left.get()) is not None:
            what()


async def run_in_thread(what: Callable[[], T]) -> T:
    """Does it beside the event loop; where there is no thread to be had, in its way."""
    # Not the loop's own executor, whose end needs one more thread.
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(what())
        except BaseException as error:  # is raised where it is waited for
            errors.append(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(told.set)

    try:
        thread = Thread(work)
    except RuntimeError:
        return what()
    while not told.is_set() and not thread.is_over:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), _LOOK)
    if errors:
        raise errors[0]
    if not results:
        raise MemoryError("a thread has died")
    return results[0]
