"""`smpmake check`: what a makefile forgot, from one serial build."""
