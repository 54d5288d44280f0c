"""The labelings of one sequence that have violated its margin, and the share of each in the dual."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.optimize.classic.simplex import maximum_on_simplex
from crfkit.optimize.margin.certified import ShareWeights


class WorkingSet:
    """Labelings of one sequence: [k, u] amounts at the u places that they have between them."""

    def __init__(self) -> None:
        self.place: Pointers = np.zeros(0, np.int64)  # [u] rising
        self.rows, self.cost = np.zeros((1, 0)), np.zeros(1)  # the gold: [k, u], [k]
        self.share, self.unused = np.ones(1), np.zeros(1, np.int64)  # [k]
        self.gram = np.zeros((1, 1))  # [k, k]

    def add(self, place: Pointers, amount: Floats, cost: float, inverse: Floats) -> None:
        """Take in a labeling without a share."""
        joined = np.sort(np.concatenate([self.place, place]), kind="stable")  # a merge: both rise
        both = joined[np.diff(joined, prepend=-1) > 0]
        rows = np.zeros((len(self.rows) + 1, len(both)))
        rows[:-1, np.searchsorted(both, self.place)] = self.rows
        rows[-1, np.searchsorted(both, place)] = amount
        self.place, self.rows, self.cost = both, rows, np.append(self.cost, cost)
        self.share, self.unused = np.append(self.share, 0.0), np.append(self.unused, 0)
        product = rows @ (rows[-1] * inverse[both])
        gram = np.empty((len(rows), len(rows)))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self.gram, product, product
        self.gram = gram

    def forget(self, idle: int) -> None:
        """Drop labelings without a share for more than `idle` rounds; the gold stays."""
        self.unused = np.where(self.share > 0.0, 0, self.unused + 1)
        kept = self.unused <= idle
        kept[0] = True
        if not kept.all():
            used = self.rows[kept].any(axis=0)
            self.place, self.rows = self.place[used], self.rows[np.ix_(kept, used)]
            self.gram, self.cost = self.gram[np.ix_(kept, kept)], self.cost[kept]
            self.share, self.unused = self.share[kept], self.unused[kept]

    def losses(self, w: Floats) -> Floats:
        """Return the loss of each labeling at w [F], [k]; the gold's is 0."""
        return np.asarray(self.cost - self.rows @ w[self.place])

    def solve(self, losses: Floats, weights: ShareWeights) -> Floats:
        """Take the best shares while all else stays; change the weights, and return by how much, [u]."""
        share = maximum_on_simplex(self.gram, losses + self.gram @ self.share, self.share)
        moved = weights.inverse[self.place] * ((share - self.share) @ self.rows)
        self.share = share
        return weights.move(self.place, moved)

    def mix(self, losses: Floats, weights: ShareWeights) -> Floats:
        """Move all shares towards the labeling with the highest loss, as far as it pays; see `solve`."""
        top = int(np.argmax(losses))
        change = self.rows[top] - self.share @ self.rows
        moved = change * weights.inverse[self.place]
        gap, square = float(losses[top] - self.share @ losses), float(change @ moved)
        step = min(1.0, gap / square) if square > 0.0 else 1.0
        self.share *= 1.0 - step
        self.share[top] += step
        return weights.move(self.place, moved * step)

    def state(self) -> dict[str, Any]:
        """Return everything that it holds."""
        return dict(self.__dict__)

    @classmethod
    def of(cls, state: Fields, F: int) -> WorkingSet:
        """Return the set that `state` described, of labelings with F weights."""
        made = cls()
        made.place = state.integers("place", None, below=F)
        made.cost = state.floats("cost", None, least=0.0)
        u, k = len(made.place), len(made.cost)
        if not k:
            state.wrong("cost", "that of the gold and further ones")
        if (np.diff(made.place) <= 0).any():
            state.refuse("place", "not rising")
        made.rows, made.gram = state.floats("rows", k, u), state.floats("gram", k, k)
        made.share = state.floats("share", k, least=0.0)
        made.unused = state.array("unused", np.int64, k)
        return made
