"""`train` takes sequences and graphs: the same options, and one sentence where one does not apply."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Graph, GraphCRF, Likelihood, Stop, train
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.graphs import scopes
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training import BlockedData
from crfkit.training.events import Event, Finished

X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]], [["the"], ["dog"], ["ran"]]]
Y = [["D", "A", "N"], ["D", "N"], ["D", "N", "V"]]


def sequences() -> Dataset:
    return ItemExtractor()(X, Y)


def graphs(hidden: bool = False) -> GraphBatch:
    ptr = [0, 3, 5, 8]
    labels: dict[str, Any] = {"token": [y for row in Y for y in row]}
    kinds: dict[str, Any] = {"token": ["D", "A", "N", "V"]}
    cliques: dict[str, Any] = {"word": ["token"], "step": ["token", "token"]}
    if hidden:
        kinds["topic"], labels["topic"] = ["0", "1"], [None, None, None]
        cliques["of"] = ["token", "topic"]
    graph = Graph(kinds, **cliques)
    rows = np.eye(8)[[0, 1, 2, 3, 2, 0, 2, 4]]
    where: dict[str, Any] = {"step": scopes.chain(ptr)}
    if hidden:
        where["of"] = [[v, n] for n in range(3) for v in range(ptr[n], ptr[n + 1])]
    graph_ptr: Any = {"token": ptr, "topic": [0, 1, 2, 3]} if hidden else ptr
    return graph.batch(graph_ptr=graph_ptr, labels=labels, scopes=where, features={"word": rows})


def test_graphs_are_trained_as_by_their_estimator(tmp_path: Path) -> None:
    batch, told = graphs(), list[Event]()
    options: dict[str, Any] = {"objective": Likelihood(l2=0.5), "stop": Stop(max_iterations=50)}
    crf = GraphCRF(batch.graph, **options).fit(batch, dev=batch)
    model = train(batch, batch, checkpoint=tmp_path / "run", listeners=[told.append], **options)
    assert model.w.tobytes() == crf.model_.w.tobytes()
    assert model.training is not None
    assert model.training.metric == "accuracy"
    assert model.training.score == crf.score(batch) == 1.0
    assert str(model.info) == str(crf.inference_info_)
    assert isinstance(told[-1], Finished)
    assert list((tmp_path / "run").iterdir())


def test_hidden_kinds_start_more_than_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(graphs(hidden=True), restarts=2, stop=Stop(max_iterations=20))
    assert model.training is not None
    assert "of 2 is the best; their losses are" in model.training.notes[-1]


@pytest.mark.parametrize("name", ["lbfgs", "adam", "adagrad"])
def test_optimizers_of_graphs_have_names(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert train(graphs(), optimizer=name, stop=Stop(max_iterations=3)).w.any()


def test_a_weight_of_two_is_as_if_the_sequence_were_there_twice() -> None:
    data, exact = sequences(), Stop(tolerance=1e-12)
    weighted = train(data, sample_weight=[2.0, 1.0, 1.0], stop=exact, optimizer="lbfgs")
    twice = train(ItemExtractor()([X[0], *X], [Y[0], *Y]), stop=exact, optimizer="lbfgs")
    np.testing.assert_allclose(weighted.w, twice.w, atol=1e-4)
    assert not np.allclose(weighted.w, train(data, stop=exact, optimizer="lbfgs").w, atol=1e-3)
    with pytest.raises(ValueError, match="sample_weight has shape"):
        train(data, sample_weight=[1.0])


def test_a_graph_of_weight_zero_does_not_count() -> None:
    batch, exact = graphs(), Stop(tolerance=1e-12)
    weighted = train(batch, sample_weight=[1.0, 0.0, 1.0], stop=exact, optimizer="lbfgs")
    np.testing.assert_allclose(
        weighted.w, train(batch.select([0, 2]), stop=exact, optimizer="lbfgs").w, atol=1e-4
    )


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (graphs(), {"structure": "chain"}, "^structure is for sequences, and the data are graphs; leave it"),
        (graphs(), {"unlabeled": sequences()}, "^unlabeled is for sequences, and the data are graphs"),
        (sequences(), {"method": "elimination"}, "^method is for graphs, and the data are sequences"),
        (sequences(), {"restarts": 3}, "^restarts is for graphs, and the data are sequences; leave it out$"),
        (sequences(), {"init": "piecewise"}, 'expected a Model, "memm" or a function'),
        (graphs(), {"init": "memm"}, "init"),
        (graphs(), {"metric": "span_f1"}, "metric is 'span_f1', expected 'auto', 'accuracy'"),
    ],
)
def test_what_does_not_apply_is_refused_in_one_sentence(
    data: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        train(data, data if "metric" in options else None, **options)
    assert "\n" not in str(refused.value)


def test_blocks_bring_their_weights(tmp_path: Path) -> None:
    blocks = BlockedData.write(tmp_path / "blocks", [sequences()])
    with pytest.raises(ValueError, match="write the weights into the blocks"):
        train(blocks, sample_weight=[1.0, 1.0, 1.0])


def test_a_warning_that_is_an_exception_leaves_the_model_to_listeners() -> None:
    told: list[Event] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning, match="before it converged"):
            train(graphs(), stop=Stop(max_iterations=1), listeners=[told.append])
    assert getattr(told[-1], "model").w.any()  # noqa: B009


def test_graphs_without_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="data has no labels"):
        train(replace(graphs(), label=None))
