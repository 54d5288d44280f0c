"""Weights and values whose scores overflow: every query refuses in one sentence, none answers nan."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, SemiMarkov, Stop, inference, train
from crfkit.arrays import LARGEST_SCORE
from crfkit.checks import NotFiniteError
from crfkit.compat import pycrfsuite
from crfkit.constraints import AtMost, Forbid, SegmentLength
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger, scoring, uncertainty
from crfkit.models.files.crfsuite_write import crfsuite_bytes

X = [[["a", "b"], ["c"], ["a", "d"]], [["b"], ["a"]]]
Y = [["x", "y", "x"], ["y", "z"]]
ASKED = [[["new"]], [["new"], ["a", "b"], ["c"]]]
GOLD = [["x"], ["x", "y", "z"]]

STRUCTURES: dict[str, Any] = {
    "order 1": Chain(),
    "order 2": Chain(order=2),
    "local": "local-chain",
    "segments": SemiMarkov(max_length=2),
    "constraints": Chain(constraints=[Forbid("y", "y")]),
    "lengths": Chain(constraints=[SegmentLength(None, 1, 2)]),
}
WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "all 1e308": lambda w: np.full_like(w, 1e308),
    "all -1e308": lambda w: np.full_like(w, -1e308),
    "both signs": lambda w: np.where(np.arange(len(w)) % 2, 1e308, -1e308),
    "the last 1e308": lambda w: np.where(np.arange(len(w)) >= len(w) - 3, 1e308, 0.0),
    "nan": lambda w: np.full_like(w, np.nan),
    "inf": lambda w: np.full_like(w, np.inf),
}
METHODS: tuple[Any, ...] = ("least-confidence", "margin", "entropy", "nbest-entropy", "token-entropy")


def queries(model: SequenceModel) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "predict", lambda: model.predict(ASKED)
    yield "posterior", lambda: model.predict(ASKED, method="posterior")
    yield "at most", lambda: model.predict(ASKED, constraints=[AtMost("x", 1)])
    yield "marginals", lambda: model.predict_proba(ASKED)
    yield "log likelihood", lambda: model.log_prob(ASKED, GOLD)
    yield "of partial labels", lambda: model.log_prob(ASKED, [[None], ["x", None, "z"]])
    yield "evaluate", lambda: model.score(ASKED, y=GOLD)
    yield "tag", lambda: Tagger(model).tag(ASKED[1])
    yield "probabilities", lambda: Tagger(model).predict_proba(ASKED[1])
    yield "log p of one", lambda: Tagger(model).log_prob(ASKED[1], GOLD[1])
    for method in METHODS:
        yield method, partial(uncertainty, model, ASKED, method)

    def scores() -> Any:
        return model.potentials(model.batch_of(ASKED))

    yield "log Z", lambda: inference.log_partition(scores())
    yield "entropy of labelings", lambda: inference.entropy(scores())
    yield "decode", lambda: inference.decode(scores())
    yield "k best", lambda: inference.kbest(scores(), 3)
    yield "sample", lambda: inference.sample(scores(), 3)
    yield "score", lambda: inference.score(scores(), [0, 0, 1, 2])


@pytest.fixture(scope="module")
def trained() -> dict[str, SequenceModel]:
    data = ItemExtractor()(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: train(data, structure=structure, stop=Stop(max_iterations=3))
            for name, structure in STRUCTURES.items()
        }


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.filterwarnings("error")
def test_every_query_refuses(trained: dict[str, SequenceModel], structure: str, weights: str) -> None:
    model = replace(trained[structure], w=WEIGHTS[weights](trained[structure].w))
    if np.isfinite(model.w).all():
        model = SequenceModel.from_bytes(model.to_bytes())
    for _, ask in queries(model):
        with pytest.raises(ValueError, match=r"^[^\n]*(overflow|w\[)[^\n]*$"):
            ask()


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.filterwarnings("error")
def test_large_weights_have_answers(trained: dict[str, SequenceModel], structure: str) -> None:
    """Below the limit nothing overflows, though probabilities are rounded to 0 and 1."""
    model = replace(trained[structure], w=np.sign(trained[structure].w) * 1e299)
    for name, ask in queries(model):
        for part in np.atleast_1d(ask() if name in METHODS else 0.0):
            assert np.isfinite(part), name
    assert all(np.isfinite(rows).all() for rows in model.predict_proba(ASKED))


@pytest.mark.parametrize("value", [1e308, -1e308, LARGEST_SCORE * 4])
@pytest.mark.filterwarnings("error")
def test_values_of_attributes_name_their_sequence(trained: dict[str, SequenceModel], value: float) -> None:
    model = replace(trained["order 1"], w=np.ones_like(trained["order 1"].w))
    items = [[{"new": 1.0}], [{"new": 1.0}, {"a": value, "b": value}]]
    where = "sequence 1, position 1: its scores overflow"
    for ask in (model.predict, model.predict_proba, partial(uncertainty, model)):
        with pytest.raises(NotFiniteError, match=where):
            ask(items)
    with pytest.raises(ValueError, match=r"^position 1 of the sequence: its scores overflow"):
        Tagger(model).tag(items[1])


def test_sequences_are_counted_through_all_parts(
    trained: dict[str, SequenceModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_CELLS", 9)  # one sequence a part
    items = [[["a"], ["b"]], [["c"], ["d"]], [["a"], {"a": 1e308, "b": 1e308}]]
    model = replace(trained["order 1"], w=np.ones_like(trained["order 1"].w))
    with pytest.raises(NotFiniteError, match=r"^sequence 2, position 1: ") as found:
        model.predict(items)
    again = pickle.loads(pickle.dumps(found.value))
    assert (str(again), again.sequence) == (str(found.value), 2)


@pytest.mark.parametrize("weights", ["all 1e308", "the last 1e308"])
def test_python_crfsuite_refuses(trained: dict[str, SequenceModel], weights: str, tmp_path: Any) -> None:
    model = replace(trained["order 1"], w=WEIGHTS[weights](trained["order 1"].w))
    (tmp_path / "m.crfsuite").write_bytes(crfsuite_bytes(model))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m.crfsuite"))
    with pytest.raises(ValueError, match=r"overflow|w\["):
        tagger.tag(ASKED[1])


@pytest.mark.filterwarnings("error")
def test_columns_of_numbers_name_their_sequence() -> None:
    data = ItemExtractor()([np.ones((2, 2)), np.zeros((3, 2))], [["x", "y"], ["x", "y", "x"]])
    model = train(data, stop=Stop(max_iterations=50))
    model = replace(model, w=np.full_like(model.w, 1e10))
    large = np.ones((2, 2))
    large[1, 0] = 1e300
    with pytest.raises(NotFiniteError, match=r"^sequence 1, position 1: its scores overflow"):
        model.predict([np.ones((1, 2)), large])


@pytest.mark.parametrize("score", [1.5e308, LARGEST_SCORE * 2])
def test_own_scores_above_the_limit_are_named(score: float) -> None:
    node = np.zeros((3, 2))
    node[2, 1] = score
    for ask in (inference.decode, inference.log_partition, inference.marginals, inference.entropy):
        with pytest.raises(ValueError, match=r"node\[2, 1\] is .*too large to be added up"):
            ask(Chain(2).potentials(node))


@pytest.mark.filterwarnings("error")
def test_many_large_scores_overflow_in_their_sum() -> None:
    """More positions than the limit of one score allows for: 2^27 of them are too many for a test."""
    with pytest.raises(NotFiniteError, match="sequence 1: its scores overflow when they are added up"):
        inference.results.demand_finite(np.array([-np.inf, np.nan, np.inf]))
