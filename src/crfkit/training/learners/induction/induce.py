"""Feature induction: begin with few features, and add those that correct the errors of the model.

Gupta (2005) section 4.2, after McCallum (2003). Each round trains for a few iterations, looks at the tokens
that the model gets wrong, ranks attributes and conjunctions by their gain (`ranking`), and adds the best.
What comes out is an ordinary model: its conjunctions are attributes that it makes itself
(`crfkit.features.Conjunctions`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crfkit.data.dataset import Dataset
from crfkit.linear.features import Chosen, FeatureSelection
from crfkit.models.model import Metric, SequenceModel
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Optimizer
from crfkit.structures.chains.chain import Chain
from crfkit.structures.gold import kind_of_gold
from crfkit.training.data import checked_dataset
from crfkit.training.events import Listener
from crfkit.training.fit import SequenceValidation
from crfkit.training.learners.induction.options import Induction
from crfkit.training.learners.induction.ranking import Tokens
from crfkit.training.learners.induction.report import Round
from crfkit.training.learners.induction.run import InductionRun
from crfkit.training.stop import Stop
from crfkit.training.train import train


@dataclass(frozen=True, eq=False)
class Induced:
    """A model with induced features, and how they were found."""

    model: SequenceModel
    rounds: tuple[Round, ...]  #: all of them
    kept: int  #: the round whose features the model has
    reason: str  #: why it ended


def induce(
    data: Dataset,
    dev: Dataset | None = None,
    *,
    induction: Induction | None = None,
    structure: Chain | None = None,
    selection: FeatureSelection | None = None,
    objective: Likelihood | None = None,
    optimizer: Optimizer | str = "auto",
    metric: Metric | str = "auto",
    stop: Stop | None = None,
    seed: int = 0,
    threads: int | None = None,
    on_round: Callable[[Round], object] | None = None,
    listeners: Sequence[Listener] = (),
    progress: bool | None = None,
) -> Induced:
    """Find features and train a model with them.

    Parameters
    ----------
    data : Dataset
        With one gold label at each position and attributes that have names.
    dev : Dataset, optional
        Rounds end when its score no longer rises; the features of the best round are kept. The last training
        looks at it as `train` does.
    induction : Induction, optional
        How many rounds, how many features in each, and so on.
    structure : Chain, optional
    selection : FeatureSelection, optional
        The other weights: transitions, start and stop, and their limits.
    objective : Likelihood, optional
        ``Likelihood(l2=1.0)`` by default; its l2 is the penalty of the gains too.
    optimizer, metric, stop, seed, threads, listeners, progress
        Options of the last training, as in `train`.
    on_round : function, optional
        Called with each `Round` when it is done.

    Examples
    --------
    No attribute by itself says whether two bits are equal, but their conjunctions do:

    >>> from crfkit.training import Induction, induce
    >>> from crfkit.features import ItemExtractor
    >>> X = [[[f"a={a}", f"b={b}"]] for a in (0, 1) for b in (0, 1)] * 5
    >>> y = [["yes" if sequence[0] in (["a=0", "b=0"], ["a=1", "b=1"]) else "no"] for sequence in X]
    >>> found = induce(ItemExtractor()(X, y), induction=Induction(rounds=1, per_round=4))
    >>> sorted({feature.name for feature in found.rounds[0].features})
    ['a=0|b=0', 'a=0|b=1', 'b=0|a=1', 'b=1|a=1']
    >>> found.model.predict([[["a=1", "b=0"]], [["a=1", "b=1"]]])
    [['no'], ['yes']]
    """
    options = induction or Induction()
    goal = objective or Likelihood()
    kept = FeatureSelection.of(selection or FeatureSelection())
    asked = structure or Chain()
    checked = checked_dataset(data, "data")
    _check(checked, asked, goal, kept)
    run = InductionRun(checked, asked, goal, kept, options, seed, threads)
    best, reason, score = run.state(), f"{options.rounds} rounds are done", -math.inf
    rounds: list[Round] = []
    number = 0
    for r in range(1, options.rounds + 1):
        begun = time.perf_counter()
        tokens, found = run.look()
        if not len(found):
            reason = _nothing(tokens, options)
            if r == 1:
                raise ValueError(reason)
            break
        added = run.add(found)
        model = run.train()
        scored = math.nan if dev is None else SequenceValidation(model, dev, metric, threads)(model.w)
        told_of = run.described(tokens, found, added)
        seconds = time.perf_counter() - begun
        rounds.append(Round(r, tokens.wrong, len(tokens), told_of, len(run.keys), scored, seconds))
        if on_round is not None:
            on_round(rounds[-1])
        if dev is None or scored > score:
            best, score, number = run.state(), scored, r
        elif r - number >= options.patience:
            reason = f"the dev score has not risen for {options.patience} rounds"
            break
    ready, pairs = run.used(*best)
    model = train(
        ready,
        dev,
        structure=asked,
        selection=replace(kept, which=Chosen(pairs)),
        objective=goal,
        optimizer=optimizer,
        metric=metric,
        stop=stop or Stop(),
        random_state=seed,
        n_jobs=threads,
        listeners=listeners,
        progress=progress,
    )
    return Induced(model, tuple(rounds), number, reason)


def _check(data: Dataset, structure: Chain, objective: Likelihood, features: FeatureSelection) -> None:
    """Refuse what induction is not for, before it begins."""
    batch = data.batch
    if batch.label is None:
        raise ValueError("the data have no labels; induction needs a gold label at each position")
    if kind_of_gold(batch) != "path":
        raise ValueError(
            "the data have partial or soft labels; induction needs one gold label at each position: leave "
            "out the sequences that lack some"
        )
    if not batch.attr.size:
        raise ValueError("the data have no attributes, so that there is nothing to make features of")
    if not len(data.attributes):
        raise ValueError(
            "the attributes of the data are hashed ids or ids without names, of which no conjunctions can be "
            "made: extract the data without hashing"
        )
    if not getattr(structure, "is_chain", False):
        described = structure.describe() if hasattr(structure, "describe") else repr(structure)
        raise ValueError(f"induction is for chains, and the structure is {described}: use Chain()")
    if type(objective) is not Likelihood:
        raise ValueError(
            f"induction is for the likelihood, and the objective is {objective!r}: use Likelihood()"
        )
    if objective.l1 or not objective.l2 > 0.0:
        raise ValueError(
            f"the gain of a feature needs an L2 penalty and no L1, and the objective has l1={objective.l1}, "
            f"l2={objective.l2}: use Likelihood(l2=1.0)"
        )
    if features.which != "observed":
        raise ValueError("features.which is what induction finds: leave it out")


def _nothing(tokens: Tokens, options: Induction) -> str:
    """Return why a round found no feature."""
    if not len(tokens):
        return f"no token is wrong with a margin of {options.margin}; a larger margin looks at more tokens"
    return (
        f"no feature that could be added gains more than {options.min_gain} at {len(tokens):,} "
        "tokens; a larger beam or a smaller min_gain finds more"
    )
