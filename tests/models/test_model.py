"""Models: what they say about data with other ids, and that nothing changes them."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from crfkit import FeatureSelection, Stop, train
from crfkit.data.alphabet import Alphabet
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from tests.cases.descent import Descent
from tests.cases.sentences import dataset, sentences


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    return train(
        dataset(), optimizer=Descent(), stop=Stop(max_iterations=30), selection=FeatureSelection(start=True)
    )


def test_other_ids_give_the_same_answers(model: SequenceModel) -> None:
    X, y = sentences(25, 7)
    shuffled = ItemExtractor()
    shuffled([[[f"w{i}" for i in reversed(range(60))] + ["unknown"]]], [["C"]])
    other = shuffled(X, y)
    frozen = ItemExtractor(attributes=model.attributes, labels=model.names.labels)(X, y)
    assert model.predict(other) == model.predict(frozen) == model.predict(frozen.batch)
    np.testing.assert_array_equal(model.log_prob(other), model.log_prob(frozen))
    for a, b in zip(model.predict_proba(other), model.predict_proba(frozen), strict=True):
        np.testing.assert_array_equal(a, b)


def test_unknown_names_are_dropped(model: SequenceModel) -> None:
    given = ItemExtractor()([[{"new": 2.0, "bias": 0.5}, ["newer"]], [[]]], [["A", "Q"], ["B"]])
    batch = model.batch_of(given)
    assert batch.attr.tolist() == [model.attributes.find("bias")]
    assert np.asarray(batch.value).tolist() == [0.5]
    assert batch.attr_ptr.tolist() == [0, 1, 1, 1]
    assert np.asarray(batch.label).tolist() == [
        model.names.labels.find("A"),
        -1,
        model.names.labels.find("B"),
    ]
    assert len(model.predict(given)[0]) == 2


def test_partial_and_soft_labels_move_with_their_names(model: SequenceModel) -> None:
    plain = ItemExtractor()([[["w1"], ["w2"]]])
    names = Alphabet(["C", "Q", "A"])
    allowed = np.array([[True, True, False], [False, True, False]])
    batch = model.batch_of(replace(plain, labels=names, batch=replace(plain.batch, allowed=allowed)))
    place = {name: model.names.labels.find(name) for name in "ABC"}
    columns = [place[name] for name in "ABC"]
    assert np.asarray(batch.allowed)[:, columns].tolist() == [[False, False, True], [True, True, True]]
    soft = np.array([[0.25, 0.0, 0.75], [1.0, 0.0, 0.0]])
    batch = model.batch_of(replace(plain, labels=names, batch=replace(plain.batch, soft=soft)))
    assert np.asarray(batch.soft)[:, columns].tolist() == [[0.75, 0.0, 0.25], [0.0, 0.0, 1.0]]
    with pytest.raises(ValueError, match="soft gives mass to label 1, which the new labels do not have"):
        model.batch_of(replace(plain, labels=names, batch=replace(plain.batch, soft=soft[:, [1, 0, 2]])))


def test_likelihood_by_enumeration(model: SequenceModel) -> None:
    given = ItemExtractor()([[["w1", "bias"], ["w30"], ["w59"]]], [["A", "B", "C"]])
    total = 0.0
    for labels in product("ABC", repeat=3):
        one = replace(
            given, labels=model.names.labels, batch=replace(given.batch, label=model.names.labels.ids(labels))
        )
        total += float(np.exp(model.log_prob(one)[0]))
    assert total == pytest.approx(1.0, rel=1e-9)
    hidden = replace(given, batch=replace(given.batch, label=[-1, -1, -1]))  # type: ignore[arg-type]
    assert model.log_prob(hidden)[0] == pytest.approx(0.0, abs=1e-12)
    first = replace(given, batch=replace(given.batch, label=[0, -1, -1]))  # type: ignore[arg-type]
    p = model.predict_proba(given)[0]
    assert np.exp(model.log_prob(first)[0]) == pytest.approx(p[0, model.names.labels.find("A")])
    with pytest.raises(ValueError, match="no gold labels"):
        model.log_prob(ItemExtractor()([[["w1"]]]))


def test_large_batches_are_cut(model: SequenceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset(30, 9)
    whole = (model.predict(data), model.log_prob(data), model.predict_proba(data))
    monkeypatch.setattr("crfkit.models.scoring._CELLS", 3 * 10)  # 10 positions at a time
    parts = (model.predict(data), model.log_prob(data), model.predict_proba(data))
    assert parts[0] == whole[0]
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-12)
    for a, b in zip(parts[2], whole[2], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_nothing_changes_a_model(model: SequenceModel) -> None:
    with pytest.raises(ValueError, match="read-only"):
        model.w[0] = 1.0
    with pytest.raises(AttributeError):
        model.w = np.zeros(3)  # type: ignore[misc]
    assert model.names.labels.frozen
    assert model.training is not None
    with pytest.raises(ValueError, match="read-only"):
        model.training.history["objective"][0] = 0.0
    with pytest.raises(ValueError, match="w has shape"):
        replace(model, w=np.zeros(3))


def test_models_can_be_pickled_and_shared(model: SequenceModel) -> None:
    data = dataset(20, 8)
    answer = model.predict(data)
    again: SequenceModel = pickle.loads(pickle.dumps(model))
    assert again.predict(data) == answer
    assert again.w.tobytes() == model.w.tobytes()
    assert not again.w.flags.writeable
    with ThreadPoolExecutor(4) as pool:
        assert all(found == answer for found in pool.map(model.predict, [data] * 12))


def test_hashed_and_named_data_do_not_mix(model: SequenceModel) -> None:
    X, y = sentences(20, 1)
    hashed = train(ItemExtractor(hashed=64)(X, y), optimizer=Descent(), stop=Stop(max_iterations=5))
    assert hashed.predict(ItemExtractor(hashed=64)(X))
    with pytest.raises(ValueError, match="have no names"):
        model.predict(ItemExtractor(hashed=64)(X))
    with pytest.raises(ValueError, match="have names, those of the model are hashed"):
        hashed.predict(ItemExtractor()(X))


def test_edge_attributes_that_the_model_has_not(model: SequenceModel) -> None:
    data = dataset(3)
    P = data.batch.positions
    with_edges = replace(data.batch, edge_ptr=np.arange(P + 1), edge_attr=np.zeros(P, np.int32))
    names = Alphabet(["e"])
    assert model.predict(replace(data, batch=with_edges, edge_attributes=names)) == model.predict(data)


def test_evaluation(model: SequenceModel) -> None:
    data = dataset(20, 8)
    assert float(model.evaluate(data, metric="accuracy")) == model.score(data) > 0.5
    assert float(model.evaluate(data, metric=lambda gold, found: float(len(gold)))) == 20.0
    label = np.asarray(data.batch.label).copy()
    label[data.batch.seq_ptr[1]] = -1
    holes = replace(data, batch=replace(data.batch, label=label))
    with pytest.raises(ValueError, match="sequence 1, position 0 has no label"):
        model.score(holes)
    assert repr(model).startswith("<SequenceModel of 3 labels")
