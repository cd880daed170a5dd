"""What a trial of smpmake may find."""

from __future__ import annotations


class DifferenceError(AssertionError):
    """What was built is not what the plain build makes.

    Any other AssertionError of a trial is a loss: something hung, crashed, was left behind or
    half-written.
    """
