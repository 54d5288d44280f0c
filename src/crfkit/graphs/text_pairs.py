"""Pairs of positions with equal values, counted before they are made: the long edges of skip-chains."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Bools, Ids, Pointers
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.graphs.scopes import same

#: Pairs of a clique in all; more are refused.
MOST_PAIRS = 10_000_000


def check_field(field: str) -> Recipe:
    """Return the recipe of one field, such as ``word`` or ``lower(word)``, at the position."""
    recipe = Recipe.parse(f"{field}[0]", source=field)
    if len(recipe.templates) != 1 or len(recipe.columns) != 1 or recipe.templates[0].kind != "node":
        raise ValueError(f"{field!r} is not a field; write a column, or view(column, ...)")
    return recipe


def field_values(columns: Columns, field: str) -> tuple[Ids, Ids, list[str]]:
    """Return a field such as ``lower(word)`` at each position: ids [P], -1 where it has no value.

    Also the ids of the tokens that it was made of, [P], and what these are.

    Examples
    --------
    >>> rows = [[("The",), ("dog",), ("the",)]]
    >>> ids, tokens, names = field_values(Columns.from_rows(rows, ["word"]), "lower(word)")
    >>> ids.tolist(), names
    ([0, 1, 0], ['The', 'dog', 'the'])
    """
    recipe = check_field(field)
    batch = Extractor(recipe, label=None)(columns).batch
    many = np.diff(batch.attr_ptr)
    if (many > 1).any() or batch.dense is not None:
        raise ValueError(f"{field} has several values at one position; use a view with one value")
    ids = np.full(columns.positions, -1, dtype=np.int32)
    ids[many == 1] = batch.attr
    place = columns.found(recipe.columns[0])
    return ids, columns.ids[place], columns.alphabets[place].strings()


def capitalized(tokens: list[str]) -> Bools:
    """Return which tokens begin with an upper-case letter."""
    return np.array([token[:1].isupper() for token in tokens], dtype=np.bool_)


def equal_pairs(
    value: Ids,
    seq_ptr: Pointers,
    *,
    where: Bools | None = None,
    nearest: int | None = None,
    most: int | None = None,
    limit: int = MOST_PAIRS,
) -> Ids:
    """Return all pairs of positions of one sequence that have the same value, [M, 2].

    Parameters
    ----------
    value : array [P]
        -1: no value, and no pair.
    seq_ptr : array [N + 1]
    where : array of bool [P], optional
        Positions that may be in a pair.
    nearest, most : int, optional
        As in `crfkit.graphs.scopes.same`.
    limit : int
        More pairs than this are refused.
    """
    may = value >= 0 if where is None else where & (value >= 0)
    sequence = np.repeat(np.arange(len(seq_ptr) - 1), np.diff(seq_ptr))[may]
    key = sequence * (int(value.max(initial=0)) + 1) + value[may]
    _, first, size = np.unique(key, return_index=True, return_counts=True)
    several = size if most is None else np.where(size > most, 1, size)
    follow = several - 1 if nearest is None else np.minimum(several - 1, nearest)
    count = follow * several - follow * (follow + 1) // 2  # of each value in each sequence
    if count.sum() > limit:
        worst = int(count.argmax())
        raise ValueError(
            f"equal values make {count.sum():,} pairs, more than {limit:,}; one value, {size[worst]:,} times "
            f"in sequence {sequence[first[worst]]}, makes {count[worst]:,}: pair fewer positions (where), "
            "each with those that follow next (nearest=1), or leave out frequent values (max_count=20)"
        )
    return same(value, seq_ptr, where=may, nearest=nearest, max_count=most)
