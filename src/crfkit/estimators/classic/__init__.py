"""Estimators that papers compare with."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.estimators.classic.bayesian import BayesianCRF
    from crfkit.estimators.classic.codes import CodeCRF
    from crfkit.estimators.classic.kernel import KernelChainCRF
    from crfkit.estimators.classic.pool import OpinionPool
    from crfkit.estimators.classic.voted import VotedPerceptron

__all__ = ["BayesianCRF", "CodeCRF", "KernelChainCRF", "OpinionPool", "VotedPerceptron"]

lazily(
    __name__,
    {
        "BayesianCRF": ".bayesian",
        "CodeCRF": ".codes",
        "KernelChainCRF": ".kernel",
        "OpinionPool": ".pool",
        "VotedPerceptron": ".voted",
    },
)
