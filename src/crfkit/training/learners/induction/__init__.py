"""Feature induction: `crfkit.training.induce` and its parts."""
