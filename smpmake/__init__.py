"""Any serial build in parallel, safely, with its makefile untouched."""

__version__ = "0.2.0"
