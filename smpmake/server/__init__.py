"""Who may come, what they may ask, and where it all lies."""
