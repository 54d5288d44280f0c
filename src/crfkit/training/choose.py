"""Choosing the objective and the optimizer: by name, or the fastest one that is sound, with the reason.

=============================  ==================================================================
penalized likelihood with L2   the dual method (chains, segments), which hands over to L-BFGS
                               where that is faster
the same, few weights          L-BFGS from the beginning
the same, values whose scales  L-BFGS on weights scaled by the diagonal of the Hessian
are far apart
L1, with or without L2         L-BFGS in orthants (OWL-QN), which makes weights exactly zero
max-margin of chains, many     block-coordinate Frank-Wolfe, whose native visits are the fastest by far
weights
another loss with kinks        cutting planes, which need nothing but values and subgradients
the perceptron                 the averaged perceptron: nothing to tune
everything else                L-BFGS: needs nothing but values and gradients
=============================  ==================================================================

Data in blocks are for methods that ask for values and gradients of the whole, for the dual (CoCoA+), and for
online ones: SGD, perceptrons and their kind, whose weights are mixed after each pass.
"""

from __future__ import annotations

import difflib
from dataclasses import fields, replace
from typing import Any

import numpy as np

from crfkit.arrays import checked_later
from crfkit.errors import NotCoveredError
from crfkit.linear.loss import LinearLoss
from crfkit.linear.objective import Objective
from crfkit.objectives import registry
from crfkit.objectives.registry import OBJECTIVES
from crfkit.optimize.margin.view import MarginChains
from crfkit.optimize.problem import Convex, Curvature, Differentiable, Optimizer, Penalty
from crfkit.optimize.sequential.minibatch import MiniBatches
from crfkit.optimize.sequential.sequences import DualSequences, PerceptronSequences
from crfkit.training.blocks.problem import BLOCKWISE, SummedProblem
from crfkit.training.memory import marginal_bytes
from crfkit.training.runs.convergence import curvature_of

_FEW = 1 << 14  # weights that L-BFGS learns in a few dozen steps, whatever the penalty
_MANY = 100_000  # variables of graphs, whose sums by messages take seconds
_STEPS = 8  # which such graphs get: on images what follows gains a percent of the loss, by 3 to 6 sums each
_APART = 30.0  # of the scales of values, above which plain L-BFGS needs many times the steps
_LEVEL = 1e-8  # gradient by weights that ends certified runs; 1e-5 is too early for l2 = 1e-4
_MOST_BYTES = 6 << 30  # of the dual's marginals: Brown with 472 labels has 4 GB, where L-BFGS takes hours

__all__ = ["NAMES", "by_name", "check_blockwise", "check_suits", "choose", "kind_named", "name_of"]
__all__ += ["objective_of"]

#: Shorthand for optimizers: the class in `crfkit.optimize` or its `classic`, and options that differ from
#: its defaults.
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "lbfgs": ("LBFGS", {"max_iterations": 10_000}),
    "owlqn": (
        "LBFGS",
        {"max_iterations": 10_000, "period": 10, "delta": 1e-6},
    ),  # under L1 alone nothing certifies the last digits, and the gradient hardly gets small
    "plbfgs": ("LBFGS", {"max_iterations": 10_000, "preconditioner": "diagonal", "tolerance": 1e-9}),
    "cg": ("ConjugateGradient", {}),
    "pcg": ("ConjugateGradient", {"preconditioner": "diagonal"}),
    "mixed-cg": ("ConjugateGradient", {"preconditioner": "mixed"}),
    "gis": ("IterativeScaling", {"variant": "gis"}),
    "iis-s": ("IterativeScaling", {"variant": "iis-s"}),
    "iis-t": ("IterativeScaling", {"variant": "iis-t"}),
    "parallel": ("ParallelUpdate", {}),
    "steepest": ("SteepestDescent", {}),
    "newton": ("TruncatedNewton", {}),
    "rprop": ("RProp", {}),
    "rprop-minus": ("RProp", {"variant": "minus"}),
    "subgradient": ("Subgradient", {}),
    "bcfw": ("BCFW", {}),
    "one-slack": ("OneSlack", {}),
    "em": ("EM", {}),
    "n-slack": ("NSlack", {}),
    "dual": ("Dual", {}),
    "exponentiated": ("Dual", {"step": "exponentiated"}),
    "smo": ("SMO", {}),
    "exponentiated-margin": ("ExponentiatedMargin", {}),
    "exponentiated-margin-batch": ("ExponentiatedMargin", {"online": False}),
    "sgd": ("SGD", {}),
    "sgd-l1": ("SGDL1", {}),
    "adagrad": ("AdaGrad", {}),
    "bcd": ("BlockCoordinate", {}),
    "perceptron": ("AveragedPerceptron", {}),
    "pa": ("PassiveAggressive", {}),
    "arow": ("AROW", {}),
    "mira": ("MIRA", {}),
    "mira-kbest": ("MIRA", {"k": 5}),
    "mira-crfpp": ("CrfppMIRA", {}),
    "perceptron-plain": ("AveragedPerceptron", {"averaging": False}),
}


