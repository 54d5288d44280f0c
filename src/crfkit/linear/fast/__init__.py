"""Native passes from weights to the loss and its gradient; `FAST` is the table of them.

Each says what it does not cover. The general path of `crfkit.linear.loss` computes the same and tests it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.linear.fast.likelihood import NativeLikelihood
from crfkit.linear.fast.segments import NativeSegments

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["FAST", "FastPath"]


class FastPath(Protocol):
    """Loss and gradient of one batch in a native pass; made once, evaluated many times."""

    def __init__(self, loss: LinearLoss, kept: Mapping[str, NDArray[Any]] | None = None) -> None: ...

    @staticmethod
    def covers(loss: LinearLoss) -> str:
        """Return why this loss cannot be evaluated here; empty where it can."""
        ...

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        ...

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return everything that was made of the batch, as arrays."""
        ...


FAST: tuple[type[FastPath], ...] = (NativeLikelihood, NativeSegments)
