"""The confidence of segments, against the sum over all labelings that have them."""

from __future__ import annotations

from itertools import groupby, pairwise, product
from typing import Any

import numpy as np
import pytest

from crfkit import MEMM, Chain, ChainCRF, FeatureSelection, HiddenChainCRF, SemiCRF, inference, tags
from crfkit.structures.constraints import Scheme, SegmentLength
from tests.cases.spans import bare

WORDS = "a b c d"
random = np.random.default_rng(0)
X = [[[w] for w in random.choice(WORDS.split(), int(random.integers(1, 6)))] for _ in range(25)]


def tags_of(words: list[list[str]], single: bool) -> list[str]:
    """Stretches of a and b are segments X, stretches of c are segments Y."""
    kinds = [{"a": "X", "b": "X", "c": "Y", "d": ""}[word[0]] for word in words]
    made = []
    for t, kind in enumerate(kinds):
        first = t == 0 or kinds[t - 1] != kind
        last = t + 1 == len(kinds) or kinds[t + 1] != kind
        letter = "S" if single and first and last else "B" if first else "E" if single and last else "I"
        made.append(f"{letter}-{kind}" if kind else "O")
    return made


BIO, BIOES = ([tags_of(x, single) for x in X] for single in (False, True))
PLAIN = [[tag[2:] or "O" for tag in tags] for tags in BIO]
SPELLED = [[tag.replace("-", "_").replace("O", "-") for tag in tags] for tags in BIO]

CASES: dict[str, tuple[Any, Any]] = {
    "order 1": (ChainCRF(), BIO),
    "order 0": (ChainCRF(structure=Chain(order=0)), BIO),
    "local": (MEMM(), BIO),
    "ends": (ChainCRF(selection=FeatureSelection(start=True, stop=True)), BIOES),
    "scheme": (ChainCRF(structure=Chain(constraints=[Scheme("BIO")])), BIO),
    "lengths": (ChainCRF(structure=Chain(constraints=[Scheme("BIO"), SegmentLength(None, 1, 5)])), BIO),
    "hidden": (HiddenChainCRF(states={"B-X": 2, "O": 2}), BIO),
    "encoding": (ChainCRF(train_scheme="BCEU"), BIO),
    "other letters": (ChainCRF(structure=Chain(constraints=[Scheme("BIO", "-", "_")])), SPELLED),
    "plain": (ChainCRF(), PLAIN),
    "plain order 0": (ChainCRF(structure=Chain(order=0)), PLAIN),
    "plain order 2": (ChainCRF(structure=Chain(order=2)), PLAIN),
    "plain local": (MEMM(), PLAIN),
    "plain ends": (ChainCRF(selection=FeatureSelection(start=True, stop=True)), PLAIN),
    "plain hidden": (HiddenChainCRF(states={"X": 2, "O": 2}), PLAIN),
    "plain hidden order 2": (HiddenChainCRF(states={"X": 2}, structure=Chain(order=2)), PLAIN),
}


def runs(labels: list[str]) -> list[tuple[int, int, str]]:
    ends = np.cumsum([0, *(len(list(run)) for _, run in groupby(labels))]).tolist()
    return [(a, b, labels[a]) for a, b in pairwise(ends)]


def bio(labels: list[str]) -> list[tuple[int, int, str]]:
    return tags.spans([y.replace("-", "O").replace("_", "-") for y in labels])


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_mass_of_the_labelings_that_have_the_segment(name: str) -> None:
    crf, y = CASES[name]
    model = crf.set_params(n_jobs=1).fit(X, y).model_
    sequences = [x for x in X if len(x) < 4][:8]
    found = model.predict_spans(sequences)
    every = model.segments_in(model._path(sequences))
    assert bare(found) == [[one for one in several if one[2] != "O"] for several in every]
    assert sum(map(len, found)) > 5
    labels = model.structure.labels  # of the chain, which an encoding spells otherwise than answers
    names = labels if model.states is None else [model.answers[g] for g in model.states.group]
    potentials = model.potentials(model.batch_of(sequences))
    read = runs if y is PLAIN else bio if y is SPELLED else tags.spans
    for n, (x, several) in enumerate(zip(sequences, found, strict=True)):
        one = potentials.sequence(n)
        mass = dict.fromkeys([s[:3] for s in several], 0.0)
        total = inference.log_partition(one)
        for path in product(range(len(names)), repeat=len(x)):
            spelled = read([names[y] for y in path])
            for segment in mass.keys() & set(spelled):
                mass[segment] += np.exp(inference.score(one, list(path)) - total)
        for *segment, p in several:
            assert p == pytest.approx(mass[tuple(segment)], rel=1e-9)


def test_segments_of_a_semi_markov_chain() -> None:
    crf = SemiCRF(n_jobs=1).fit(X, BIO)
    found = crf.predict_spans(X)
    for several, probable in zip(found, crf.predict_segment_marginals(X, min_probability=0.0), strict=True):
        assert set(several) <= set(probable)
    assert bare(found) == crf.model_.segments_in(crf.model_._path(X))


def test_parts_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ChainCRF(n_jobs=1).fit(X, BIO).model_
    whole = model.predict_spans(X, threads=2)
    assert model.predict_spans([]) == []
    assert model.predict_spans([[]]) == [[]]
    monkeypatch.setattr("crfkit.models.scoring._CELLS", 60)
    assert model.predict_spans(X, threads=1) == whole


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="chains of order 1 and for segments, not for a chain of order 2"):
        ChainCRF(structure=Chain(order=2)).fit(X, BIO).predict_spans(X)
