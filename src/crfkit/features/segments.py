"""Attributes of segments: what functions of a sequence, a begin and an end say of each segment.

Every segment of at most `max_length` positions is looked at, not only the gold ones: a model weighs all of
them against each other. The functions are Python, called once for each segment; `of_words` makes one that is
called once for each phrase. What recipes say of segments (`crfkit.features.recipe`) is made natively, and
`segment_recipe` is the recipe of the founding paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

from crfkit._safe.printable import counted
from crfkit.arrays import Ragged, union
from crfkit.checks import check_number, in_order
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.features.items import ItemExtractor, walk_of
from crfkit.features.recipe import Recipe

#: Of a sequence x and the positions start to end - 1: names, or a dict of names and values.
SegmentFunction: TypeAlias = Callable[[Any, int, int], Iterable[str] | Mapping[str, float | str]]
#: Of the words of a segment: the same.
WordsFunction: TypeAlias = Callable[[tuple[str, ...]], Iterable[str] | Mapping[str, float | str]]


def segment_features(
    data: Dataset | Iterable[Any],
    max_length: int,
    functions: Sequence[SegmentFunction],
    *,
    X: Iterable[Any] | None = None,
    like: Any = None,
) -> Dataset:
    """Return data with attributes of segments.

    Parameters
    ----------
    data : Dataset, or iterable of sequences
        Sequences of items, as `ItemExtractor` takes them, or a data set, whose attributes and labels stay:
        also those of segments that a recipe made.
    max_length : int
        The most positions of a segment: the largest `max_length` of the structure.
    functions : sequence of functions
        ``g(x, start, end)`` returns what is known of the segment ``x[start:end]``: a list of strings, or a
        dict from names to numbers (or to strings, for the attribute ``name:string``). What several say is
        taken together.
    X : iterable of sequences, optional
        What the functions see as x. Default: the items; of a data set, lists of the names of attributes.
    like : Model or Dataset, optional
        Whose names are used: attributes that it does not know are dropped if it is a model.

    Examples
    --------
    >>> data = segment_features([[["the"], ["old"], ["dog"]]], 2, [phrase, length])
    >>> data.segment_attributes.strings()[:5]
    ['phrase=the', 'length=1', 'phrase=the old', 'length=2', 'phrase=old']
    >>> data.batch.longest, data.batch.segment_ptr.tolist()
    (2, [0, 2, 4, 6, 8, 10, 10])
    """
    check_number("max_length", max_length, 1, whole=True)
    for g in functions:
        if not callable(g):
            raise TypeError(f"functions has {g!r}, expected functions g(x, start, end), such as phrase")
    names = getattr(like, "names", like)  # a model keeps its alphabets there
    if not isinstance(data, Dataset):
        items = [list(sequence) for sequence in data]
        extract = ItemExtractor() if names is None else ItemExtractor(attributes=names.attributes)
        data, X = extract(items), items if X is None else X
    seen = _names_of(data) if X is None else X
    alphabet: Alphabet = data.segment_attributes if names is None else names.segment_attributes
    walk, lengths = walk_of(alphabet), [b - a for a, b in pairwise(data.batch.seq_ptr.tolist())]
    n = -1
    for n, x in enumerate(seen):
        if n >= len(lengths) or len(x) != lengths[n]:
            there = f"{lengths[n]} positions" if n < len(lengths) else "no such sequence"
            raise ValueError(f"X: sequence {n} has {len(x)} positions, the data have {there}")
        walk.append(_places(x, n, max_length, functions), n)
    if n + 1 != len(lengths):
        raise ValueError(f"X has {counted(n + 1, 'sequence')}, the data have {len(lengths)}")
    found = Ragged(*walk.take())
    batch = data.batch
    if data.segment_attributes is not alphabet and len(data.segment_attributes):
        batch = batch.renamed(segments=alphabet.merge(data.segment_attributes))
    held = batch.occurrences("segment")
    if held is not None and batch.positions:
        if batch.longest != max_length:
            raise ValueError(
                f"max_length is {max_length}, but the data have attributes of segments of up to "
                f"{batch.longest} positions; give max_length={batch.longest}"
            )
        found = union(held, found)
    batch = replace(batch, segment_ptr=found.ptr, segment_attr=found.id, segment_value=found.value)
    return replace(data, batch=batch, segment_attributes=alphabet)


def _names_of(data: Dataset) -> Iterator[list[list[str]]]:
    """Yield each sequence as lists of the names of its attributes."""
    names, batch = data.attributes.strings(), data.batch
    if not names and len(batch.attr):
        raise ValueError("the attributes of the data have no names that functions could see: give X")
    ptr, ids = batch.attr_ptr.tolist(), batch.attr.tolist()
    for a, b in pairwise(batch.seq_ptr.tolist()):
        yield [[names[i] for i in ids[ptr[p] : ptr[p + 1]]] for p in range(a, b)]


def _places(x: Any, n: int, D: int, functions: Sequence[SegmentFunction]) -> list[Any]:
    """Return the attributes of D segments for each position; none where the sequence is over before."""
    T = len(x)
    return [
        _joined(x, n, start, start + d, functions) if start + d <= T else []
        for start in range(T)
        for d in range(1, D + 1)
    ]


def _joined(x: Any, n: int, start: int, end: int, functions: Sequence[SegmentFunction]) -> Any:
    """Return what all functions say of one segment: names, or a dict where one has values."""
    told: list[tuple[str, float]] = []
    for g in functions:
        try:
            said: Any = g(x, start, end)
        except Exception as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"sequence {n}, segment {start} to {end}: {_called(g)} raised {type(error).__name__}: {error}"
            ) from error
        for name, value in _told(said):
            if isinstance(name, str) and isinstance(value, str):
                told.append((f"{name}:{value}", 1.0))
            elif isinstance(name, str) and isinstance(value, Real) and isfinite(value):
                told.append((name, float(value)))
            else:
                raise TypeError(
                    f"sequence {n}, segment {start} to {end}: {_called(g)} returned "
                    f"{said!r:.60}, expected a list of strings, or a dict of names and finite numbers"
                )
    if all(value == 1.0 for _, value in told):
        return [name for name, _ in told]
    added: dict[str, float] = {}
    for name, value in told:
        added[name] = added.get(name, 0.0) + value
    return added


def _called(g: SegmentFunction) -> str:
    return str(getattr(g, "__name__", g))


def _told(said: Any) -> Iterable[tuple[Any, Any]]:
    """Return names and values; a pair of None where it is neither a dict nor a collection."""
    if isinstance(said, Mapping):
        return said.items()
    if not isinstance(said, list | tuple | AnySet):
        return [(None, None)]
    return [(name, 1.0) for name in in_order(said)]


def _word(item: Any) -> str:
    """Return the word of a position: a string itself, the first of a list, the first value of a dict."""
    if isinstance(item, Mapping):
        item = next(iter(item.values()), None)
    elif isinstance(item, list | tuple):
        item = item[0] if item else None
    if not isinstance(item, str):
        raise TypeError(
            f"the word of a position is {item!r:.60}, expected a string: the item itself, the first of a "
            "list, or the first value of a dict"
        )
    return item


def of_words(function: WordsFunction, most: int = 1 << 16) -> SegmentFunction:
    """Return a function of segments that asks a function of their words, once for each phrase.

    Parameters
    ----------
    function : function of a tuple of strings
        What it returns must depend on the words only.
    most : int
        How many answers are kept: those that were used last.

    Examples
    --------
    >>> capitals = of_words(lambda words: ["capitals"] if all(w[0].isupper() for w in words) else [])
    >>> capitals(["in", "New", "York"], 1, 3)
    ['capitals']
    """
    answer = lru_cache(maxsize=most)(function)

    def of_segment(x: Any, start: int, end: int) -> Iterable[str] | Mapping[str, float | str]:
        return answer(tuple([_word(item) for item in x[start:end]]))

    of_segment.__name__ = str(getattr(function, "__name__", function))
    return of_segment


def phrase(x: Any, start: int, end: int) -> list[str]:
    """Return the words of a segment as one attribute.

    The word of a position is the item itself if it is a string, the first of a list, or the first value of
    a dict.

    Examples
    --------
    >>> phrase([{"w": "New", "n": 1}, {"w": "York"}], 0, 2)
    ['phrase=New York']
    """
    return ["phrase=" + " ".join(_word(item) for item in x[start:end])]


def length(x: Any, start: int, end: int) -> list[str]:
    """Return the number of positions of a segment as an attribute.

    `SemiMarkov` has weights of lengths and labels already; this one is for structures without them.

    Examples
    --------
    >>> length(["New", "York"], 0, 2)
    ['length=2']
    """
    return [f"length={end - start}"]


def first_word(x: Any, start: int, end: int) -> list[str]:
    """Return the first word of a segment; for words, see `phrase`.

    Examples
    --------
    >>> first_word(["New", "York"], 0, 2)
    ['first=New']
    """
    return [f"first={_word(x[start])}"]


def last_word(x: Any, start: int, end: int) -> list[str]:
    """Return the last word of a segment; for words, see `phrase`.

    Examples
    --------
    >>> last_word(["New", "York"], 0, 2)
    ['last=York']
    """
    return [f"last={_word(x[end - 1])}"]


def segment_recipe(column: str = "word", tags: Sequence[str] = ()) -> Recipe:
    """Return the recipe of Sarawagi & Cohen (2004) section 3.2, without dictionaries.

    Words and their shapes within three words of each position, of the first and of the last one (so also the
    three words before and after the segment); the phrase and its shape, of up to 8 words. Weights
    of lengths are not a part of the recipe: `SemiMarkov` has them.

    Parameters
    ----------
    column : str
        The column of words.
    tags : sequence of str
        Other columns that are taken in the same way, without shapes.

    Examples
    --------
    >>> recipe = segment_recipe("word")
    >>> [template.text() for template in recipe.templates][-2:]
    ['segment: word[..8]', 'segment: shape(word)[..8]']
    >>> len(recipe.templates), len(segment_recipe("word", ["pos"]).templates)
    (44, 66)
    """
    views = [column, f"shape({column})", *tags]
    lines = [f"{kind}{view}[-3..3]" for kind in ("", "begin: ", "end: ") for view in views]
    return Recipe.parse("\n".join([*lines, *(f"segment: {view}[..8]" for view in views)]))
