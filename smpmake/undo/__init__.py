"""What a build did, and how it is taken back."""
