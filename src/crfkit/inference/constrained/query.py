"""The query for the best labeling under constraints; what finds it is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from crfkit.structures.chains.potentials import ChainPotentials

if TYPE_CHECKING:
    from crfkit.inference.constrained.automata import Ordered
    from crfkit.inference.constrained.kinds import GlobalConstraint


def constrained(
    potentials: Ordered,
    constraints: Iterable[GlobalConstraint],
    *,
    infeasible: Literal["raise", "free"] = "raise",
    threads: int | None = None,
) -> Any:
    """Return the best labeling that satisfies constraints on whole labelings.

    Parameters
    ----------
    potentials
        Scores of a chain or of segments: of one sequence or of a batch.
    constraints
        Any number of `crfkit.constraints.AtMost`, `AtLeast`, `Exactly`, `AtMostOnce`, `Before`, `Implies`,
        `LinearConstraint`; all of them hold.
    infeasible : {"raise", "free"}
        Where no labeling keeps them: raise an `InfeasibleError`, or return the free answer, say so in
        ``how`` ("none") and warn.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    Constrained, or a list of them for a batch

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> from crfkit.constraints import AtMost
    >>> scores = Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0]])
    >>> found = inference.constrained(scores, [AtMost("b", 1)])
    >>> found.labels.tolist(), found.score, found.cost, found.how
    ([1, 0], 3.0, 2.0, 'DP')
    """
    from crfkit.inference.constrained.decoding import constrained_paths
    from crfkit.inference.constrained.resolve import rules_of
    from crfkit.structures.segments.potentials import SemiMarkovPotentials

    if not isinstance(potentials, ChainPotentials | SemiMarkovPotentials):
        raise TypeError(
            f"potentials are {type(potentials).__name__}; constraints on whole labelings are for chains and "
            "segments, whose labels have an order"
        )
    rules = rules_of(constraints, potentials.structure)
    found = constrained_paths(potentials, rules, infeasible=infeasible, threads=threads)
    found.tell()
    made = found.labelings()
    return made[0] if potentials.single else made
