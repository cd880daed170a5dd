"""What ends a build from outside: Ctrl-C and the like, the first time gently, then at once.

First the driver is told, and then its jobs end: by a job that has failed, or will not come, a
driver that has not been told would go on.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Final

from smpmake.session.backend import Backend
from smpmake.session.driver import Driver
from smpmake.session.keeper import heard

_GRACE: Final = 0.3  # s for the driver to end by the terminal's own signal
#: s between TERM and KILL.
PATIENCE: Final = 2.0


class Interrupts:
    """Of one build, from the moment when its first driver is about to be started.

    by    the signal that ended the build, if one did.
    late  one that came when the driver had ended: it matters only if that was to be run again.
    """

    def __init__(self, backend: Backend) -> None:
        self.by: signal.Signals | None = None
        self.late: signal.Signals | None = None
        self._backend = backend
        self._heard = heard()
        self._driver: Driver | None = None
        self._is_stopped = False

    def hear_signals(self) -> None:
        """Hears signals: a driver is about to start, and may be interrupted from then on."""
        loop = asyncio.get_running_loop()
        for number in self._heard:
            loop.add_signal_handler(number, self._interrupted, number)

    def concern_driver(self, driver: Driver) -> None:
        """Signals go to this driver from now on."""
        self._driver = driver

    def defer_signals(self) -> None:
        """Notes signals for later: the driver has ended, and smpmake must finish its own work."""
        loop = asyncio.get_running_loop()
        for number in self._heard:
            loop.add_signal_handler(number, self._interrupted_late, number)

    def _interrupted(self, number: signal.Signals) -> None:
        loop, driver = asyncio.get_running_loop(), self._driver
        assert driver is not None  # the loop first turns when the driver has been started
        if self.by is not None:
            self._stop()
            driver.keeper.signal(signal.SIGKILL)
            return
        self.by = number
        driver.ended.add_done_callback(lambda _: self._stop_once())
        # At a terminal the driver got the signal itself; it should not get it twice.
        loop.call_later(_GRACE if _has_terminal() else 0, self._pass_on, driver)
        loop.call_later(PATIENCE, self._escalate, driver)

    def _interrupted_late(self, number: signal.Signals) -> None:
        self.late = self.late or number

    def _pass_on(self, driver: Driver) -> None:
        assert self.by is not None
        if not driver.ended.done():
            driver.keeper.signal(self.by)
        self._stop_once()

    def _escalate(self, driver: Driver) -> None:
        if not driver.ended.done():
            driver.keeper.signal(signal.SIGKILL)
        self._stop()

    def _stop_once(self) -> None:
        if not self._is_stopped:
            self._stop()

    def _stop(self) -> None:
        assert self.by is not None
        self._is_stopped = True
        self._backend.stop_build(self.by)


def _has_terminal() -> bool:
    """Whether a terminal could have sent the signal, and then to everybody."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
