"""What the parameters `features` and `constraints` of estimators may be, and what they make of X."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Recipe
from crfkit.features.stock import columns_read, default_recipe, label_of
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.models.reading import recipe_of
from crfkit.structures.constraints import Constraint

__all__ = ["AnyConstraint", "itemized", "recipe_for", "split_constraints"]

AnyConstraint: TypeAlias = Constraint | GlobalConstraint
T = TypeVar("T")


def recipe_for(features: Any, X: Any, *, gold: bool, segments: bool = False) -> Recipe | None:
    """Return the recipe that makes attributes of X; None where X is attributes.

    Parameters
    ----------
    features : str, path, Recipe, function or None
        "auto": the stock recipe of tokens and Columns; other X is attributes.
    X : sequences
    gold : bool
        Whether labels are in a column of X, which the recipe then must not read.
    segments : bool
        With attributes of whole segments.

    Examples
    --------
    >>> recipe_for("auto", [["the", "dog"]], gold=False).columns
    ('word',)
    >>> recipe_for("auto", [[{"w": "the"}]], gold=False) is None
    True
    """
    if callable(features):
        return None
    if features != "auto":
        return recipe_of(features)
    if isinstance(X, Columns):
        place = X.place(label_of(X, None)) if gold else None if X.label is None else X.place(X.label)
        if gold and len(X.names) < 2:
            raise ValueError(f"{X.source or 'X'} has one column, expected tokens and labels: give y")
        return default_recipe(columns_read(X, place), segments)
    token = _first_token(X)
    if isinstance(token, str):
        return default_recipe(["word"], segments)
    if isinstance(token, tuple) and token and all(isinstance(cell, str) for cell in token):
        return default_recipe([str(c) for c in range(len(token))], segments)
    return None


def _first_token(X: Any) -> Any:
    """Return the first entry of the first sequence that has one."""
    if not isinstance(X, list | tuple):
        return None
    return next((one[0] for one in X if isinstance(one, list | tuple) and len(one)), None)


def itemized(features: Any, X: Any) -> Any:
    """Return what a function of features makes of X, an item for each position; else X itself.

    Examples
    --------
    >>> itemized(lambda tokens, i: {"w": tokens[i].lower()}, [["The", "dog"]])
    [[{'w': 'the'}, {'w': 'dog'}]]
    """
    if not callable(features) or isinstance(X, Dataset | Batch):
        return list(X) if isinstance(X, Iterator) else X
    return _items_by(features, X)


def _items_by(function: Callable[[Any, int], T], X: Iterable[Sequence[Any]]) -> list[list[T]]:
    made: list[list[T]] = []
    for n, tokens in enumerate(X):
        if isinstance(tokens, str | bytes):
            raise ValueError(f"X[{n}] is the plain string {tokens!r:.60}, expected a list of tokens")
        made.append([function(tokens, i) for i in range(len(tokens))])
    return made


def split_constraints(given: Any) -> tuple[tuple[Constraint, ...], Any]:
    """Return the constraints about neighbors, and all else, for `check_globals`.

    Examples
    --------
    >>> from crfkit.constraints import AtMostOnce, Forbid, Scheme
    >>> split_constraints([Scheme("BIO"), AtMostOnce(), Forbid("a", "b")])[1]
    (AtMostOnce(labels=None),)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (), given
    every = tuple(given)
    near = tuple(one for one in every if isinstance(one, Constraint))
    return near, tuple(one for one in every if not isinstance(one, Constraint))
