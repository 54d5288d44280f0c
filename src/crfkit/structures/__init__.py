"""Structures: labels, the scores that they take, and what is allowed."""

from crfkit.structures.chain import Chain
from crfkit.structures.chain_potentials import ChainPotentials
from crfkit.structures.cliques import Clique
from crfkit.structures.graph import Graph
from crfkit.structures.graph_batch import GraphBatch
from crfkit.structures.graph_potentials import GraphPotentials, Table
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
