"""Optimisers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs.

Names are loaded when they are first used: a training needs two or three of them.
"""

from typing import TYPE_CHECKING

from crfkit.lazy import lazily

if TYPE_CHECKING:
    from crfkit.optimise.batch.cg import ConjugateGradient
    from crfkit.optimise.batch.em import EM
    from crfkit.optimise.batch.lbfgs import LBFGS
    from crfkit.optimise.batch.newton import TruncatedNewton
    from crfkit.optimise.batch.rprop import RProp
    from crfkit.optimise.batch.steepest import SteepestDescent
    from crfkit.optimise.batch.subgradient import Subgradient
    from crfkit.optimise.dual.trainer import Dual
    from crfkit.optimise.margin.bcfw import BCFW
    from crfkit.optimise.margin.exponentiated import ExponentiatedMargin
    from crfkit.optimise.margin.n_slack import NSlack
    from crfkit.optimise.margin.one_slack import OneSlack
    from crfkit.optimise.margin.smo import SMO
    from crfkit.optimise.parallel import ParallelUpdate
    from crfkit.optimise.problem import End, Optimiser, Penalty, Run, Smooth, Step
    from crfkit.optimise.scaling import IterativeScaling
    from crfkit.optimise.sequential.coordinate import BlockCoordinate
    from crfkit.optimise.sequential.minibatch import MiniBatch
    from crfkit.optimise.sequential.mira import MIRA, CrfppMIRA
    from crfkit.optimise.sequential.perceptron import AROW, AveragedPerceptron, PassiveAggressive
    from crfkit.optimise.sequential.stochastic import SGD, SGDL1, AdaGrad

__all__ = [
    "AROW",
    "BCFW",
    "EM",
    "LBFGS",
    "MIRA",
    "SGD",
    "SGDL1",
    "SMO",
    "AdaGrad",
    "AveragedPerceptron",
    "BlockCoordinate",
    "ConjugateGradient",
    "CrfppMIRA",
    "Dual",
    "End",
    "ExponentiatedMargin",
    "IterativeScaling",
    "MiniBatch",
    "NSlack",
    "OneSlack",
    "Optimiser",
    "ParallelUpdate",
    "PassiveAggressive",
    "Penalty",
    "RProp",
    "Run",
    "Smooth",
    "SteepestDescent",
    "Step",
    "Subgradient",
    "TruncatedNewton",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "AROW": ".sequential.perceptron",
        "BCFW": ".margin.bcfw",
        "EM": ".batch.em",
        "LBFGS": ".batch.lbfgs",
        "MIRA": ".sequential.mira",
        "SGD": ".sequential.stochastic",
        "SGDL1": ".sequential.stochastic",
        "SMO": ".margin.smo",
        "AdaGrad": ".sequential.stochastic",
        "AveragedPerceptron": ".sequential.perceptron",
        "BlockCoordinate": ".sequential.coordinate",
        "ConjugateGradient": ".batch.cg",
        "CrfppMIRA": ".sequential.mira",
        "Dual": ".dual.trainer",
        "End": ".problem",
        "ExponentiatedMargin": ".margin.exponentiated",
        "IterativeScaling": ".scaling",
        "MiniBatch": ".sequential.minibatch",
        "NSlack": ".margin.n_slack",
        "OneSlack": ".margin.one_slack",
        "Optimiser": ".problem",
        "ParallelUpdate": ".parallel",
        "PassiveAggressive": ".sequential.perceptron",
        "Penalty": ".problem",
        "RProp": ".batch.rprop",
        "Run": ".problem",
        "Smooth": ".problem",
        "SteepestDescent": ".batch.steepest",
        "Step": ".problem",
        "Subgradient": ".batch.subgradient",
        "TruncatedNewton": ".batch.newton",
    },
)
