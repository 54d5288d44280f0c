"""crfkit: conditional random fields: chains, segments and general graphs.

Names are loaded when they are first used, so that ``import crfkit`` takes milliseconds.

==============  ========================================================================================
to learn        `train`, `ChainCRF`, `SemiCRF`; `Chain`, `SemiMarkov`, `Features`, `Likelihood`, `Stop`;
                `forecast` (what training will take); `induce`, `Induction`; `optimize`, `training`
their kin       `BoostedCRF`, `CodeCRF`, `HMM`, `HiddenChainCRF`, `HiddenSequenceCRF`, `KernelChainCRF`,
                `MEMM`, `OpinionPool`, `VotedPerceptron`
a model         `Model`, `load` (of any kind: crfkit, CRFsuite, CRF++, Wapiti, MALLET); `models`
data            `data`, `features`, `Dataset`
judging         `metrics`
queries         `Chain`, `SemiMarkov`, `Tree`; `inference`, `structures`, `constraints`
graphs          `Graph`, `Clique`, `GraphCRF`, `load_graph`, `save_graph`; `scopes`, `methods`;
                `BayesianCRF`; ready-made: `FactorialCRF`, `SkipChainCRF`, `GridCRF`, `MultiLabelCRF`
==============  ========================================================================================
"""

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes longer than all else here
if TYPE_CHECKING:
    from crfkit import (
        compat,
        constraints,
        data,
        features,
        inference,
        methods,
        metrics,
        models,
        objectives,
        optimize,
        scopes,
        structures,
        training,
    )
    from crfkit._native import __version__
    from crfkit.data.dataset import Dataset
    from crfkit.estimators import (
        HMM,
        MEMM,
        BayesianCRF,
        BoostedCRF,
        ChainCRF,
        CodeCRF,
        FactorialCRF,
        GraphCRF,
        GridCRF,
        HiddenChainCRF,
        HiddenSequenceCRF,
        KernelChainCRF,
        MultiLabelCRF,
        OpinionPool,
        SemiCRF,
        SkipChainCRF,
        VotedPerceptron,
    )
    from crfkit.inference import reference
    from crfkit.linear.features import Features
    from crfkit.models import explain
    from crfkit.models.files import load
    from crfkit.models.model import Model
    from crfkit.models.tagger import Tagger
    from crfkit.native import build_info
    from crfkit.objectives import (
        ContrastiveDivergence,
        EntropyRegularized,
        Exponential,
        Likelihood,
        Local,
        MarginalLikelihood,
        MaxMargin,
        Perceptron,
        Piecewise,
        PiecewisePseudoLikelihood,
        PosteriorRegularized,
        PseudoLikelihood,
        SampleRank,
        SoftmaxMargin,
    )
    from crfkit.rules import Rules
    from crfkit.structures import Chain, Clique, Graph, SemiMarkov, Tree
    from crfkit.structures.graph_files import load_graph, save_graph
    from crfkit.training import events
    from crfkit.training.boosting import Boosting
    from crfkit.training.forecast import forecast
    from crfkit.training.generative import Smoothing
    from crfkit.training.induction.induce import induce
    from crfkit.training.induction.options import Induction
    from crfkit.training.stop import Stop
    from crfkit.training.train import train

__all__ = [
    "HMM",
    "MEMM",
    "BayesianCRF",
    "BoostedCRF",
    "Boosting",
    "Chain",
    "ChainCRF",
    "Clique",
    "CodeCRF",
    "ContrastiveDivergence",
    "Dataset",
    "EntropyRegularized",
    "Exponential",
    "FactorialCRF",
    "Features",
    "Graph",
    "GraphCRF",
    "GridCRF",
    "HiddenChainCRF",
    "HiddenSequenceCRF",
    "Induction",
    "KernelChainCRF",
    "Likelihood",
    "Local",
    "MarginalLikelihood",
    "MaxMargin",
    "Model",
    "MultiLabelCRF",
    "OpinionPool",
    "Perceptron",
    "Piecewise",
    "PiecewisePseudoLikelihood",
    "PosteriorRegularized",
    "PseudoLikelihood",
    "Rules",
    "SampleRank",
    "SemiCRF",
    "SemiMarkov",
    "SkipChainCRF",
    "Smoothing",
    "SoftmaxMargin",
    "Stop",
    "Tagger",
    "Tree",
    "VotedPerceptron",
    "__version__",
    "build_info",
    "compat",
    "constraints",
    "data",
    "events",
    "explain",
    "features",
    "forecast",
    "induce",
    "inference",
    "load",
    "load_graph",
    "methods",
    "metrics",
    "models",
    "objectives",
    "optimize",
    "reference",
    "save_graph",
    "scopes",
    "structures",
    "train",
    "training",
]

