"""How sequences are grouped where scores are looked at more closely: by length, and by words that are new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Slices", "known_words", "slices"]

_LENGTHS = ((10, "up to 10 tokens"), (30, "11 to 30 tokens"), (1 << 62, "more than 30 tokens"))
_UNKNOWN = ("none", "up to 10 %", "more than 10 %")


@dataclass(frozen=True)
class Slices:
    """A group for each sequence, and the groups in their order.

    Examples
    --------
    >>> for one in slices([["Ana"], ["a"] * 20]):
    ...     print(one.title, one.groups, one.names)
    By length ['up to 10 tokens', '11 to 30 tokens'] ['up to 10 tokens', '11 to 30 tokens']
    """

    title: str
    groups: list[str]
    order: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Those that have sequences, in order."""
        return [one for one in self.order if one in set(self.groups)]


def slices(words: Sequence[Sequence[str]], model: Any = None) -> list[Slices]:
    """Return the groups by length and, of a model that knows words, by how many of them are new to it."""
    sizes = [next(name for most, name in _LENGTHS if len(one) <= most) for one in words]
    made = [Slices("By length", sizes, tuple(name for _, name in _LENGTHS))]
    known = known_words(model)
    if known:
        groups = []
        for one in words:
            new = sum(word not in known and word.lower() not in known for word in one)
            groups.append(_UNKNOWN[0 if not new else 1 if new <= 0.1 * len(one) else 2])
        made.append(Slices("By unknown words", groups, _UNKNOWN))
    return made


def known_words(model: Any) -> set[str]:
    """Return the words that a model has weights for, where its recipe has words themselves.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF(features="lower(0)[0]").fit([[("New",), ("York",)]], [["B", "I"]])
    >>> sorted(known_words(crf.model_))
    ['new', 'york']
    """
    recipe = getattr(model, "recipe", None)
    if recipe is None or not recipe.columns:
        return set()
    begins = tuple(
        one.literals[0]
        for one in recipe.templates
        if one.kind == "node" and len(one.fields) == 1 and not any(one.literals[1:])
        if (field := one.fields[0]).column == recipe.columns[0]
        and field.offset == 0
        and field.view in ("same", "lower")
        and field.anchor == "token"
    )
    if not begins:
        return set()
    names = model.attributes.strings()
    return {name[len(begin) :] for name in names for begin in begins if name.startswith(begin)}
