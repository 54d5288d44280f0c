"""Which verbs each estimator has, and why others are absent: the table that tests hold all estimators to."""

from __future__ import annotations

__all__ = ["ALWAYS", "NOT_YET", "REASONS", "TABLE", "VERBS"]

#: What every estimator has.
ALWAYS = ("fit", "predict", "score", "evaluate", "save", "load")

#: What some have; "dev" is an argument of fit.
VERBS = (
    "dev",
    "partial_fit",
    "predict_proba",
    "predict_spans",
    "kbest",
    "sample",
    "log_prob",
    "entropy",
    "explain",
    "tag",
)

REASONS = {
    "a": "steps are normalized one by one: a label is not decided by a sum of weights",
    "b": "training does not use dev data",
    "c": "not convex: call fit",
    "d": "a label sequence sums over many state paths",
    "e": "one label for the sequence: predict_proba ranks all",
    "f": "belongs to one training",
    "g": "X is not tokens",
    "h": "graph batches are not joined",
    "i": "positions have no order",
    "j": "the engine clamps labels, not sets",
    "k": "features are similarities to training data",
    "l": "decided by votes: no probabilities, no one sum of weights",
    "m": "averages over weights",
}

#: One letter for each verb: y where it is there, else the reason.
TABLE = {
    "ChainCRF": "yyyyyyyyyy",
    "SemiCRF": "yyyyyyyyyy",
    "MEMM": "yyyyyyyyay",
    "HMM": "byyyyyyyyy",
    "HiddenChainCRF": "ycyydyydyy",
    "HiddenSequenceCRF": "ycyeeeyyee",
    "BoostedCRF": "yfyyyyyyyg",
    "FactorialCRF": "yhyjyyyyyj",
    "SkipChainCRF": "yhyjyyyyyj",
    "GraphCRF": "yhyiyyyyyg",
    "GridCRF": "yhyiyyyyyg",
    "MultiLabelCRF": "yhyiyyyyyg",
    "KernelChainCRF": "bfyyyyyykg",
    "OpinionPool": "bfyyyyyyyy",
    "CodeCRF": "bfyyyyyyyy",
    "VotedPerceptron": "bfllllllll",
    "BayesianCRF": "bfyimmmmmg",
}

_CHAINS = "ChainCRF SemiCRF MEMM HMM BoostedCRF KernelChainCRF OpinionPool CodeCRF"
_SEQUENCES = f"{_CHAINS} HiddenChainCRF"
_READY = "FactorialCRF SkipChainCRF GridCRF MultiLabelCRF"
_GRAPHS = f"{_READY} GraphCRF"

#: Verb -> estimators where the table does not hold yet, and what is in the way. A stale line fails.
NOT_YET: dict[str, tuple[str, str]] = {
    "dev": (f"ChainCRF SemiCRF MEMM HiddenChainCRF HiddenSequenceCRF BoostedCRF {_READY}", "X_dev and y_dev"),
    "partial_fit": ("HMM", "counts are not kept"),
    "predict_proba": (
        f"{_SEQUENCES} FactorialCRF SkipChainCRF GridCRF GraphCRF BayesianCRF",
        "another name",
    ),
    "predict_spans": (_SEQUENCES, "another name"),
    "kbest": (f"{_CHAINS} {_READY}", "another name"),
    "sample": (f"VotedPerceptron {_READY}", "of the average; not there"),
    "log_prob": (f"{_SEQUENCES} HiddenSequenceCRF {_GRAPHS}", "another name"),
    "entropy": (f"{_CHAINS} HiddenSequenceCRF {_GRAPHS}", "a method of uncertainty"),
    "explain": (
        f"ChainCRF SemiCRF HMM HiddenChainCRF BoostedCRF OpinionPool CodeCRF {_READY}",
        "a function of models",
    ),
    "tag": ("ChainCRF SemiCRF MEMM HMM HiddenChainCRF OpinionPool CodeCRF", "another name"),
    "evaluate": (" ".join(TABLE), "a verb of models"),
    "save": (
        f"ChainCRF SemiCRF MEMM HMM HiddenChainCRF HiddenSequenceCRF OpinionPool BayesianCRF {_GRAPHS}",
        "model_.save",
    ),
    "load": (
        f"ChainCRF SemiCRF MEMM HMM HiddenChainCRF HiddenSequenceCRF OpinionPool BayesianCRF {_GRAPHS}",
        "crfkit.load",
    ),
    "score": ("BayesianCRF", "it has none"),
    "grid search": ("BayesianCRF FactorialCRF", "scikit-learn cannot cut these data into folds"),
}
