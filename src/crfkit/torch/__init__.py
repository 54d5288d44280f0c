"""CRF layers for PyTorch: exact, deterministic, by native code on the CPU and Triton kernels on GPUs.

============================  ==============================================================================
`CRF`                    a linear chain, as the last layer of a network
`SegmentCRF`                  a semi-Markov chain: labeled segments
`CRFForTokenClassification`   a chain on an encoder of transformers, one of its models
`functional`                  the queries of chains without a layer
`segment_functional`          those of segments
`Paths`                       labels and scores that decoding returns
`Segmentations`               the same of segments
`DependencyTrees`             distributions over dependency trees, projective or not
`ConstituencyTrees`           over binary trees of labeled spans
`Alignments`                  over alignments of two sequences, with gaps
============================  ==============================================================================

Needs torch: ``pip install 'crfkit[torch]'``.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if find_spec("torch") is None:
    raise ImportError("crfkit.torch needs PyTorch: pip install 'crfkit[torch]'")

if TYPE_CHECKING:
    from crfkit.torch import functional, segment_functional
    from crfkit.torch.chain import CRF
    from crfkit.torch.pretrained import CRFForTokenClassification
    from crfkit.torch.results import Paths
    from crfkit.torch.segment_module import SegmentCRF
    from crfkit.torch.segment_results import Segmentations
    from crfkit.torch.trees import Alignments, ConstituencyTrees, DependencyTrees

__all__ = [
    "CRF",
    "Alignments",
    "CRFForTokenClassification",
    "ConstituencyTrees",
    "DependencyTrees",
    "Paths",
    "SegmentCRF",
    "Segmentations",
    "functional",
    "segment_functional",
]

lazily(
    __name__,
    {
        "CRFForTokenClassification": ".pretrained",
        "CRF": ".chain",
        "Alignments": ".trees",
        "ConstituencyTrees": ".trees",
        "DependencyTrees": ".trees",
        "Paths": ".results",
        "SegmentCRF": ".segment_module",
        "Segmentations": ".segment_results",
    },
    modules=("functional", "segment_functional"),
)
