"""How one command is to be run, and why."""
