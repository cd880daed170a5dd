"""The one root of errors that are messages for the user: who, what, why and what to do."""


class SmpmakeError(Exception):
    """The message is a whole sentence for the user; no traceback is needed to understand it."""
