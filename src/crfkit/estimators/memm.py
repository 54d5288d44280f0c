"""`MEMM`: a maximum-entropy Markov model as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from crfkit.estimators.chain import ChainCRF


class MEMM(ChainCRF):
    """A maximum-entropy Markov model: a classifier for each step, given the label before it.

    McCallum, Freitag & Pereira (2000), as compared by Lafferty, McCallum & Pereira (2001). Parameters and
    attributes are those of `ChainCRF`.

    Examples
    --------
    >>> from crfkit import MEMM
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]]
    >>> MEMM().fit(X, [["D", "N"], ["D", "N"]]).predict([[{"w": "the"}, {"w": "dog"}]])
    [['D', 'N']]
    """

    _defaults: ClassVar[Mapping[str, Any]] = {"structure": "local-chain", "objective": "local"}

    def _absent(self) -> Mapping[str, str]:
        return {"explain": "steps are normalized one by one, so that no sum of weights decides a label"}
