"""What is asked of the file system, and what is kept in it."""
