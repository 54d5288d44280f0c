"""Whether training has converged: never silent, no false alarms, and an error where nothing was learned."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from crfkit import ChainCRF, Graph, GraphCRF, Likelihood, SemiCRF, Stop, train
from crfkit.arrays import Floats
from crfkit.compat.sklearn_crfsuite import CRF
from crfkit.estimators import HiddenChainCRF
from crfkit.estimators.classic import CodeCRF, OpinionPool
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from crfkit.models.files.summary import plain_summary, summary_of
from crfkit.objectives import MaxMargin
from crfkit.objectives.classic import Exponential
from crfkit.optimize import LBFGS, SGD, End
from crfkit.optimize.problem import Penalty, Smooth, Step
from crfkit.training.choose import NAMES, by_name
from crfkit.training.events import Event, Failed, History, Progress, StopTraining
from crfkit.training.runs.convergence import has_converged, remedy_for
from tests.cases.descent import Descending, Descent
from tests.cases.estimators import X, Y
from tests.cases.sentences import dataset


@dataclass(frozen=True)
class Ending:
    """Gradient descent that ends after three steps, in a way of its own; or diverges in the third."""

    end: End
    objective: float | None = None
    needs: tuple[type, ...] = ()

    def start(
        self, problem: Smooth, penalty: Penalty, w: Floats, *, state: dict[str, Any] | None = None
    ) -> Descending:
        made = Descending(Descent(), problem, penalty, w, state)
        step: Callable[[], Step] = made.step

        def ending() -> Step:
            done = step()
            if made.passes < 6:
                return done
            value = done.objective if self.objective is None else self.objective
            return replace(done, objective=value, stopped="for a test", end=self.end)

        made.step = ending  # type: ignore[method-assign]
        return made


def stop_at_two(event: Event) -> None:
    if isinstance(event, Progress) and event.iteration == 2:
        raise StopTraining


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"stop": Stop(max_iterations=2)}, "Raise max_iterations .--max-iterations., which is 2"),
        ({"optimizer": "lbfgs", "stop": Stop(max_iterations=3)}, "Raise max_iterations"),
        ({"optimizer": LBFGS(max_iterations=2)}, r"LBFGS\(max_iterations=4\)"),
        ({"optimizer": SGD(max_passes=1)}, r"SGD\(max_passes=2\)"),
        ({"optimizer": Ending(End.STUCK)}, "Raise tolerance .--tolerance. or l2"),
        ({"optimizer": Ending(End.DIVERGED)}, "Scale the values of attributes"),
        ({"optimizer": Ending(End.DIVERGED, float("nan"))}, "Scale the values of attributes"),
    ],
)
def test_a_run_that_misses_its_tolerance_warns(options: dict[str, Any], remedy: str) -> None:
    with pytest.warns(ConvergenceWarning, match=f"^training ended before it converged: .*{remedy}") as seen:
        model = train(dataset(), **options)
    assert [warning.filename for warning in seen] == [__file__]
    assert model.training is not None
    assert model.training.converged is False
    assert np.isfinite(model.w).all()
    assert model.w.any()


@pytest.mark.parametrize(
    ("options", "end", "converged"),
    [
        ({}, "converged", True),
        ({"optimizer": "lbfgs"}, "converged", True),
        ({"optimizer": "owlqn", "objective": Likelihood(l1=1.0, l2=0.0)}, "settled", True),
        ({"optimizer": "sgd"}, "settled", True),
        ({"optimizer": LBFGS(max_iterations=30)}, "limit", True),  # certified to be near enough
        ({"stop": Stop(max_iterations=0)}, "planned", False),
        ({"stop": Stop(max_seconds=0.0)}, "budget", False),
        ({"listeners": [stop_at_two]}, "listener", False),
        ({"objective": "perceptron", "stop": Stop(max_iterations=2)}, "planned", False),
        ({"dev": dataset(20, 2), "optimizer": Descent(), "stop": Stop(patience=1)}, "patience", False),
    ],
)
def test_an_end_that_was_asked_for_does_not_warn(options: dict[str, Any], end: str, converged: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        about = train(dataset(), **options).training
    assert about is not None
    assert (about.end, about.converged) == (end, converged)


#: What optimizers that do not take the likelihood are for.
GOALS: dict[str, Any] = {
    **dict.fromkeys(("perceptron", "perceptron-plain", "pa", "arow"), "perceptron"),
    **dict.fromkeys(("mira", "mira-kbest", "mira-crfpp"), "perceptron"),
    **dict.fromkeys(("bcfw", "n-slack", "smo", "exponentiated-margin"), MaxMargin()),
    "exponentiated-margin-batch": MaxMargin(),
    "parallel": Exponential(l2=0.0),
    "sgd-l1": Likelihood(l1=0.5, l2=0.0),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_says_what_kind_of_end_it_is(name: str) -> None:
    method: Any = by_name(name)
    limit = "max_iterations" if hasattr(method, "max_iterations") else "max_passes"
    goal, data = GOALS.get(name, Likelihood(l2=0.5)), dataset(12)
    if name == "em":
        assert data.batch.label is not None
        label = np.where(np.arange(data.batch.positions) % 3 == 0, -1, data.batch.label).astype(np.int32)
        data = replace(data, batch=replace(data.batch, label=label))
    method = replace(method, **{limit: 30 if "gap" in repr(method) else 2})
    about = train(data, objective=goal, optimizer=method, stop=Stop(tolerance=0.0)).training
    assert about is not None
    assert about.end in ("limit", "planned", "converged", "stuck")
    assert about.end != "converged" or "converged" in about.reason or "mean loss" in about.reason


def test_the_faces_warn_too() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iterations .*, which is 2") as seen:
        ChainCRF(optimizer="lbfgs", stop=Stop(max_iterations=2)).fit(X, Y)
    assert seen[0].filename == __file__
    items = [[{"w": f"{word}"} for word in range(len(y))] for y in Y]
    with pytest.warns(ConvergenceWarning, match="max_iterations .*, which is 2") as seen:
        CRF(algorithm="lbfgs", max_iterations=2).fit(items, Y)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(algorithm="lbfgs", c2=1.0).fit(items, Y)
        CRF(algorithm="ap", max_iterations=2).fit(items, Y)


def test_partial_fit_warns() -> None:
    learned = ChainCRF().fit(X, Y).set_params(stop__max_iterations=1)
    with pytest.warns(ConvergenceWarning, match="which is 1"):
        learned.partial_fit(X[:5], [y[::-1] for y in Y[:5]])


def test_certified_runs_have_converged_however_they_ended() -> None:
    assert has_converged(End.STUCK, 1e-5, 1e-4)
    assert not has_converged(End.STUCK, 1e-3, 1e-4)
    assert not has_converged(End.BUDGET, float("nan"), 1e-4)
    assert "optimizer, or tolerance" in remedy_for(End.LIMIT, object(), None)


# ---- nothing learned


@pytest.mark.parametrize(
    "options", [{}, {"optimizer": "lbfgs"}, {"optimizer": "sgd"}, {"objective": "perceptron"}]
)
def test_values_that_are_too_large_are_named(options: dict[str, Any]) -> None:
    items = [[{"c": 1.0}, {"b": 2.0}], [{"a": 1.0}, {"b": 1e200}]] * 5
    data = ItemExtractor()(items, [["B", "A"], ["A", "B"]] * 5)
    where = r"sequence 1, position 1: the value of attribute 'b' is 1e\+200; scale"
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=f"nothing can be learned: .*{where}"):
        train(data, **options)


def test_without_a_large_value_the_message_says_what_else_to_try() -> None:
    with pytest.raises(ValueError, match=r"for a test\. Raise l2, use another optimizer"):
        train(dataset(), optimizer=replace_first(Ending(End.DIVERGED)))


def replace_first(ending: Ending) -> Any:
    """Return an optimizer whose first step is the last."""

    class First(Ending):
        def start(self, problem: Any, penalty: Any, w: Floats, *, state: Any = None) -> Any:
            made = super().start(problem, penalty, w, state=state)
            made.passes = 4
            return made

    return First(ending.end)


# ---- what files keep


def test_files_keep_the_end(tmp_path: Path) -> None:
    model = train(dataset(), optimizer="lbfgs", stop=Stop(max_iterations=2))
    model.save(tmp_path / "m.crf")
    again = SequenceModel.load(tmp_path / "m.crf").training
    assert again is not None
    assert (again.end, again.converged) == ("limit", False)


def test_summaries_of_before_still_open() -> None:
    model = train(dataset(), optimizer="lbfgs")
    assert model.training is not None
    plain = json.loads(json.dumps(plain_summary(model.training)))
    arrays: Any = {f"history.{name}": values for name, values in model.training.history.items()}
    del plain["end"], plain["converged"]
    old = summary_of(plain, arrays)
    assert old is not None
    assert (old.end, old.converged, old.loss) == ("", None, model.training.loss)
    with pytest.raises(ValueError, match="damaged: end or converged"):
        summary_of({**plain, "end": 3}, arrays)


def test_the_last_line_names_the_objective() -> None:
    about = train(dataset(), optimizer="lbfgs").training
    assert about is not None
    assert f"Objective {about.loss:,.6g} (loss of Likelihood plus penalty)" in str(about)


@pytest.mark.parametrize("made", [ChainCRF(), SemiCRF(), HiddenChainCRF(), OpinionPool(experts=2), CodeCRF()])
def test_a_warning_that_is_an_error_leaves_the_estimator_its_model(made: Any) -> None:
    made.set_params(stop=Stop(max_iterations=1), optimizer="lbfgs", n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            made.fit(X, Y)
        assert len(made.predict(X)) == len(X)
        if hasattr(made, "partial_fit"):
            before = made.model_
            with pytest.raises(ConvergenceWarning):
                made.partial_fit(X[:5], [y[::-1] for y in Y[:5]])
            assert made.model_ is not before


def test_a_warning_that_is_an_error_leaves_graphs_and_listeners_the_model() -> None:
    batch = Graph({"a": 2}, one=["a"], two=["a", "a"]).batch(
        graph_ptr={"a": [0, 3]}, labels={"a": [0, 1, 1]}, scopes={"two": [[0, 1], [1, 2]]}
    )
    crf = GraphCRF(batch.graph, stop=Stop(max_iterations=1), optimizer="lbfgs")
    history = History()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            crf.fit(batch)
        with pytest.raises(ConvergenceWarning):
            train(ItemExtractor()(X, Y), optimizer="lbfgs", stop=Stop(max_iterations=1), listeners=[history])
    assert crf.n_iter_ == 1
    assert len(crf.predict(batch)["a"]) == 3
    last = history.events[-1]
    assert isinstance(last, Failed)
    assert last.model.training.iterations == 1
