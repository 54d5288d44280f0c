"""Tokens of one sequence by the native path of a recipe: the answers, and the errors, of the way of many."""

from __future__ import annotations

import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crfkit import Chain, ChainCRF, FeatureSelection, Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import labeled
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Gazetteer, Recipe
from crfkit.features.crfpp import parse_crfpp
from crfkit.features.wapiti import parse_wapiti
from crfkit.models import SequenceModel, Tagger
from crfkit.models.known import UnknownAttributesWarning
from crfkit.structures.constraints import Scheme

WORDS = ["the", "The", "New", "York", "U.S.", "a1", "42", "", " ", "x" * 40, "O'Neil", "in", "B", "I"]
WORDS += ["É", "éa", "İstanbul", "Straße", "ΣΟΦΟΣ", "東京", "👩‍🚀", "e\u0301", "ǅ", "٣4", "a\x00b", "\u2028"]
TAGS = ["DT", "NN", "NNP", "é"]
PLACES = ("B-X", "I-X", "B-Y", "I-Y", "O")
RESOURCES = {
    "cities": Gazetteer(["New York", "York", "東京"], lower=True),
    "clusters": {"the": "c1", "York": "c2", "éa": "c1"},
    "vectors": {"the": [1.0, -0.5], "York": [0.25, 2.0]},
}
VIEWS = ["w", "p", "lower(w)", "prefix(w, 1)", "prefix(w, 3)", "suffix(w, 2)", "shape(w)", "length(w)"]
VIEWS += ["ngrams(w, 2, 3)", 'regex(w, "[a-z]+")', 'is(w, "^[A-Z]")', 'lookup(w, "clusters")']
VIEWS += ['gazetteer(w, "cities")', "suffix(p, 1)"]

fields = st.tuples(st.sampled_from(VIEWS), st.integers(-3, 3)).map(lambda f: f"{f[0]}[{f[1]}]")
lines = st.tuples(
    st.sampled_from(["", "", "", "edge: ", "both: "]), st.lists(fields, min_size=1, max_size=3)
).map(lambda line: line[0] + " & ".join(line[1]))
own = st.lists(st.one_of(lines, st.just("bias")), min_size=1, max_size=6).map(
    lambda text: Recipe.parse("\n".join(text), RESOURCES)
)
macros = st.tuples(st.integers(-2, 2), st.integers(0, 1)).map(lambda at: f"%x[{at[0]},{at[1]}]")
crfpp = st.lists(
    st.tuples(st.sampled_from("UUUB"), st.integers(0, 99), st.lists(macros, max_size=3)),
    min_size=1,
    max_size=5,
).map(lambda made: parse_crfpp("\n".join(f"{k}{i}:{'/'.join(m)}" for k, i, m in made)))
commands = st.one_of(
    st.tuples(st.sampled_from("xX"), st.integers(-5, 5), st.integers(0, 1)).map(
        lambda c: f"%{c[0]}[{c[1]},{c[2]}]"
    ),
    st.tuples(st.sampled_from("tTmM"), st.integers(-2, 2), st.sampled_from(["^[A-Z]", "[a-z][a-z]*$"])).map(
        lambda c: f'%{c[0]}[{c[1]},0,"{c[2]}"]'
    ),
    st.just("%x[@1,0]"),
)
wapiti = st.lists(
    st.tuples(st.sampled_from("uuub*"), st.integers(0, 99), st.lists(commands, max_size=2)),
    min_size=1,
    max_size=5,
).map(lambda made: parse_wapiti("\n".join(f"{k}{i}:{'/'.join(c)}" for k, i, c in made)))
recipes = st.one_of(own, crfpp, wapiti)
rows = st.tuples(st.sampled_from(WORDS), st.sampled_from(TAGS))
sentences = st.lists(st.lists(rows, max_size=6), min_size=1, max_size=4)
SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=120)


