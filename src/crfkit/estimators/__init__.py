"""Estimators that follow the conventions of scikit-learn."""

from crfkit.estimators.bayesian import BayesianCRF
from crfkit.estimators.boosting import BoostedCRF
from crfkit.estimators.chain import ChainCRF
from crfkit.estimators.codes import CodeCRF
from crfkit.estimators.factorial import FactorialCRF
from crfkit.estimators.graph import GraphCRF
from crfkit.estimators.grid import GridCRF
from crfkit.estimators.hidden import HiddenChainCRF
from crfkit.estimators.hidden_sequence import HiddenSequenceCRF
from crfkit.estimators.hmm import HMM
from crfkit.estimators.kernel import KernelChainCRF
from crfkit.estimators.memm import MEMM
from crfkit.estimators.multilabel import MultiLabelCRF
from crfkit.estimators.pool import OpinionPool
from crfkit.estimators.segments import SemiCRF
from crfkit.estimators.skip_chain import SkipChainCRF
from crfkit.estimators.voted import VotedPerceptron

__all__ = [
    "HMM",
    "MEMM",
    "BayesianCRF",
    "BoostedCRF",
    "ChainCRF",
    "CodeCRF",
    "FactorialCRF",
    "GraphCRF",
    "GridCRF",
    "HiddenChainCRF",
    "HiddenSequenceCRF",
    "KernelChainCRF",
    "MultiLabelCRF",
    "OpinionPool",
    "SemiCRF",
    "SkipChainCRF",
    "VotedPerceptron",
]
