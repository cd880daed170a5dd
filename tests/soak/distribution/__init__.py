"""Source packages of Debian, each in its own root: their plain builds are the oracle."""
