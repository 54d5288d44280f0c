"""`MEMM`: a maximum-entropy Markov model as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from crfkit.estimators.chain import ChainCRF
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric
from crfkit.objectives.local import Local
from crfkit.optimize.problem import Optimizer
from crfkit.structures.chains.local import LocalChain
from crfkit.training.fit import Init
from crfkit.training.stop import Stop

__all__ = ["MEMM"]

_FEATURES: Final = Features()
_LOCAL: Final = Local()
_LOCAL_CHAIN: Final = LocalChain()
_STOP: Final = Stop()


class MEMM(ChainCRF):
    """`ChainCRF` with `LocalChain` and `Local`: each label is a distribution given the label before it.

    McCallum, Freitag & Pereira (2000), as compared by Lafferty, McCallum & Pereira (2001). Parameters and
    attributes are those of `ChainCRF`.

    Examples
    --------
    >>> from crfkit import MEMM
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]]
    >>> MEMM().fit(X, [["D", "N"], ["D", "N"]]).predict([[{"w": "the"}, {"w": "dog"}]])
    [['D', 'N']]
    """

    def _absent(self) -> Mapping[str, str]:
        return {"explain": "steps are normalized one by one, so that no sum of weights decides a label"}

    def __init__(
        self,
        structure: LocalChain | str = _LOCAL_CHAIN,
        features: Features | str = _FEATURES,
        objective: Objective | str = _LOCAL,
        optimizer: Optimizer | str = "auto",
        init: Init = None,
        stop: Stop = _STOP,
        template: Any = None,
        encoding: str | None = None,
        metric: Metric | str = "auto",
        seed: int = 0,
        threads: int | None = None,
        constraints: Sequence[GlobalConstraint] = (),
        **unknown: Any,
    ) -> None:
        super().__init__(
            structure,
            features,
            objective,
            optimizer,
            init,
            stop,
            template,
            encoding,
            metric,
            seed,
            threads,
            constraints,
            **unknown,
        )
