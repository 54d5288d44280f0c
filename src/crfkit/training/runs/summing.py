"""The summary of a training in the end, and events to every listener on the way."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import _native
from crfkit.errors import warn_about
from crfkit.training.choose import name_of
from crfkit.training.events import COLUMNS, Event, Failed, Listener, Summary
from crfkit.training.runs.certificate import certify, exact_step
from crfkit.training.runs.convergence import has_converged
from crfkit.training.runs.loop import Facts, Outcome
from crfkit.training.runs.record import RunRecord

if TYPE_CHECKING:
    from crfkit.training.runs.course import Course

__all__ = ["summed_up", "tell"]


def summed_up(fit: Course[Any], outcome: Outcome, record: RunRecord, facts: Facts, metric: str) -> Summary:
    """Return the summary of a training; `metric` is the name of the dev score."""
    evaluations = record.rows[-1][3] if record.rows else 0.0
    step = record.step(outcome.kept) if outcome.kept else None
    if step is None or not (np.isfinite(step.gap) or np.isfinite(step.gradient_norm)):
        step = exact_step(fit.problem, fit.penalty, outcome.w, evaluations)
        evaluations = step.evaluations
    own = certify(step, facts.curvature, convex=facts.convex)
    others = (
        certify(record.step(i + 1), facts.curvature, convex=facts.convex) for i in range(record.iteration)
    )
    least = max((one.objective - one.gap for one in others if np.isfinite(one.gap)), default=np.nan)
    certificate = fit.certified(own.with_bound(least), outcome.w)
    excess = min([certificate.excess, *record.excess[-1:]], key=lambda e: (np.isnan(e), e))
    history = {name: record.column(name) for name in COLUMNS}
    for column in history.values():
        column.setflags(write=False)
    return Summary(
        objective=repr(fit.objective),
        loss=step.objective,
        gap=certificate.gap,
        certificate=str(certificate),
        reason=outcome.reason,
        optimizer=name_of(fit.optimizer),
        why=fit.why,
        seconds=outcome.seconds,
        iterations=record.iteration,
        evaluations=evaluations,
        kept=outcome.kept,
        score=outcome.score,
        metric=metric,
        seed=fit.seed,
        notes=(*fit.notes, *fit.closing()),
        versions={
            "crfkit": _native.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        history=history,
        end=outcome.end.value,
        converged=has_converged(outcome.end, excess, facts.enough),
    )


def tell(audience: Sequence[Listener], event: Event) -> None:
    """Send an event to every listener; after a failure of training, only warn of failures of listeners."""
    for listener in audience:
        try:
            listener(event)
        except Exception as error:
            if not isinstance(event, Failed):
                raise
            warn_about(f"a listener failed after training had failed: {type(error).__name__}: {error}")
