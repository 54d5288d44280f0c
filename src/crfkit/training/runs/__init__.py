"""Runs: the loop around an optimizer, checkpoints, dev sets, convergence, progress."""
