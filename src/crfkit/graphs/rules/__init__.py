"""Weighted first-order rules (Markov logic), grounded into the cliques of a graph."""

from crfkit.graphs.rules.rules import Rules

__all__ = ["Rules"]
