"""What a recorded build meant: one model, which every printer shares."""

from smpmake.timing.model import (
    Against,
    Depth,
    Timing,
    Wait,
    analyse,
    explore,
    extra_utilisation,
)

__all__ = ["Against", "Depth", "Timing", "Wait", "analyse", "explore", "extra_utilisation"]
