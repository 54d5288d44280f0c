"""Constraints on whole labelings, and the best labeling under them: `crfkit.inference.constrained`."""
