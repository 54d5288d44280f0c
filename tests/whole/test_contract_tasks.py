"""The public face: tasks as users write them, on small data; 11 and 22 are in tests/torch."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import crfkit
from crfkit import Chain, ChainCRF, FactorialCRF, GraphCRF, GridCRF, SemiCRF, Span, Stop
from crfkit.constraints import AtMostOnce, Forbid, Scheme
from crfkit.datasets import load_addresses
from crfkit.errors import SaveError
from tests.cases.contract import GRAPH, ITEMS, TAGS, WORDS, columns_file, graphs, images


def test_1_files_in_columns_are_learned_and_judged(tmp_path: Path) -> None:
    path = columns_file(tmp_path)
    crf = ChainCRF().fit(crfkit.read(path))
    assert crf.score(crfkit.read(path)) == 1.0
    assert crf.predict(crfkit.read(path)) == TAGS
    assert {*crf.classes_} == {"O", "B-LOC", "I-LOC"}


def test_2_a_function_makes_features() -> None:
    def word2features(tokens: list[str], i: int) -> dict[str, Any]:
        return {"w": tokens[i], "before": tokens[i - 1] if i else "", "upper": tokens[i][0].isupper()}

    crf = ChainCRF(features=word2features).fit(WORDS, TAGS, dev=(WORDS, TAGS))
    assert crf.predict(WORDS) == TAGS
    items = [[word2features(sentence, i) for i in range(len(sentence))] for sentence in WORDS]
    plain = ChainCRF().fit(items, TAGS, dev=(items, TAGS))
    assert np.array_equal(crf.model_.w, plain.model_.w)
    assert [p.tolist() for p in crf.predict_proba(WORDS)] == [p.tolist() for p in plain.predict_proba(items)]
    with pytest.raises(SaveError, match="features is a function, which a file cannot hold"):
        crf.save("m.crf")


def test_3_templates_and_windows(tmp_path: Path) -> None:
    recipe = "word[-2..2]; shape(word)[0]"
    (tmp_path / "t.txt").write_text(recipe.replace("; ", "\n"))
    (tmp_path / "crfpp.txt").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    of_text = ChainCRF(features=recipe).fit(WORDS, TAGS)
    of_file = ChainCRF(features=tmp_path / "t.txt").fit(WORDS, TAGS)
    assert np.array_equal(of_text.model_.w, of_file.model_.w)
    of_crfpp = ChainCRF(features=tmp_path / "crfpp.txt").fit(WORDS, TAGS)
    assert "U0:dog" in {name for name, _ in of_crfpp.state_features_}
    wide = crfkit.features.window(ITEMS, 2)
    assert wide[0][1]["+2:w"] == "in"
    assert "-2:w" not in wide[0][1]
    assert ChainCRF().fit(wide, TAGS).predict(wide) == TAGS


def test_4_models_are_saved_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    crf = ChainCRF(features="word[-1..1]").fit(WORDS, TAGS)
    crf.save(path)
    for opened in (crfkit.load(path), ChainCRF.load(path)):
        assert opened.predict(WORDS) == crf.predict(WORDS) == TAGS


def test_5_probabilities() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    found = crf.predict_proba(ITEMS)
    assert found[0].shape == (6, len(crf.classes_))
    assert found[0].sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    assert found.to_dicts()[0][0] == dict(zip(crf.classes_, found[0][0].tolist(), strict=True))


def test_6_the_largest_weights() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    found = crf.top_features("B-LOC", 2)
    assert [label for _, label, _ in found] == ["B-LOC"] * 2
    of_label = sorted((w for (_, y), w in crf.state_features_.items() if y == "B-LOC"), reverse=True)
    assert [w for *_, w in found] == of_label[:2]
    assert crf.model_.top_features("B-LOC", 2) == found
    assert len(crf.top_features(n=3)) == 3
    with pytest.raises(ValueError, match="label is 'X', which the model does not know; its labels are O"):
        crf.top_features("X")


@pytest.mark.parametrize("order", [1, 2])
def test_7_transitions_as_a_table(order: int) -> None:
    crf = ChainCRF(order=order).fit(ITEMS, TAGS)
    frame = crf.transitions_.to_frame()
    assert str(crf.model_.transitions) == str(crf.transitions_)
    for run, weight in crf.transition_features_.items():
        assert frame.loc[" ".join(run[:-1]), run[-1]] == weight
    assert np.count_nonzero(frame.to_numpy()) == len(crf.transition_features_)


def test_8_explanations() -> None:
    told = str(ChainCRF().fit(ITEMS, TAGS).explain(ITEMS[0], at=4))
    assert "B-LOC" in told
    assert "w:New" in told


def test_9_grid_search() -> None:
    search = GridSearchCV(ChainCRF(), {"l2": [0.01, 100.0]}, cv=2).fit(ITEMS * 4, TAGS * 4)
    assert search.best_params_ == {"l2": 0.01}


def test_10_a_dev_set_ends_training() -> None:
    crf = ChainCRF(stop=Stop(patience=5)).fit(ITEMS, TAGS, dev=(ITEMS, TAGS))
    assert crf.training_ is not None
    assert crf.training_.metric
    assert crf.training_.score == 1.0


def test_12_segments_with_probabilities() -> None:
    found = SemiCRF().fit(WORDS, TAGS).predict_spans(WORDS)
    assert [[span[:3] for span in spans] for spans in found] == [
        [(4, 6, "LOC")],
        [],
        [(0, 1, "LOC")],
        [(1, 2, "LOC")],
    ]
    assert {type(span) for spans in found for span in spans} == {Span}
    assert all(0.5 < span.probability <= 1.0 for spans in found for span in spans)


def test_14_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    ids = [n for n, tags in enumerate(TAGS) for _ in tags]
    cells = {"id": ids, "tag": [*chain(*TAGS)], "word": [*chain(*WORDS)]}
    df = pandas.DataFrame(cells)  # the labels are not in the last column
    data = crfkit.read(df, sequence="id", label="tag")
    crf = ChainCRF().fit(data)
    df["pred"] = crf.predict(data).flat()
    assert df["pred"].tolist() == df["tag"].tolist() == [*chain(*TAGS)]


def test_15_a_text_is_tagged() -> None:
    train = load_addresses().train[:150]
    crf = ChainCRF(tokenizer="blanks", features="address").fit(train)
    found = [(s.text, s.label, s.probability) for s in crf.tag("123 Main St, Erie PA").spans]
    assert [text for text, *_ in found] == ["123", "Main", "St,", "Erie", "PA"]
    assert dict(pair[:2] for pair in found)["123"] == "AddressNumber"
    assert all(0.0 < probability <= 1.0 for *_, probability in found)


def test_20_the_best_segmentations() -> None:
    semi = SemiCRF().fit(WORDS, TAGS)
    best = semi.kbest(WORDS, 5)[0]
    assert best[0].spans == [(4, 6, "LOC")]
    assert [one.log_prob for one in best] == sorted((one.log_prob for one in best), reverse=True)
    assert best[0].probability == pytest.approx(np.exp(best[0].log_prob))


def test_21_gold_as_segments() -> None:
    semi = SemiCRF().fit([["in", "New", "York"], ["a", "dog"]], [[(1, 3, "CITY")], []])
    found = semi.predict_spans([["in", "New", "York"], ["a", "dog"]])
    assert [[span[:3] for span in spans] for spans in found] == [[(1, 3, "CITY")], []]


def test_constraints_of_both_kinds_stand_in_one_list() -> None:
    rules: list[Any] = [Scheme("BIO"), Forbid("O", "B-LOC"), AtMostOnce()]
    crf = ChainCRF(constraints=rules).fit(ITEMS[1:3], TAGS[1:3])
    assert crf.model_.structure.constraints == (Scheme("BIO"), Forbid("O", "B-LOC"))
    assert crf.model_.constraints == (AtMostOnce(),)
    by_structure = ChainCRF(structure=Chain(constraints=rules[:2])).fit(ITEMS[1:3], TAGS[1:3])
    assert np.array_equal(crf.model_.w, by_structure.model_.w)
    with pytest.raises(ValueError, match=r"write structure=Chain\(constraints=\[Scheme"):
        ChainCRF(structure=Chain(order=2), constraints=rules).fit(ITEMS, TAGS)


# ---- graphs


def test_13_a_report() -> None:
    report = ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS)
    assert "span_f1 1.0000" in str(report)
    pytest.importorskip("pandas")
    assert report.confusion.to_frame().loc["B-LOC", "B-LOC"] == 3


def test_16_a_graph() -> None:
    crf = GraphCRF(GRAPH, l2=0.5).fit(graphs(), dev=graphs())
    assert crf.predict(graphs())["token"].tolist() == ["D", "N", "N", "D", "N"]
    assert crf.classes_["token"].tolist() == ["D", "N"]
    assert getattr(crf.training_, "score", None) == 1.0


@pytest.mark.filterwarnings("ignore:pseudo-likelihood ties")
def test_17_images() -> None:
    X, y = images()
    crf = GridCRF(objective="pseudo-likelihood").fit(X, y)
    assert crf.predict_proba(X)[0].shape == (4, 5, 2)
    assert crf.n_features_in_ == 2
    by_pair = GridCRF(objective="pseudo-likelihood").fit(X, y, dev=(X, y))
    by_graphs = GridCRF(objective="pseudo-likelihood").fit(X, y, dev=crf.batch(X, y))
    for made in (by_pair, by_graphs):
        assert getattr(made.training_, "score", None) == made.score(X, y) == made.score(crf.batch(X, y))
    assert by_graphs.evaluate(crf.batch(X, y)).score == by_graphs.evaluate(X, y).score
    with pytest.raises(ValueError, match=r"dev is a list, expected a pair, as in fit\(.*GraphBatch"):
        GridCRF().fit(X, y, dev=X)


def test_18_a_network_with_known_labels() -> None:
    crf = GraphCRF(GRAPH).fit(graphs())
    known = replace(graphs(), label=np.array([1, -1, -1, 1, -1], np.int32))
    assert crf.predict(known, given="labels")["token"].tolist()[::3] == ["N", "N"]


def test_19_several_columns() -> None:
    pos = [["D" if len(word) < 4 else "N" for word in sentence] for sentence in WORDS]
    crf = FactorialCRF(l2=0.01).fit(ITEMS, {"pos": pos, "chunk": TAGS})
    assert crf.predict(ITEMS, given={"pos": pos})["chunk"] == TAGS
    assert crf.predict_proba(ITEMS)["chunk"][0].shape == (6, 3)
    assert crf.explain(ITEMS[0], at=(4, "chunk")).decisions[0].label == "B-LOC"


def test_23_graphs_are_trained_by_train_too() -> None:
    model = crfkit.train(graphs(), l2=0.5, method="belief-propagation")
    assert model.explain(graphs()[0], at=("token", 2)).decisions[0].label == "N"
