"""What the guards in a build's processes are told: the scoreboard, and answers to questions."""
