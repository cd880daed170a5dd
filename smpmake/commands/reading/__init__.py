"""What the text of a recipe's line means, which a make gives to a shell.

A word of the shell's goes into `lines`, an option of make's into `makes`.
"""
