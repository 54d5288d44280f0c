"""Networks of which few labels are known: where training begins, when it ends, and what is kept of links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Graph, GraphCRF, Stop, inference
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import graph_layout
from crfkit.training.graphs.networks import _alike, few_labels, shrunk, without_links

CLASSES = 3


def network(alike: float, *, known: float = 0.1, cells: Any = "free", n: int = 600, seed: int = 0) -> Any:
    """Return papers whose words say little of their topic; `alike` is the share of links within one."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, CLASSES, n)
    pairs = rng.integers(0, n, (60 * n, 2))
    same = topic[pairs[:, 0]] == topic[pairs[:, 1]]
    chance = np.where(same, alike / same.mean(), (1 - alike) / (1 - same.mean()))
    links = scopes.simple(pairs[rng.random(len(pairs)) < 0.03 * chance])
    text = (rng.random((n, 15)) < np.where(topic[:, None] == np.arange(15) % 3, 0.45, 0.25)).astype(float)
    label = np.where(rng.random(n) < known, topic, -1)
    graph = Graph({"paper": CLASSES}, text=["paper"], link=Clique("paper", "paper", cells=cells))
    return topic, graph.batch(labels={"paper": label}, scopes={"link": links}, features={"text": text})


def right(crf: GraphCRF, batch: Any, topic: Any) -> float:
    p = crf.predict_proba(batch, given="labels")["paper"]
    return float((p.argmax(axis=1) == topic)[batch.label < 0].mean())


@pytest.mark.parametrize("cells", ["free", "potts"])
def test_links_help_where_they_say_something_and_do_not_hurt_elsewhere(cells: str) -> None:
    for alike, gain in ((0.8, 0.1), (1 / 3, -0.04)):
        topic, batch = network(alike, cells=cells)
        crf = GraphCRF(batch.graph).fit(batch)
        words = without_links(batch)
        alone = GraphCRF(words.graph).fit(words)
        assert right(crf, batch, topic) >= right(alone, words, topic) + gain


def test_labels_of_a_network_are_the_likeliest_ones() -> None:
    """In the best labeling nearly all papers have one topic."""
    _, batch = network(0.8, cells="potts")
    crf = GraphCRF(batch.graph).fit(batch)
    assert crf.model_.decoding == "posterior"
    p = crf.predict_proba(batch, given="labels")["paper"]
    np.testing.assert_array_equal(crf.predict(batch, given="labels")["paper"], p.argmax(axis=1))


def test_links_are_stronger_than_learned_where_more_labels_are_found() -> None:
    """Training may end where messages begin to have several fixed points, before links weigh enough."""
    _, batch = network(0.8, cells="potts")
    layout = graph_layout(batch, FeatureSelection())
    alone = GraphCRF(batch.graph).fit(without_links(batch)).model_.w
    w = alone.copy()
    w[layout.parts["link"]] = 0.4
    found = shrunk(batch, layout, w, lambda label: alone, 0, 1)
    assert "links were kept, at 4 of their weights" in found.note
    np.testing.assert_allclose(found.w[layout.parts["link"]], 1.6)


def test_words_that_find_all_labels_need_no_links() -> None:
    _, batch = network(1 / 3)
    topic = np.arange(600) % CLASSES
    words = batch.graph.batch(
        labels={"paper": np.where(np.arange(600) < 60, topic, -1)},
        scopes={"link": batch.scopes["link"]},
        features={"text": np.eye(CLASSES)[topic]},
    )
    crf = GraphCRF(batch.graph).fit(words)
    assert right(crf, words, topic) == 1.0


def test_links_are_taken_from_labeled_pairs_where_these_find_more() -> None:
    _, batch = network(0.8, known=0.4)
    layout = graph_layout(batch, FeatureSelection())
    alone = GraphCRF(batch.graph).fit(without_links(batch)).model_.w
    w = alone.copy()
    w[layout.parts["link"]] = 0.01
    found = shrunk(batch, layout, w, lambda label: alone, 0, 1)
    assert "taken from labeled pairs" in found.note
    table = found.w[layout.parts["link"]].reshape(CLASSES, CLASSES)
    np.testing.assert_allclose(table, np.eye(CLASSES) * table[0, 0])
    scale = 0.5 if "at 0.5" in found.note else 1.0
    pairs = batch.label[batch.scopes["link"]]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    same = (pairs[:, 0] == pairs[:, 1]).sum()
    chance = np.square(np.bincount(batch.label[batch.label >= 0]) / (batch.label >= 0).sum()).sum()
    odds = (same / chance + 2.0) / ((len(pairs) - same) / (1.0 - chance) + 2.0)
    assert table[0, 0] == pytest.approx(scale * np.log(odds))


