"""Constraints on whole labellings, and the best labelling under them: `crfkit.inference.constrained`."""
