"""CRF layers for PyTorch: exact, deterministic, by native code on the CPU and Triton kernels on GPUs.

======================  ====================================================================================
`ChainCRF`              a linear chain, as the last layer of a network
`SegmentCRF`            a semi-Markov chain: labeled segments
`TokenClassifier`       a chain on an encoder of tokens, for Hugging Face's Trainer
`functional`            the queries of chains without a layer
`segment_functional`    those of segments
`Paths`                 labels and scores that decoding returns
`Segmentations`         the same of segments
======================  ====================================================================================

Needs torch: ``pip install crfkit[torch]``.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if find_spec("torch") is None:
    raise ImportError("crfkit.torch needs PyTorch: pip install crfkit[torch]")

if TYPE_CHECKING:
    from crfkit.torch import functional, segment_functional
    from crfkit.torch.chain import ChainCRF
    from crfkit.torch.results import Paths
    from crfkit.torch.segment_module import SegmentCRF
    from crfkit.torch.segment_results import Segmentations
    from crfkit.torch.token_classifier import TokenClassifier

__all__ = [
    "ChainCRF",
    "Paths",
    "SegmentCRF",
    "Segmentations",
    "TokenClassifier",
    "functional",
    "segment_functional",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "ChainCRF": ".chain",
        "Paths": ".results",
        "SegmentCRF": ".segment_module",
        "Segmentations": ".segment_results",
        "TokenClassifier": ".token_classifier",
    },
    modules=("functional", "segment_functional"),
)
