"""What the online optimisers need of a likelihood problem: native trainers over its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import _native
from crfkit.optimise.problem import Penalty
from crfkit.structures.labels import Floats

if TYPE_CHECKING:
    from crfkit.objectives.likelihood import LikelihoodProblem

__all__ = ["demand_plain", "dual_trainer", "forbidden_scores", "group_strengths"]


def demand_plain(problem: LikelihoodProblem, method: str) -> None:
    """Raise unless the problem is a chain of order 1 with labels at every position and shared edges."""
    lacks = {
        "labels at every position (partial and soft labels)": problem.kind != "path",
        "a chain of order 1": problem.chain.order != 1,
        "no limits on segment lengths": bool(problem.chain.resolved and problem.chain.resolved.expansion),
        "no edge attributes": problem.layout.edge_attributes > 0,
        "no real-valued columns": problem.layout.dense > 0,
    }
    missing = [what for what, absent in lacks.items() if absent]
    if missing:
        raise ValueError(f"the {method} method needs {', '.join(missing)}; use LBFGS")


def group_strengths(problem: LikelihoodProblem, penalty: Penalty, method: str) -> Floats:
    """Return l1 and l2 of the attributes, then l1 and l2 of the transitions."""
    split, size = problem.layout.parts["node"].stop, problem.size
    found = []
    for part in (slice(0, split), slice(split, size)):
        for given in (penalty.l1, penalty.l2):
            each = np.unique(np.broadcast_to(given, size)[part])
            if len(each) > 1:
                raise ValueError(
                    f"the {method} method takes one strength for attributes and one for transitions"
                )
            found.append(float(each[0]) if len(each) else 1.0)
    return np.array(found)


def forbidden_scores(problem: LikelihoodProblem) -> Floats | None:
    """Return 0 or -inf for transitions, first and last labels, [L + 2, L]; None without constraints."""
    rules = problem.chain.resolved
    if rules is None:
        return None
    allowed = np.vstack([rules.transition, rules.start[None], rules.stop[None]])  # [L + 2, L]
    return np.where(allowed, 0.0, -np.inf)


def dual_trainer(problem: LikelihoodProblem, penalty: Penalty, exponentiated: bool) -> _native.DualTrainer:
    """Return a trainer that starts from the gold labels."""
    demand_plain(problem, "dual")
    strengths = group_strengths(problem, penalty, "dual")
    if not (strengths[1] > 0.0 and strengths[3] > 0.0):
        raise ValueError("the dual method needs an L2 penalty above 0; use LBFGS")
    batch, layout, forbidden = problem.batch, problem.layout, forbidden_scores(problem)
    if batch.label is None:
        raise ValueError("batch.label is None; training needs labels")
    return _native.DualTrainer(
        batch.seq_ptr,
        batch.attr_ptr,
        batch.attr,
        batch.value,
        batch.label,
        layout.labels,
        layout.node_ptr,
        layout.node_label,
        layout.transition_cell,
        layout.start,
        layout.stop,
        problem.weight if (problem.weight != 1.0).any() else None,
        None if forbidden is None else forbidden.ravel(),
        strengths,
        exponentiated,
    )
