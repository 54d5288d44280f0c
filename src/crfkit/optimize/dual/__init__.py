"""Dual coordinate ascent, one variable for each labeling of a sequence."""
