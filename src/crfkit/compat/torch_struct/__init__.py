"""A replacement of torch-struct: chains, segments, trees and alignments, on crfkit's kernels.

The same shapes, event by event: ``[batch, N - 1, C, C]`` as ``[to, from]``, and ``[batch, N - 1, K, C, C]``
for segments; properties and methods have the names of torch-struct 0.5. What differs: no length has to equal
N, -inf is -inf, and `count` is exact. `LinearChain`, `SemiMarkov`, `DepTree`, `CKY_CRF` and `Alignment` take
any semiring, in plain torch; the distributions are faster. Context-free grammars (`SentCFG`, `CKY`) and
autoregressive models are out of scope: asking for one of these names says so.
"""

from __future__ import annotations

from crfkit.compat.torch_struct.distributions import HMM, LinearChainCRF, SemiMarkovCRF, StructDistribution
from crfkit.compat.torch_struct.events import LinearChain, SemiMarkov
from crfkit.compat.torch_struct.parsing import (
    CKY_CRF,
    Alignment,
    AlignmentCRF,
    DependencyCRF,
    DepTree,
    NonProjectiveDependencyCRF,
    TreeCRF,
    convert,
    deptree_nonproj,
    deptree_part,
    unconvert,
)
from crfkit.torch.semirings import (
    CheckpointSemiring,
    CheckpointShardSemiring,
    CrossEntropySemiring,
    EntropySemiring,
    KLDivergenceSemiring,
    KMaxSemiring,
    LogSemiring,
    MaxSemiring,
    MultiSampledSemiring,
    SampledSemiring,
    Semiring,
    SparseMaxSemiring,
    StdSemiring,
)

__all__ = [
    "CKY_CRF",
    "HMM",
    "Alignment",
    "AlignmentCRF",
    "CheckpointSemiring",
    "CheckpointShardSemiring",
    "CrossEntropySemiring",
    "DepTree",
    "DependencyCRF",
    "EntropySemiring",
    "KLDivergenceSemiring",
    "KMaxSemiring",
    "LinearChain",
    "LinearChainCRF",
    "LogSemiring",
    "MaxSemiring",
    "MultiSampledSemiring",
    "NonProjectiveDependencyCRF",
    "SampledSemiring",
    "SemiMarkov",
    "SemiMarkovCRF",
    "Semiring",
    "SparseMaxSemiring",
    "StdSemiring",
    "StructDistribution",
    "TreeCRF",
    "convert",
    "deptree_nonproj",
    "deptree_part",
    "unconvert",
]

version = "0.5"

_OUT_OF_SCOPE = {"Autoregressive", "CKY", "GumbelCRFSemiring", "SentCFG"}


def __getattr__(name: str) -> object:
    if name in _OUT_OF_SCOPE:
        raise AttributeError(
            f"crfkit replaces chains, segments, trees, alignments and their semirings, not {name}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
