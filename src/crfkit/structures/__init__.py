"""Structures: labels, the scores that they take, and what is allowed."""

from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.graphs.potentials import GraphPotentials, Table
from crfkit.structures.kinds import STRUCTURES
from crfkit.structures.potentials import Potentials
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.segments.semimarkov import SemiMarkov
from crfkit.structures.structure import Structure
from crfkit.structures.tree import Tree, TreePotentials

__all__ = [
    "STRUCTURES",
    "Chain",
    "ChainPotentials",
    "Clique",
    "Graph",
    "GraphBatch",
    "GraphPotentials",
    "LocalChain",
    "Potentials",
    "SemiMarkov",
    "SemiMarkovPotentials",
    "Structure",
    "Table",
    "Tree",
    "TreePotentials",
]
