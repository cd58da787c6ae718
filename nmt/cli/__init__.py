"""Turns the words after `nmt` into a command, runs it and returns its exit code."""
