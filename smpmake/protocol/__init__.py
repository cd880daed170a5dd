"""Bytes on sockets, and the values that they stand for."""
