"""`VotedPerceptron`: the weight vectors of a perceptron vote for the labels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.checks import check_choice, check_number
from crfkit.data.dataset import Dataset
from crfkit.estimators.base import QUERIES, fixed, learned
from crfkit.estimators.chain import ChainCRF
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.linear.objective import Objective
from crfkit.models.files.estimators import chain_of, read_parts, write_parts
from crfkit.models.model import Model
from crfkit.models.results import PerSequence
from crfkit.models.scores import Decoding
from crfkit.objectives import Perceptron
from crfkit.optimize.classic.voted import Ballot, VotedTraining
from crfkit.optimize.problem import Optimizer
from crfkit.structures.gold import Path
from crfkit.structures.structure import Structure
from crfkit.training.fit import Init
from crfkit.training.stop import Stop
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["VotedPerceptron"]

_KIND = "crfkit voted perceptron"
_VOTING = ("positions", "labelings")
_LACKS = (
    "the weight vectors that vote, and have their average only: save the estimator with "
    "estimator.save(path), and open that with VotedPerceptron.load(path), or train "
    'ChainCRF(objective="perceptron")'
)


class VotedPerceptron(ChainCRF):
    """The voted perceptron (Freund & Schapire 1999; Collins 2002).

    Each weight vector of the training has as many votes as it labeled sequences without a mistake in a row.
    The averaged perceptron (``ChainCRF(objective="perceptron")``) is nearly as good, answers `votes` times as
    fast and is one small model: take it first.

    Parameters
    ----------
    votes : int
        How many vectors are kept: those with most votes. Each takes 8 bytes for each weight, in memory and in
        the file: 100 vectors of a million weights, 800 MB.
    voting : {"positions", "labelings"}
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
    model_ : Model
        With the averaged weights. It does not vote, and is not saved by itself: use `save`.
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

    voters_: Floats = learned()
    votes_: Pointers = learned()

    def _absent(self) -> Mapping[str, str]:
        votes = "labels are decided by votes, which give no probabilities; train ChainCRF for those"
        return {
            **dict.fromkeys(QUERIES, votes),
            "partial_fit": "votes count sequences of one training; call fit with all data",
        }

    votes: int = 100
    voting: Literal["positions", "labelings"] = "positions"
    max_passes: int = 10
    objective: Objective | str | None = fixed("perceptron")
    optimizer: Optimizer | str = fixed("auto")
    init: Init = fixed()
    stop: Stop | None = fixed()
    l1: float | None = fixed()
    l2: float | None = fixed()
    max_iterations: int | None = fixed()
    constraints: Sequence[GlobalConstraint] = fixed(())

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on sequences, as `ChainCRF` does, without a dev set, of which it makes no use."""
        return super().fit(X, y, sample_weight=sample_weight, progress=progress)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors, their votes and the model to a file that `load` opens, or nothing at all.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit.estimators.classic import VotedPerceptron
        >>> voted = VotedPerceptron().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     voted.save(os.path.join(folder, "voted.crf"))
        ...     VotedPerceptron.load(os.path.join(folder, "voted.crf")).predict([[{"w": "dog"}]])
        [['N']]
        """
        check_is_fitted(self, "model_")
        # Weights of 0 would be left out of the model's file; the voters' may not be 0 there.
        full = replace(self.model_, w=np.ones(len(self.model_.w)), lacks="")
        arrays = {"average": np.asarray(self.model_.w), "voters": self.voters_, "votes": self.votes_}
        write_parts(path, _KIND, full, arrays, {"voting": self.voting})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Open a file that `save` wrote."""
        model, fields = read_parts(path, _KIND)
        chain, F = chain_of(model, fields.source), len(model.w)
        votes = fields.integers("votes", None, below=1 << 62, least=1)
        if not len(votes):
            fields.refuse("votes", "empty")
        voters, average = fields.floats("voters", len(votes), F), fields.floats("average", F)
        made = cls(votes=len(votes), voting=_voting(fields.text("voting", _VOTING)))
        made.structure = replace(chain, labels=())
        made.voters_, made.votes_ = voters, votes
        return made._learned(replace(model, w=average))

    def _train(
        self,
        data: Dataset,
        structure: Structure,
        progress: bool | None,
        dev: Dataset | None = None,
        init: Init = None,
        unlabeled: Dataset | None = None,
    ) -> Model:
        check_number("votes", self.votes, 1, whole=True)
        check_number("max_passes", self.max_passes, 1, whole=True)
        check_choice("voting", self.voting, _VOTING)
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
            progress=progress,
        )
        self.voters_ = np.array(ballot.voters).reshape(-1, len(model.w))
        self.votes_ = np.array(ballot.votes, dtype=np.int64)
        return model

    def _learned(self, model: Model) -> Self:
        return super()._learned(replace(model, lacks=_LACKS))

    def predict(self, X: Any, *, given: Any = None, method: Decoding = None) -> PerSequence[list[str]]:
        """Return the labels with most votes: always a list of lists of strings."""
        if given is not None or method is not None:
            raise ValueError("labels are decided by votes: leave given and method out")
        return PerSequence(self.model_.spelling.tags(self._path(self._data(X))))

    def _path(self, data: Dataset) -> Path:
        """Return the labels with most votes."""
        batch, L = self.model_.batch_of(data, threads=self._threads), len(self.classes_)
        each = [replace(self.model_, w=w)._path(batch, threads=self._threads) for w in self.voters_]
        found = [path.label for path in each]  # [V][P]
        if self.voting == "labelings":
            return Path(batch.seq_ptr, _favorites(np.array(found), self.votes_, batch.seq_ptr))
        tally, rows = np.zeros((batch.positions, L)), np.arange(batch.positions)
        for label, votes in zip(found, self.votes_.tolist(), strict=True):
            tally[rows, label] += votes
        return Path(batch.seq_ptr, tally.argmax(axis=1).astype(np.int32))


def _voting(name: str) -> Literal["positions", "labelings"]:
    return "positions" if name == "positions" else "labelings"


def _favorites(found: Ids, votes: Pointers, seq_ptr: Pointers) -> Ids:
    """Return the labeling of each sequence with most votes, of the labels [V, P] that voters give."""
    label = np.zeros(found.shape[1], dtype=np.int32)
    for first, last in zip(seq_ptr[:-1].tolist(), seq_ptr[1:].tolist(), strict=True):
        if first == last:
            continue
        tally: Counter[bytes] = Counter()
        for one, count in zip(found[:, first:last], votes.tolist(), strict=True):
            tally[one.tobytes()] += count
        label[first:last] = np.frombuffer(max(tally, key=tally.__getitem__), dtype=found.dtype)
    return label
