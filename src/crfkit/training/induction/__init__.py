"""Feature induction: `crfkit.induce` and its parts."""
