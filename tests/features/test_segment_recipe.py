"""Recipes of segments: what they say, and the native expansion against a plain one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Dictionary, Extractor, Gazetteer, Recipe
from crfkit.features.recipe import Field, Template
from crfkit.features.views import make_view
from tests.cases.templates import Rows, corpora

KINDS = ("node", "begin", "end", "segment")


class Overlap:
    """A dictionary whose similarity is the share of tokens that it has; it remembers what it was asked."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = set(words)
        self.asked: list[list[str]] = []

    def best(
        self,
        phrases: Sequence[Sequence[str]],
        similarity: str,
        exclude: object = None,
        threads: object = None,
    ) -> Floats:
        self.asked.extend(map(list, phrases))
        return np.array([_overlap(phrase, self.words) for phrase in phrases])


def _overlap(phrase: Sequence[str], words: set[str]) -> float:
    return sum(word in words for word in phrase) / len(phrase)


def columns_of(rows: Rows) -> Columns:
    return Columns.from_rows(rows, names=["w", "p"])


def attributes(data: Dataset, kind: str) -> list[list[tuple[str, float]]]:
    """Return names and values at each place."""
    found = data.batch.occurrences(kind)
    if found is None:
        return []
    names = (data.attributes if kind == "node" else data.segment_attributes).strings()
    value = np.ones(len(found.id)) if found.value is None else found.value
    pairs = list(zip([names[i] for i in found.id], value.tolist(), strict=True))
    return [sorted(pairs[a:b]) for a, b in pairwise(found.ptr.tolist())]


# ---- a plain version


Tokens: TypeAlias = "list[tuple[str, ...]]"


def _padded(sequence: Tokens, at: int, f: Field) -> list[str]:
    if at < 0:
        return [f"_B-{min(-at, 8)}"]
    if at >= len(sequence):
        return [f"_B+{min(at - len(sequence) + 1, 8)}"]
    token = sequence[at]["wp".index(f.column)]
    value = [token] if f.view == "same" else make_view(f.view, f.arguments, {})([token])[0]
    return [] if value is None else [value] if isinstance(value, str) else value


def _values(sequence: Tokens, f: Field, p: int, d: int) -> list[str]:
    if not f.column:
        return [str(d)]
    if f.anchor != "all":
        return _padded(sequence, {"token": p, "begin": p, "end": p + d - 1}[f.anchor] + f.offset, f)
    if 0 < f.offset < d:
        return []
    phrase = [_padded(sequence, q, f) for q in range(p, p + d)]
    return [" ".join(value[0] for value in phrase)] if all(phrase) else []


def _number(sequence: Tokens, f: Field, p: int, d: int, words: set[str]) -> float:
    if f.view == "value":
        return float(d)
    if f.view == "square":
        return (d - float(f.arguments[0])) ** 2
    if f.anchor == "all" and 0 < f.offset < d:
        return 0.0
    first = p + (f.offset if f.anchor == "token" else 0)
    tokens = [sequence[q]["wp".index(f.column)] for q in range(first, first + d) if 0 <= q < len(sequence)]
    return _overlap(tokens, words) if tokens else 0.0


def _told(
    sequence: Tokens, template: Template, p: int, d: int, words: set[str]
) -> Iterator[tuple[str, float]]:
    if template.number is not None:
        value = _number(sequence, template.number, p, d, words)
        if value:
            yield template.literals[0], value
        return
    for chosen in product(*(_values(sequence, f, p, d) for f in template.fields)):
        parts = [text for pair in zip(template.literals, chosen, strict=False) for text in pair]
        yield "".join([*parts, template.literals[-1]]), 1.0


def plain(recipe: Recipe, rows: Rows, kind: str, D: int, words: set[str]) -> list[list[tuple[str, float]]]:
    templates = [template for template in recipe.templates if template.kind == kind]
    if not templates and kind != "node":
        return []
    return [
        sorted(pair for t in templates for pair in _told(sequence, t, p, d, words))
        if p + d <= len(sequence)
        else []
        for sequence in rows
        for p in range(len(sequence))
        for d in range(1, (D if kind == "segment" else 1) + 1)
    ]


# ---- generated recipes

views = st.sampled_from(["w", "p", "lower(w)", "prefix(w, 1)", "shape(w)"])
several = views | st.just("ngrams(w, 2, 2)")
tokens = st.builds("{}[{}]".format, several, st.integers(-9, 9))
places = st.builds("{}[{}{:+}]".format, several, st.sampled_from(["begin", "end"]), st.integers(-9, 9))
phrases = st.builds("{}[..{}]".format, views, st.sampled_from(["", "1", "2", "9"])) | st.just("length")
numbers = st.sampled_from(
    ["value(length)", "square(length, 1.5)", "jaccard(w, known)[..]", "jaccard(w, known)[..2]"]
)
lines = (
    st.builds(
        "{}{}[{}]".format,
        st.sampled_from(["", "begin: ", "end: "]),
        st.just("jaccard(w, known)"),
        st.integers(-2, 2),
    )
    | st.builds(
        "{}{}".format,
        st.sampled_from(["", "begin: ", "end: "]),
        st.lists(tokens, min_size=1, max_size=3).map(" & ".join),
    )
    | st.builds("segment: {}".format, st.lists(places | phrases, min_size=1, max_size=3).map(" & ".join))
    | st.builds("segment: {}".format, numbers)
    | st.sampled_from(["bias", "begin: bias", "end: bias", "segment: bias"])
)
recipes = st.lists(lines, min_size=1, max_size=6).map("\n".join)
WORDS = ["a", "A1", "é"]


