"""crfkit: conditional random fields: chains, segments and general graphs.

Names are loaded when they are first used, so that ``import crfkit`` takes milliseconds.

============  =========================================================================================
estimators    `ChainCRF`, `SemiCRF`, `GraphCRF`; `MEMM`, `HMM`, `BoostedCRF`; with hidden labels:
              `HiddenChainCRF`, `HiddenSequenceCRF`; ready-made graphs: `FactorialCRF`, `SkipChainCRF`,
              `GridCRF`, `MultiLabelCRF`; what papers compare with: ``crfkit.estimators.classic``
training      `read` data, `train`, `forecast`; `Chain`, `SemiMarkov`, `Graph`, `FeatureSelection`,
              `Likelihood`, `Stop`
models        `Model`, `load` (of any kind: crfkit, CRFsuite, CRF++, Wapiti, MALLET); `Span`; `Doc`: raw text
sub-packages  `data`, `features`, `structures`, `graphs`, `constraints`, `inference`, `objectives`,
              `optimize`, `training`, `models`, `metrics`, `tags`, `text`, `datasets`, `view`,
              `compat`, `errors`, `torch`
============  =========================================================================================
"""

from importlib import import_module

TYPE_CHECKING = False  # importing typing takes longer than all else here
if TYPE_CHECKING:
    from crfkit import (
        compat,
        constraints,
        data,
        datasets,
        errors,
        features,
        graphs,
        inference,
        metrics,
        models,
        objectives,
        optimize,
        structures,
        tags,
        text,
        training,
        view,
    )
    from crfkit._native import __version__
    from crfkit.data.reading import read
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
    from crfkit.linear.features import FeatureSelection
    from crfkit.models.base import Model
    from crfkit.models.files import load
    from crfkit.objectives.likelihood import Likelihood
    from crfkit.structures.chains.chain import Chain
    from crfkit.structures.graphs.graph import Graph
    from crfkit.structures.segments.semimarkov import SemiMarkov
    from crfkit.text.doc import Doc
    from crfkit.text.spans import Span
    from crfkit.training.forecast import forecast
    from crfkit.training.stop import Stop
    from crfkit.training.train import train

__all__ = [
    "HMM",
    "MEMM",
    "BoostedCRF",
    "Chain",
    "ChainCRF",
    "Doc",
    "FactorialCRF",
    "FeatureSelection",
    "Graph",
    "GraphCRF",
    "GridCRF",
    "HiddenChainCRF",
    "HiddenSequenceCRF",
    "Likelihood",
    "Model",
    "MultiLabelCRF",
    "SemiCRF",
    "SemiMarkov",
    "SkipChainCRF",
    "Span",
    "Stop",
    "__version__",
    "compat",
    "constraints",
    "data",
    "datasets",
    "errors",
    "features",
    "forecast",
    "graphs",
    "inference",
    "load",
    "metrics",
    "models",
    "objectives",
    "optimize",
    "read",
    "structures",
    "tags",
    "text",
    "train",
    "training",
    "view",
]

# Where names that are not sub-packages come from.
_HOMES = {
    "HMM": "estimators.hmm",
    "MEMM": "estimators.memm",
    "BoostedCRF": "estimators.boosting",
    "Chain": "structures",
    "ChainCRF": "estimators.chain",
    "Doc": "text.doc",
    "FactorialCRF": "estimators.factorial",
    "FeatureSelection": "linear.features",
    "Graph": "structures.graphs.graph",
    "GraphCRF": "estimators.graph",
    "GridCRF": "estimators.grid",
    "HiddenChainCRF": "estimators.hidden",
    "HiddenSequenceCRF": "estimators.hidden_sequence",
    "Likelihood": "objectives",
    "Model": "models.base",
    "MultiLabelCRF": "estimators.multilabel",
    "SemiCRF": "estimators.segments",
    "SemiMarkov": "structures",
    "SkipChainCRF": "estimators.skip_chain",
    "Span": "text.spans",
    "Stop": "training.stop",
    "__version__": "_native",
    "forecast": "training.forecast",
    "load": "models.files",
    "read": "data.reading",
    "train": "training.train",
}
# Sub-packages that ``from crfkit import *`` leaves alone: torch needs PyTorch, estimators are all above.
_LOOSE = ("estimators", "torch")


if not TYPE_CHECKING:  # for type checkers, what is not above does not exist

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            value = getattr(import_module(f"crfkit.{_HOMES[name]}"), name)
        elif name in __all__ or name in _LOOSE:
            value = import_module(f"crfkit.{name}")
        else:
            from crfkit._safe.name_hints import missing

            raise missing("crfkit", name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
