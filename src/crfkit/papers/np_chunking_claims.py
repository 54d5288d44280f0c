"""What Sha & Pereira (2003), section 5, say of their results, decided by the numbers that came out here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crfkit.papers.page import Claim
from crfkit.papers.results import Result

__all__ = ["CLOSE", "TESTS", "Curve", "Curves", "claims", "optimum", "reached"]

Curve = Mapping[str, Sequence[float]]  # see `crfkit.papers.curves.curve_of`
Curves = Mapping[str, Curve]  # by method

CLOSE = 0.01  # a target is so far above the best objective
#: Pairs of models of Table 4.
TESTS = (
    ("CRF, supported features", "MEMM"),
    ("CRF, supported features", "averaged perceptron"),
    ("MEMM", "averaged perceptron"),
    ("CRF, complete features", "CRF, supported features"),
)
_SIGNIFICANT = 0.05
_MINIMIZERS = ("preconditioned CG", "mixed CG", "plain CG", "L-BFGS")


def optimum(curves: Curves) -> float:
    """Return the least objective that any method reached."""
    return min(min(one["objective"]) for name, one in curves.items() if name != "averaged perceptron")


def reached(curve: Curve, best: float) -> tuple[float, float] | None:
    """Return passes and seconds until the objective was close to the best; None where it never was.

    Examples
    --------
    >>> reached({"passes": [1, 3], "seconds": [0.5, 2.0], "objective": [120.0, 100.5]}, 100.0)
    (3, 2.0)
    """
    rows = zip(curve["passes"], curve["seconds"], curve["objective"], strict=True)
    return next(((passes, time) for passes, time, x in rows if x <= (1.0 + CLOSE) * best), None)


def claims(found: Mapping[str, Result], curves: Curves) -> list[Claim]:
    """Return every claim with the answer of the numbers; those that lack numbers are not decided."""
    return [_order(found), *_tests(found), _scaling(curves), _preconditioning(curves), _perceptron(curves)]


def _order(found: Mapping[str, Result]) -> Claim:
    text = "the CRF is better than the perceptron, and that one better than the MEMM"
    names = ("CRF, complete features", "averaged perceptron", "MEMM")
    if any(f"Table 2: F1, {name}" not in found for name in names):
        return Claim(text, None, "numbers are missing")
    crf, perceptron, memm = (found[f"Table 2: F1, {name}"].ours for name in names)
    return Claim(text, crf > perceptron > memm, f"F1 of {crf:.2f}, {perceptron:.2f} and {memm:.2f}")


def _tests(found: Mapping[str, Result]) -> list[Claim]:
    made = []
    for (one, other), differ in zip(TESTS[:2], (True, False), strict=True):
        text = f"{one} and {other} {'differ' if differ else 'do not differ'} significantly"
        p = found.get(f"Table 4: p, {one} and {other}")
        holds = None if p is None else (p.ours < _SIGNIFICANT) is differ
        made.append(Claim(text, holds, "numbers are missing" if p is None else f"p = {p.ours:.2g}"))
    return made


def _scaling(curves: Curves) -> Claim:
    text = "GIS is the only method that does not come close to the optimum"
    if not {"GIS", *_MINIMIZERS} <= {*curves}:
        return Claim(text, None, "numbers are missing")
    best = optimum(curves)
    missed = [name for name in ("GIS", *_MINIMIZERS) if reached(curves[name], best) is None]
    gis = curves["GIS"]
    return Claim(
        text,
        missed == ["GIS"],
        f"after {gis['passes'][-1]:.0f} passes it is {100 * (gis['objective'][-1] / best - 1):.0f} % above "
        f"the best objective; not within {100 * CLOSE:g} %: {', '.join(missed) or 'none'}",
    )


def _preconditioning(curves: Curves) -> Claim:
    text = "preconditioned CG needs the fewest passes of the CG methods, then mixed CG, then plain CG"
    if not {*_MINIMIZERS} <= {*curves}:
        return Claim(text, None, "numbers are missing")
    best = optimum(curves)
    at = {name: reached(curves[name], best) for name in _MINIMIZERS}
    passes = [float("inf") if (one := at[name]) is None else one[0] for name in _MINIMIZERS]
    told = ", ".join(
        f"{name} {'too many' if n == float('inf') else f'{n:.0f}'}"
        for name, n in zip(_MINIMIZERS, passes, strict=True)
    )
    first, second, last = passes[:3]
    holds = first < float("inf") and first <= second <= last
    return Claim(text, holds, f"passes to within {100 * CLOSE:g} % of the best objective: {told}")


def _perceptron(curves: Curves) -> Claim:
    text = "the perceptron has an F1 above 93 after two sweeps"
    if "averaged perceptron" not in curves:
        return Claim(text, None, "numbers are missing")
    score = 100.0 * curves["averaged perceptron"]["score"][1]
    return Claim(text, score > 93.0, f"{score:.2f}")
