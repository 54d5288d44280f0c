"""Structures: labels, the scores that they take, and what is allowed."""

from crfkit.structures.chain import Chain
from crfkit.structures.chain_potentials import ChainPotentials
from crfkit.structures.kinds import STRUCTURES
from crfkit.structures.local import LocalChain
from crfkit.structures.potentials import Potentials
from crfkit.structures.semimarkov import SemiMarkov
from crfkit.structures.semimarkov_potentials import SemiMarkovPotentials
from crfkit.structures.structure import Structure
from crfkit.structures.tree import Tree, TreePotentials

__all__ = [
    "STRUCTURES",
    "Chain",
    "ChainPotentials",
    "LocalChain",
    "Potentials",
    "SemiMarkov",
    "SemiMarkovPotentials",
    "Structure",
    "Tree",
    "TreePotentials",
]