#: What names mean on graphs, where that is something else.
ON_GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("MiniBatch", {"rule": "sgd"}),
    "adagrad": ("MiniBatch", {"rule": "adagrad"}),
    "adam": ("MiniBatch", {"rule": "adam"}),
}


def check_blockwise(optimizer: Any, objective: Objective) -> None:
    """Raise an error if an optimizer (or one of this name) cannot learn from blocks on disk.

    Examples
    --------
    >>> from crfkit import Likelihood
    >>> check_blockwise("sgd", Likelihood())
    >>> check_blockwise("bcfw", Likelihood())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    crfkit.errors.NotCoveredError: bcfw needs all data in memory; blocks on disk are for lbfgs, ...
    """
    made = by_name(optimizer) if isinstance(optimizer, str) and optimizer != "auto" else optimizer
    if not isinstance(made, str) and set(made.needs) - set(BLOCKWISE):
        able = ", ".join(name for name in NAMES if not set(by_name(name).needs) - set(BLOCKWISE))
        name = optimizer if isinstance(optimizer, str) else name_of(optimizer)
        raise NotCoveredError(f"{name} needs all data in memory; blocks on disk are for {able}")
    if objective.whole:
        raise NotCoveredError(
            f"the objective {objective.name} is evaluated on all data together, not on blocks on disk; read "
            'the data as a whole, or give per="sequence"'
        )


def objective_of(
    given: Objective | str | None, optimizer: Any = "auto", default: str = "likelihood"
) -> Objective:
    """Return an objective given by name or as an object; None: the optimizer's own, or `default`.

    Examples
    --------
    >>> objective_of("perceptron"), objective_of(None, "pa"), objective_of(None).l2
    (Perceptron(), Perceptron(), 1.0)
    """
    if given is None:
        named = isinstance(optimizer, str) and optimizer != "auto"
        made = by_name(optimizer, graphs=True) if named else optimizer
        given = "perceptron" if PerceptronSequences in getattr(made, "needs", ()) else default
    if isinstance(given, str):
        known = {**OBJECTIVES, **registry.ON_GRAPHS}
        if given not in known:
            raise ValueError(f"objective {given!r} is not known; the objectives are: {', '.join(known)}")
        return known[given]()
    if isinstance(given, type):
        raise TypeError(f"objective is the class {given.__name__}; give an object: {given.__name__}()")
    if not (hasattr(given, "bind") and hasattr(given, "penalty")):
        raise TypeError(f"objective is {given!r}, expected an objective such as Likelihood(l2=1.0)")
    return given


def by_name(
    name: str,
    seed: int = 0,
    threads: int | None = None,
    tolerance: float | None = None,
    *,
    graphs: bool = False,
    certified: bool = False,
) -> Optimizer:
    """Return an optimizer with its default options; seed, threads and tolerance (gap) where it has them.

    Where the run is certified, that ends it, and not that its objective hardly falls (`period`) or that
    its gradient is small.
    """
    key, known = name.lower().replace("_", "-"), {**NAMES, **(ON_GRAPHS if graphs else {})}
    if key not in known:
        close = difflib.get_close_matches(key, [*known, "auto"], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"optimizer {name!r} is not known; expected one of auto, {', '.join(known)}{hint}")
    kind, options = known[key]
    made = kind_named(kind)
    own = {f.name for f in fields(made)}
    shared = {"seed": seed, "threads": threads, **({"gap": tolerance} if tolerance else {})}
    if certified and kind == "LBFGS":
        options = {"tolerance": _LEVEL, **options}
        options.pop("period", None)
    optimizer: Optimizer = made(**options, **{k: v for k, v in shared.items() if k in own})
    return optimizer


def kind_named(name: str) -> Any:
    """Return a class of `NAMES`: of `crfkit.optimize`, or of its shelf of classics."""
    from crfkit import optimize
    from crfkit.optimize import classic

    return getattr(optimize if hasattr(optimize, name) else classic, name)


def name_of(optimizer: Any) -> str:
    """Return the name of an optimizer for people."""
    return str(getattr(optimizer, "name", type(optimizer).__name__))


def check_suits(problem: Any, optimizer: Optimizer, penalty: Penalty | None = None) -> None:
    """Refuse an optimizer that lacks what it needs, minimizes the perceptron's loss, or leaves bounds."""
    if not hasattr(optimizer, "needs"):
        raise TypeError(f"optimizer is {optimizer!r}, expected a name such as 'lbfgs', or an optimizer")
    if penalty is not None and penalty.nonnegative is not None and not getattr(optimizer, "bounds", False):
        raise NotCoveredError(
            f"{name_of(optimizer)} does not keep the weights of attractive cliques at 0 or more; use lbfgs "
            "(smooth objectives), bcfw, one-slack, n-slack or subgradient (max-margin)"
        )
    if getattr(problem, "drawn", False) and MiniBatches not in optimizer.needs:
        raise NotCoveredError(
            f"{name_of(optimizer)} needs a loss, and the objective {problem.objective.name} only draws its "
            "gradient; use adagrad, sgd or adam"
        )
    if not (problem.minimizes or {PerceptronSequences, MiniBatches} & {*optimizer.needs}):
        raise NotCoveredError(
            f"{name_of(optimizer)} minimizes, and the perceptron's loss is least where all weights are 0; "
            "use perceptron, pa, arow or mira"
        )
    for kind in optimizer.needs:
        against = problem.lacks(kind)
        if against:
            remedy = getattr(kind, "remedy", "use LBFGS")
            raise NotCoveredError(f"{name_of(optimizer)} does not take {against}; {remedy}")


