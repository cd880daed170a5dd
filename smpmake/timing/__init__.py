"""What a recorded build meant: one model, which every printer shares."""

from smpmake.timing.depth import Depth, explore
from smpmake.timing.gain import Ends
from smpmake.timing.model import (
    Against,
    Timing,
    Wait,
    analyse,
    ancestors_share,
    efficiency,
)

__all__ = [
    "Against",
    "Depth",
    "Ends",
    "Timing",
    "Wait",
    "analyse",
    "ancestors_share",
    "efficiency",
    "explore",
]
