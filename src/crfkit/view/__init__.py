"""Pictures: pure functions from plain data to HTML and SVG, with no script, no request and no dependency.

==============  ================================================================================
`entities`      a text with its labeled spans in color
`compare`       the same text as several systems label it, beside the gold
`lattice`       labels by tokens: the probability of each and of each step, the best two paths
`segments`      the probable segments of a sequence
`marginals`     the probability of each label of each token, as a table
`waterfall`     why this label and not that one, weight by weight
`transitions`   weights from label to label
`top_features`  the largest weights of each label
`weights`       weights of attributes by label
`confusion`     gold labels by predicted ones
`scores`        numbers by row, with bars; `facts`: names and texts
`reliability`   whether probabilities come true
`coverage`      precision of the surest answers; `intervals`: two systems row by row
`training`      objective, proved bound, score of the dev set; `learning`: a score by labels given
`alignment`     how spans were made to fit tokens
`graph`         variables and factors; `grid`: an image's pixels
`cell`, `page`  pictures with their style, for a notebook or as a file; `style`: the style sheet
==============  ================================================================================

Documents, models, reports and explanations show themselves in notebooks through these functions. All text is
escaped. Light or dark is what the notebook, the page or the system has.

>>> from crfkit import view
>>> html = view.page(view.entities("Ana lives in New York", [(0, 3, "PER", 0.99), (13, 21, "LOC", 0.6)]))
>>> "<script" in html
False
"""

from crfkit.view.coverage import coverage
from crfkit.view.entities import compare, entities, joined
from crfkit.view.graph import graph, grid
from crfkit.view.heat import confusion, marginals, transitions, weights
from crfkit.view.intervals import intervals
from crfkit.view.lattice import lattice
from crfkit.view.page import cell, page
from crfkit.view.reliability import reliability
from crfkit.view.segments import segments
from crfkit.view.style import style
from crfkit.view.tables import alignment, facts, scores, top_features
from crfkit.view.training import learning, training
from crfkit.view.waterfall import waterfall

__all__ = [
    "alignment",
    "cell",
    "compare",
    "confusion",
    "coverage",
    "entities",
    "facts",
    "graph",
    "grid",
    "intervals",
    "joined",
    "lattice",
    "learning",
    "marginals",
    "page",
    "reliability",
    "scores",
    "segments",
    "style",
    "top_features",
    "training",
    "transitions",
    "waterfall",
    "weights",
]