@given(recipes, corpora, st.integers(1, 4))
def test_native_and_plain_expansion_agree(text: str, corpus: Rows, D: int) -> None:
    recipe = Recipe.parse(text, {"known": Overlap(WORDS)})
    assert Recipe.parse(str(recipe), recipe.resources) == recipe
    made = Extractor(recipe, label=None, longest=D)(columns_of(corpus), threads=1)
    for kind in KINDS:
        assert attributes(made, kind) == plain(recipe, corpus, kind, D, set(WORDS)), kind


@given(recipes, st.lists(corpora, min_size=2, max_size=3), st.integers(1, 3))
def test_threads_and_streams_give_the_same_bits(text: str, parts: list[Rows], D: int) -> None:
    recipe = Recipe.parse(text, {"known": Overlap(WORDS)})
    whole = columns_of([sequence for part in parts for sequence in part])
    one = Extractor(recipe, label=None, longest=D)(whole, threads=1)
    two = Extractor(recipe, label=None, longest=D)(whole, threads=2)
    extract = Extractor(recipe, label=None, longest=D)
    streamed = Dataset.concat([extract(columns_of(part)) for part in parts])
    for other in (two, streamed):
        assert one.attributes.strings() == other.attributes.strings()
        assert one.segment_attributes.strings() == other.segment_attributes.strings()
        for kind in KINDS:
            ours, theirs = one.batch.occurrences(kind), other.batch.occurrences(kind)
            assert (ours is None) == (theirs is None)
            for a, b in zip(ours or (), theirs or (), strict=True):
                np.testing.assert_array_equal(1.0 if a is None else a, 1.0 if b is None else b)


@given(recipes, corpora, corpora, st.integers(1, 2))
def test_frozen_drops_what_is_unknown(text: str, first: Rows, second: Rows, threads: int) -> None:
    recipe = Recipe.parse(text, {"known": Overlap(WORDS)})
    extract = Extractor(recipe, label=None, longest=3)
    before = extract(columns_of(first))
    known = {*before.attributes.strings(), *before.segment_attributes.strings()}
    after = extract.freeze()(columns_of(second), threads)
    assert after.segment_attributes.strings() == before.segment_attributes.strings()
    for kind in KINDS:
        expected = plain(recipe, second, kind, 3, set(WORDS))
        assert attributes(after, kind) == [[pair for pair in place if pair[0] in known] for place in expected]


# ---- what there is to see


def test_names_of_segments() -> None:
    recipe = Recipe.parse(
        "begin: w[-1]; end: w[1]; segment: w[..]; segment: shape(w)[..] & w[end+1] & length"
    )
    made = Extractor(recipe, label=None, longest=2)(columns_of([[("New", "N"), ("York", "N"), (".", ".")]]))
    assert [[name for name, _ in place] for place in attributes(made, "segment")][:2] == [
        ["segment:shape(w)[..]&w[end+1]&length=Aa+|York|1", "segment:w[..]=New"],
        ["segment:shape(w)[..]&w[end+1]&length=Aa+ Aa+|.|2", "segment:w[..]=New York"],
    ]
    assert attributes(made, "begin")[:2] == [[("begin:w[-1]=_B-1", 1.0)], [("begin:w[-1]=New", 1.0)]]
    assert made.batch.longest == 2
    assert made.extractor is not None
    assert made.extractor.longest == 2


def test_phrases_are_asked_once() -> None:
    known = Overlap(["a"])
    recipe = Recipe.parse("segment: jaccard(w, known)[..]; segment: tfidf(w, known)[..]", {"known": known})
    Extractor(recipe, label=None, longest=2)(columns_of([[("a", "x"), ("b", "x"), ("a", "x"), ("b", "x")]]))
    assert sorted(map(tuple, known.asked)) == sorted([("a",), ("b",), ("a", "b"), ("b", "a")] * 2)


