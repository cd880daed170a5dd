"""What calls of programs mean that copy, change, archive or print files.

A program of binutils or coreutils goes there; one whose result is what it prints into `printers`.
"""
