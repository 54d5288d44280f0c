"""Dictionaries against a plain search through all entries."""

from __future__ import annotations

import gzip
import pickle
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.errors import DataError
from crfkit.features import Dictionary, InternalDictionary, Recipe
from crfkit.features.dictionary import SIMILARITIES
from crfkit.models.files.recipes import plain_recipe, recipe_of
from tests.cases.growth import check_growth, seconds_of

Tokens = tuple[str, ...]


# ---- the plain version


def jaccard(a: Tokens, b: Tokens) -> float:
    return len({*a} & {*b}) / len({*a} | {*b})


def tfidf(a: Tokens, b: Tokens, holders: Counter[str], size: int) -> float:
    def vector(tokens: Tokens) -> dict[str, float]:
        return {t: log(1 + n) * log(1 + size / (1 + holders[t])) for t, n in Counter(tokens).items()}

    x, y = vector(a), vector(b)
    dot = sum(w * y.get(t, 0.0) for t, w in x.items())
    return dot / sqrt(sum(w * w for w in x.values()) * sum(w * w for w in y.values()))


def jarowinkler(a: str, b: str) -> float:
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken: list[int] = []
    left = []
    for i, c in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if b[j] == c and j not in taken:
                taken.append(j)
                left.append(c)
                break
    m = len(taken)
    if not m:
        return 0.0
    t = sum(c != b[j] for c, j in zip(left, sorted(taken), strict=True)) // 2
    jaro = (m / len(a) + m / len(b) + (m - t) / m) / 3
    p = next((i for i in range(4) if a[i : i + 1] != b[i : i + 1] or not a[i : i + 1]), 4)
    return jaro + 0.1 * p * (1 - jaro)


def plain(phrase: Tokens, similarity: str, entries: Sequence[Tokens]) -> list[float]:
    """Similarities to all entries."""
    if not phrase:
        return [0.0] * len(entries)
    if similarity == "jaccard":
        return [jaccard(phrase, entry) for entry in entries]
    if similarity == "tfidf":
        holders = Counter(token for entry in entries for token in {*entry})
        return [tfidf(phrase, entry, holders, len(entries)) for entry in entries]
    return [jarowinkler(" ".join(phrase), " ".join(entry)) for entry in entries]


def compare(
    entries: Sequence[Tokens], phrases: Sequence[Tokens], sources: list[int], exclude: list[int]
) -> None:
    """Compare `best` and `closest` with the plain version."""
    dictionary = Dictionary(entries, sources=sources)
    for similarity in SIMILARITIES:
        every = [plain(phrase, similarity, entries) for phrase in phrases]
        np.testing.assert_allclose(
            dictionary.best(phrases, similarity), [max(row) for row in every], rtol=0, atol=1e-12
        )
        others = [
            max((v for v, s in zip(row, sources, strict=True) if s < 0 or s != out), default=0.0)
            for row, out in zip(every, exclude, strict=True)
        ]
        np.testing.assert_allclose(dictionary.best(phrases, similarity, exclude), others, rtol=0, atol=1e-12)
        for phrase, row in zip(phrases[:5], every[:5], strict=True):
            wanted = sorted((v for v in row if v > 0.0), reverse=True)[:3]
            found = [value for _, value in dictionary.closest(phrase, similarity, 3)]
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def drawn(random: Random, entries: int, words: list[str], longest: int = 4) -> list[Tokens]:
    made = {tuple(random.choices(words, k=random.randint(1, longest))) for _ in range(entries)}
    return sorted(made)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnopqrstuvwxyz", "αβγ日本語\U0001f600é"])