# Where names that are not modules come from, and what they are called there.
_HOMES = {
    "__version__": ("crfkit._native", "__version__"),
    "BayesianCRF": ("crfkit.estimators", "BayesianCRF"),
    "BoostedCRF": ("crfkit.estimators", "BoostedCRF"),
    "Boosting": ("crfkit.training.boosting", "Boosting"),
    "build_info": ("crfkit.native", "build_info"),
    "Chain": ("crfkit.structures", "Chain"),
    "ChainCRF": ("crfkit.estimators", "ChainCRF"),
    "Clique": ("crfkit.structures", "Clique"),
    "CodeCRF": ("crfkit.estimators", "CodeCRF"),
    "ContrastiveDivergence": ("crfkit.objectives", "ContrastiveDivergence"),
    "Dataset": ("crfkit.data.dataset", "Dataset"),
    "EntropyRegularized": ("crfkit.objectives", "EntropyRegularized"),
    "Exponential": ("crfkit.objectives", "Exponential"),
    "FactorialCRF": ("crfkit.estimators", "FactorialCRF"),
    "Features": ("crfkit.linear.features", "Features"),
    "forecast": ("crfkit.training.forecast", "forecast"),
    "Graph": ("crfkit.structures", "Graph"),
    "GraphCRF": ("crfkit.estimators", "GraphCRF"),
    "GridCRF": ("crfkit.estimators", "GridCRF"),
    "HiddenChainCRF": ("crfkit.estimators", "HiddenChainCRF"),
    "HiddenSequenceCRF": ("crfkit.estimators", "HiddenSequenceCRF"),
    "HMM": ("crfkit.estimators", "HMM"),
    "induce": ("crfkit.training.induction.induce", "induce"),
    "Induction": ("crfkit.training.induction.options", "Induction"),
    "KernelChainCRF": ("crfkit.estimators", "KernelChainCRF"),
    "Likelihood": ("crfkit.objectives", "Likelihood"),
    "load": ("crfkit.models.files", "load"),
    "load_graph": ("crfkit.structures.graph_files", "load_graph"),
    "Local": ("crfkit.objectives", "Local"),
    "MarginalLikelihood": ("crfkit.objectives", "MarginalLikelihood"),
    "MaxMargin": ("crfkit.objectives", "MaxMargin"),
    "MEMM": ("crfkit.estimators", "MEMM"),
    "Model": ("crfkit.models.model", "Model"),
    "MultiLabelCRF": ("crfkit.estimators", "MultiLabelCRF"),
    "OpinionPool": ("crfkit.estimators", "OpinionPool"),
    "Perceptron": ("crfkit.objectives", "Perceptron"),
    "Piecewise": ("crfkit.objectives", "Piecewise"),
    "PiecewisePseudoLikelihood": ("crfkit.objectives", "PiecewisePseudoLikelihood"),
    "PosteriorRegularized": ("crfkit.objectives", "PosteriorRegularized"),
    "PseudoLikelihood": ("crfkit.objectives", "PseudoLikelihood"),
    "Rules": ("crfkit.rules", "Rules"),
    "SampleRank": ("crfkit.objectives", "SampleRank"),
    "save_graph": ("crfkit.structures.graph_files", "save_graph"),
    "SemiCRF": ("crfkit.estimators", "SemiCRF"),
    "SemiMarkov": ("crfkit.structures", "SemiMarkov"),
    "SkipChainCRF": ("crfkit.estimators", "SkipChainCRF"),
    "Smoothing": ("crfkit.training.generative", "Smoothing"),
    "SoftmaxMargin": ("crfkit.objectives", "SoftmaxMargin"),
    "Stop": ("crfkit.training.stop", "Stop"),
    "Tagger": ("crfkit.models.tagger", "Tagger"),
    "train": ("crfkit.training.train", "train"),
    "Tree": ("crfkit.structures", "Tree"),
    "VotedPerceptron": ("crfkit.estimators", "VotedPerceptron"),
}

# Modules that lie within a room.
_WITHIN = {
    "events": "crfkit.training.events",
    "explain": "crfkit.models.explain",
    "reference": "crfkit.inference.reference",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        module, called = _HOMES[name]
        value = getattr(import_module(module), called)
    elif name in __all__:
        value = import_module(_WITHIN.get(name, f"crfkit.{name}"))
    else:
        raise AttributeError(f"module 'crfkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
