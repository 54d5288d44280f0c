"""What chains that are made of several models share: one start, and no constraints on their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from crfkit.estimators.base import fixed
from crfkit.estimators.chain import ChainCRF
from crfkit.training.fit import Init

if TYPE_CHECKING:
    from typing_extensions import Self


class Combined(ChainCRF):
    """A chain that is made of several models."""

    init: Init = fixed()
    constraints: Any = fixed(())

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> Self:
        """Train on sequences, as `ChainCRF` does, without a dev set, of which it makes no use."""
        return super().fit(X, y, sample_weight=sample_weight, progress=progress)
