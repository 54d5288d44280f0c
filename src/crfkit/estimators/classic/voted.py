"""`VotedPerceptron`: the weight vectors of a perceptron vote for the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.checks import check_choice, check_number
from crfkit.data.dataset import Dataset
from crfkit.estimators.base import QUERIES, fixed, learned
from crfkit.estimators.classic.combined import Combined
from crfkit.estimators.fitting import Call
from crfkit.linear.objective import Objective
from crfkit.models.classic.votes import VOTING, VotedModel, Voting
from crfkit.models.model import SequenceModel
from crfkit.objectives import Perceptron
from crfkit.optimize.classic.voted import Ballot, VotedTraining
from crfkit.optimize.problem import Optimizer
from crfkit.structures.structure import Structure
from crfkit.training.stop import Stop
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self


class VotedPerceptron(Combined):
    """The voted perceptron (Freund & Schapire 1999; Collins 2002).

    Each weight vector of the training has as many votes as it labeled sequences without a mistake in a row.
    The averaged perceptron (``ChainCRF(objective="perceptron")``) is nearly as good, answers `votes` times as
    fast and is one small model: take it first.

    Parameters
    ----------
    votes : int
        How many vectors are kept: those with most votes. Each takes 8 bytes for each weight, in memory and in
        the file: 100 vectors of a million weights, 800 MB.
    voting : {"positions", "sequences"}
        Whether vectors vote for the label of each position, which may break constraints on neighbors, or for
        whole labelings, of which the first vector's wins a tie.
    max_passes : int
        Passes over the data.
    order, min_count : optional
        Fields of the parts, as in `ChainCRF`.
    structure, selection, features, train_scheme, metric, random_state, n_jobs
        As in `ChainCRF`.

    Attributes
    ----------
    model_ : VotedModel
        It votes as well.
    voters_ : array [V, F]
        The vectors, in the order in which training made them.
    votes_ : array of int [V]
    classes_ : array of str [L]
    n_iter_ : int

    Examples
    --------
    >>> from crfkit.estimators.classic import VotedPerceptron
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]]
    >>> voted = VotedPerceptron(votes=10).fit(X, [["D", "N"], ["D", "N"]])
    >>> voted.predict([[{"w": "the"}, {"w": "dog"}]])
    [['D', 'N']]
    >>> len(voted.voters_) == len(voted.votes_) <= 10
    True
    """

    _learns: ClassVar[type[SequenceModel]] = VotedModel
    model_: VotedModel = learned()

    @property
    def voters_(self) -> Floats:
        """The weight vectors, [V, F]."""
        return self.model_.voters

    @property
    def votes_(self) -> Pointers:
        """Their votes, [V]."""
        return self.model_.votes

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made = super()._of_model(model)
        made.votes, made.voting = len(model.votes), model.voting
        return made

    def _absent(self) -> Mapping[str, str]:
        votes = "labels are decided by votes, which give no probabilities; train ChainCRF for those"
        return {
            **dict.fromkeys(QUERIES, votes),
            "partial_fit": "votes count sequences of one training; call fit with all data",
        }

    votes: int = 100
    voting: Voting = "positions"
    max_passes: int = 10
    objective: Objective | str | None = fixed("perceptron")
    optimizer: Optimizer | str = fixed("auto")
    stop: Stop | None = fixed()
    l1: float | None = fixed()
    l2: float | None = fixed()
    max_iterations: int | None = fixed()

    def _train(self, data: Dataset, structure: Structure, call: Call) -> SequenceModel:
        check_number("votes", self.votes, 1, whole=True)
        check_number("max_passes", self.max_passes, 1, whole=True)
        check_choice("voting", self.voting, VOTING)
        ballot = Ballot(self.votes)
        model = train(
            data.freeze(),
            structure=structure,
            selection=self._part("selection"),
            objective=Perceptron(),
            optimizer=VotedTraining(ballot=ballot, max_passes=self.max_passes, seed=self._seed),
            stop=Stop(),
            random_state=self._seed,
            n_jobs=self._threads,
            checkpoint=call.checkpoint,
            listeners=call.listeners,
            progress=call.progress,
        )
        own = {f.name: getattr(model, f.name) for f in fields(model)}
        voters = np.array(ballot.voters).reshape(-1, len(model.w))
        return VotedModel(**own, voters=voters, votes=np.array(ballot.votes), voting=self.voting)
