"""Training as a user calls it: defaults, events, dev sets, certificates, and every wrong call."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection, Likelihood, Stop, optimize, train
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.errors import DataWarning
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.linear.features import Likely
from crfkit.models import SequenceModel
from crfkit.objectives import MaxMargin, Perceptron
from crfkit.objectives.classic import Exponential
from crfkit.structures.constraints import Forbid
from crfkit.training.choose import NAMES
from crfkit.training.events import Begin, Checkpointed, Event, Finished, History, Progress, StopTraining
from tests.cases.descent import Descent
from tests.cases.sentences import dataset, sentences


@pytest.fixture(scope="module")
def data() -> Dataset:
    return dataset()


@pytest.fixture(scope="module")
def dev() -> Dataset:
    return dataset(30, 2)


# ---- it just works ------------------------------------------------------------------------------


def test_defaults(data: Dataset, dev: Dataset) -> None:
    history = History()
    model = train(data, listeners=[history])
    begin, *steps, finished = history.events
    assert isinstance(begin, Begin)
    assert isinstance(finished, Finished)
    assert all(isinstance(event, Progress) for event in steps)
    assert (begin.sequences, begin.labels, begin.weights) == (60, 3, model.layout.weights)
    assert "small" in begin.why
    about = model.training
    assert about is not None
    assert finished.summary is about
    assert about.iterations == len(steps) == len(about.history["objective"])
    assert about.certificate.startswith("Within 0.0")
    assert about.certificate in str(about)
    assert model.score(dev) > 0.8
    assert set(about.versions) == {"crfkit", "numpy", "python"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure": Chain(order=0)},
        {"structure": Chain(order=2)},
        {"selection": FeatureSelection(start=True, stop=True)},
    ],
)
def test_the_certificate_is_true(data: Dataset, options: dict[str, Any]) -> None:
    best = train(data, optimizer="lbfgs", stop=Stop(tolerance=1e-12), **options).training
    assert best is not None
    for iterations in (3, 10, 30):
        some = train(data, optimizer=Descent(), stop=Stop(max_iterations=iterations), **options).training
        assert some is not None
        assert 0.0 < some.loss - best.loss <= some.gap


def test_tolerance_is_kept(data: Dataset) -> None:
    loose = train(data, stop=Stop(tolerance=0.1)).training
    tight = train(data, stop=Stop(tolerance=1e-6)).training
    assert loose is not None
    assert tight is not None
    assert loose.iterations < tight.iterations
    assert loose.gap <= 0.1 * loose.loss
    assert tight.gap <= 1e-6 * tight.loss
    assert loose.loss - tight.loss <= 0.1 * tight.loss


def test_same_bits_for_any_number_of_threads(data: Dataset) -> None:
    one, two = (train(data, optimizer="lbfgs", n_jobs=n, stop=Stop(max_iterations=8)) for n in (1, 2))
    assert one.w.tobytes() == two.w.tobytes()


def test_the_dev_set_stops_and_the_best_weights_are_kept(data: Dataset, dev: Dataset) -> None:
    history = History()
    stop = Stop(max_iterations=500, dev_every=1, patience=30)
    model = train(data, dev, stop=stop, listeners=[history], optimizer=Descent())
    about = model.training
    assert about is not None
    assert about.metric == "accuracy"
    best = int(np.argmax(history.scores))
    assert about.kept == best + 1
    assert about.score == max(history.scores) == model.score(dev)
    assert about.iterations > best + 15  # two passes in a step
    assert (about.end, about.converged) == ("patience", False)
    assert "has not risen in 3" in about.reason


def test_dev_every_and_a_metric_of_ones_own(data: Dataset, dev: Dataset) -> None:
    def wrong_tokens(y_true: list[list[str]], y_pred: list[list[str]]) -> float:
        return -float(
            sum(a != b for t, p in zip(y_true, y_pred, strict=True) for a, b in zip(t, p, strict=True))
        )

    model = train(
        data,
        dev,
        optimizer=Descent(),
        metric=wrong_tokens,
        stop=Stop(dev_every=4, max_iterations=10, patience=None),
    )
    about = model.training
    assert about is not None
    assert np.isnan(about.history["score"]).tolist() == [n % 4 != 0 for n in range(1, 11)]
    assert about.metric == "wrong_tokens"
    assert about.kept in (4, 8, 10)


def test_likelihood_as_a_metric(data: Dataset, dev: Dataset) -> None:
    about = train(data, dev, metric="log_prob", optimizer=Descent(), stop=Stop(max_iterations=8)).training
    assert about is not None
    scores = about.history["score"]
    assert (np.diff(scores[~np.isnan(scores)]) > 0).all()
    assert np.flatnonzero(~np.isnan(scores)).tolist() == [1, 3, 5, 7]  # half as large: after 2.5 passes


def test_segments_are_judged_as_segments(data: Dataset) -> None:
    X, y = sentences(20, 3)
    tags = [["B-X" if tag == "A" else "O" for tag in sequence] for sequence in y]
    about = train(ItemExtractor()(X, tags), ItemExtractor()(X, tags), stop=Stop(max_iterations=2)).training
    assert about is not None
    assert about.metric == "span_f1"


def test_dev_labels_unknown_to_training_are_reported(data: Dataset) -> None:
    with pytest.warns(DataWarning, match=r"the dev set has labels that the model does not know: D \(\d+\)"):
        model = train(data, dataset(20, 4, "ABCD"), optimizer=Descent(), stop=Stop(max_iterations=2))
    assert "D" not in model.names.labels


def test_listeners_can_stop(data: Dataset) -> None:
    def enough(event: Event) -> None:
        if isinstance(event, Progress) and event.iteration == 4:
            raise StopTraining("seen enough")

    about = train(data, optimizer=Descent(), listeners=[enough]).training
    assert about is not None
    assert (about.iterations, about.reason) == (4, "seen enough")


def test_likely_features(data: Dataset) -> None:
    observed, more = train(data), train(data, selection="likely")
    wide = train(data, selection="all")
    assert observed.layout.weights < more.layout.weights <= wide.layout.weights
    assert more.training is not None
    assert any("likely weights were added" in note for note in more.training.notes)
    few = train(data, selection=FeatureSelection(Likely(epsilon=0.5)))
    assert few.layout.weights < more.layout.weights


def test_no_iterations_is_an_evaluation(data: Dataset) -> None:
    about = train(data, optimizer=Descent(), stop=Stop(max_iterations=0)).training
    assert about is not None
    assert about.loss == pytest.approx(data.batch.positions * np.log(3), rel=1e-12)
    assert about.kept == 0


def test_hidden_labels_have_no_certificate(data: Dataset) -> None:
    label = np.asarray(data.batch.label).copy()
    label[::5] = -1
    history = History()
    partly = replace(data, batch=replace(data.batch, label=label))
    about = train(partly, optimizer=Descent(), stop=Stop(max_iterations=3), listeners=[history]).training
    assert about is not None
    assert "not convex" in about.certificate
    begin = cast(Begin, history.events[0])
    assert any("without a label of their own" in note for note in begin.notes)


def test_soft_labels(data: Dataset) -> None:
    soft = np.full((data.batch.positions, 3), 0.05)
    soft[np.arange(len(soft)), data.batch.label] = 0.9
    model = train(replace(data, batch=replace(data.batch, label=None, soft=soft)), optimizer="lbfgs")
    assert model.layout.parts["node"].stop == 3 * len(data.attributes)
    assert model.score(data) > 0.8


def test_the_model_knows_its_recipe() -> None:
    rows = [[("the", "D"), ("dog", "N")], [("a", "D"), ("dog", "N")]]
    extract = Extractor(Recipe.parse("word[0]"), label="tag")
    model = train(extract(Columns.from_rows(rows, names=["word", "tag"])))
    assert (model.recipe, model.label_column) == (extract.recipe, "tag")
    hashed = ItemExtractor(hashed=1000)
    assert train(hashed(*sentences(10, 1))).layout.attributes == 1000


# ---- which optimizer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name", "reason"),
    [
        ({}, "LBFGS", "small"),
        ({"optimizer": "dual"}, "Dual", "as asked for"),
        ({"objective": Likelihood(l1=1.0)}, "LBFGS", "L1"),
        ({"objective": Likelihood(l2=0.0)}, "LBFGS", "L2 penalty of 0"),
        ({"structure": Chain(order=0)}, "LBFGS", "order 0"),
    ],
)
def test_the_choice_is_explained(data: Dataset, options: dict[str, Any], name: str, reason: str) -> None:
    history = History()
    train(data, stop=Stop(max_iterations=1), listeners=[history], **options)
    begin = cast(Begin, history.events[0])
    assert begin.optimizer == name
    assert reason in begin.why


@pytest.mark.parametrize("name", NAMES)
def test_every_name_trains(data: Dataset, name: str) -> None:
    l1, l2 = {"bcd": (0.1, 1.0), "sgd-l1": (0.1, 0.0)}.get(name, (0.0, 1.0))
    objective: Any = Likelihood(l1=l1, l2=l2)
    if name in ("perceptron", "perceptron-plain", "pa", "arow", "mira", "mira-kbest", "mira-crfpp"):
        objective = Perceptron()
    elif name in ("bcfw", "n-slack", "smo", "exponentiated-margin", "exponentiated-margin-batch"):
        objective = MaxMargin()
    elif name == "parallel":
        objective = Exponential()
    elif name == "em":  # for labels that are hidden
        assert data.batch.label is not None
        known = np.where(np.arange(data.batch.positions) % 9 == 0, -1, data.batch.label)
        data = replace(data, batch=replace(data.batch, label=known.astype(np.int32)))
    few = {"Dual": 5, "ExponentiatedMargin": 60}.get(NAMES[name][0], 2)  # of those that do not begin at zero
    about = train(data, optimizer=name, stop=Stop(max_iterations=few), objective=objective).training
    assert about is not None
    assert np.isfinite(about.loss)
    lengths = np.diff(data.batch.seq_ptr)
    uniform = (
        len(lengths) * np.log(np.mean(3.0**lengths)) if name == "parallel" else lengths.sum() * np.log(3)
    )
    assert about.loss < uniform


@pytest.mark.parametrize("optimizer", ["perceptron", "pa", "arow", optimize.AROW()])
def test_mistakes_bring_their_objective_along(data: Dataset, optimizer: Any) -> None:
    about = train(data, optimizer=optimizer, stop=Stop(max_iterations=1)).training
    assert about is not None
    assert about.objective == "Perceptron()"


def test_learning_from_mistakes(data: Dataset) -> None:
    model = train(data, objective="perceptron", stop=Stop(max_iterations=8), selection="likely")
    about = model.training
    assert about is not None
    assert about.optimizer == "AveragedPerceptron"
    assert "nothing to tune" in about.why
    assert about.objective == "Perceptron()"
    losses = about.history["objective"]
    assert losses[-1] < 0.7 * losses[0]
    gold = [model.structure.labels[y] for y in np.asarray(data.batch.label)]
    found = [label for labels in model.predict(data) for label in labels]
    wrong = sum(a != b for a, b in zip(gold, found, strict=True))
    assert wrong < 0.2 * data.batch.positions


# ---- wrong calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nonsense_at_all": 5}, TypeError, "no option 'nonsense_at_all'"),
        ({"optimizer": "lbgfs"}, ValueError, "did you mean 'lbfgs'"),
        ({"optimizer": Descent}, TypeError, "expected a name or an optimizer"),
        ({"objective": "hinge"}, ValueError, "objectives are: likelihood, max-margin, perceptron, local"),
        ({"objective": Likelihood}, TypeError, r"give an object: Likelihood\(\)"),
        (
            {"objective": "perceptron", "optimizer": "lbfgs"},
            ValueError,
            "LBFGS minimizes.*use perceptron, pa, arow or",
        ),
        ({"objective": "likelihood", "optimizer": "pa"}, ValueError, r"use the objective Perceptron\(\)"),
        ({"objective": 3}, TypeError, "expected an objective"),
        ({"init": "momm"}, ValueError, "init is 'momm'"),
        ({"objective": Likelihood(l2=-1.0)}, ValueError, "l2"),
        ({"selection": FeatureSelection(max_weights=10)}, ValueError, "max_weights = 10"),
        ({"structure": Chain(constraints=[Forbid("A", "A")])}, ValueError, "may not follow"),
        ({"init": lambda problem, layout: np.zeros(3)}, ValueError, r"shape \(3,\)"),
        ({"init": lambda problem, layout: np.full(layout.weights, np.nan)}, ValueError, "finite"),
    ],
)
def test_wrong_options(data: Dataset, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(data, **options)


def test_unknown_metric(data: Dataset, dev: Dataset) -> None:
    with pytest.raises(ValueError, match="did you mean 'span_f1'"):
        train(data, dev, metric="spanf1")
    with pytest.raises(ValueError, match="metric of the dev set is nan"):
        train(data, dev, metric=lambda y_true, y_pred: float("nan"), optimizer=Descent())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["a"]], r"ItemExtractor\(\)\(X, y\)"),
        (Batch(seq_ptr=[0], attr_ptr=[0], attr=[]), "has no names"),  # type: ignore[arg-type]
    ],
)
def test_data_of_another_kind(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        train(given)


def test_nothing_to_learn_from(data: Dataset) -> None:
    for empty in (ItemExtractor()([], []), ItemExtractor()([[]], [[]])):
        with pytest.raises(ValueError, match="no labels"):
            train(empty)
    nothing = data[[]]
    with pytest.raises(ValueError, match="data are empty"):
        train(nothing)
    with pytest.raises(ValueError, match="all 2 positions have the label 'A'"):
        train(ItemExtractor()([[["x"], ["y"]]], [["A", "A"]]))
    with pytest.raises(ValueError, match="no position has a label"):
        train(replace(data, batch=replace(data.batch, label=None)))
    with pytest.raises(ValueError, match="dev has no labels"):
        train(data, replace(data, batch=replace(data.batch, label=None)))


def test_a_dev_set_with_holes(data: Dataset) -> None:
    label = np.asarray(data.batch.label).copy()
    label[0] = -1
    history = History()
    holes = replace(data, batch=replace(data.batch, label=label))
    train(data, holes, optimizer=Descent(), stop=Stop(max_iterations=1), listeners=[history])
    assert (
        "left out of the dev set: 1 sequence without all labels" in cast(Begin, history.events[0]).notes[-1]
    )


def test_progress_is_plain_text_without_a_terminal(data: Dataset, capfd: pytest.CaptureFixture[str]) -> None:
    train(data, optimizer=Descent(), stop=Stop(max_iterations=3))
    assert capfd.readouterr() == ("", "")
    train(data, optimizer=Descent(), stop=Stop(max_iterations=3), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "60 sequences" in err
    assert "objective" in err
    assert "limit of 3 iterations" in err


def test_progress_on_a_terminal(data: Dataset) -> None:
    from rich.console import Console

    from crfkit.training.runs.progress import Display

    with open(os.devnull, "w") as nowhere:
        console = Console(file=nowhere, force_terminal=True, record=True, width=200)
        display = Display(console)
        train(data, optimizer=Descent(), stop=Stop(max_iterations=3), listeners=[display])
        display(Checkpointed("here", 3, 0.1))
        shown = console.export_text()
    assert "Descent: as asked for" in shown
    assert "limit of 3 iterations" in shown
    assert "checkpoint of iteration 3: here" in shown


def test_alphabets_of_the_model_do_not_grow_with_the_extractor() -> None:
    extract = ItemExtractor()
    model = train(extract(*sentences(10, 1)), optimizer=Descent(), stop=Stop(max_iterations=1))
    size = len(model.attributes)
    extract([[["new"]]], [["Z"]])
    assert (len(model.attributes), "Z" in model.names.labels) == (size, False)
    assert isinstance(model, SequenceModel)
    assert isinstance(model.names.labels, Alphabet)


def test_what_a_dev_set_keeps_is_told_apart_from_how_the_run_ended(data: Dataset) -> None:
    scores = iter([0.5, 0.9] + [0.1] * 500)
    model = train(
        data,
        data,
        metric=lambda gold, found: next(scores),
        optimizer="lbfgs",
        stop=Stop(dev_every=1, patience=None, tolerance=1e-6),
    )
    about = model.training
    assert about is not None
    assert about.converged
    assert about.kept == 2 < about.iterations
    optimum = float(about.history["objective"][-1])
    # The run came near to the optimum, which bounds how far the weights of iteration 2 are from it.
    assert about.gap == pytest.approx(about.loss - optimum, rel=1e-2)
    assert about.loss - about.gap <= optimum * (1 + 1e-9)
    told = str(about)
    assert "No useful certificate" not in told
    assert re.search(
        r"Stopped: certified .*\. Kept: the weights of iteration 2, whose <?\w+>? 0.9000 is the best", told
    )
    assert "Their objective" in told
    assert told.endswith(about.certificate)
