"""Dual coordinate ascent, one variable for each labelling of a sequence."""