def test_best_is_that_of_a_search_through_all_entries(seed: int, letters: str) -> None:
    random = Random(f"{seed} {letters}")
    words = ["".join(random.choices(letters, k=random.randint(1, 7))) for _ in range(30)]
    weights = [*words, *words[:5] * 12]  # some words are common
    entries = drawn(random, 120, weights)
    unseen = ["".join(random.choices(letters + "!", k=random.randint(1, 9))) for _ in range(10)]
    phrases = [*drawn(random, 40, [*weights, *unseen], 5), *random.sample(entries, 5), ()]
    sources = [random.choice([-1, 0, 1, 2]) for _ in entries]
    compare(entries, phrases, sources, [random.choice([-1, 0, 1, 2]) for _ in phrases])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("abcd ", min_size=1, max_size=12), min_size=1, max_size=12),
    st.lists(st.text("abcde ", max_size=12), max_size=6),
    st.randoms(use_true_random=False),
)
def test_best_of_any_strings(entries: list[str], phrases: list[str], random: Random) -> None:
    cut = list(dict.fromkeys(tuple(e.split()) for e in entries if e.strip())) or [("a",)]
    sources = [random.choice([-1, 0, 1]) for _ in cut]
    asked = [tuple(phrase.split()) for phrase in phrases]
    compare(cut, asked, sources, [random.choice([-1, 0, 1]) for _ in asked])


def test_long_strings() -> None:
    random = Random(0)
    entries = [("".join(random.choices("abcd", k=random.randint(50, 150))),) for _ in range(20)]
    phrases = [("".join(random.choices("abcd", k=random.randint(1, 150))),) for _ in range(20)]
    compare(entries, phrases, [-1] * 20, [-1] * 20)


def test_a_dictionary_of_many_entries() -> None:
    """More entries than a block of the scan, and words that many entries share."""
    random = Random(1)
    syllables = ["an", "ber", "co", "dor", "es", "fi", "gan", "ho", "il", "ka", "lu", "mar"]
    words = ["".join(random.choices(syllables, k=random.randint(1, 3))) for _ in range(900)]
    entries = drawn(random, 3000, [*words, *["san", "new"] * 300], 3)
    dictionary = Dictionary(entries)
    for phrase in drawn(random, 60, [*words, "san", "new", "unseen"], 5):
        for similarity in SIMILARITIES:
            ((_, closest),) = dictionary.closest(phrase, similarity)
            assert dictionary.best([phrase], similarity)[0] == pytest.approx(closest, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [  # Winkler (1990), and what strcmp95 gives without its table of similar characters
        ("martha", "marhta", 0.961111111111),
        ("dwayne", "duane", 0.84),
        ("dixon", "dicksonx", 0.813333333333),
        ("abc", "xyz", 0.0),
    ],
)
def test_jaro_winkler_of_known_pairs(a: str, b: str, value: float) -> None:
    assert Dictionary([b]).best([a], "jarowinkler")[0] == pytest.approx(value, abs=1e-11)
    assert Dictionary([a]).best([b], "jarowinkler")[0] == pytest.approx(value, abs=1e-11)


def test_entries_themselves_have_similarity_one_exactly() -> None:
    random = Random(2)
    entries = drawn(random, 200, ["san", "jose", "de", "la", "cruz", "new", "york", "québec"], 4)
    assert (Dictionary(entries).similarities(entries) == 1.0).all()


def test_order_and_repeated_tokens() -> None:
    dictionary = Dictionary(["new york", "york york mills"])
    assert dictionary.best(["york new", "york new new"], "jaccard").tolist() == [1.0, 1.0]
    assert dictionary.best(["york new"], "tfidf")[0] == 1.0
    assert 0.0 < dictionary.best(["york new new"], "tfidf")[0] < 1.0
    assert dictionary.best(["york new"], "jarowinkler")[0] < 1.0


def test_case() -> None:
    assert Dictionary(["New York"]).best(["NEW YORK"], "jaccard")[0] == 1.0
    exact = Dictionary(["New York", "new york"], lower=False)
    assert len(exact) == 2
    assert len(Dictionary(["New York", "new york"])) == 1
    assert exact.best(["NEW YORK"], "jaccard")[0] == 0.0


def test_threads_do_not_change_bits() -> None:
    random = Random(3)
    words = ["".join(random.choices("abcdefgh", k=5)) for _ in range(60)]
    dictionary, phrases = Dictionary(drawn(random, 300, words)), drawn(random, 2000, words, 5)
    one = dictionary.similarities(phrases, threads=1)
    assert one.tobytes() == dictionary.similarities(phrases, threads=3).tobytes()


