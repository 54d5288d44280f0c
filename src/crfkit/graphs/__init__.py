"""How data become graphs: kinds and cliques, finders of scopes, weighted rules, the text form, files.

==============  =============================================================================================
`Graph`         kinds of variables and the cliques that score them; `Clique`, `GraphBatch`
`scopes`        which variables belong together: neighbors, pairs, joins, queries, aggregates
`Rules`         weighted first-order rules, grounded into cliques
`load`, `save`  graphical models in files (UAI, OpenGM and others)
==============  =============================================================================================
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.graphs import scopes
    from crfkit.graphs.rules import Rules
    from crfkit.structures.graphs.batch import GraphBatch
    from crfkit.structures.graphs.cliques import Clique
    from crfkit.structures.graphs.files import load, save
    from crfkit.structures.graphs.graph import Graph

__all__ = ["Clique", "Graph", "GraphBatch", "Rules", "load", "save", "scopes"]

lazily(
    __name__,
    {
        "Clique": "crfkit.structures.graphs.cliques",
        "Graph": "crfkit.structures.graphs.graph",
        "GraphBatch": "crfkit.structures.graphs.batch",
        "Rules": ".rules",
        "load": "crfkit.structures.graphs.files",
        "save": "crfkit.structures.graphs.files",
    },
    modules=("scopes",),
)
