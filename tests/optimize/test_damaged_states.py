"""No state can break an optimizer: each field, damaged in every way, is refused by name, or does no harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit._safe.fields import Fields
from crfkit.inference.methods import Elimination
from crfkit.objectives import ContrastiveDivergence, Likelihood, SampleRank
from crfkit.optimize import BCFW, Dual
from crfkit.optimize.batch.vectors import Vectors
from crfkit.optimize.classic.voted import Ballot, VotedTraining
from crfkit.optimize.problem import Penalty, Run
from crfkit.optimize.sequential.minibatch import MiniBatch
from crfkit.training.choose import NAMES, by_name
from tests.cases.cycles import cycles
from tests.cases.cycles import loss_of as graph_loss
from tests.cases.damaged_runs import MISSING, damaged, damages, places
from tests.cases.matrix import loss_of

pytestmark = pytest.mark.slow

SOURCE = "run/checkpoint.safetensors"
MARGIN = (
    "subgradient",
    "bcfw",
    "one-slack",
    "n-slack",
    "smo",
    "exponentiated-margin",
    "exponentiated-margin-batch",
)
NAMED = ("missing", "none", "scalar", "huge")  # damages that no other field could be blamed for
UNREAD = ("finish", "near", "sequences")  # fields that some phases of the dual do not look into
MISTAKES = ("perceptron", "pa", "arow", "mira", "mira-kbest", "mira-crfpp", "perceptron-plain")

#: Members beside those that have names: the phases of the dual, visits that are not native, graphs.
MORE: dict[str, Any] = {
    "dual to its end": lambda: (Dual(finish=None, gap=1e-9), loss("likelihood"), Penalty(l2=1.0), 9),
    "dual, finishing": lambda: (Dual(gap=1e-9), loss("likelihood"), Penalty(l2=1.0), 9),
    "dual, left": lambda: (Dual(gap=1e-9, max_passes=2), loss("likelihood"), Penalty(l2=1.0), 5),
    "mixture": lambda: (BCFW(step="mixture"), loss("max-margin"), Penalty(l2=1.0), 2),
    "segments": lambda: (BCFW(), loss_of("semi", "max-margin", "path"), Penalty(l2=1.0), 2),
    "voted": lambda: (VotedTraining(ballot=Ballot(3)), loss("perceptron"), Penalty(), 2),
    "adam": lambda: (MiniBatch(rule="adam"), graph(Likelihood()), Penalty(l2=1.0), 2),
    "chains": lambda: (MiniBatch(size=2), graph(ContrastiveDivergence(persistent=True)), Penalty(l2=1.0), 2),
    "ranks": lambda: (MiniBatch(rule="sgd"), graph(SampleRank()), Penalty(l2=1.0), 2),
}


def loss(objective: str, gold: str = "path") -> Any:
    return loss_of("order 1", objective, gold, weights=objective != "perceptron")


def graph(objective: Any) -> Any:
    return graph_loss(objective, cycles(0, 4), Elimination())


def member(name: str) -> tuple[Any, Any, Penalty, int]:
    """Return an optimizer, its problem and penalty, and after how many steps to look at its state."""
    if name in MORE:
        made: tuple[Any, Any, Penalty, int] = MORE[name]()
        return made
    method = by_name(name, threads=1)
    if name in MISTAKES:
        return method, loss("perceptron"), Penalty(), 2
    if name in ("owlqn", "sgd-l1"):
        return method, loss("likelihood"), Penalty(l1=0.2, l2=0.2 * (name == "owlqn")), 3
    objective = {"parallel": "exponential"}.get(name, "max-margin" if name in MARGIN else "likelihood")
    return method, loss(objective, "set" if name == "em" else "path"), Penalty(l2=1.0), 3


def resumed(method: Any, problem: Any, penalty: Penalty, state: Any) -> Run:
    """Go on from a state as training does, by one step."""
    run: Run = method.start(problem, penalty, np.zeros(problem.size), state=Fields(state, SOURCE, "run/"))
    with np.errstate(all="ignore"):
        run.step()
    return run


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_every_field_damaged_in_every_way(name: str) -> None:
    method, problem, penalty, steps = member(name)
    run: Run = method.start(problem, penalty, np.zeros(problem.size))
    for _ in range(steps):
        if run.step().end is not None:
            break
    state = run.state()
    resumed(method, problem, penalty, state)
    for at in places(state):
        value: Any = state
        for step in at:
            value = value[step]
        refused = set()
        for way, change in damages(value).items():
            field = "/".join(map(str, ("run", *at[: len(at) - isinstance(at[-1], int)])))
            said = ""
            try:
                after = resumed(method, problem, penalty, damaged(state, at, change))
            except ValueError as error:
                said = str(error)
            except Exception as error:
                raise AssertionError(f"{field} {way}: {type(error).__name__}: {error}") from error
            if said:
                assert said.startswith(f"{SOURCE} is damaged: run/"), f"{field} {way}: {said}"
                assert field in said or way not in NAMED, f"{field} {way}: {said}"
                refused.add(way)
            else:
                assert np.isfinite(after.w).all(), f"{field} {way}"
        if value is not None and not (at[0] in UNREAD and isinstance(method, Dual)):
            assert refused >= {"nested"}, f"{'/'.join(map(str, at))} is not checked"


def test_vectors_in_16_bits() -> None:
    vectors, rng = Vectors(70_000, 1), np.random.default_rng(0)
    rows = np.stack([vectors.keep(rng.normal(size=70_000)) for _ in range(2)])
    kept = vectors.kept_in(Fields({"s": rows}), "s", 2)
    np.testing.assert_array_equal(np.stack(kept), rows)
    for change in (*damages(rows).values(), np.full_like(rows, 0x7FC0)):
        if not (isinstance(change, np.ndarray) and change.dtype == rows.dtype and change.shape == rows.shape):
            with pytest.raises(ValueError, match="is damaged: s is"):
                vectors.kept_in(Fields({} if change is MISSING else {"s": change}), "s", 2)


@pytest.mark.parametrize("share", [0.0, 0.3, 5.0])
def test_shares_that_are_no_distribution(share: float) -> None:
    """Without a share above 0 the native loop had no labeling to take from, and wrote before its arrays."""
    method, problem, penalty, _ = member("bcfw")
    run = method.start(problem, penalty, np.zeros(problem.size))
    run.step()
    state = run.state()
    state["visits"]["share"] = np.full_like(state["visits"]["share"], share)
    with pytest.raises(ValueError, match="run/visits/share is not a distribution for each sequence"):
        resumed(method, problem, penalty, state)
