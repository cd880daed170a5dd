"""How many commands may run at once: each source says a number, and the least of them holds."""
