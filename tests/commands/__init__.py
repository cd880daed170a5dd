"""Tests of what command lines mean."""
