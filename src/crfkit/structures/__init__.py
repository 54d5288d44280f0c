"""Structures: labels, the scores that they take, and what is allowed."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.structures.chains.chain import Chain
    from crfkit.structures.chains.local import LocalChain
    from crfkit.structures.graphs.potentials import Table
    from crfkit.structures.potentials import Potentials
    from crfkit.structures.segments.semimarkov import SemiMarkov
    from crfkit.structures.structure import Structure
    from crfkit.structures.tree import Tree

__all__ = ["Chain", "LocalChain", "Potentials", "SemiMarkov", "Structure", "Table", "Tree"]

lazily(
    __name__,
    {
        "Chain": ".chains.chain",
        "LocalChain": ".chains.local",
        "Potentials": ".potentials",
        "SemiMarkov": ".segments.semimarkov",
        "Structure": ".structure",
        "Table": ".graphs.potentials",
        "Tree": ".tree",
    },
)
