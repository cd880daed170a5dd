"""What a recorded build is worth to other tools: values and texts made of a BuildRecord."""
