"""Which command may run when: pure values."""
