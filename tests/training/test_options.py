"""Options of training lie in three objects; what is wrong is refused in one sentence, before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.linear.features import Likely
from crfkit.structures.constraints import Forbid, Scheme
from crfkit.training import BlockedData
from tests.cases.sentences import dataset

# As a program without types would call them.
train: Any = crfkit.train
Chain: Any = crfkit.Chain
FeatureSelection: Any = crfkit.FeatureSelection
Stop: Any = crfkit.Stop

NOTHING: Any = object()  # no data: what is refused for it has come too late

#: Options of objects, a value, and how they are written.
OF_OBJECTS = [
    ("constraints", [], "structure=Chain(constraints=[])"),
    ("count", "value", "selection=FeatureSelection(count='value')"),
    ("transitions", "none", "selection=FeatureSelection(transitions='none')"),
    ("start", True, "selection=FeatureSelection(start=True)"),
    ("max_weights", 9, "selection=FeatureSelection(max_weights=9)"),
    ("patience", 3, "stop=Stop(patience=3)"),
    ("dev_every", 3, "stop=Stop(dev_every=3)"),
    ("tolerance", 0.1, "stop=Stop(tolerance=0.1)"),
    ("max_seconds", 9, "stop=Stop(max_seconds=9)"),
]


def said(call: Any, *given: Any, **options: Any) -> str:
    with pytest.raises(TypeError) as raised:
        call(*given, **options)
    return str(raised.value)


@pytest.mark.parametrize(("name", "value", "written"), OF_OBJECTS, ids=[name for name, *_ in OF_OBJECTS])
def test_options_of_objects_are_refused_with_the_object(name: str, value: Any, written: str) -> None:
    assert said(train, NOTHING, **{name: value}) == f"train has no option {name}: write {written}"


def test_several_options_at_once() -> None:
    assert said(train, NOTHING, constraints=[], count="value", start=True) == (
        "train has no option constraints, count, start: "
        "write structure=Chain(constraints=[]), selection=FeatureSelection(count='value', start=True)"
    )
    assert said(train, NOTHING, c2=1.0, min_freq=2).startswith(
        "train has no option c2, min_freq: write l2=2.0, min_count=2"
    )
    assert "extractor: leave it out: the data know" in said(train, NOTHING, extractor=ItemExtractor())
    assert "fit(X, y, progress=True)" in said(ChainCRF, progress=True)
    assert "fit(X, y, progress=True)" in said(ChainCRF, verbose=True)
    assert "write progress=True" in said(train, NOTHING, verbose=1)


@pytest.mark.parametrize(
    ("flat", "whole"),
    [
        ({"l1": 0.5, "l2": 0.25}, {"objective": crfkit.Likelihood(l1=0.5, l2=0.25)}),
        ({"order": 2}, {"structure": Chain(order=2)}),
        ({"min_count": 2}, {"selection": FeatureSelection(min_count=2)}),
        ({"max_iterations": 3}, {"stop": Stop(max_iterations=3)}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_everybody_turns_is_a_parameter_of_its_own(flat: dict[str, Any], whole: dict[str, Any]) -> None:
    data, other = dataset(8), train(dataset(8))
    short, long = train(data, **flat), train(data, **whole)
    assert np.array_equal(short.w, long.w)
    assert not np.array_equal(short.w, other.w)
    with pytest.raises(ValueError, match=f"{next(iter(flat))}=.* is given beside {next(iter(whole))}="):
        train(data, **flat, **whole)


def test_a_state_that_is_drawn_is_recorded() -> None:
    drawn = {train(dataset(2), random_state=None).training.random_state for _ in range(2)}
    assert len(drawn) == 2
    assert train(dataset(2), random_state=7).training.random_state == 7


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: train(NOTHING, max_iteration=5), TypeError, "did you mean 'max_iterations'"),
        (lambda: train(NOTHING, ordr=2), TypeError, "did you mean 'order'"),
        (lambda: train(NOTHING, selecton="all"), TypeError, "did you mean 'selection'?"),
        (
            lambda: train(NOTHING, structure="chian"),
            ValueError,
            "structure is 'chian', expected .chain., .local-chain.,",
        ),
        (lambda: train(NOTHING, structure=2), TypeError, r"such as Chain\(order=2\)"),
        (lambda: train(NOTHING, structure=Chain), TypeError, r"the class Chain; give an object: Chain\(\)"),
        (
            lambda: train(NOTHING, structure=crfkit.structures.Tree([-1, 0], 2)),
            TypeError,
            "cannot be trained",
        ),
        (lambda: train(NOTHING, selection="some"), ValueError, "selection is 'some', expected \"observed\""),
        (lambda: train(NOTHING, selection=3), TypeError, "selection is 3, expected"),
        (
            lambda: train(NOTHING, selection=Likely()),
            TypeError,
            r"selection=FeatureSelection\(which=Likely\(",
        ),
        (lambda: train(NOTHING, stop=50), TypeError, r"stop is 50, expected Stop\(...\)"),
        (
            lambda: train(NOTHING, random_state="1"),
            TypeError,
            "random_state is '1', of type str, expected a number",
        ),
        (lambda: train(NOTHING, n_jobs="1"), TypeError, "n_jobs is '1'"),
        (lambda: train(NOTHING, listeners=print), TypeError, "expected a list: listeners="),
        (lambda: train(NOTHING, checkpoint=3), TypeError, "checkpoint is 3, expected a folder"),
        (lambda: Chain(order=9), ValueError, "order is 9, expected 0 to 8"),
        (lambda: Chain(order="2"), TypeError, "order is '2', of type str"),
        (lambda: Chain(order=1.5), TypeError, "order is 1.5, expected a whole number"),
        (lambda: Chain(constraints=["BIO"]), TypeError, r"constraints\[0\] is 'BIO', not a Scheme"),
        (lambda: Chain(constraints=Scheme("BIO")), TypeError, r"expected a list: constraints=\["),
        (lambda: Chain(order=0, constraints=[Scheme("BIO")]), ValueError, "order 1 or more"),
        (lambda: FeatureSelection("some"), ValueError, "which is 'some', expected \"observed\""),
        (lambda: FeatureSelection(which=3), TypeError, "which is 3"),
        (lambda: FeatureSelection(transitions="some"), ValueError, "transitions is 'some', expected \"all\""),
        (lambda: FeatureSelection(count="sum"), ValueError, "count is 'sum'"),
        (lambda: FeatureSelection(min_count="2"), TypeError, "min_count is '2', of type str"),
        (lambda: FeatureSelection(min_count=-1), ValueError, "min_count is -1, expected 0 or more"),
        (lambda: FeatureSelection(start="yes"), TypeError, "start is 'yes', expected True or False"),
        (lambda: FeatureSelection(max_weights=None), TypeError, "max_weights is None"),
        (lambda: Likely(epsilon=-1.0), ValueError, "epsilon is -1.0"),
        (lambda: Stop(patience=0), ValueError, "patience is 0, expected 1 or more"),
        (lambda: Stop(dev_every=0), ValueError, "dev_every is 0, expected 1 or more"),
        (lambda: Stop(tolerance=float("nan")), ValueError, "tolerance is nan"),
        (lambda: Stop(max_seconds=-1.0), ValueError, "max_seconds is -1.0"),
        (lambda: Stop(max_iterations="9"), TypeError, "max_iterations is '9', of type str"),
        (lambda: Stop(max_iterations=True), TypeError, "max_iterations is True"),
        (lambda: Chain().potentials([[0.0]]), ValueError, "this chain has no labels: give them, as in"),
    ],
)
def test_what_cannot_be_meant(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_a_chain_without_labels_says_what_to_learn() -> None:
    spec = Chain(order=2, constraints=[Forbid("A", "B")])
    assert spec.labels == ()
    assert spec.with_labels(["A", "B", "C"]) == Chain(["A", "B", "C"], 2, [Forbid("A", "B")])
    data = dataset(12)
    made = train(data, structure=Chain(order=2), stop=Stop(max_iterations=3))
    named = train(data, structure=Chain(data.labels.strings(), order=2), stop=Stop(max_iterations=3))
    assert made.structure == named.structure == Chain(data.labels.strings(), order=2)
    assert made.w.tobytes() == named.w.tobytes()
    with pytest.raises(ValueError, match=r"labels X, Y, the data have B, C, A.*leave the labels out"):
        train(data, structure=Chain(["X", "Y"]))


def test_a_local_chain_stays_one_in_a_file(tmp_path: Path) -> None:
    data = dataset(12)
    made = train(data, structure="local-chain", optimizer="lbfgs", stop=Stop(max_iterations=5))
    assert made.training is not None
    assert made.training.objective.startswith("Local(")
    made.save(tmp_path / "m.crf")
    again = crfkit.load(tmp_path / "m.crf")
    np.testing.assert_allclose(again.log_prob(data), made.log_prob(data), rtol=1e-12)
    assert sum(made.log_prob(data)) > sum(train(data, stop=Stop(max_iterations=0)).log_prob(data))


def test_words_are_short_for_objects() -> None:
    data = dataset(12)
    short = train(data, selection="all", structure="chain", stop=Stop(max_iterations=3))
    long = train(
        data, selection=FeatureSelection(which="all"), structure=Chain(), stop=Stop(max_iterations=3)
    )
    assert short.w.tobytes() == long.w.tobytes()


def columns() -> Columns:
    rows = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]]
    return Columns.from_rows(rows, names=["word", "tag"])


def test_models_know_what_made_their_data(tmp_path: Path) -> None:
    extract = Extractor(Recipe.parse("word[0]; suffix(word, 2)[0]"), label="tag")
    data = extract(columns())
    assert data.extractor is not None
    assert (data.extractor.recipe, data.extractor.label_column) == (extract.recipe, "tag")
    assert data[:1].extractor is data.extractor
    BlockedData.write(tmp_path / "blocks", [data])
    for given in (data, BlockedData.open(tmp_path / "blocks")):
        model = train(given, optimizer="lbfgs", stop=Stop(max_iterations=2))
        assert (model.recipe, model.label_column) == (extract.recipe, "tag")
    plain = Dataset(data.batch, data.labels, data.attributes, data.edge_attributes)
    assert train(plain, stop=Stop(max_iterations=2)).recipe is None
