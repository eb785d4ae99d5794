"""Clocks: even sampling, and how the clocks of several instruments run against each other."""
