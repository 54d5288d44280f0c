"""crfkit: conditional random fields for chains, segments and graphs.

Names are loaded when they are first used, so that ``import crfkit`` takes milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit import data, features, inference
    from crfkit._native import __version__
    from crfkit.estimators import ChainCRF
    from crfkit.model import Model
    from crfkit.native import build_info
    from crfkit.objectives import Likelihood, Perceptron
    from crfkit.structures import Chain, SemiMarkov, Tree
    from crfkit.tagger import Tagger
    from crfkit.training import train

__all__ = [
    "Chain",
    "ChainCRF",
    "Likelihood",
    "Model",
    "Perceptron",
    "SemiMarkov",
    "Tagger",
    "Tree",
    "__version__",
    "build_info",
    "data",
    "features",
    "inference",
    "train",
]

_HOMES = {
    "Chain": "crfkit.structures",
    "ChainCRF": "crfkit.estimators",
    "Likelihood": "crfkit.objectives",
    "Model": "crfkit.model",
    "Perceptron": "crfkit.objectives",
    "SemiMarkov": "crfkit.structures",
    "Tagger": "crfkit.tagger",
    "Tree": "crfkit.structures",
    "__version__": "crfkit._native",
    "build_info": "crfkit.native",
    "train": "crfkit.training",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in __all__:
        value = import_module(f"crfkit.{name}")
    else:
        raise AttributeError(f"module 'crfkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
