"""CRF layers for PyTorch: exact, deterministic, by native code on the CPU and Triton kernels on GPUs.

==================  ====================================================================================
`ChainCRF`          a linear chain, as the last layer of a network
`functional`        the same queries without a layer
`Paths`             labels and scores that decoding returns
==================  ====================================================================================

Needs torch: ``pip install crfkit[torch]``.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from crfkit.lazy import lazily

if find_spec("torch") is None:
    raise ImportError("crfkit.torch needs PyTorch: pip install crfkit[torch]")

if TYPE_CHECKING:
    from crfkit.torch import functional
    from crfkit.torch.chain import ChainCRF
    from crfkit.torch.results import Paths

__all__ = ["ChainCRF", "Paths", "functional"]

__getattr__, __dir__ = lazily(__name__, {"ChainCRF": ".chain", "Paths": ".results"}, modules=("functional",))
