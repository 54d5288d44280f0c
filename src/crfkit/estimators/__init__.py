"""Estimators that follow the conventions of scikit-learn."""

from crfkit.estimators.chain import ChainCRF

__all__ = ["ChainCRF"]
