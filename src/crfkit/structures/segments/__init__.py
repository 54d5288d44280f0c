"""Segments: structure, gold and potentials."""
