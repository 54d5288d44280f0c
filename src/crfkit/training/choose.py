"""Which objective, by name; which optimiser: by name, or the fastest sound one, with the reason.

=============================  ==================================================================
penalised likelihood with L2   the dual method, which hands over to L-BFGS where that is faster
the same, few weights          L-BFGS from the beginning
the same, values whose scales  L-BFGS on weights scaled by the diagonal of the Hessian
are far apart
L1, alone or with L2           L-BFGS in orthants (OWL-QN), which makes weights exactly zero
mistakes (the perceptron)      the averaged perceptron: nothing to tune
everything else                L-BFGS: needs nothing but values and gradients
=============================  ==================================================================

Data in blocks are for methods that ask for values and gradients of the whole, and for stochastic ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from crfkit.objectives import Likelihood, Perceptron
from crfkit.optimise.problem import Optimiser, Penalty
from crfkit.optimise.sequential.mistakes import Corrector
from crfkit.optimise.sequential.online import Mistaken
from crfkit.training.blocks.problem import BlockedProblem
from crfkit.training.data import Objective

_FEW = 1 << 14  # weights that L-BFGS learns in a few dozen steps, whatever the penalty
_APART = 30.0  # of the scales of values, above which L-BFGS alone needs many times the steps
_MOST_EDGES = 1 << 28  # the dual keeps a number for each pair of labels and sequence: 1 GB

__all__ = [
    "NAMES",
    "OBJECTIVES",
    "by_name",
    "check_blockwise",
    "check_learns",
    "choose",
    "name_of",
    "objective_of",
    "suited",
]

#: Shorthand for optimisers: the class in `crfkit.optimise`, and options that differ from its defaults.
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "lbfgs": ("LBFGS", {"max_iterations": 10_000}),
    "owlqn": (
        "LBFGS",
        {"max_iterations": 10_000, "period": 10},
    ),  # weights leave and enter 0: the gradient hardly gets small
    "plbfgs": ("LBFGS", {"max_iterations": 10_000, "preconditioner": "diagonal", "tolerance": 1e-9}),
    "cg": ("ConjugateGradient", {}),
    "pcg": ("ConjugateGradient", {"preconditioner": "diagonal"}),
    "mixed-cg": ("ConjugateGradient", {"preconditioner": "mixed"}),
    "gis": ("IterativeScaling", {"variant": "gis"}),
    "iis-s": ("IterativeScaling", {"variant": "iis-s"}),
    "iis-t": ("IterativeScaling", {"variant": "iis-t"}),
    "steepest": ("SteepestDescent", {}),
    "newton": ("TruncatedNewton", {}),
    "rprop": ("RProp", {}),
    "rprop-minus": ("RProp", {"variant": "minus"}),
    "dual": ("Dual", {}),
    "exponentiated": ("Dual", {"step": "exponentiated"}),
    "sgd": ("SGD", {}),
    "sgd-l1": ("SGDL1", {}),
    "adagrad": ("AdaGrad", {}),
    "bcd": ("BlockCoordinate", {}),
    "perceptron": ("AveragedPerceptron", {}),
    "pa": ("PassiveAggressive", {}),
    "arow": ("AROW", {}),
}

# Optimisers that need all data in memory.
_WHOLE = ("Dual", "BlockCoordinate", "IterativeScaling", "AveragedPerceptron", "PassiveAggressive", "AROW")


def check_blockwise(optimiser: Any, objective: Objective) -> None:
    """Raise where an objective or an optimiser (or one of this name) cannot learn from blocks on disk.

    Examples
    --------
    >>> check_blockwise("sgd", Likelihood())
    >>> check_blockwise("dual", Likelihood())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: dual needs all data in memory; blocks on disk are for lbfgs, owlqn, ...
    """
    made = by_name(optimiser) if isinstance(optimiser, str) and optimiser != "auto" else optimiser
    if type(made).__name__ in _WHOLE:
        able = ", ".join(name for name, (kind, _) in NAMES.items() if kind not in _WHOLE)
        name = optimiser if isinstance(optimiser, str) else name_of(optimiser)
        raise ValueError(f"{name} needs all data in memory; blocks on disk are for {able}")
    if isinstance(objective, Perceptron):
        raise ValueError(
            "the perceptron visits one sequence after the other and needs all in memory, not in blocks; "
            "read the data as a whole, or use the objective likelihood"
        )


#: Shorthand for objectives.
OBJECTIVES: dict[str, Callable[[], Objective]] = {"likelihood": Likelihood, "perceptron": Perceptron}


def objective_of(given: Objective | str | None, optimiser: Any = "auto") -> Objective:
    """Return an objective given by name or as an object; None: the one that the optimiser is for.

    Examples
    --------
    >>> objective_of("perceptron"), objective_of(None, "pa"), objective_of(None).l2
    (Perceptron(), Perceptron(), 1.0)
    """
    if given is None:
        made = by_name(optimiser) if isinstance(optimiser, str) and optimiser != "auto" else optimiser
        given = "perceptron" if isinstance(made, Corrector) else "likelihood"
    if isinstance(given, str):
        if given not in OBJECTIVES:
            raise ValueError(f"objective {given!r} is not known; the objectives are: {', '.join(OBJECTIVES)}")
        return OBJECTIVES[given]()
    if isinstance(given, type):
        raise TypeError(f"objective is the class {given.__name__}; give an object: {given.__name__}()")
    if not (hasattr(given, "bind") and hasattr(given, "penalty")):
        raise TypeError(f"objective is {given!r}, expected an objective such as Likelihood(l2=1.0)")
    return given


def by_name(
    name: str, seed: int = 0, threads: int | None = None, tolerance: float | None = None
) -> Optimiser:
    """Return an optimiser with its default options; seed, threads and tolerance (gap) where it has them."""
    from crfkit import optimise

    key = name.lower().replace("_", "-")
    if key not in NAMES:
        close = difflib.get_close_matches(key, [*NAMES, "auto"], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"optimiser {name!r} is none of auto, {', '.join(NAMES)}{hint}")
    kind, options = NAMES[key]
    made = getattr(optimise, kind)
    own = {f.name for f in fields(made)}
    shared = {"seed": seed, "threads": threads, **({"gap": tolerance} if tolerance else {})}
    optimiser: Optimiser = made(**options, **{k: v for k, v in shared.items() if k in own})
    return optimiser


def name_of(optimiser: Any) -> str:
    """Return the name of an optimiser for people."""
    return str(getattr(optimiser, "name", type(optimiser).__name__))


def suited(problem: Any, optimiser: Optimiser) -> Any:
    """Return the problem in the shape that an optimiser asks for: iterative scaling works on counts."""
    if type(optimiser).__name__ != "IterativeScaling" or hasattr(problem, "expect"):
        return problem
    return import_module("crfkit.linear.counts").ChainCounts(problem)


def check_learns(problem: Any, optimiser: Optimiser) -> None:
    """Refuse to minimise the loss of mistakes: it is 0 at weights of 0."""
    if isinstance(problem, Mistaken) and not isinstance(optimiser, Corrector):
        raise ValueError(
            f"{name_of(optimiser)} minimises, and the perceptron's loss is least where all weights are 0; "
            "use perceptron, pa or arow"
        )


def choose(
    problem: Any,
    penalty: Penalty,
    *,
    seed: int = 0,
    threads: int | None = None,
    tolerance: float | None = None,
) -> tuple[Optimiser, str]:
    """Return the fastest sound optimiser, and why.

    Parameters
    ----------
    problem
        What is to be minimised.
    penalty : Penalty
    seed, threads, tolerance
        For optimisers that have them.
    """
    if isinstance(problem, Mistaken):
        return by_name(
            "perceptron", seed
        ), "the averaged perceptron learns from mistakes, with nothing to tune"
    if penalty.sparse:
        return by_name("owlqn", seed, threads), "L1 asks for weights of exactly 0, which OWL-QN gives"
    apart = _scales_apart(problem)
    if _APART < apart < np.inf and not isinstance(problem, BlockedProblem):
        why = f"scales of values differ by {apart:,.0f}, which the diagonal of the Hessian makes good for"
        return by_name("plbfgs", seed, threads), why
    against = _against_dual(problem, penalty)
    if against:
        why = f"the dual method is not for {against}; L-BFGS is the fastest that is"
        return by_name("lbfgs", seed, threads), why
    if problem.size < _FEW:
        return by_name("lbfgs", seed, threads), "the model is small, where L-BFGS is fastest"
    why = "L2-penalised likelihood is solved fastest in the dual; L-BFGS goes on where that is faster"
    return by_name("dual", seed, threads, tolerance), why


def _scales_apart(problem: Any) -> float:
    """Return how far apart the scales of attributes' values are: largest by smallest, 1 without values."""
    batch = getattr(problem, "batch", None)
    scales = []
    if batch is not None and batch.value is not None and len(batch.attr):
        with np.errstate(over="ignore"):  # inf: values that no optimiser can do with, as it will say
            squares = np.bincount(batch.attr, batch.value**2)
        counts = np.bincount(batch.attr)
        scales.append(np.sqrt(squares[counts > 0] / counts[counts > 0]))  # root mean square of each attribute
    if batch is not None and batch.dense is not None and batch.positions:
        scales.append(np.sqrt(np.mean(batch.dense**2, axis=0)))
    found = np.concatenate(scales) if scales else np.ones(1)
    found = found[found > 0.0]
    return float(found.max() / found.min()) if len(found) else 1.0


def _against_dual(problem: Any, penalty: Penalty) -> str:
    """Return what the dual method does not cover; empty when it covers everything."""
    from crfkit.objectives import LikelihoodProblem

    layout, chain = getattr(problem, "layout", None), getattr(problem, "chain", None)
    batch = getattr(problem, "batch", None)
    if isinstance(problem, BlockedProblem):
        return "data in blocks"
    if not isinstance(problem, LikelihoodProblem) or layout is None or chain is None or batch is None:
        return "this objective"
    if not np.all(np.asarray(penalty.l2) > 0.0):
        return "an L2 penalty of 0"
    reasons = {
        "soft or partial labels": problem.kind != "path",
        f"chains of order {chain.order}": chain.order != 1,
        "edge attributes": layout.edge_attributes > 0,
        "real-valued columns": layout.dense > 0,
        "limits on segment lengths": bool(chain.resolved and chain.resolved.expansion),
        "so many labels": layout.labels**2 * batch.sequences > _MOST_EDGES,
    }
    return next((what for what, holds in reasons.items() if holds), "")
