"""One build from beginning to end."""
