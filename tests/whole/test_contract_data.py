"""The public face: what it promises of X, y, fit and results."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import (
    BoostedCRF,
    Chain,
    ChainCRF,
    Doc,
    FactorialCRF,
    GraphCRF,
    GridCRF,
    HiddenChainCRF,
    HiddenSequenceCRF,
    SemiCRF,
    SkipChainCRF,
)
from crfkit.constraints import AtMostOnce, Forbid
from crfkit.text import align
from crfkit.training import Boosting, Checkpoints
from crfkit.training.events import Checkpointed, Progress
from tests.cases.contract import GRAPH, ITEMS, TAGS, WORDS, columns_file, graphs, images, saved
from tests.cases.every_estimator import same


def test_flat_parameters_are_fields_of_parts() -> None:
    rows, labels = [np.eye(4)[[0, 1, 2]], np.eye(4)[[3, 0]]] * 4, [["a", "b", "a"], ["b", "a"]] * 4
    flat = BoostedCRF(l2=0.5, max_iterations=3, constraints=[Forbid("b", "b")]).fit(rows, labels)
    parts = BoostedCRF(
        boosting=Boosting(l2=0.5, rounds=3), structure=Chain(constraints=[Forbid("b", "b")])
    ).fit(rows, labels)
    assert np.array_equal(flat.model_.w, parts.model_.w)
    assert flat.n_iter_ <= 3
    with pytest.raises(ValueError, match=r"max_iterations=3 .*write boosting=Boosting\(rounds=3"):
        BoostedCRF(boosting=Boosting(), max_iterations=3).fit(rows, labels)
    assert BoostedCRF().set_params(boosting__rounds=7).boosting == Boosting(rounds=7)
    hidden = HiddenChainCRF(constraints=[Forbid("O", "I-LOC")], max_iterations=5).fit(ITEMS, TAGS)
    nested = HiddenChainCRF(structure=Chain(constraints=[Forbid("O", "I-LOC")]), max_iterations=5)
    assert np.array_equal(hidden.model_.w, nested.fit(ITEMS, TAGS).model_.w)
    whole: Any = [AtMostOnce()]
    for made in (BoostedCRF, HiddenChainCRF):
        with pytest.raises(ValueError, match=f"AtMostOnce.*{made.__name__} keeps constraints on neighbors"):
            made(constraints=whole).fit(rows, labels)


@pytest.mark.parametrize("made", [FactorialCRF, SkipChainCRF])
def test_features_of_sequences_that_become_graphs(made: Any, tmp_path: Path) -> None:
    words, tags = [*WORDS, ["York", "and", "York"]], [*TAGS, ["B-LOC", "O", "B-LOC"]]
    y: Any = {"tag": tags} if made is FactorialCRF else tags

    def word(tokens: list[str], i: int) -> dict[str, Any]:
        return {"w": tokens[i].lower(), "long": len(tokens[i]) > 3}

    more: dict[str, Any] = {} if made is FactorialCRF else {"equal": "w", "where": None}
    of_tokens = made(l2=0.1).fit(words, y)
    assert same(of_tokens.predict(words), y)
    of_function = made(features=word, l2=0.1, **more).fit(words, y, dev=(words, y))
    items = [[word(sentence, i) for i in range(len(sentence))] for sentence in words]
    of_items = made(l2=0.1, **more).fit(items, y, dev=(items, y))
    assert np.array_equal(of_function.model_.w, of_items.model_.w)
    assert same(of_function.predict(words), of_items.predict(items))
    with pytest.raises(ValueError, match="features is a function, which a file cannot hold"):
        of_function.save(tmp_path / "m.crf")


@pytest.mark.filterwarnings("ignore:pseudo-likelihood ties")
def test_every_estimator_of_labels_has_a_metric(tmp_path: Path) -> None:
    def right(gold: Any, found: Any) -> float:
        return float(
            np.mean([a == b for x, y in zip(gold, found, strict=True) for a, b in zip(x, y, strict=True)])
        )

    whole = ["up", "down", "up", "down"]
    for metric in ("accuracy", "f1_macro", right):
        crf = HiddenSequenceCRF(metric=metric, max_iterations=9).fit(ITEMS, whole, dev=(ITEMS, whole))
        assert getattr(crf.training_, "score", None) == crf.score(ITEMS, whole)
    X, y = images()
    grid = GridCRF(metric="f1_macro", objective="pseudo-likelihood").fit(X, y, dev=(X, y))
    assert getattr(grid.training_, "metric", None) == "f1_macro" == grid.evaluate(X, y).metric
    assert getattr(grid.training_, "score", None) == grid.score(X, y)
    start = GridCRF(init=grid.model_, objective="pseudo-likelihood").fit(X, y)
    assert start.n_iter_ < grid.n_iter_ or start.n_iter_ <= 3
    again = GridCRF.load(saved(start, tmp_path))
    assert again.init == "drawn"
    assert crfkit.load(tmp_path / "m.crf").estimator.left_out == ("init",)


# ---- what else the contract promises of X, y and fit


def test_numbers_are_labels(tmp_path: Path) -> None:
    sizes = [[len(word) for word in sentence] for sentence in WORDS]
    crf = ChainCRF(l2=0.1).fit(ITEMS, sizes, dev=(ITEMS, sizes))
    crf.save(tmp_path / "m.crf")
    assert {*crf.classes_} == {*crf.model_.labels} == {1, 2, 3, 4}
    for one in (crf, crf.model_, crfkit.load(tmp_path / "m.crf"), ChainCRF.load(tmp_path / "m.crf")):
        assert one.predict(ITEMS) == sizes
        assert one.tag(ITEMS[0]) == sizes[0]
        assert one.predict_proba(ITEMS).labels == (3, 2, 4, 1)
        assert [best[0].labels for best in one.kbest(ITEMS, 1)] == sizes
        assert {type(span.label) for spans in one.predict_spans(ITEMS) for span in spans} == {int}
        assert {type(y) for several in one.sample(ITEMS, 2) for labels in several for y in labels} == {int}
        assert one.score(ITEMS, sizes) == 1.0
        assert np.isfinite(one.log_prob(ITEMS, sizes)).all()
        assert one.predict(ITEMS, given=[[1, *[None] * (len(s) - 1)] for s in sizes])[0][0] == 1
    assert ChainCRF().fit(ITEMS, sizes).partial_fit(ITEMS, sizes, classes=[7]).classes_.tolist()[-1] == 7
    whole = HiddenSequenceCRF(max_iterations=5).fit(ITEMS, [10, 9, 10, 9])
    assert whole.classes_.tolist() == [9, 10]
    assert {*whole.predict(ITEMS).tolist()} <= {9, 10}
    with pytest.raises(TypeError, match="position 3: the label is 3, of type int, and others are strings"):
        ChainCRF().fit(ITEMS[:1], [["a", "b", "c", 3, "d", "e"]])


def test_probabilities_given_labels() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    given: list[list[str | None]] = [["O", *[None] * (len(tags) - 1)] for tags in TAGS]
    found = crf.predict_proba(ITEMS, given=given)
    names = crf.classes_.tolist()
    for n, each in enumerate(found):
        assert each[0] == pytest.approx([float(name == "O") for name in names])
        for t in range(len(each)):
            for y, name in enumerate(names):
                asked = [*given[n]]
                if t == 0:
                    continue
                asked[t] = name
                joint = crf.log_prob([ITEMS[n]], [asked]) - crf.log_prob([ITEMS[n]], [given[n]])
                assert each[t, y] == pytest.approx(np.exp(joint[0]))


def test_schemes_are_detected_or_held_to() -> None:
    for made in (ChainCRF, SemiCRF):
        plain, told = made().fit(WORDS, TAGS), made(scheme="BIO").fit(WORDS, TAGS)
        assert made(scheme="auto").fit(WORDS, TAGS).predict(WORDS) == plain.predict(WORDS)
        assert told.predict(WORDS) == plain.predict(WORDS)
    with pytest.raises(ValueError, match="the label 'I-LOC', which is not a tag of BMES: these are O"):
        ChainCRF(scheme="BMES").fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="scheme 'BOI' is not known"):
        ChainCRF(scheme="BOI").fit(WORDS, TAGS)


@pytest.mark.parametrize("made", [ChainCRF, SemiCRF, HiddenChainCRF])
def test_a_fit_goes_on_from_a_checkpoint_and_tells_listeners(made: Any, tmp_path: Path) -> None:
    seen: list[Any] = []
    keep = Checkpoints(tmp_path / "run", seconds=None, iterations=1)
    whole = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS)
    made(l2=0.1, optimizer="lbfgs", max_iterations=2)
    first = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS, checkpoint=keep, listeners=[seen.append])
    again = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS, checkpoint=keep)
    assert np.array_equal(whole.model_.w, first.model_.w)
    assert np.array_equal(whole.model_.w, again.model_.w)
    steps = [event for event in seen if isinstance(event, Progress)]
    assert len(steps) == whole.n_iter_
    assert any(isinstance(event, Checkpointed) for event in seen)


def test_files_frames_and_columns_are_learned_from(tmp_path: Path) -> None:
    path = columns_file(tmp_path)
    by_path = crfkit.train(path, path, l2=0.5)
    by_columns = crfkit.train(crfkit.read(path), crfkit.read(path), l2=0.5)
    by_estimator = ChainCRF(l2=0.5).fit(crfkit.read(path), dev=crfkit.read(path))
    assert np.array_equal(by_path.w, by_columns.w)
    assert np.array_equal(by_path.w, by_estimator.model_.w)
    assert by_path.predict(WORDS) == TAGS
    recipe = "0[-1..1]; shape(0)[0]"
    of_recipe = crfkit.train(path, features=recipe)
    assert np.array_equal(of_recipe.w, ChainCRF(features=recipe).fit(crfkit.read(path)).model_.w)
    assert crfkit.forecast(path, features="pos").weights == crfkit.train(path, features="pos").layout.weights
    with pytest.raises(ValueError, match="features is for data without attributes; leave it out"):
        crfkit.train(crfkit.features.ItemExtractor()(ITEMS, TAGS), features=recipe)
    with pytest.raises(ValueError, match=r"expected a recipe: .* write ChainCRF\(features=\.\.\.\)"):
        crfkit.train(path, features=lambda tokens, i: {})
    with pytest.raises(
        ValueError, match="'nor', which is neither a template nor one of the stock recipes ner"
    ):
        ChainCRF(features="nor").fit(WORDS, TAGS)
    segments = crfkit.train(path, structure="semi-markov")
    assert np.array_equal(segments.w, SemiCRF().fit(crfkit.read(path)).model_.w)
    assert crfkit.forecast(path, order=2).weights == crfkit.train(path, order=2).layout.weights
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        crfkit.train(tmp_path / "missing.txt")
    pandas = pytest.importorskip("pandas")
    ids = [n for n, tags in enumerate(TAGS) for _ in tags]
    df = pandas.DataFrame({"sequence": ids, "word": [*chain(*WORDS)], "label": [*chain(*TAGS)]})
    of_frame = ChainCRF(l2=0.5).fit(df)
    assert of_frame.predict(df) == of_frame.model_.predict(df) == TAGS
    assert np.array_equal(of_frame.model_.w, crfkit.train(df, l2=0.5).w)
    assert of_frame.score(df) == 1.0


RESULTS: dict[str, Callable[[], Any]] = {
    "Span": lambda: ChainCRF().fit(ITEMS, TAGS).predict_spans(ITEMS)[0][0],
    "Candidate": lambda: ChainCRF().fit(ITEMS, TAGS).kbest(ITEMS, 2)[0][0],
    "Explanation": lambda: ChainCRF().fit(ITEMS, TAGS).explain(ITEMS[0]),
    "Report": lambda: ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS),
    "Confusion": lambda: ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS).confusion,
    "TrainingRecord": lambda: ChainCRF().fit(ITEMS, TAGS).training_,
    "WeightTable": lambda: ChainCRF().fit(ITEMS, TAGS).transitions_,
    "Forecast": lambda: crfkit.forecast(crfkit.features.ItemExtractor()(ITEMS, TAGS)),
    "Alignment": lambda: align([Doc("in New York.", spans=[(3, 6, "LOC"), (7, 9, "LOC")])])[1],
    "GraphLabels": lambda: GraphCRF(GRAPH).fit(graphs()).predict(graphs()),
    "GraphProba": lambda: GraphCRF(GRAPH).fit(graphs()).predict_proba(graphs()),
    "Candidate of graphs": lambda: GraphCRF(GRAPH).fit(graphs()).kbest(graphs(), 2)[0][0],
    "Explanation of graphs": lambda: GraphCRF(GRAPH).fit(graphs()).explain(graphs()[0]),
}
FRAMES = ("Explanation", "Report", "Confusion", "TrainingRecord", "WeightTable", "Forecast", "Alignment")


@pytest.mark.parametrize("name", RESULTS)
def test_results_print_and_are_plain_data(name: str) -> None:
    found = RESULTS[name]()
    assert type(found).__name__ == name.split()[0]
    assert str(found)
    assert isinstance(found.to_dict(), dict)
    json.dumps(found.to_dict())
    field = (*getattr(found, "__dataclass_fields__", ()), *getattr(found, "_fields", ()))[0]
    with pytest.raises(AttributeError):
        setattr(found, field, None)
    assert hasattr(found, "to_frame") == (name.split()[0] in FRAMES)
    if name.split()[0] in FRAMES:
        assert found._repr_html_().startswith("<div")
        pytest.importorskip("pandas")
        assert len(found.to_frame())
