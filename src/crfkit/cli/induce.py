"""``crfkit train --induce``: find features and conjunctions that correct errors, and learn a model with them.

Each round trains a little, looks at the tokens that are wrong, and adds the features that would gain most
there (McCallum 2003).
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from crfkit.cli import learning
from crfkit.cli.groups.settings import with_settings
from crfkit.cli.saving import Saver
from crfkit.cli.summaries import summary_of

if TYPE_CHECKING:
    from crfkit.cli.training_request import TrainingRequest
    from crfkit.training.learners.induction.options import Induction
    from crfkit.training.learners.induction.report import InducedFeature, Round

_TOLD = 5  # features of each round


def induce(job: TrainingRequest) -> None:
    """Learn a model with the features of all rounds, and save it."""
    from crfkit.training.runs.convergence import WarnedLast, plain_warnings

    options = _checked(job)
    with plain_warnings(), WarnedLast():
        found = _found(job, options)
        Saver(job.output, "", job.saving.keywords, job.say).save(found.model)
    job.say(f"{found.reason}; the model has the features up to round {found.kept}")
    job.tell_result(found.model)
    if job.running.as_json:
        per = [_plain(one) for one in found.rounds]
        made = {"model": job.output, "rounds": per, "kept": found.kept, "reason": found.reason}
        print(json.dumps({**summary_of(found.model), **made}, ensure_ascii=False))


def _plain(one: Round) -> dict[str, Any]:
    """Return a round with its features as plain data."""
    sizes = {"round": one.number, "wrong": one.wrong, "tokens": one.tokens, "weights": one.weights}
    return {**sizes, "features": [asdict(feature) for feature in one.features]}


def _checked(job: TrainingRequest) -> Induction:
    """Return the options of the rounds; refuse what does not go with them."""
    from crfkit.training.learners.induction.options import Induction

    model, training = job.model, job.training
    options: dict[str, object] = {
        "--structure": None if model.structure == "chain" else model.structure,
        "--selection": None if model.selection == "observed" else model.selection,
        "--min-count": model.min_count or None,
        "--transitions": model.transitions,
        "--internal-dictionary": job.features.internal or None,
        "--objective": training.objective,
        "--l1": training.l1,
        "--unlabeled": training.unlabeled,
        "--init": training.init,
        "--checkpoint": training.checkpoint,
        "--block-positions": training.block_positions,
    }
    job.refuse(options, "--induce")
    job.stopping.check()
    if job.stopping.patience != type(job.stopping).patience:
        raise ValueError(
            "--patience counts passes over the data; of rounds, write --set induction.patience=2"
        )
    return with_settings(Induction(), "induction", training.settings["induction"])


def _found(job: TrainingRequest, options: Induction) -> Any:
    """Return what all rounds have found, and the model."""
    from crfkit.linear.features import FeatureSelection
    from crfkit.training.learners.induction.induce import induce as find

    target, goal, jobs = job.model.target, job.training.goal(), job.running.jobs
    solver, stop = job.ending
    learn = learning.prepare(job.data, job.reading, job.features, target, threads=jobs, say=job.say)
    dev = job.stopping.dev
    judged = None if dev is None else learning.dev_set(dev, learn, target, jobs)
    structure: Any = learn.structure
    objective: Any = goal

    def told(one: Round) -> None:
        job.say(str(one))
        for feature in one.features[:_TOLD]:
            job.say(line_of(feature))

    with learn.origins.located():
        return find(
            learn.data,
            judged,
            induction=options,
            structure=structure,
            selection=replace(FeatureSelection(), transitions=job.model.weights(learn.extractor).transitions),
            objective=objective,
            optimizer=solver,
            metric=job.stopping.metric or "auto",
            stop=stop,
            seed=job.training.seed,
            threads=jobs,
            on_round=told,
            progress=not job.running.quiet,
        )


def line_of(feature: InducedFeature) -> str:
    """Return a line about a feature; its examples are sequences from 1 and positions from 0.

    Examples
    --------
    >>> from crfkit.training.learners.induction.report import Example, InducedFeature
    >>> line_of(InducedFeature("a|b", "X", 2.5, 1.5, 3, 2, (Example(0, 4, "X", "Y"),)))
    '  gain 2.50  X +1.50  a|b  explains 2 of 3 tokens: 1:4 X, not Y'
    """
    some = "; ".join(str(replace(one, sequence=one.sequence + 1)) for one in feature.examples)
    return (
        f"  gain {feature.gain:.2f}  {feature.label} {feature.weight:+.2f}  {feature.name}  explains "
        f"{feature.explained} of {feature.tokens} tokens{': ' if some else ''}{some}"
    )
