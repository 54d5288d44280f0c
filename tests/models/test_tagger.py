"""One sequence at a time: the labels and probabilities of `Model.predict`, from any thread."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit.compat.pycrfsuite as pycrfsuite
from crfkit import Chain, ChainCRF, FeatureSelection, Stop, inference, train
from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import write_model
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.constraints import Scheme, SegmentLength

LABELS = ["B-X", "I-X", "B-Y", "I-Y", "O"]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "hashed": {},
    "order 0": {"structure": Chain(order=0), "selection": FeatureSelection(transitions="none")},
    "order 2": {"structure": Chain(order=2)},
    "start and stop": {"selection": FeatureSelection(start=True, stop=True)},
    "all pairs": {"selection": "all"},
    "scheme": {"structure": Chain(constraints=[Scheme("BIO")])},
    "local": {},
    "lengths": {"structure": Chain(constraints=[Scheme("BIO"), SegmentLength("X", maximum=2)])},
}


def items(rng: np.random.Generator, T: int) -> list[Any]:
    """Lists, tuples and dicts of names: known, unknown, empty, long, repeated, of other alphabets."""
    made: list[Any] = []
    for _ in range(T):
        names = [f"w={rng.integers(40)}", "é" * int(rng.integers(9)), "", "x" * 300, f"new{rng.integers(99)}"]
        chosen = [names[i] for i in rng.integers(len(names), size=rng.integers(6))]
        kind = rng.integers(3)
        if kind == 0:
            made.append({"w": str(rng.integers(40)), "v": float(rng.normal()), "deep": {"a": chosen}})
        else:
            made.append(tuple(chosen) if kind == 1 else chosen)
    return made


def sequences(seed: int, N: int = 60) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [items(rng, int(T)) for T in rng.integers(0, 40, size=N)]


def model_of(kind: str) -> SequenceModel:
    """A model with weights that decide: drawn, not trained."""
    rng = np.random.default_rng(1)
    X = sequences(0)
    y = [[LABELS[i] for i in rng.integers(len(LABELS), size=len(x))] for x in X]
    if KINDS[kind].get("structure", Chain()).constraints:
        y = [["O"] * len(x) for x in X]
        X[0], y[0] = [["w=1"]] * len(LABELS), LABELS
    extract = ItemExtractor(hashed=64 if kind == "hashed" else None)
    options: dict[str, Any] = {"optimizer": "lbfgs", "stop": Stop(max_iterations=1)}
    model = train(extract(X, y), **options, **KINDS[kind])
    structure = LocalChain(model.names.labels) if kind == "local" else model.structure
    return replace(model, w=rng.normal(size=model.w.shape), structure=structure)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_of_the_model(kind: str) -> None:
    model, X = model_of(kind), sequences(2)
    tagger = Tagger(model)
    hashed = 64 if kind == "hashed" else None
    dataset = ItemExtractor(hashed, None if hashed else model.attributes, model.names.labels)(X)
    assert (model.decoder is None) == (kind in ("lengths", "local"))
    expected = model.predict(dataset)
    assert [tagger.tag(x) for x in X] == expected
    assert len({tuple(y) for y in expected}) > 20
    for x, node in zip(X, model.predict_proba(dataset), strict=True):
        np.testing.assert_allclose(tagger.predict_proba(x), node, rtol=1e-12, atol=1e-12)
    potentials = model.potentials(model.batch_of(dataset))
    for n, x in enumerate(X[:20]):
        log_p = inference.log_prob(potentials.sequence(n), expected[n])
        assert tagger.log_prob(x, expected[n]) == pytest.approx(log_p, rel=1e-9, abs=1e-12)
        if x:
            assert tagger.log_prob(x, ["other"] * len(x)) == -np.inf
            with pytest.raises(ValueError, match=r"items and \d+ labels"):
                tagger.log_prob(x, expected[n][1:])


def test_items_of_any_kind() -> None:
    tagger = Tagger(model_of("plain"))
    x = [["w=1", "w=2"], ["w=3"], []]
    for same in (tuple(x), iter(x), [tuple(x[0]), {"w=3": 1}, set()], [iter(item) for item in x]):
        assert tagger.tag(same) == tagger.tag(x)
    assert tagger.tag([]) == []
    assert tagger.predict_proba([]).shape == (0, 5)
    with pytest.raises(TypeError, match=r"sequence 0, position 1: .*expected a string"):
        tagger.tag([["w=1"], ["w=2", 3]])
    with pytest.raises(ValueError, match=r"position 0.*lone surrogate"):
        tagger.tag([["\ud800"]])
    with pytest.raises(ValueError, match="overflow"):
        tagger.tag([{"w=1": 1e308, "w=2": 1e308, "w=3": -1e308}] * 2)
    assert tagger.tag(x)  # a failure leaves nothing behind
    long = [["w=1", "w=2"]] * 40_000
    assert set(tagger.tag(long)[1000:-1000]) <= set(tagger.labels)
    assert tagger.predict_proba(long).sum() == pytest.approx(len(long))


def test_a_generator_may_use_the_tagger_that_reads_it() -> None:
    tagger = Tagger(model_of("plain"))
    x = sequences(5)[3]

    def nested() -> Iterator[Any]:
        for item in x:
            assert len(tagger.tag([["w=1"], item])) == 2
            yield item

    assert tagger.tag(nested()) == tagger.tag(x)


def test_a_reading_keeps_its_decoder() -> None:
    decoder = model_of("plain").decoder
    assert decoder is not None
    x, before = sequences(5)[3], sys.getrefcount(decoder)
    labels, reading = decoder.answer(x)
    assert sys.getrefcount(decoder) == before + 1
    assert labels == decoder.tag(x) == reading.tag() == decoder.read(x).tag()
    again = reading.marginals().tolist()
    del decoder
    gc.collect()
    assert reading.tag() == labels
    assert reading.marginals().tolist() == again


def test_an_answer_of_nothing_and_of_wrong_items(tmp_path: Path) -> None:
    model = model_of("plain")
    assert model.decoder is not None
    labels, reading = model.decoder.answer([])
    assert (labels, len(reading)) == ([], 0)
    write_model(model, tmp_path / "m", "crfsuite")
    face = pycrfsuite.Tagger()
    face.open(str(tmp_path / "m"))
    x = sequences(5)[3]
    labels = face.tag(x)
    with pytest.raises(TypeError, match="expected a string"):
        face.tag([["w=1", 3]])
    assert face.tag() == labels  # the sequence before is still there
    assert 0.0 < face.probability(labels) <= 1.0
    assert face.tag([]) == face.tag() == []
    assert face.probability([]) == 0.0


def test_names_need_an_alphabet() -> None:
    model = model_of("hashed")
    with pytest.raises(ValueError, match="without names"):
        Tagger(replace(model, extractor=None))


def test_what_is_prepared_is_made_once_and_stays_behind() -> None:
    model = model_of("plain")
    size = len(pickle.dumps(model))
    decoder = model.decoder
    assert decoder is model.decoder is Tagger(model)._decoder
    assert len(pickle.dumps(model)) == size
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.decoder is not decoder
        assert Tagger(other).tag([["w=1"]]) == Tagger(model).tag([["w=1"]])


@pytest.mark.parametrize("kind", ["plain", "scheme", "lengths"])
def test_64_threads(kind: str, tmp_path: Path) -> None:
    X = [*sequences(3, 30), [["w=1", "w=2", "w=3"]] * 900]  # the last one is worth giving up the GIL for
    one = model_of(kind)
    dataset = ItemExtractor(attributes=one.attributes, labels=one.names.labels)(X)
    expected = one.predict(dataset, threads=1)
    marginals = [Tagger(one).predict_proba(x) for x in X]
    model = model_of(kind)  # nothing is prepared: the threads meet there
    shared = Tagger(model)
    face = pycrfsuite.Tagger()
    if kind == "plain":
        write_model(model, tmp_path / "m", "crfsuite")
        face.open(str(tmp_path / "m"))
    barrier = threading.Barrier(64)

    def work(i: int) -> bool:
        barrier.wait(60)
        if i % 4 == 0:
            return model.predict(dataset, threads=1 + i % 3) == expected
        tagger = shared if i % 4 == 1 else Tagger(model)
        order = np.random.default_rng(i).permutation(len(X))
        same = all(tagger.tag(X[n]) == expected[n] for n in order)
        if kind == "plain":
            same &= all(face.tag(X[n]) == expected[n] for n in order)
        return same and all(np.array_equal(tagger.predict_proba(X[n]), marginals[n]) for n in order[:5])

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(work, range(64)))


def test_faces_agree(tmp_path: Path) -> None:
    model, X = model_of("plain"), sequences(4)
    write_model(model, tmp_path / "m", "crfsuite")
    face, crf, tagger = pycrfsuite.Tagger(), CRF(model_filename=str(tmp_path / "m")), Tagger(model)
    face.open(str(tmp_path / "m"))
    for x in X:
        y = tagger.tag(x)
        assert face.tag(x) == face.tag() == face.tag(pycrfsuite.ItemSequence(x)) == crf.predict_single(x) == y
        if not x:
            continue
        assert face.probability(y) == pytest.approx(np.exp(tagger.log_prob(x, y)), rel=1e-9)
        by_label = [crf.predict_marginals_single(x)[-1][name] for name in tagger.labels]
        assert by_label == [face.marginal(name, len(x) - 1) for name in tagger.labels]
        np.testing.assert_allclose(by_label, tagger.predict_proba(x)[-1], rtol=1e-9)


def test_a_model_with_a_recipe_takes_what_predict_takes() -> None:
    X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    model = ChainCRF(features="w[-1..0]").fit(X, y).model_
    tagger = Tagger(model)
    sentence = ["a", "dog", "the"]
    dicts = [{"w": word} for word in sentence]
    for given in (sentence, tuple(sentence), iter(sentence), dicts):
        assert tagger.tag(given) == model.predict([sentence])[0]
    np.testing.assert_array_equal(tagger.predict_proba(sentence), model.predict_proba([sentence])[0])
    assert tagger.predict_spans(sentence) == model.predict_spans([sentence])[0]
    for labels in (["D", "N", "D"], ["D", None, {"D", "N"}]):
        expected = model.log_prob([sentence], [labels])[0]
        assert tagger.log_prob(sentence, labels) == pytest.approx(expected, rel=1e-12)
    assert tagger.log_prob(sentence, ["D", "N", "?"]) == -np.inf
    rows = ChainCRF(features="U0:%x[0,0]\nU1:%x[0,1]\n").fit([[("the", "e"), ("dog", "g")]], y[:1])
    assert Tagger(rows.model_).tag([("dog", "g")]) == ["N"]
    with pytest.raises(ValueError, match="plain string"):
        tagger.tag("the dog")
