"""What queries of models and estimators give: one entry for each sequence, in small values with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.tags.segments import Segments
from crfkit.text.spans import Span

__all__ = ["Candidate", "LabelProba", "PerSequence", "Span", "plain"]

T = TypeVar("T")


class Candidate(NamedTuple):
    """One of the k best labelings of a sequence or graph; what a sequence spells as (start, end, label)."""

    labels: Any  #: in the form of y: a list of labels; of a graph, by kind
    log_prob: float
    probability: float
    spans: Segments

    def __str__(self) -> str:
        return f"{plain(self.labels)} (p = {self.probability:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self._asdict(), "labels": plain(self.labels), "spans": [tuple(one) for one in self.spans]}


def plain(labels: Any) -> Any:
    """Return labels as lists and dicts of them.

    Examples
    --------
    >>> plain({"token": np.array(["D", "N"], dtype=object)})
    {'token': ['D', 'N']}
    """
    if isinstance(labels, Mapping):
        return {kind: plain(each) for kind, each in labels.items()}
    return labels.tolist() if isinstance(labels, np.ndarray) else labels


class PerSequence(list[T]):
    """A list with one entry for each sequence, which NumPy takes for an array of objects.

    scikit-learn's ``cross_val_predict`` joins the answers of the folds with NumPy, which would take plain
    lists of lists apart, or fail where their lengths differ.

    Examples
    --------
    >>> np.concatenate([PerSequence([["a", "b"]]), PerSequence([["a"], []])]).tolist()
    [['a', 'b'], ['a'], []]
    >>> PerSequence([["a", "b"], ["a"]]).flat()
    ['a', 'b', 'a']
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        if dtype is not None and np.dtype(dtype) != np.object_:
            raise TypeError(f"one entry for each sequence makes an array of objects, not of {dtype}")
        made = np.empty(len(self), dtype=object)  # [N]
        for n, one in enumerate(self):
            made[n] = one
        return made

    def flat(self) -> list[Any]:
        """Return the entries of all positions in one list, as the rows of a table have them."""
        return [each for one in self for each in one]  # type: ignore[attr-defined]


class LabelProba(PerSequence[Floats]):
    """The probability of every label at every position: an array [T, L] for each sequence.

    Examples
    --------
    >>> LabelProba([np.array([[0.25, 0.75]])], ("D", "N")).to_dicts()
    [[{'D': 0.25, 'N': 0.75}]]
    """

    def __init__(self, rows: Iterable[Floats], labels: Sequence[str]) -> None:
        super().__init__(rows)
        self.labels = tuple(labels)  #: of the columns

    def to_dicts(self) -> list[list[dict[str, float]]]:
        """Return a dict of label and probability for each position, in a list for each sequence."""
        return [[dict(zip(self.labels, row, strict=True)) for row in node.tolist()] for node in self]