def test_a_chi_square_of_linked_labels() -> None:
    """Four known labels, two of each: half of all pairs would be alike by chance."""
    graph = Graph({"paper": 2}, link=["paper", "paper"])
    links = [[0, 1], [2, 3], [0, 4], [1, 4]]
    batch = graph.batch(labels={"paper": [0, 0, 1, 1, -1]}, scopes={"link": links})
    assert _alike(batch) == pytest.approx((2 - 1.0) ** 2 / 0.5)
    assert _alike(without_links(batch)) == 0.0


def test_few_evaluations_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    _, batch = network(0.8, known=0.05)
    asked = 0
    expected = BeliefPropagation.expected

    def counted(self: Any, *rest: Any) -> Any:
        nonlocal asked
        asked += 1
        return expected(self, *rest)

    monkeypatch.setattr(BeliefPropagation, "expected", counted)
    crf = GraphCRF(batch.graph, method=BeliefPropagation()).fit(batch)
    assert 4 <= asked < 200
    assert crf.model_.training is not None
    assert crf.model_.training.end == "settled"


def test_without_links_is_what_is_left_of_the_likelihood() -> None:
    _, batch = network(0.8)
    assert few_labels(batch)
    assert not few_labels(without_links(batch))
    layout = graph_layout(batch, FeatureSelection())
    crf = GraphCRF(batch.graph).fit(without_links(batch))
    assert crf.model_.tables()["link"].tolist() == np.zeros((CLASSES, CLASSES)).tolist()
    assert crf.model_.layout.weights == layout.weights
    assert (
        float(inference.log_partition(crf.model_.potentials(without_links(batch))).info.exact.mean()) == 1.0
    )


def test_links_that_mislead_are_left_out() -> None:
    batch = network(1 / 3)[1]
    layout = graph_layout(batch, FeatureSelection())
    alone = GraphCRF(batch.graph).fit(without_links(batch)).model_.w
    w = alone.copy()
    w[layout.parts["link"]] = [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # all papers of one topic
    found = shrunk(batch, layout, w, lambda label: alone, 0, 1)
    assert found.note.startswith("few labels are known: links were left out")
    kept = np.abs(found.w[layout.parts["link"]]).max()
    assert kept < 1.6
    good = alone.copy()
    good[layout.parts["link"]] = 0.0
    assert shrunk(batch, layout, good, lambda label: alone, 0, 1).note == ""


def test_links_that_find_all_labels_need_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing could find more of the labels that are held out: two candidates are asked, in five folds."""
    topic = np.arange(60) % CLASSES
    links = scopes.simple([(a, b) for a in range(60) for b in range(a) if topic[a] == topic[b]])
    graph = Graph({"paper": CLASSES}, text=["paper"], link=["paper", "paper"])
    label = np.where(np.arange(60) % 2 == 0, topic, -1)
    batch = graph.batch(labels={"paper": label}, scopes={"link": links}, features={"text": np.ones((60, 1))})
    layout = graph_layout(batch, FeatureSelection())
    alone = np.zeros(layout.weights)
    w = alone.copy()
    w[layout.parts["link"]] = 0.5 * np.eye(CLASSES).ravel()
    asked = []
    marginals = inference.marginals

    def counted(*rest: Any, **how: Any) -> Any:
        asked.append(1)
        return marginals(*rest, **how)

    monkeypatch.setattr(inference, "marginals", counted)
    found = shrunk(batch, layout, w, lambda label: alone, 0, 1)
    assert found.note == ""
    assert np.array_equal(found.w, w)
    assert len(asked) == 10


def test_a_budget_of_evaluations() -> None:
    _, batch = network(0.8)
    crf = GraphCRF(batch.graph, method=BeliefPropagation(), stop=Stop(max_evaluations=3)).fit(batch)
    training = crf.model_.training
    assert training is not None
    assert training.end == "budget"
    assert training.iterations <= 3 < 20
    assert "the budget of 3 evaluations is spent" in training.reason
