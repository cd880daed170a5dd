"""Configure scripts that nobody has seen run: which checks come, read from their text."""
