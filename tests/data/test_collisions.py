"""Hash tables hold what was made to collide in them: the same ids, at a cost that grows as the input does."""

from __future__ import annotations

import io
import json
from functools import cache

import pytest

from crfkit import inference, read
from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.features.crfpp import parse_crfpp
from crfkit.features.dictionary import Dictionary
from crfkit.graphs import load as load_graph
from crfkit.inference.methods import Elimination
from tests.cases.collisions import (
    colliding_characters,
    colliding_graph,
    colliding_pairs,
    colliding_strings,
)
from tests.cases.growth import MOST, check_growth, seconds_of

#: What is read may be one long sequence, which is warned of elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.* is one sequence of:crfkit.errors.DataWarning")

N = 3000


@cache
def strings(low: bool = False) -> list[str]:
    return colliding_strings(2 * N, low=low)


def test_ids_are_those_of_first_appearance() -> None:
    names = [*strings(), *(f"w{i}" for i in range(N)), *strings()]
    known = {name: i for i, name in enumerate(dict.fromkeys(names))}
    alphabet = Alphabet()
    assert alphabet.ids(names).tolist() == [known[name] for name in names]
    assert [alphabet.find(name) for name in known] == list(known.values())
    assert alphabet.strings() == list(known)
    assert alphabet.find("collides") == -1


def test_merged_alphabets_agree() -> None:
    one, two = Alphabet(strings()[: N + 100]), Alphabet(strings()[N:])
    places = one.merge(two).tolist()
    assert [one[place] for place in places] == two.strings()
    assert len(one) == 2 * N


def test_few_collisions_can_be_frozen() -> None:
    some = [*strings()[:200], *(f"w{i}" for i in range(1000))]
    frozen = Alphabet(some).freeze()
    assert frozen.ids([*some, "x"]).tolist() == [*range(1200), -1]


def test_freezing_names_what_collides() -> None:
    with pytest.raises(ValueError, match=f"{2 * N - 512} of {2 * N} names have hashes that collide"):
        Alphabet(strings()).freeze()


def test_alphabets_cannot_be_flooded() -> None:
    check_growth(lambda n: strings()[:n], Alphabet, N)


@pytest.mark.parametrize("format", ["columns", "crfsuite", "mallet"])
def test_texts_cannot_flood_a_reader(format: str) -> None:
    between = " " if format == "mallet" else "\t"

    def text(n: int) -> bytes:
        return "".join(f"{name}{between}A\n" for name in strings()[:n]).encode()

    check_growth(text, lambda data: read(io.BytesIO(data), format), N)


@pytest.mark.parametrize("low", [False, True])
def test_json_cannot_flood_a_reader(low: bool) -> None:
    def text(n: int) -> bytes:
        return json.dumps({"items": [dict.fromkeys(strings(low)[:n], 1)]}).encode()

    check_growth(text, lambda data: read(io.BytesIO(data), "jsonl"), N)


def test_templates_cannot_be_flooded() -> None:
    recipe = parse_crfpp("U:%x[0,0]/%x[0,1]")

    def names(data: Columns) -> list[str]:
        return Extractor(recipe)(data).attributes.strings()

    some = colliding_pairs(300)
    assert names(some) == [f"U:a{a}/b{b}" for a, b in zip(*(ids.tolist() for ids in some.ids), strict=True)]
    check_growth(colliding_pairs, lambda data: Extractor(recipe)(data), 10_000)


def test_dictionaries_cannot_be_flooded() -> None:
    def seconds(letters: list[str]) -> float:
        entries = ["".join(letters[i : i + 5]) for i in range(0, len(letters), 5)]
        dictionary = Dictionary(entries, lower=False)
        phrases = ["".join(letters[k:] + letters[:k]) for k in range(50)]
        return seconds_of(lambda: dictionary.best(phrases, "jarowinkler"))

    assert seconds(colliding_characters(900)) < MOST * seconds([chr(0x4E00 + k) for k in range(900)])


def test_graphs_cannot_flood_elimination() -> None:
    def seconds(collides: bool) -> float:
        scores = load_graph(io.BytesIO(colliding_graph(collides)))
        return seconds_of(lambda: inference.log_partition(scores, method=Elimination()), runs=1)

    assert seconds(True) < MOST * seconds(False)
