"""Which weights a model gets: `FeatureSelection`, the options of its layout as one value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from crfkit.arrays import Pointers
from crfkit.checks import check_choice, check_number
from crfkit.linear.plan import LayoutOptions

__all__ = ["Chosen", "FeatureSelection", "Likely"]

Which = Literal["observed", "all", "likely"]


@dataclass(frozen=True)
class Likely:
    """Observed features, and after a little training those that correct errors of the model.

    Sutton & McCallum (2006), section 1.4.6: pairs that the data never show, but that the model finds likely.

    Parameters
    ----------
    iterations : int
        Training before the pairs are looked for.
    epsilon : float
        The least probability that makes a pair likely.

    Examples
    --------
    >>> FeatureSelection(Likely(epsilon=0.1)).likely
    Likely(iterations=5, epsilon=0.1)
    """

    iterations: int = 5
    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_number("iterations", self.iterations, whole=True)
        check_number("epsilon", self.epsilon)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Exactly these pairs of attribute and label, whatever the data show.

    Parameters
    ----------
    pairs : array [n, 2]
        Ids of the data that are learned from.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
    >>> model = train(data, selection=FeatureSelection(Chosen([[0, 0]]), transitions="none"))
    >>> model.layout.weights, model.predict([[["the"]]])
    (1, [['D']])
    """

    pairs: Pointers

    def __post_init__(self) -> None:
        given = np.array(self.pairs).reshape(-1, 2) if np.size(self.pairs) == 0 else np.array(self.pairs)
        if given.ndim != 2 or given.shape[1] != 2 or (given.size and given.dtype.kind not in "iu"):
            raise ValueError(
                f"pairs has shape {given.shape} and type {given.dtype}, expected ids [n, 2]: attribute, label"
            )
        object.__setattr__(self, "pairs", given.astype(np.int64))


@dataclass(frozen=True)
class FeatureSelection:
    """Options that choose which weights a model has.

    Parameters
    ----------
    which : {"observed", "all", "likely"}, Likely or Chosen
        Pairs of attribute and label that have a weight: those that the data show, all of them, the observed
        ones and those that the model finds likely after a little training, or just those of a list.
    min_count : float
        Keep what is seen at least this often; 0 keeps everything.
    count : {"count", "value"}
        How often: the number of occurrences, or the sum of sequence weight * value.
    transitions : {"all", "observed", "none"}
        Which label n-grams have a weight of their own.
    start, stop : bool
        Weights for the first and for the last label.
    max_weights : int
        An error instead of more weights than this; 500 million take 4 GB.

    Examples
    --------
    >>> FeatureSelection(min_count=3).min_count
    3
    >>> FeatureSelection("al")
    Traceback (most recent call last):
    ValueError: which is 'al', expected "observed", "all", "likely" or Likely(...) or Chosen(...)
    """

    which: Which | Likely | Chosen = "observed"
    min_count: float = 0.0
    count: Literal["count", "value"] = "count"
    transitions: Literal["all", "observed", "none"] = "all"
    start: bool = False
    stop: bool = False
    max_weights: int = 500_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.which, Likely | Chosen):
            check_choice("which", self.which, get_args(Which), "Likely(...) or Chosen(...)")
        check_choice("count", self.count, ("count", "value"))
        check_choice("transitions", self.transitions, ("all", "observed", "none"))
        check_number("min_count", self.min_count)
        check_number("max_weights", self.max_weights)
        for name in ("start", "stop"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} is {getattr(self, name)!r}, expected True or False")

    @classmethod
    def of(cls, given: Any) -> FeatureSelection:
        """Return features unchanged, or those that a word stands for.

        Examples
        --------
        >>> FeatureSelection.of("all").which
        'all'
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Likely):
            raise TypeError(
                f"Likely is part of the selection: write selection=FeatureSelection(which={given!r})"
            )
        check_choice(
            "selection", given, get_args(Which), "FeatureSelection(...), as in FeatureSelection(min_count=3)"
        )
        return cls(given)

    @property
    def likely(self) -> Likely | None:
        """How likely pairs are looked for; None: they are not."""
        return self.which if isinstance(self.which, Likely) else Likely() if self.which == "likely" else None

    def options(self) -> LayoutOptions:
        """Return the options of a layout that follow."""
        made: Any = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "which"}
        options: LayoutOptions = made
        if isinstance(self.which, Chosen):
            options["chosen"] = self.which.pairs
        return options