def choose(
    problem: Any,
    penalty: Penalty,
    *,
    seed: int = 0,
    threads: int | None = None,
    tolerance: float | None = None,
) -> tuple[Optimizer, str]:
    """Return the fastest sound optimizer, and why.

    Parameters
    ----------
    problem
        What is to be minimized.
    penalty : Penalty
    seed, threads, tolerance
        For optimizers that have them.
    """
    if getattr(problem, "drawn", False):
        return by_name("adagrad", seed, graphs=True), "gradients are drawn, and AdaGrad sets its own rates"
    if not problem.minimizes:
        return by_name("perceptron", seed), "the averaged perceptron has nothing to tune"
    certified = curvature_of(penalty, problem.convex) > 0.0
    if penalty.sparse:
        made = by_name("owlqn", seed, threads, certified=certified)
        return made, "L1 asks for weights of exactly 0, which OWL-QN gives"
    if problem.lacks(Differentiable):
        return _for_kinks(problem, seed, threads, tolerance)
    if getattr(problem, "rough", False):
        why = "sums by messages are rough: L-BFGS ends where two steps gain less than 1 %, or the loss jumps"
        rough: Any = by_name("lbfgs", seed, threads)
        rough = replace(rough, period=2, delta=1e-2, max_evaluations=6, jumps=True)
        if problem.batch.variables >= _MANY:
            rough, why = (
                replace(rough, max_iterations=_STEPS),
                f"{why}, or after {_STEPS} steps: data are large",
            )
        return rough, why
    with checked_later():  # inf or nan: values that no optimizer can use; it says so itself
        apart = _scales_apart(problem)
    if _APART < apart < np.inf and not problem.lacks(Curvature):
        why = f"scales of values differ by {apart:,.0f}, which the diagonal of the Hessian corrects"
        return by_name("plbfgs", seed, threads), why
    against = _against_dual(problem, penalty)
    if against:
        why = f"the dual method is not for {against}; L-BFGS is the fastest that is"
        return by_name("lbfgs", seed, threads, certified=certified), why
    if problem.size < _FEW:
        return by_name(
            "lbfgs", seed, threads, certified=certified
        ), "the model is small, where L-BFGS is fastest"
    why = "L2-penalized likelihood is solved fastest in the dual; L-BFGS goes on where that is faster"
    return by_name("dual", seed, threads, tolerance), why


def _for_kinks(
    problem: Any, seed: int, threads: int | None, tolerance: float | None
) -> tuple[Optimizer, str]:
    """Return the optimizer for a loss with kinks, and why."""
    if problem.size >= _FEW and not problem.lacks(MarginChains):
        why = "max-margin is solved fastest in the dual, one sequence after the other"
        return by_name("bcfw", seed, threads, tolerance), why
    if not problem.lacks(Convex):
        why = "the loss has kinks; cutting planes need few passes over the data"
        return by_name("one-slack", seed, threads, tolerance), why
    return by_name("subgradient", seed, threads), "the loss has kinks, where only subgradients are sound"


def _scales_apart(problem: Any) -> float:
    """Return how far apart the scales of attributes' values are: largest by smallest, 1 without values."""
    batch = problem.batch if isinstance(problem, LinearLoss) else None
    scales = []
    if batch is not None and batch.value is not None and len(batch.attr):
        squares = np.bincount(batch.attr, batch.value**2)
        counts = np.bincount(batch.attr)
        scales.append(np.sqrt(squares[counts > 0] / counts[counts > 0]))  # root mean square of each attribute
    if batch is not None and batch.dense is not None and batch.positions:
        scales.append(np.sqrt(np.mean(batch.dense**2, axis=0)))
    found = np.concatenate(scales) if scales else np.ones(1)
    found = found[found > 0.0]
    return float(found.max() / found.min()) if len(found) else 1.0


def _against_dual(problem: LinearLoss | SummedProblem, penalty: Penalty) -> str:
    """Return what the dual method does not cover; empty when it covers everything."""
    if isinstance(problem, SummedProblem):
        return "data in blocks, unless it is asked for: it keeps marginals of all sequences"
    against = problem.lacks(DualSequences)
    if against:
        return against
    if not np.all(np.asarray(penalty.l2) > 0.0):
        return "an L2 penalty of 0"
    if problem.size < _FEW:  # L-BFGS takes it, however large these are
        return ""
    found = marginal_bytes(problem)
    return f"marginals of {found / (1 << 30):.1f} GB" if found > _MOST_BYTES else ""