def model_of(recipe: Recipe, seed: int, hashed: int | None, kind: str) -> SequenceModel:
    """A model with drawn weights: whole ones make ties, which all ways must break alike."""
    rng = np.random.default_rng(seed)
    X = [[(str(rng.choice(WORDS[:20])), str(rng.choice(TAGS))) for _ in range(5)] for _ in range(8)]
    y = [[PLACES[i] for i in rng.integers(5, size=len(x))] for x in X]
    options: dict[str, Any] = {}
    if kind == "scheme":
        y = [["O"] * len(x) for x in X[:-1]] + [list(PLACES)]
        options["structure"] = Chain(constraints=[Scheme("BIO")])
    elif kind == "plain":
        y = [[{"B": "p", "I": "q"}.get(name[0], "O") for name in one] for one in y]
    elif kind == "ends":
        options["selection"] = FeatureSelection(start=True, stop=True)
    names = None if recipe.dialect != "crfkit" else ["w", "p"]
    data = Extractor(recipe, None, hashed)(Columns.from_rows(X, names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(labeled(data, y, Alphabet()), optimizer="lbfgs", stop=Stop(max_iterations=1), **options)
    drawn = rng.integers(-1, 2, size=model.w.shape) if seed % 3 == 0 else rng.normal(size=model.w.shape)
    return replace(model, w=drawn.astype(np.float64))


def given_as(recipe: Recipe, sentence: list[tuple[str, str]]) -> list[Any]:
    """The rows as the recipe takes them: tokens, tuples or dicts."""
    if recipe.columns == ("w",) or not recipe.columns:
        return [word for word, _ in sentence]
    if recipe.dialect == "crfkit":
        return [{"p": tag, "w": word, "more": 1} for word, tag in sentence]
    return list(sentence)


@SETTINGS
@pytest.mark.filterwarnings("ignore::crfkit.models.known.UnknownAttributesWarning")
@given(
    recipe=recipes,
    X=sentences,
    seed=st.integers(0, 99),
    hashed=st.sampled_from([None, None, 7, 1000]),
    kind=st.sampled_from(["tags", "scheme", "plain", "ends"]),
)
def test_the_answers_of_the_model(
    recipe: Recipe, X: list[list[tuple[str, str]]], seed: int, hashed: int | None, kind: str
) -> None:
    model = model_of(recipe, seed, hashed, kind)
    tagger = Tagger(model)
    assert model.decoder is not None
    tagger._watch.done = True  # whether the model knows the data is asked elsewhere
    given_X = [given_as(recipe, x) for x in X]
    each = [model.dataset([x]) for x in given_X]
    labels = [model.predict(one)[0] for one in each]
    spans = [model.predict_spans(one)[0] for one in each]
    for _ in range(2):  # the second time from memory
        for x, one, best, found in zip(given_X, each, labels, spans, strict=True):
            assert tagger.tag(x) == tagger.tag(tuple(x)) == best
            assert tagger.answer(x) == (best, found)
            np.testing.assert_array_equal(tagger.predict_proba(x), model.predict_proba(one)[0])
            expected = model.log_prob(model.dataset([x], [best]))[0]
            assert tagger.log_prob(x, best) == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert model.predict([x]) == [best]
            assert model.predict_spans([x]) == [found]
    assert model.predict(given_X) == labels == model.predict(model.dataset(given_X))
    assert model.predict_spans(given_X) == spans
    assert not tagger._readers, "the native path answered"


STRANGE: list[Any] = [
    ["the", None],
    ["the", 3],
    ["the", b"x"],
    ["the", ("a", "b")],
    ["\ud800"],
    [("the", "DT"), ("a",)],
    [("the", "DT"), ("a", None)],
    [("the", "DT", "O"), ("a", "NN", "\ud800")],
    [("the",)],
    [()],
    [("the", "DT", "O", "more")],
    [{"w": "the"}],
    [{"w": "the", "p": None}],
    [{"w": "the", "p": "DT"}, {"w": "the"}],
    [{"w": "the", "p": "DT"}, "the"],
    [{"w": "\udfff", "p": "DT"}],
    "the dog",
    ["the"],
    [("the", "DT")],
    [{"w": "the", "p": "DT"}],
    [{"0": "the", "1": "DT"}],
    [["the", "DT"]],
    {"the"},
]


@pytest.mark.parametrize("sequence", STRANGE, ids=lambda x: repr(x)[:40])
@pytest.mark.parametrize("recipe", ["w[0]", "w[0]; p[-1]", "U0:%x[0,0]\nU1:%x[-1,1]\n", "U0:%x[0,0]"])
def test_the_errors_of_the_model(recipe: str, sequence: Any) -> None:
    parsed = parse_crfpp(recipe) if "%" in recipe else Recipe.parse(recipe)
    model = model_of(parsed, 1, None, "tags")
    listed = sequence if isinstance(sequence, str) else list(sequence)

    def said(ask: Any) -> Any:
        try:
            return ask()
        except Exception as error:
            return type(error), str(error)

    expected = said(lambda: model.predict(model.dataset([listed]))[0])
    assert said(lambda: Tagger(model).tag(sequence)) == expected
    assert said(lambda: Tagger(model).answer(sequence)[0]) == expected
    assert said(lambda: model.predict([listed])[0]) == expected
    assert said(lambda: model.predict([listed, listed])[0])[0] == expected[0]


def test_scores_that_overflow_are_refused_in_the_same_words() -> None:
    model = model_of(Recipe.parse("w[0]; w[-1]"), 1, None, "tags")
    huge = replace(model, w=np.full_like(model.w, 1e300))
    for ask in (Tagger(huge).tag, Tagger(huge).predict_spans, lambda x: huge.predict([x])):
        with pytest.raises(ValueError, match=r"sequence 0.*scale"):
            ask(["the", "New", "the"])


def test_several_values_and_long_names_are_bounded() -> None:
    model = model_of(Recipe.parse("ngrams(w, 2, 9)[0] & ngrams(w, 2, 9)[1] & w[0]"), 1, None, "tags")
    x = ["".join(map(chr, range(first, first + 200))) for first in (0x4E00, 0x5E00)]
    with pytest.raises(ValueError, match="more than 100000 attributes at one position"):
        Tagger(model).tag(x)
    assert Tagger(model).tag(["the", "New"]) == model.predict(model.dataset([["the", "New"]]))[0]


def test_vectors_go_the_other_way() -> None:
    recipe = Recipe.parse('embedding(w, "vectors")[0]; w[0]', RESOURCES)
    model = model_of(recipe, 1, None, "tags")
    assert model.decoder is None
    x = ["the", "York", "in"]
    assert Tagger(model).tag(x) == model.predict([x])[0] == model.predict(model.dataset([x]))[0]


def test_attributes_without_names_and_wrong_threads_are_refused() -> None:
    model = model_of(Recipe.parse("w[0]"), 1, None, "tags")
    nameless = replace(model, names=replace(model.names, attributes=Alphabet().freeze()))
    for ask in (nameless.predict, nameless.predict_spans):
        with pytest.raises(ValueError, match="ids without names"):
            ask([["the", "New"]])
    with pytest.raises(ValueError, match="threads is 0"):
        model.predict([["the", "New"]], threads=0)
    assert model.predict([]) == []
    assert model.predict_spans([]) == []


def test_a_model_that_has_answered_goes_with_its_last_name() -> None:
    model = model_of(Recipe.parse("w[0]; lower(w)[1]"), 1, None, "tags")
    assert model.predict([["the", "New"]])
    assert model.predict_spans([["the", "New"]]) is not None
    gone = weakref.ref(model)
    del model
    assert gone() is None


def test_what_is_remembered_is_bounded() -> None:
    model = model_of(Recipe.parse("w[-1..1]; w[-1] & w[0]; suffix(w, 3)[0]"), 1, None, "tags")
    tagger = Tagger(model)
    tagger._watch.done = True

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024  # MB, of pages of 4 KB

    def read(turn: int) -> int:
        for n in range(5_000):
            tagger.tag([f"{turn}-{n}-{t}" for t in range(100)])
        return resident()

    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is read from /proc")
    first = read(0)
    assert max(read(turn) for turn in range(1, 4)) < first + 100  # 1,500,000 distinct tokens take 250


def test_data_that_are_not_known_warn_by_every_door() -> None:
    X, y = [["the", "dog", "sees", "New", "York"]] * 9, [["O", "O", "O", "B-X", "I-X"]] * 9
    model = ChainCRF(features="bias; w[-1..1]; suffix(w, 2)[-1..1]").fit(X, y).model_
    strange = [f"q{i}" for i in range(150)]
    for ask in (model.predict, model.predict_spans, lambda X: Tagger(model).tag(X[0])):
        with pytest.warns(UnknownAttributesWarning, match="the model knows none"):
            ask([strange])
    short = [strange[i : i + 5] for i in range(0, 150, 5)]
    for ask in (model.predict, model.predict_spans):
        with pytest.warns(UnknownAttributesWarning, match="the model knows none"):
            ask(short)
    tagger = Tagger(model)
    with pytest.warns(UnknownAttributesWarning, match="the model knows none"):
        [tagger.tag(x) for x in short]
    tagger.tag(strange)  # once
    assert model.predict(X * 9) == model.predict(model.dataset(X * 9))


def test_threads_share_a_tagger() -> None:
    recipe = Recipe.parse(
        'bias; w[-1..1]; lower(w)[0]; shape(w)[-1] & shape(w)[0]; gazetteer(w, "cities")[0]', RESOURCES
    )
    model = model_of(recipe, 1, None, "tags")
    rng = np.random.default_rng(2)
    X = [
        [str(rng.choice(WORDS)) + "z" * int(rng.integers(3)) for _ in range(int(T))]
        for T in rng.integers(0, 30, 60)
    ]
    X.append(["the", "New"] * 5_000)  # worth giving up the GIL for
    expected = model.predict_spans(model.dataset(X))
    tagger, barrier = Tagger(model), threading.Barrier(16)

    def work(i: int) -> bool:
        barrier.wait(60)
        order = np.random.default_rng(i).permutation(len(X))
        return all(tagger.predict_spans(X[n]) == expected[n] for n in order)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))
