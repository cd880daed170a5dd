"""What is remembered of builds: an SQLite file in the user's state folder.

A damaged or newer file never stops a build: the caller gets HistoryError and says so.
"""

from smpmake.history.recorder import Recorder
from smpmake.history.schema import VERSION
from smpmake.history.store import History, HistoryError, default_path

__all__ = ["VERSION", "History", "HistoryError", "Recorder", "default_path"]
