"""Optimisers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs."""

from crfkit.optimise.cg import ConjugateGradient
from crfkit.optimise.coordinate import BlockCoordinate
from crfkit.optimise.dual import Dual
from crfkit.optimise.lbfgs import LBFGS
from crfkit.optimise.mistakes import AROW, AveragedPerceptron, PassiveAggressive
from crfkit.optimise.newton import TruncatedNewton
from crfkit.optimise.problem import End, Optimiser, Penalty, Run, Smooth, Step
from crfkit.optimise.rprop import RProp
from crfkit.optimise.scaling import IterativeScaling
from crfkit.optimise.steepest import SteepestDescent
from crfkit.optimise.stochastic import SGD, SGDL1, AdaGrad

__all__ = [
    "AROW",
    "LBFGS",
    "SGD",
    "SGDL1",
    "AdaGrad",
    "AveragedPerceptron",
    "BlockCoordinate",
    "ConjugateGradient",
    "Dual",
    "End",
    "IterativeScaling",
    "Optimiser",
    "PassiveAggressive",
    "Penalty",
    "RProp",
    "Run",
    "Smooth",
    "SteepestDescent",
    "Step",
    "TruncatedNewton",
]
