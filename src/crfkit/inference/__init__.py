"""Inference: every query on every structure, for one sequence or graph or a batch.

Each function takes the potentials that a structure made (`Chain.potentials`, `SemiMarkov.potentials`,
`Tree.potentials`) and answers for one sequence, or for each sequence of a batch. All of them are views of
one native sweep under different semirings:

=================  ==========================================================================
`log_partition`    log of the sum over all labelings, Sutton & McCallum (2006) eq. 1.29
`marginals`        probability of every part, eq. 1.34
`entropy`          log Z - <marginals, potentials>, with 0 * -inf = 0
`decode`           the best labeling, eq. 1.35, or the best label at each position
`kbest`            the k best labelings, distinct, best first
`constrained`      the best labeling that keeps `crfkit.constraints` on whole labelings
`sample`           independent draws from p(y | x)
`count`            how many labelings are allowed, as an exact integer
`reachable`        which parts lie on some allowed labeling
`score`            score of a given labeling; `log_prob`: minus log Z
`span_probability` probability that a span has given labels, by constrained forward-backward
`expected`         for objectives: log Z, and marginals by slot with a weight for each sequence
`best`             for objectives: scores of the best labelings, and these as flat arrays
=================  ==========================================================================

`marginal_map` is for graphs alone: the best labels of some variables, summed over the others.

Queries about graphs (`crfkit.Graph`) have the same names and lie in `crfkit.inference.graphs`: they take
``method=`` (`crfkit.inference.methods`), and ``.info`` of an answer says by which method it was found and
whether it is exact. They are answered for all graphs of a batch at once, in arrays by kind of variable.

A sequence without any allowed labeling has log partition -inf and count 0; queries that need a labeling
raise a `InfeasibleError` that names the sequence, and so does every query of a structure with constraints.
An empty sequence has exactly one labeling, of score 0.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily
from crfkit.inference.constrained.query import constrained
from crfkit.inference.paths import decode, kbest, log_prob, sample, score, span_probability
from crfkit.inference.sums import count, entropy, log_partition, marginals, reachable
from crfkit.inference.training import best, expected
from crfkit.structures.potentials import Potentials
from crfkit.structures.results import Labeling, Marginals

if TYPE_CHECKING:
    from crfkit.inference import reference as reference
    from crfkit.inference.constrained.decoding import Constrained
    from crfkit.inference.mixed import marginal_map

__all__ = [
    "Constrained",
    "Labeling",
    "Marginals",
    "Potentials",
    "best",
    "constrained",
    "count",
    "decode",
    "entropy",
    "expected",
    "kbest",
    "log_partition",
    "log_prob",
    "marginal_map",
    "marginals",
    "reachable",
    "sample",
    "score",
    "span_probability",
]

lazily(
    __name__,
    {"Constrained": ".constrained.decoding", "marginal_map": ".mixed"},
    modules=("reference",),
)
