"""A replacement of torch-struct's chains: `LinearChainCRF`, `SemiMarkovCRF` and `HMM`, on crfkit's kernels.

The same shapes, event by event: ``[batch, N - 1, C, C]`` as ``[to, from]``, and ``[batch, N - 1, K, C, C]``
for segments; properties and methods have the names of torch-struct 0.5. What differs: no length has to
equal N, -inf is -inf, and `count` is exact. `LinearChain` and `SemiMarkov` take any semiring, in plain torch;
the distributions are faster. Parsing (`TreeCRF`, `DependencyCRF`, `SentCFG`, ...) is out of
scope: asking for one of these names says so.
"""

from __future__ import annotations

from crfkit.compat.torch_struct.distributions import HMM, LinearChainCRF, SemiMarkovCRF, StructDistribution
from crfkit.compat.torch_struct.events import LinearChain, SemiMarkov
from crfkit.compat.torch_struct.semirings import (
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
    "HMM",
    "CheckpointSemiring",
    "CheckpointShardSemiring",
    "CrossEntropySemiring",
    "EntropySemiring",
    "KLDivergenceSemiring",
    "KMaxSemiring",
    "LinearChain",
    "LinearChainCRF",
    "LogSemiring",
    "MaxSemiring",
    "MultiSampledSemiring",
    "SampledSemiring",
    "SemiMarkov",
    "SemiMarkovCRF",
    "Semiring",
    "SparseMaxSemiring",
    "StdSemiring",
    "StructDistribution",
]

version = "0.5"

_OUT_OF_SCOPE = {
    "AlignmentCRF",
    "DependencyCRF",
    "NonProjectiveDependencyCRF",
    "SentCFG",
    "TreeCRF",
    "Autoregressive",
    "Alignment",
    "CKY",
    "CKY_CRF",
    "DepTree",
    "GumbelCRFSemiring",
}


def __getattr__(name: str) -> object:
    if name in _OUT_OF_SCOPE:
        raise AttributeError(f"crfkit replaces chains, segments and their semirings, not {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