def test_training_data_leave_out_what_comes_from_them_only() -> None:
    rows: Rows = [[("new", "x"), ("york", "x")], [("york", "x")], [("boston", "x")]]
    entries = Dictionary(["new york", "york", "boston", "york"], sources=[0, 0, 2, 1])
    text = "jaccard(w, CITY)[0]; segment: jaccard(w, CITY)[..]"
    extract = Extractor(Recipe.parse(text, {"CITY": entries}), label=None, longest=2)
    parts = [extract(columns_of(part), leave_out=True) for part in (rows[:1], rows[1:])]
    segments = [place for part in parts for place in attributes(part, "segment")]
    name = 'segment:jaccard(w, "CITY")[..]'
    assert segments == [[], [(name, 0.5)], [(name, 1.0)], [], [(name, 1.0)], [], [], []]
    assert [len(place) for part in parts for place in attributes(part, "node")] == [0, 1, 1, 0]
    anew = [place for place in attributes(extract(columns_of(rows)), "segment") if place]
    assert anew == [[(name, 0.5)], *[[(name, 1.0)]] * 4]


def test_hashed_attributes_of_segments() -> None:
    recipe = Recipe.parse("begin: w[0]; segment: w[..]; segment: value(length)")
    rows: Rows = [[("a", "x"), ("b", "x")]]
    named = Extractor(recipe, label=None, longest=2)(columns_of(rows))
    hashed = Extractor(recipe, label=None, hashed=1 << 20, longest=2)(columns_of(rows))
    found, ids = named.batch.occurrences("segment"), hashed.batch.occurrences("segment")
    assert found is not None
    assert ids is not None
    assert len(hashed.segment_attributes) == 0
    assert np.array_equal(found.ptr, ids.ptr)
    assert len(np.unique(ids.id)) == len(np.unique(found.id))
    assert max(ids.id) > 100


def test_mean_length_is_put_in() -> None:
    recipe = Recipe.parse("segment: square(length); segment: square(length, 1.0)")
    with pytest.raises(ValueError, match=r"recipe.settled\(mean\)"):
        Extractor(recipe, label=None, longest=2)(columns_of([[("a", "x")]]))
    settled = recipe.settled(1.5)
    assert str(settled) == "segment: square(length, 1.5)\nsegment: square(length, 1.0)"
    made = Extractor(settled, label=None, longest=3)(columns_of([[("a", "x")] * 3]))
    assert attributes(made, "segment")[:3] == [
        [("segment:square(length, 1.5)", 0.25)],
        [("segment:square(length, 1.0)", 1.0), ("segment:square(length, 1.5)", 0.25)],
        [("segment:square(length, 1.0)", 4.0), ("segment:square(length, 1.5)", 2.25)],
    ]
    with pytest.raises(ValueError, match="expected a finite number"):
        recipe.settled(float("nan"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bias\nword[..]", r"line 2: .*is read from a whole segment; write segment: before it"),
        ("begin: word[..]", "write segment: before it"),
        ("length", "write segment: before it"),
        ("segment: word[0]", r"write word\[begin\], word\[end\] or word\[\.\.\]"),
        ("segment: word[begin..end]", "is not clear"),
        ("segment: word[..0]", "is not a length; phrases have 1 to 1000 positions"),
        ("segment: word[..-1]", "is not a length"),
        ("word[..2]", "write segment: before it"),
        ("segment: word[begin1]", r"write begin\+1 or begin-1"),
        ("segment: word[begin-1..begin] & word[..]", "cannot be in a conjunction"),
        ("segment: value(length) & word[..]", "stands alone"),
        ("segment: value(word)", "is not a field"),
        ("value(word)[0]", r"write segment: value\(length\)"),
        ("segment: shape(length)", r"write length, value\(length\) or square\(length\)"),
        ('segment: square(length, "a")', "takes the mean length"),
        ("segment: ngrams(word, 2, 3)[..]", "several values"),
        ("segment: jaccard(word, known)[begin]", r'write jaccard\(word, "known"\)\[\.\.\]'),
        ("edge: jaccard(word, known)[0]", "does not score transitions"),
        ("segment: jaccard(word, other)[..]", "names a resource that is not given; given: known"),
        ('segment: embedding(word, "known")[begin]', "scores labels only"),
        ("phrase: word[0]", "'phrase' is not a kind of template; kinds are node, edge"),
    ],
)
def test_mistakes_in_recipes(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe.parse(text, {"known": {}})


def test_mistakes_in_extractors() -> None:
    for resource in ({"a": "b"}, Gazetteer(["a"])):
        with pytest.raises(
            TypeError, match=r"jaccard\(w, \"t\"\) names a resource that is a .*expected a Dict"
        ):
            Extractor(Recipe.parse("jaccard(w, t)[0]", {"t": resource}))
    recipe = Recipe.parse("segment: w[..]")
    with pytest.raises(ValueError, match="give the positions of the longest segments"):
        Extractor(recipe, label=None)(columns_of([[("a", "x")]]))
    with pytest.raises(ValueError, match="longest is 0"):
        Extractor(recipe, longest=0)
    table = Recipe.parse('segment: lookup(w, "t")[..]', {"t": {"a": ["1", "2"]}})
    with pytest.raises(ValueError, match=r"lookup\(w, \"t\"\)\[\.\.\] has several values for 'a'"):
        Extractor(table, label=None, longest=2)(columns_of([[("a", "x")]]))
