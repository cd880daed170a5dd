"""What a recorded build meant: one model, which every printer shares."""

from smpmake.timing.details import Details, explore
from smpmake.timing.figures import (
    Against,
    Timing,
    Wait,
    analyse,
    ancestors_share,
    efficiency,
)
from smpmake.timing.gain import Ends

__all__ = [
    "Against",
    "Details",
    "Ends",
    "Timing",
    "Wait",
    "analyse",
    "ancestors_share",
    "efficiency",
    "explore",
]