def test_equally_similar_entries_come_in_their_order() -> None:
    found = Dictionary(["a b", "a c", "x", "a d"]).closest("a", "jaccard", k=9)
    assert found == [("a b", 0.5), ("a c", 0.5), ("a d", 0.5)]


def test_entries_of_several_sequences_are_never_left_out() -> None:
    dictionary = Dictionary(["a", "A", "b", "b"], sources=[0, 1, 2, 2])
    assert dictionary.sources is not None
    assert dictionary.sources.tolist() == [-1, 2]
    assert dictionary.best(["a", "b", "b"], "jaccard", exclude=[0, 2, 1]).tolist() == [1.0, 0.0, 1.0]


def test_reading(tmp_path: Path) -> None:
    text = "New York\t8\n\nMéxico City\r\nBoston"
    plain_file, packed = tmp_path / "cities.txt", tmp_path / "cities.txt.gz"
    plain_file.write_text(text, newline="")
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain_file, packed):
        cities = Dictionary.read(path, name="cities")
        assert cities.entries == (("New", "York"), ("México", "City"), ("Boston",))
        assert repr(cities) == "Dictionary(3 entries, name='cities')"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\t8 million\n", r"cities.txt, line 2: has no entry before its first TAB"),
        (b"\n \n", r"cities.txt: has no entries; a dictionary has one a line"),
        (b"a\n\xff\n", r"cities.txt, line 2: is not valid UTF-8"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "cities.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Dictionary.read(path)


def test_wrong_entries() -> None:
    with pytest.raises(ValueError, match=r"^the dictionary 'cities' is empty; give at least one entry"):
        Dictionary([], name="cities")
    with pytest.raises(ValueError, match=r"^entry 1 of the dictionary is empty; leave it out"):
        Dictionary(["a", "  "])
    with pytest.raises(ValueError, match=r"^entry 0 of the dictionary has an empty token"):
        Dictionary([["a", ""]])
    with pytest.raises(TypeError, match=r"^entry 1 of the dictionary must be a string or a list of strings"):
        Dictionary(["a", ["b", 3]])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^entry 0 of the dictionary must be a string"):
        Dictionary([7])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="must be a list of strings, not one string"):
        Dictionary("New York")
    with pytest.raises(ValueError, match="the dictionary has 2 entries, but sources has 1"):
        Dictionary(["a", "b"], sources=[0])


def test_wrong_questions() -> None:
    dictionary = Dictionary(["a"])
    assert dictionary.best([], "tfidf").shape == (0,)
    assert dictionary.similarities([(), ("",)]).tolist() == [[0.0] * 3] * 2
    assert dictionary.closest((), "jarowinkler") == []
    message = "'cosine' is not a similarity; choose from jaccard, tfidf, jarowinkler"
    with pytest.raises(ValueError, match=message):
        dictionary.best(["a"], "cosine")
    with pytest.raises(ValueError, match=message):
        dictionary.closest("a", "cosine")
    with pytest.raises(TypeError, match=r"^phrase 1 must be a string or a list of strings, not \[1\]"):
        dictionary.best(["a", [1]], "jaccard")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="there are 2 phrases, but exclude has 1 numbers"):
        dictionary.best(["a", "b"], "jaccard", exclude=[0])
    with pytest.raises(ValueError, match="k is 0, expected 1 or more"):
        dictionary.closest("a", "jaccard", k=0)


# ---- internal dictionaries


