"""Optimizers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs.

Names are loaded when they are first used: a training needs two or three of them.
"""

from typing import TYPE_CHECKING

from crfkit.lazy import lazily

if TYPE_CHECKING:
    from crfkit.optimize.batch.cg import ConjugateGradient
    from crfkit.optimize.batch.em import EM
    from crfkit.optimize.batch.lbfgs import LBFGS
    from crfkit.optimize.batch.newton import TruncatedNewton
    from crfkit.optimize.batch.rprop import RProp
    from crfkit.optimize.batch.steepest import SteepestDescent
    from crfkit.optimize.batch.subgradient import Subgradient
    from crfkit.optimize.dual.trainer import Dual
    from crfkit.optimize.margin.bcfw import BCFW
    from crfkit.optimize.margin.exponentiated import ExponentiatedMargin
    from crfkit.optimize.margin.n_slack import NSlack
    from crfkit.optimize.margin.one_slack import OneSlack
    from crfkit.optimize.margin.smo import SMO
    from crfkit.optimize.parallel import ParallelUpdate
    from crfkit.optimize.problem import End, Optimizer, Penalty, Run, Smooth, Step
    from crfkit.optimize.scaling import IterativeScaling
    from crfkit.optimize.sequential.coordinate import BlockCoordinate
    from crfkit.optimize.sequential.minibatch import MiniBatch
    from crfkit.optimize.sequential.mira import MIRA, CrfppMIRA
    from crfkit.optimize.sequential.perceptron import AROW, AveragedPerceptron, PassiveAggressive
    from crfkit.optimize.sequential.stochastic import SGD, SGDL1, AdaGrad

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
    "Optimizer",
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
        "Optimizer": ".problem",
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
