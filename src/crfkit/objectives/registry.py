"""All objectives by the names that users write.

A new one is a file with a subclass of `crfkit.linear.objective.Objective`, and its class in a table here.
"""

from crfkit.linear.objective import Objective
from crfkit.objectives.classic.exponential import Exponential
from crfkit.objectives.classic.marginal import MarginalLikelihood
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

#: Objectives by the names that users write.
OBJECTIVES: dict[str, type[Objective]] = {
    objective.name: objective
    for objective in (
        Likelihood,
        MaxMargin,
        Perceptron,
        Local,
        SoftmaxMargin,
        PseudoLikelihood,
        Piecewise,
        PiecewisePseudoLikelihood,
        MarginalLikelihood,
        Exponential,
        EntropyRegularized,
        PosteriorRegularized,
    )
}

#: Objectives that are for graphs alone.
ON_GRAPHS: dict[str, type[Objective]] = {
    objective.name: objective for objective in (ContrastiveDivergence, SampleRank)
}
