"""A model whose labels are decided by the votes of several weight vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.checks import check_choice
from crfkit.models.classic.missing_verbs import without
from crfkit.models.model import SequenceModel
from crfkit.models.parts import Plain
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from typing_extensions import Self

Voting = Literal["positions", "sequences"]
VOTING: Final = ("positions", "sequences")
#: Verbs that need probabilities, or one sum of weights.
QUERIES: Final = (
    "predict_proba",
    "predict_spans",
    "segment_marginals",
    "kbest",
    "sample",
    "log_prob",
    "entropy",
    "uncertainty",
    "explain",
    "calibrated",
)


@without(QUERIES, lambda _: "labels are decided by votes, which give no probabilities")
@dataclass(frozen=True, eq=False, repr=False)
class VotedModel(SequenceModel):
    """A model with several weight vectors, each with votes; its `w` is their average.

    Examples
    --------
    >>> from crfkit.estimators.classic import VotedPerceptron
    >>> voted = VotedPerceptron().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]]).model_
    >>> voted.predict([[{"w": "dog"}]]), hasattr(voted, "predict_proba")
    ([['N']], False)
    """

    rule: ClassVar[str] = "votes"
    by_weight: ClassVar[tuple[str, ...]] = (*SequenceModel.by_weight, "voters")

    voters: Floats = field(default_factory=lambda: np.zeros((0, 0)))  #: [V, F]
    votes: Pointers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  #: [V]
    voting: Voting = "positions"  #: for the label of each position, or for whole label sequences

    def _check(self) -> None:
        super()._check()
        check_choice("voting", self.voting, VOTING)
        wanted = (len(self.votes), self.layout.weights)
        if self.voters.shape != wanted or not len(self.votes):
            raise ValueError(f"voters have the shape {self.voters.shape}, expected {wanted} and one at least")

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Which weights matter to any voter, [F]."""
        matter: NDArray[np.bool_] = super().busy | (self.voters != 0.0).any(axis=0)
        return matter

    def rule_parts(self) -> Plain:
        """Return the voters."""
        return {"voting": self.voting}, {"voters": self.voters, "votes": self.votes}

    @classmethod
    def of_rule(cls, given: Mapping[str, Any], fields: Fields) -> Self:
        """Return the model with the voters of a file."""
        votes = fields.integers("votes", None, below=1 << 62, least=1)
        if not len(votes):
            fields.refuse("votes", "empty")
        voters = fields.floats("voters", len(votes), given["layout"].weights)
        voting: Any = fields.text("voting", VOTING)
        return cls.unchecked(**given, votes=votes, voters=voters, voting=voting)

    def _path(
        self,
        X: Any,
        *,
        method: Any = None,
        allowed: Any = None,
        constraints: Any = None,
        infeasible: Any = "raise",
        threads: int | None = None,
    ) -> Path:
        """Return the labels with most votes."""
        if not all(given is None for given in (method, allowed, constraints)) or self.constraints:
            self._decode(X)
        batch, L = self.batch_of(X, threads=threads), len(self.structure.labels)
        own = {f.name: getattr(self, f.name) for f in fields(SequenceModel)}
        plain = SequenceModel.unchecked(**own)
        each = [replace(plain, w=w)._path(batch, threads=threads).label for w in self.voters]  # [V][P]
        if self.voting == "sequences":
            return Path(batch.seq_ptr, _favorites(np.array(each), self.votes, batch.seq_ptr))
        tally, rows = np.zeros((batch.positions, L)), np.arange(batch.positions)
        for label, votes in zip(each, self.votes.tolist(), strict=True):
            tally[rows, label] += votes
        return Path(batch.seq_ptr, tally.argmax(axis=1).astype(np.int32))

    def _decode(self, X: Any, constraints: Any = None, **options: Any) -> NoReturn:
        raise ValueError("labels are chosen by votes; leave given, method and constraints out")


def _favorites(found: Ids, votes: Pointers, seq_ptr: Pointers) -> Ids:
    """Return the labels of each sequence with most votes, of the labels [V, P] that voters give."""
    label = np.zeros(found.shape[1], dtype=np.int32)
    for first, last in zip(seq_ptr[:-1].tolist(), seq_ptr[1:].tolist(), strict=True):
        if first == last:
            continue
        tally: Counter[bytes] = Counter()
        for one, count in zip(found[:, first:last], votes.tolist(), strict=True):
            tally[one.tobytes()] += count
        label[first:last] = np.frombuffer(max(tally, key=tally.__getitem__), dtype=found.dtype)
    return label
