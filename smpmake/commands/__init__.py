"""What command lines mean: `families` asks the family of a tool, each in a module of its own."""
