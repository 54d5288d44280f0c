"""Optimisers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs."""

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
