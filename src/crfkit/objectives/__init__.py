"""Training objectives, each a file with one class; `crfkit.objectives.registry` is the table of them.

What papers compare with is in `crfkit.objectives.classic`.
"""

from crfkit.objectives.divergence import ContrastiveDivergence
from crfkit.objectives.entropy import EntropyRegularized
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.local import Local
from crfkit.objectives.margin import MaxMargin
from crfkit.objectives.perceptron import Perceptron
from crfkit.objectives.piecewise import Piecewise, PiecewisePseudoLikelihood
from crfkit.objectives.posterior import PosteriorRegularized
from crfkit.objectives.pseudo import PseudoLikelihood
from crfkit.objectives.sample_rank import SampleRank
from crfkit.objectives.softmax_margin import SoftmaxMargin

__all__ = [
    "ContrastiveDivergence",
    "EntropyRegularized",
    "Likelihood",
    "Local",
    "MaxMargin",
    "Perceptron",
    "Piecewise",
    "PiecewisePseudoLikelihood",
    "PosteriorRegularized",
    "PseudoLikelihood",
    "SampleRank",
    "SoftmaxMargin",
]
