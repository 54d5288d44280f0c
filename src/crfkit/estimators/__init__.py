"""Estimators that follow the conventions of scikit-learn."""

from crfkit.estimators.chain import ChainCRF
from crfkit.models.reading import Reader

__all__ = ["ChainCRF", "Reader"]
