"""Estimators that follow the conventions of scikit-learn; each is loaded when it is first used."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.estimators.boosting import BoostedCRF
    from crfkit.estimators.chain import ChainCRF
    from crfkit.estimators.factorial import FactorialCRF
    from crfkit.estimators.graph import GraphCRF
    from crfkit.estimators.grid import GridCRF
    from crfkit.estimators.hidden import HiddenChainCRF
    from crfkit.estimators.hidden_sequence import HiddenSequenceCRF
    from crfkit.estimators.hmm import HMM
    from crfkit.estimators.memm import MEMM
    from crfkit.estimators.multilabel import MultiLabelCRF
    from crfkit.estimators.segments import SemiCRF
    from crfkit.estimators.skip_chain import SkipChainCRF

__all__ = [
    "ESTIMATORS",
    "HMM",
    "MEMM",
    "BoostedCRF",
    "ChainCRF",
    "FactorialCRF",
    "GraphCRF",
    "GridCRF",
    "HiddenChainCRF",
    "HiddenSequenceCRF",
    "MultiLabelCRF",
    "SemiCRF",
    "SkipChainCRF",
]

#: Every estimator, and the module that it lives in: names, lazy loading and tests come from it.
ESTIMATORS: Final[Mapping[str, str]] = {
    "BoostedCRF": ".boosting",
    "ChainCRF": ".chain",
    "FactorialCRF": ".factorial",
    "GraphCRF": ".graph",
    "GridCRF": ".grid",
    "HMM": ".hmm",
    "HiddenChainCRF": ".hidden",
    "HiddenSequenceCRF": ".hidden_sequence",
    "MEMM": ".memm",
    "MultiLabelCRF": ".multilabel",
    "SemiCRF": ".segments",
    "SkipChainCRF": ".skip_chain",
    "BayesianCRF": ".classic.bayesian",
    "CodeCRF": ".classic.codes",
    "KernelChainCRF": ".classic.kernel",
    "OpinionPool": ".classic.pool",
    "VotedPerceptron": ".classic.voted",
}

lazily(__name__, {name: home for name, home in ESTIMATORS.items() if name in __all__})
