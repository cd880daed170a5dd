"""Which libc this is.  The guard goes into every program of a build, and knows glibc alone."""

from __future__ import annotations

import os

from smpmake.errors import SmpmakeError


class NoGlibcError(SmpmakeError):
    """This system's libc is another one, as Alpine's musl."""


def require_glibc() -> None:
    """Raises NoGlibcError where Python itself runs on another libc; costs a microsecond."""
    try:
        found = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):  # musl: EINVAL
        found = None
    if not found:
        raise NoGlibcError(
            "this system has musl or another libc, not glibc, and the library by which a build's "
            "programs wait for their input needs glibc: build without smpmake, or in a system "
            "with glibc (Debian, Fedora, Ubuntu ...)"
        )
