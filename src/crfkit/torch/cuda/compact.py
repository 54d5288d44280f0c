"""The places that a mask keeps, on CUDA: one launch."""

from __future__ import annotations

import torch
from torch import Tensor

from crfkit.torch.cuda.kernels import compact as kernels
from crfkit.torch.cuda.launch import launch

__all__ = ["kept"]


def kept(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return lengths and places as `crfkit.torch.rows.kept` does."""
    B, T = mask.shape
    length = mask.new_empty(B, dtype=torch.int32)
    index = mask.new_empty((B, T), dtype=torch.int32)
    if B:
        block = min(1024, max(32, 1 << (T - 1).bit_length()))
        launch(kernels.kept, B, (mask, *mask.stride(), length, index, T), (block,), 1)
    return length, index
