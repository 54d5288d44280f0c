"""Optimizers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs.

Names are loaded when they are first used: a training needs two or three of them.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.optimize.batch.em import EM
    from crfkit.optimize.batch.lbfgs import LBFGS
    from crfkit.optimize.dual.trainer import Dual
    from crfkit.optimize.margin.bcfw import BCFW
    from crfkit.optimize.margin.one_slack import OneSlack
    from crfkit.optimize.problem import End, Optimizer, Penalty, Run, Step
    from crfkit.optimize.sequential.minibatch import MiniBatch
    from crfkit.optimize.sequential.mira import MIRA
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
    "AdaGrad",
    "AveragedPerceptron",
    "Dual",
    "End",
    "MiniBatch",
    "OneSlack",
    "Optimizer",
    "PassiveAggressive",
    "Penalty",
    "Run",
    "Step",
]

lazily(
    __name__,
    {
        "AROW": ".sequential.perceptron",
        "BCFW": ".margin.bcfw",
        "EM": ".batch.em",
        "LBFGS": ".batch.lbfgs",
        "MIRA": ".sequential.mira",
        "SGD": ".sequential.stochastic",
        "SGDL1": ".sequential.stochastic",
        "AdaGrad": ".sequential.stochastic",
        "AveragedPerceptron": ".sequential.perceptron",
        "Dual": ".dual.trainer",
        "End": ".problem",
        "MiniBatch": ".sequential.minibatch",
        "OneSlack": ".margin.one_slack",
        "Optimizer": ".problem",
        "PassiveAggressive": ".sequential.perceptron",
        "Penalty": ".problem",
        "Run": ".problem",
        "Step": ".problem",
    },
)
