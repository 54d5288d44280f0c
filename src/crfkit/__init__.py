"""crfkit: conditional random fields; chains are trained, segments and trees are for inference.

Names are loaded when they are first used, so that ``import crfkit`` takes milliseconds.

==============  ========================================================================================
to learn        `train`, `Likelihood`, `ChainCRF`; `optimise`, `objectives`, `training`, `events`
a model         `Model`, `load` (of any kind: crfkit, CRFsuite, CRF++, Wapiti, MALLET); `exchange`, `explain`
data            `data`, `features`, `formats`, `Dataset`
judging         `metrics`
queries         `Chain`, `SemiMarkov`, `Tree`; `inference`, `structures`, `reference`
==============  ========================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit import (
        compat,
        data,
        events,
        exchange,
        explain,
        features,
        formats,
        inference,
        metrics,
        objectives,
        optimise,
        reference,
        structures,
        training,
    )
    from crfkit._native import __version__
    from crfkit.batch import Dataset
    from crfkit.estimators import ChainCRF
    from crfkit.exchange import read_model as load
    from crfkit.model import Model
    from crfkit.native import build_info
    from crfkit.objectives import Likelihood, Perceptron
    from crfkit.structures import Chain, SemiMarkov, Tree
    from crfkit.tagger import Tagger
    from crfkit.training import train

__all__ = [
    "Chain",
    "ChainCRF",
    "Dataset",
    "Likelihood",
    "Model",
    "Perceptron",
    "SemiMarkov",
    "Tagger",
    "Tree",
    "__version__",
    "build_info",
    "compat",
    "data",
    "events",
    "exchange",
    "explain",
    "features",
    "formats",
    "inference",
    "load",
    "metrics",
    "objectives",
    "optimise",
    "reference",
    "structures",
    "train",
    "training",
]

# Where names that are no modules come from, and what they are called there.
_HOMES = {
    "Chain": ("crfkit.structures", "Chain"),
    "ChainCRF": ("crfkit.estimators", "ChainCRF"),
    "Dataset": ("crfkit.batch", "Dataset"),
    "Likelihood": ("crfkit.objectives", "Likelihood"),
    "Model": ("crfkit.model", "Model"),
    "Perceptron": ("crfkit.objectives", "Perceptron"),
    "SemiMarkov": ("crfkit.structures", "SemiMarkov"),
    "Tagger": ("crfkit.tagger", "Tagger"),
    "Tree": ("crfkit.structures", "Tree"),
    "__version__": ("crfkit._native", "__version__"),
    "build_info": ("crfkit.native", "build_info"),
    "load": ("crfkit.exchange", "read_model"),
    "train": ("crfkit.training", "train"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        module, called = _HOMES[name]
        value = getattr(import_module(module), called)
    elif name in __all__:
        value = import_module(f"crfkit.{name}")
    else:
        raise AttributeError(f"module 'crfkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
