"""Which two positions of a sequence an edge joins: those with equal values, or those that are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Bools, Ids, Pointers
from crfkit.checks import check_choice
from crfkit.data.dataset import Dataset
from crfkit.features import Recipe
from crfkit.graphs.text_pairs import capitalized, equal_pairs, field_values
from crfkit.models.reading import columns_of

#: The clique of pairs of positions that are found in the data.
JOINED = "skip"


@dataclass(frozen=True, eq=False)
class Joined:
    """Which two positions of a sequence belong together: those with equal values, or those that are named."""

    equal: str | Callable[[Any], Any] | None = None
    where: Literal["capitalized"] | Callable[[Any], bool] | None = "capitalized"
    pairs: Callable[[Any], Iterable[tuple[int, int]]] | None = None

    def plain(self) -> dict[str, Any]:
        """Return a description; refuse functions."""
        made = {"equal": self.equal, "where": self.where, "pairs": self.pairs}
        functions = [name for name, value in made.items() if callable(value)]
        if functions:
            raise ValueError(
                f"{' and '.join(functions)}: functions, which a file cannot keep, and predictions need them; "
                "pickle the estimator, or write equal as a key or field, where as 'capitalized' or None"
            )
        return {name: made[name] for name in ("equal", "where")}

    @classmethod
    def of_plain(cls, fields: Fields) -> Joined | None:
        """Return what the field "joined" of a file describes."""
        plain = fields["joined"]
        if plain is None:
            return None
        right = isinstance(plain, dict) and {*plain} == {"equal", "where"}
        if not right or type(plain["equal"]) not in (str, type(None)):
            fields.wrong("joined", "the keys equal and where")
        if plain["where"] not in (None, "capitalized"):
            fields.wrong("joined", "where 'capitalized' or nothing")
        return cls(plain["equal"], plain["where"])

    def found(self, X: Any, data: Dataset, recipe: Recipe | None) -> Ids:
        """Return the pairs of positions, [M, 2], of X that was read as `data`."""
        ptr = data.batch.seq_ptr
        if self.pairs is not None:
            return _named_pairs(self.pairs, X, ptr)
        if recipe is None or not (self.equal is None or isinstance(self.equal, str)):
            value = [self._value(item) for sequence in X for item in sequence]
            names = dict.fromkeys(value)
            number = {name: i for i, name in enumerate(names)}
            ids = tokens = np.array([number[name] for name in value], dtype=np.int32)
            spelled: list[Any] = [*names]
        else:
            field = recipe.columns[0] if self.equal is None else self.equal
            ids, tokens, spelled = field_values(columns_of(X, recipe), field)
        return equal_pairs(ids, ptr, where=self._allowed(spelled, tokens))

    def _value(self, item: Any) -> Any:
        if callable(self.equal):
            return self.equal(item)
        if self.equal is None:
            raise ValueError("equal is not given; say what makes tokens equal: a key of items, or a function")
        if not isinstance(item, Mapping) or self.equal not in item:
            raise ValueError(f"equal is {self.equal!r}, but the item {item!r:.60} has no such key")
        return item[self.equal]

    def _allowed(self, spelled: list[Any], tokens: Ids) -> Bools | None:
        if self.where is None:
            return None
        if callable(self.where):
            yes: NDArray[np.bool_] = np.array([bool(self.where(token)) for token in spelled], dtype=np.bool_)
        else:
            check_choice("where", self.where, ("capitalized",))
            yes = capitalized([str(token) for token in spelled])
        return yes[tokens]


def _named_pairs(pairs: Callable[[Any], Iterable[tuple[int, int]]], X: Any, ptr: Pointers) -> Ids:
    """Return the pairs that a function names, checked: positions of all sequences, [M, 2]."""
    made = [np.zeros((0, 2), dtype=np.int64)]
    for n, sequence in enumerate(X):
        found = list(pairs(sequence))
        if not found:
            continue
        array, T = np.asarray(found), int(ptr[n + 1] - ptr[n])
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise ValueError(f"pairs of sequence {n} are {found!r:.60}, expected pairs of positions (i, j)")
        if array.min() < 0 or array.max() >= T or (array[:, 0] == array[:, 1]).any():
            raise ValueError(
                f"pairs of sequence {n} must be two different positions from 0 to {T - 1}: {found!r:.60}"
            )
        made.append(array + int(ptr[n]))
    return np.concatenate(made).astype(np.int32)
