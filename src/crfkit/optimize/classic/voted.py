"""The voted perceptron's training: the perceptron's, which remembers how long each weight vector was right.

Freund & Schapire (1999); Collins (2002). A vector has a vote for the sequence that made it, and one for each
that it labels without a mistake until the next mistake. The vectors with most votes are kept in a `Ballot`,
which costs a copy of the weights whenever a vector overtakes one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.native import kernels
from crfkit.optimize.options import check_counts
from crfkit.optimize.problem import End, Penalty, State
from crfkit.optimize.sequential.perceptron import AveragedPerceptron, MistakeDrivenRun


class Ballot:
    """The weight vectors with most votes, in the order in which they were made.

    Parameters
    ----------
    most : int
        How many are kept.

    Examples
    --------
    >>> ballot, w = Ballot(2), np.zeros(1)
    >>> for mistakes, right in enumerate((1, 5, 2, 4)):
    ...     ballot.change()
    ...     w[:] = mistakes
    ...     ballot.survive(right, lambda out: np.copyto(out, w), 1)
    >>> [voter.tolist() for voter in ballot.voters], ballot.votes
    ([[1.0], [3.0]], [6, 5])
    """

    def __init__(self, most: int) -> None:
        check_counts(votes=most)
        self.most = most
        self.voters, self.votes = list[Floats](), list[int]()
        self.now, self.at = 0, -1  # votes of the vector of now, and its place among the voters

    def change(self) -> None:
        """Begin a new vector, which has a vote for the mistake that made it."""
        self.now, self.at = 1, -1

    def survive(self, sequences: int, read: Any, size: int) -> None:
        """Count sequences that the present vector labels correctly; `read` writes it to an array [F]."""
        self.now += sequences
        if self.at < 0 and len(self.voters) == self.most:
            least = int(np.argmin(self.votes))
            if self.votes[least] >= self.now:
                return
            del self.voters[least], self.votes[least]
        if self.at < 0:
            vector = np.empty(size)
            read(vector)
            self.at = len(self.voters)
            self.voters.append(vector)
            self.votes.append(0)
        self.votes[self.at] = self.now

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs."""
        voters = np.array(self.voters)
        return {"voters": voters, "votes": np.array(self.votes), "now": self.now, "at": self.at}

    def restore(self, state: Fields, F: int) -> None:
        """Take what `state` gave, of vectors of F weights."""
        votes = state.any_array("votes")
        count = votes.size
        if count > self.most:
            state.wrong("votes", f"those of at most {self.most:,} vectors")
        self.votes = state.integers("votes", count, below=1 << 62).tolist() if count else []
        self.voters = list(state.floats("voters", count, F)) if count else []
        self.now, self.at = state.count("now", 1 << 62), state.place_of("at", count)


@dataclass(frozen=True, kw_only=True)
class VotedTraining(AveragedPerceptron):
    """The averaged perceptron, whose vectors are kept in a ballot as well.

    `crfkit.estimators.classic.VotedPerceptron` uses it.

    Parameters
    ----------
    ballot : Ballot
        Filled by the run.
    """

    ballot: Ballot

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> VotedRun:
        """Begin at w [F], or go on from a state."""
        return VotedRun(self, problem, penalty, w, state)


class VotedRun(MistakeDrivenRun):
    """Passes that count votes after each sequence."""

    def __init__(
        self, method: VotedTraining, problem: Any, penalty: Penalty, w: Floats, state: State
    ) -> None:
        super().__init__(method, problem, penalty, w, state)
        self.seed, self.ballot = method.seed, method.ballot
        if state is not None:
            self.ballot.restore(Fields.of(state).part("ballot"), len(self.last))

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here."""
        return {**super().state(), "ballot": self.ballot.state()}

    def _pass(self) -> float:
        """Visit all sequences in the order of this pass; return the sum of their losses."""
        order, total = self.arrays.order(self.seed, self.passes + 1), 0.0
        for i in range(len(order)):
            visit = order[i : i + 1]
            loss = self.trainer.run(kernels, visit, self.seen + i, self.spent, self.right)
            if not np.isfinite(loss):
                return loss
            if loss > 0.0:
                self.ballot.change()
            self.ballot.survive(int(loss == 0.0), self.trainer.read, len(self.last))
            total += loss
        return total

    def _ended(self, loss: float) -> tuple[str, End | None]:
        """Return why the passes end; the last vector has the votes of all passes that are not made."""
        made = self.passes
        ended = super()._ended(loss)
        self.ballot.survive((self.passes - made) * self.visits, self.trainer.read, len(self.last))
        return ended
