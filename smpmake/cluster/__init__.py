"""Compiles on other machines: which there are, which has room, and what goes wrong there."""
