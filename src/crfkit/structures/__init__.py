"""Structures: which rows exist, which edges enter a row, what is allowed."""

from crfkit.structures.chain import Chain, ChainPotentials
from crfkit.structures.semimarkov import SemiMarkov, SemiMarkovPotentials
from crfkit.structures.tree import Tree, TreePotentials

__all__ = [
    "Chain",
    "ChainPotentials",
    "SemiMarkov",
    "SemiMarkovPotentials",
    "Tree",
    "TreePotentials",
]