@pytest.mark.parametrize("words", [False, True])
def test_entries_of_the_asking_sequence_are_left_out(words: bool) -> None:
    random = Random(4)
    vocabulary = ["".join(random.choices("abc", k=random.randint(1, 4))) for _ in range(12)]
    sequences = [random.choices(vocabulary, k=6) for _ in range(8)]
    segments = [
        [(0, 2, "A"), (2, 3, "O"), (3, 4, random.choice("AB")), (4, 6, random.choice("ABO"))]
        for _ in sequences
    ]
    made = InternalDictionary.of(sequences, segments, words=words)
    assert list(made) == ["A", "B"]
    for label in made:
        of: dict[Tokens, set[int]] = {}
        for n, (sequence, found) in enumerate(zip(sequences, segments, strict=True)):
            for start, end, name in found:
                phrase = tuple(sequence[start:end])
                for entry in [(word,) for word in phrase] if words and name == label else [phrase]:
                    if name == label:
                        of.setdefault(entry, set()).add(n)
        assert {*made[label].entries} == {*of}
        entries = list(made[label].entries)
        for n, sequence in enumerate(sequences):
            phrases = [tuple(sequence[i:j]) for i in range(6) for j in range(i + 1, 7)]
            for similarity in SIMILARITIES:
                found_best = made.best(phrases, similarity, exclude=[n] * len(phrases))
                for phrase, value in zip(phrases, found_best[:, list(made).index(label)], strict=True):
                    every = plain(phrase, similarity, entries)
                    left = [v for v, entry in zip(every, entries, strict=True) if of[entry] != {n}]
                    assert value == pytest.approx(max(left, default=0.0), abs=1e-12)


def test_wrong_segments() -> None:
    message = r"segment \(1, 3, 'A'\) of sequence 1 does not lie within its 2 words"
    with pytest.raises(ValueError, match=message):
        InternalDictionary.of([["a"], ["b", "c"]], [[(0, 1, "A")], [(1, 3, "A")]])
    with pytest.raises(ValueError, match="no segment has a label other than 'O', so the internal dictionary"):
        InternalDictionary.of([["a"]], [[(0, 1, "O")]])
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter"):
        InternalDictionary.of([["a"], ["b"]], [[(0, 1, "A")]])


# ---- in model files


def test_dictionaries_come_back_from_files() -> None:
    resources = {
        "cities": Dictionary(["New York", "São Paulo"], lower=False),
        **InternalDictionary.of([["Bo", "X"], ["y"]], [[(0, 2, "PER")], [(0, 1, "PER")]]),
    }
    recipe = Recipe.parse(
        "segment: jaccard(w, cities)[..]; jarowinkler(w, PER)[0]; tfidf(w, PER)[0]", resources
    )
    again = recipe_of(*plain_recipe(recipe))
    assert again == recipe
    assert again is not None
    phrases = ["new york", "New York", "bo", "Bo x y", "São"]
    for name, made in resources.items():
        kept = again.resources[name]
        assert (kept.entries, kept.lower, kept.name, kept.sources) == (made.entries, made.lower, name, None)
        assert (kept.similarities(phrases) == made.similarities(phrases)).all()


def test_pickles_keep_the_sequences() -> None:
    made = InternalDictionary.of([["a"], ["b"], ["b"]], [[(0, 1, "A")], [(0, 1, "A")], [(0, 1, "A")]])
    again = pickle.loads(pickle.dumps(made))
    assert again["A"].best(["a", "b"], "jaccard", exclude=[0, 1]).tolist() == [0.0, 1.0]
    assert repr(again) == repr(made) == "InternalDictionary(A: 2 entries)"


def test_what_is_not_a_dictionary_cannot_be_kept() -> None:
    with pytest.raises(ValueError, match="the resource 'cities' is not a Dictionary; a model file cannot"):
        plain_recipe(Recipe.parse("jaccard(w, cities)[0]", {"cities": ["New York"]}))


def test_long_strings_cost_what_they_are() -> None:
    """Every place that is near was looked at for every character: 10^12 for strings of a megabyte."""

    def best(strings: tuple[str, str]) -> float:
        entry, phrase = strings
        return float(Dictionary([entry], lower=False).best([[phrase]], "jarowinkler")[0])

    check_growth(lambda n: ("a" * n + "b" * n, "b" * n + "a" * n), best, 100_000)
    check_growth(lambda n: ("ab" * n, "a" * n + "b"), best, 100_000)


def test_a_long_string_costs_as_much_as_the_entries_that_it_is_compared_with() -> None:
    """Half of a long token was searched for every character of every entry."""
    dictionary = Dictionary([f"{i:05d}z" for i in range(2000)], lower=False)

    def every(token: str) -> None:
        dictionary.closest([token], "jarowinkler", 1)

    check_growth(lambda n: "y" * n + "0123456789", every, 50_000)
    assert seconds_of(lambda: every("y" * 1_000_000)) < 1.0
