"""Printers.  Each prints the timing model or the history; none computes."""
