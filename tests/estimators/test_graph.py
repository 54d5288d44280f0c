"""GraphCRF: conventions of scikit-learn, labels by name, weights, dev sets, checkpoints, early errors."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

from crfkit import Graph, GraphCRF, Likelihood, Stop, inference
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import Auto, BeliefPropagation, Elimination
from crfkit.objectives import MaxMargin
from crfkit.optimize import LBFGS
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.events import History, Progress
from tests.cases.graph_data import graphs, grid


def fit_quietly(crf: GraphCRF, data: GraphBatch, **options: Any) -> GraphCRF:
    with pytest.warns(ConvergenceWarning):
        return crf.fit(data, **options)


# ---- conventions ------------------------------------------------------------------------------------


def test_parameters_are_cloned_nested_and_shown() -> None:
    made = GraphCRF(graphs(0).graph, objective=Likelihood(l2=0.3), method=BeliefPropagation(tol=1e-3))
    assert made.get_params()["objective__l2"] == 0.3
    assert made.get_params()["method__tol"] == 1e-3
    copied = clone(made).set_params(objective__l2=0.5, method__damping=0.5, stop__max_iterations=3)
    assert (copied.objective, copied.method) == (Likelihood(l2=0.5), BeliefPropagation(tol=1e-3, damping=0.5))
    assert copied.graph == made.graph
    assert made.set_params(method="elimination", method__budget=99).method == Elimination(budget=99)
    assert "l2=0.3" in repr(made)
    assert not get_tags(made).target_tags.required


def test_batches_that_were_used_can_be_copied_and_pickled() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph).fit(data)
    crf.predict(data)
    for same in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data), copy.copy(data)):
        np.testing.assert_array_equal(GraphCRF(data.graph).fit(same).model_.w, crf.model_.w)


def test_scopes_are_copied() -> None:
    scope = np.array([[0, 1]], dtype=np.int32)
    batch = Graph({"a": 2}, pair=["a", "a"]).batch(sizes={"a": 2}, scopes={"pair": scope})
    scope[:] = 10**9  # kernels would read what is not there
    assert batch.scopes["pair"].tolist() == [[0, 1]]


def test_queries_are_those_of_inference() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph).fit(data)
    scores = crf.model_.potentials(data)
    gold = data.by_kind(np.asarray(data.label))
    assert crf.log_prob(data) == pytest.approx(np.asarray(inference.log_prob(scores, gold)))
    assert crf.predict_proba(data, cliques=True).clique["rung"].shape == (8, 3, 2)
    right = [(crf.predict(data)[kind] == gold[kind]).mean() for kind in ("a", "b")]
    assert crf.score(data) == pytest.approx(np.mean(right))
    assert crf.score(data, kind="b") == right[1]
    likeliest = crf.predict_proba(data)["a"].argmax(axis=1)
    assert crf.predict(data, method="posterior")["a"].tolist() == likeliest.tolist()
    known = {"a": np.where(np.arange(8) % 2, gold["a"], -1)}
    assert (crf.predict(data, given=known)["a"][1::2] == gold["a"][1::2]).all()


def test_answers_are_those_of_enumeration_graph_by_graph() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph, stop=Stop(max_iterations=9)).fit(data)
    scores, N = crf.model_.potentials(data), data.graphs
    best, found = inference.decode(scores, "enumeration"), crf.predict(data)
    assert found.score == pytest.approx(np.asarray(best.score))
    assert (len(found), [*found], found.info.exact.all()) == (N, [*data.graph.kinds], True)
    listed, drawn = crf.kbest(data, 5), crf.sample(data, 4000, random_state=7)
    assert len(listed) == len(drawn) == len(found.split()) == N
    shares = crf.predict_proba(data)
    expected = inference.marginals(scores, method="enumeration")
    for n in range(N):
        one = inference.kbest(scores.select([n]), 5, method="enumeration")[0]
        total = np.asarray(inference.log_partition(scores.select([n]), method="enumeration"))[0]
        assert [each.log_prob for each in listed[n]] == pytest.approx((one.score - total).tolist(), abs=1e-9)
        for i, each in enumerate(listed[n]):
            assert each.probability == pytest.approx(np.exp(each.log_prob))
            assert {kind: ids.tolist() for kind, ids in each.labels.items()} == {
                kind: ids[i].tolist() for kind, ids in one.labels.items()
            }
        assert {k: v.tolist() for k, v in found.split()[n].items()} == {
            k: v.tolist() for k, v in listed[n][0].labels.items()
        }
        for kind, share in shares.split()[n].items():
            counted = [(np.array([draw[kind] for draw in drawn[n]]) == y).mean(axis=0) for y in range(2)]
            np.testing.assert_allclose(np.stack(counted, axis=1), share[:, :2], atol=0.05)
    for kind in data.graph.kinds:
        np.testing.assert_allclose(shares[kind], expected[kind], atol=1e-9)
    entropy = np.asarray(inference.entropy(scores, method="enumeration"))
    assert crf.entropy(data) == pytest.approx(entropy, abs=1e-9)


def test_one_graph_has_answers_as_a_batch_of_one() -> None:
    graph = Graph({"pos": ["N", "V"]}, step=["pos", "pos"])
    data = graph.batch(labels={"pos": ["N", "V", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    assert data.single
    crf = GraphCRF(graph).fit(data)
    assert len(crf.predict(data)) == len(crf.kbest(data, 9)) == len(crf.entropy(data)) == 1
    assert len(crf.kbest(data, 9)[0]) == 8
    assert np.exp([each.log_prob for each in crf.kbest(data, 9)[0]]).sum() == pytest.approx(1.0)
    assert crf.predict_proba(data).log_partition.shape == crf.log_prob(data).shape == (1,)
    given = crf.kbest(data, 9, given={"pos": ["V", None, None]})[0]
    assert [each.labels["pos"][0] for each in given] == ["V"] * 4
    assert np.exp([each.log_prob for each in given]).sum() == pytest.approx(1.0)


def test_weights_of_graphs_count_in_the_score() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph, stop=Stop(max_iterations=3)).fit(data)
    each = [crf.score(data.select([n])) for n in range(data.graphs)]
    known = np.bincount(data.graph_of[np.asarray(data.label) >= 0])
    weight = np.array([2.0, 0.0, 1.0])
    assert crf.score(data, sample_weight=weight) == pytest.approx((weight * known) @ each / (weight @ known))
    with pytest.raises(ValueError, match="the labels of graphs are in X"):
        crf.log_prob(data, [0])


def test_log_likelihood_sums_over_hidden_labels() -> None:
    data = graphs(0, hidden=True)
    crf = GraphCRF(data.graph, selection="all").fit(data)
    scores = crf.model_.potentials(data)
    label = np.asarray(data.label)
    within = inference.log_partition(scores.given(data.by_kind(label)), method="enumeration")
    total = inference.log_partition(scores, method="enumeration")
    assert crf.log_prob(data) == pytest.approx(np.asarray(within) - np.asarray(total))
    assert crf.score(data, given="labels") == 1.0


def test_searches_and_folds_take_a_batch() -> None:
    data = grid(0, graphs=6)
    assert (len(data), len(data[2:5]), len(data[-1]), len(data[data.graph_of[:6] >= 0])) == (6, 3, 1, 6)
    crf = GraphCRF(data.graph, selection="all", stop=Stop(max_iterations=9, tolerance=0.1))
    scores = cross_val_score(crf, data, cv=3)
    folds = [(np.arange(6)[np.arange(6) // 2 != k], np.arange(6)[np.arange(6) // 2 == k]) for k in range(3)]
    own = [clone(crf).fit(data.select(train)).score(data.select(test)) for train, test in folds]
    assert scores.tolist() == own
    search = GridSearchCV(crf, {"objective__l2": [0.1, 10.0]}, cv=2).fit(data)
    assert search.best_estimator_.score(data) == search.score(data)


def test_objectives_that_ask_nothing_say_so() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph, objective="pseudo-likelihood").fit(data)
    assert set(crf.inference_info_.method) == {"none"}


# ---- labels -------------------------------------------------------------------------------------------


def test_labels_by_name() -> None:
    graph = Graph({"pos": ["N", "V"], "state": 2}, word=["pos"], own=["pos", "state"])
    data = graph.batch(labels={"pos": ["N", "V", None], "state": [0, 1, -1]})
    assert np.asarray(data.label).tolist() == [0, 1, -1, 0, 1, -1]
    crf = GraphCRF(graph).fit(data)
    found = crf.predict(data, given={"pos": ["N", "V", "V"]})
    assert found["pos"].tolist() == ["N", "V", "V"]
    assert found.ids["pos"].tolist() == [0, 1, 1]
    assert found["state"].tolist() == found.ids["state"].tolist()
    with pytest.raises(ValueError, match=r"labels\['pos'\]\[1\] is 'X', which is not a label of this kind"):
        graph.batch(labels={"pos": np.array(["N", "X"])}, sizes={"state": 2})
    with pytest.raises(ValueError, match=r"labels\['state'\] are not numbers, and the labels of this kind"):
        graph.batch(labels={"pos": ["N"], "state": ["a"]})


# ---- weights, dev sets, checkpoints -------------------------------------------------------------------


def test_weights_of_graphs_count_as_copies() -> None:
    data = graphs(0)
    options: dict[str, Any] = {"selection": "all", "optimizer": LBFGS(tolerance=1e-9)}
    weighted = GraphCRF(data.graph, **options).fit(data, sample_weight=[2.0, 0.0, 1.0])
    assert weighted.model_.training is not None
    alone = GraphCRF(data.graph, **options).fit(data.select([0, 2]), sample_weight=[2.0, 1.0])
    assert alone.model_.training is not None
    assert weighted.model_.training.loss == pytest.approx(alone.model_.training.loss, rel=1e-8)


def test_a_dev_set_keeps_the_best_weights_and_ends_training() -> None:
    train, dev = graphs(0), graphs(5)
    stop = Stop(patience=2.0, dev_every=1)
    crf = GraphCRF(train.graph, stop=stop, selection="all", objective=Likelihood(l2=0.01)).fit(train, dev=dev)
    made = crf.model_.training
    assert made is not None
    assert (made.metric, made.end) == ("accuracy", "patience")
    assert made.score == crf.score(dev) == np.nanmax(made.history["score"])
    assert made.kept < made.iterations

    def right_b(gold: Any, found: Any) -> float:
        return float((gold["b"] == found["b"]).mean())

    crf = GraphCRF(train.graph, stop=stop, metric=right_b).fit(train, dev=dev)
    assert crf.model_.training is not None
    assert crf.model_.training.metric == "right_b"
    assert crf.model_.training.score == crf.score(dev, kind="b")
    crf = GraphCRF(train.graph, stop=stop, metric="log_prob").fit(train, dev=dev)
    assert crf.model_.training is not None
    assert crf.model_.training.score == pytest.approx(crf.log_prob(dev).sum() / 16)


def test_a_resumed_run_has_the_bits_of_the_whole_one(tmp_path: Path) -> None:
    data = graphs(0)
    whole = GraphCRF(data.graph).fit(data)
    first = fit_quietly(GraphCRF(data.graph, stop=Stop(max_iterations=3)), data, checkpoint=tmp_path)
    assert first.n_iter_ == 3
    resumed = GraphCRF(data.graph).fit(data, checkpoint=tmp_path)
    assert resumed.model_.w.tobytes() == whole.model_.w.tobytes()
    with pytest.raises(ValueError, match="belongs to another run: other data"):
        GraphCRF(data.graph).fit(data, checkpoint=tmp_path, sample_weight=[1.0, 2.0, 1.0])


def test_ctrl_c_keeps_the_model() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph)

    def press(event: object) -> None:
        if isinstance(event, Progress) and event.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        crf.fit(data, listeners=[press])
    assert crf.n_iter_ == 2
    assert crf.model_.training is not None
    assert crf.model_.training.end == "interrupted"
    assert crf.predict(data)["a"].shape == (8,)


def test_progress_and_events(capsys: pytest.CaptureFixture[str]) -> None:
    data, history = graphs(0), History()
    method = BeliefPropagation(sweeps=50)
    GraphCRF(data.graph, method=method).fit(data, progress=True, listeners=[history])
    assert len(history.objectives) > 3
    shown = capsys.readouterr().err
    assert "L-BFGS" in shown or "LBFGS" in shown
    assert "of the answers about graphs were exact" in shown


# ---- how it was answered ------------------------------------------------------------------------------


def test_how_covers_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crfkit.linear.graphs.loss.BLOCK_BYTES", 8 * 60)
    for hidden in (False, True):
        data = graphs(0, hidden)
        crf = GraphCRF(data.graph).fit(data)
        assert crf.inference_info_.exact.tolist() == [True, True, True]
        assert crf.inference_info_.exact.mean() == 1.0
        assert set(crf.inference_info_.method) == {"elimination"}


def test_what_is_too_wide_is_said_and_not_certified() -> None:
    data = grid(0)
    made = GraphCRF(data.graph, method=Auto(budget=40)).fit(data)
    assert made.inference_info_.exact.tolist() == [False, True]
    training = made.model_.training
    assert training is not None
    assert any("50 % of the answers about graphs were exact" in note for note in training.notes)
    assert np.isnan(training.gap)
    exact = GraphCRF(data.graph).fit(data)
    assert exact.inference_info_.exact.all()
    assert exact.model_.training is not None
    assert np.isfinite(exact.model_.training.gap)
    assert not any("answers about graphs" in note for note in exact.model_.training.notes)


def test_a_method_that_does_not_converge_is_warned_of() -> None:
    data = grid(0)
    crf = GraphCRF(data.graph, method=BeliefPropagation(sweeps=1, tol=1e-15))
    with pytest.warns(ConvergenceWarning, match=r"did not converge for .* % of the graphs .*BeliefProp"):
        crf.fit(data)
    assert not crf.inference_info_.converged.all()


# ---- early errors -------------------------------------------------------------------------------------


def test_errors_before_work() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph)
    other = Graph({"a": 2}, word=["a"])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (data, {"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
        (data, {"sample_weight": [1.0, np.nan, 1.0]}, r"sample_weight\[1\] is nan"),
        (data, {"sample_weight": [1.0, 1.0, -2.0]}, r"sample_weight\[2\] is -2.0"),
        (other.batch(labels={"a": [0, 1]}), {}, "X is of another graph"),
        (data, {"dev": other.batch(labels={"a": [0]})}, "dev is of another graph"),
        (data, {"y": [1]}, "the labels of graphs are in X"),
    ]
    for X, options, message in cases:
        with pytest.raises(ValueError, match=message):
            crf.fit(X, **options)
    with pytest.raises(TypeError, match=r"X is a list, expected graphs of graph.batch"):
        crf.fit([[0, 1]])  # type: ignore[arg-type]
    chain = Graph({"a": 2, "b": 2}, word=["a"], own=["a", "b"])
    sizes = {"a": 2, "b": 2}
    hidden = {"a": [-1, -1], "b": [-1, -1]}
    for batch, message in [
        (chain.batch(sizes=sizes), "X has no labels"),
        (chain.batch(labels=hidden), "X has no labels"),
        (chain.batch(sizes={"a": 0, "b": 0}), "no variables"),
    ]:
        with pytest.raises(ValueError, match=message):
            GraphCRF(chain).fit(batch)
    margin = GraphCRF(chain, objective=MaxMargin())
    with pytest.raises(ValueError, match="no variable of kind 'b' has a label, and the objective max-margin"):
        margin.fit(chain.batch(labels={"a": [0, 1]}, sizes={"b": 2}))
    with pytest.raises(ValueError, match="1 of 2 variables of kind 'a' have no label"):
        margin.fit(chain.batch(labels={"a": [0, -1], "b": [0, 1]}))
    with pytest.raises(ValueError, match="restarts is 0"):
        GraphCRF(data.graph, restarts=0).fit(data)
    with pytest.raises(ValueError, match="metric is 'f1', expected 'auto', 'accuracy'"):
        GraphCRF(data.graph, metric="f1").fit(data, dev=data)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"random_state": "a"}, "random_state is 'a', of type str"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5, expected a whole number"),
        ({"optimizer": 3}, "optimizer is 3, expected a name"),
    ]
    for options, message in wrong:
        with pytest.raises(TypeError, match=message):
            GraphCRF(data.graph, **options).fit(data)
    with pytest.raises(TypeError, match="checkpoint is 3, expected a folder"):
        crf.fit(data, checkpoint=3)  # type: ignore[arg-type]


def test_labels_and_features_without_end_are_counted_first() -> None:
    graph = Graph({"a": 2, "b": 100_000}, word=["a"])
    for label in ("xyx", 0):
        with pytest.raises(ValueError, match=r"labels\['a'\] is .*, expected a list or an array"):
            graph.batch(labels={"a": label, "b": []})
    wide = ([0, 1], [2**31 - 2], None)
    with pytest.raises(ValueError, match="clique 'word' has 2,147,483,647 attributes, more than max_weights"):
        GraphCRF(graph).fit(graph.batch(labels={"a": [0], "b": []}, features={"word": wide}))
    pairs = Graph({"b": 100_000}, pair=["b", "b"])
    with pytest.raises(ValueError, match="clique 'pair' has 10,000,000,000 cells in a table"):
        GraphCRF(pairs).fit(pairs.batch(labels={"b": [0, 1]}, scopes={"pair": [[0, 1]]}))
    with pytest.raises(ValueError, match="cells has the number 1099511627776, expected less than"):
        Clique("a", cells=[0, 2**40])
    gaps = Graph({"a": 2}, own=Clique("a", cells=[0, 10**9]))
    with pytest.raises(ValueError, match="1,000,000,001 weights"):
        GraphCRF(gaps).fit(gaps.batch(labels={"a": [0]}))
    own = Graph({"b": 100_000}, own=["b"])
    for rows in (np.ones((1, 6000)), ([0, 6000], np.arange(6000), None)):
        data = own.batch(labels={"b": [0]}, features={"own": rows})
        with pytest.raises(ValueError, match="600,000,000 weights"):
            GraphCRF(own, selection="all").fit(data)


def test_errors_of_queries() -> None:
    data = graphs(0)
    crf = GraphCRF(data.graph).fit(data)
    bare = data.graph.batch(
        sizes={"a": 2, "b": 2}, scopes={"step": [[0, 1]], "same": np.zeros((0, 2), dtype=int)}
    )
    with pytest.raises(ValueError, match="clique 'word' has no features in the batch"):
        crf.predict(bare)
    with pytest.raises(ValueError, match=r"X has no labels; give graph\.batch\(labels=\.\.\.\)"):
        crf.score(replace(data, label=None))
    with pytest.raises(ValueError, match=r"given is 'gold', expected labels by kind"):
        crf.predict(data, given="gold")
    with pytest.raises(ValueError, match="'c' is not a kind of the graph"):
        crf.score(data, kind="c")
    with pytest.raises(TypeError, match="given is 3, expected labels by kind"):
        crf.predict(data, given=3)
    for variable in ("a", ("a", 1.5), ("a",), 0):
        with pytest.raises(TypeError, match="expected a variable: its kind and its number"):
            crf.explain(data[0], variable)


def test_a_clique_without_factors_is_noted() -> None:
    graph = Graph({"token": 2}, word=["token"], skip=["token", "token"])
    data = graph.batch(labels={"token": [0, 1]}, scopes={"skip": scopes.same([1, 2], [0, 2])})
    crf = GraphCRF(graph).fit(data)
    assert crf.model_.training is not None
    assert "clique 'skip' has no factors in the data" in crf.model_.training.notes[0]
