"""Which verbs each estimator has, and why others are absent: the table that tests hold all estimators to."""

from __future__ import annotations

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
    "OpinionPool": "yfyyyyyyyy",
    "CodeCRF": "bfyyyyyyyy",
    "VotedPerceptron": "bfllllllll",
    "BayesianCRF": "bfyimmmmmg",
}
