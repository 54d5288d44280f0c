"""A loss as a function of the weights: score -> potentials -> loss by scores -> scatter.

That path works for every structure, objective and kind of gold; native fast paths take over where they cover
what is asked for (`crfkit.linear.fast`), and are tested against it. Optimizers that need more of a loss than
values and gradients ask for *views*: one table says which there are, and what each covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Floats
from crfkit.checks import NotFiniteError
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.diagonal import BLOCK_BYTES, approximate_diagonal, diagonal_lacks
from crfkit.linear.factored import ChainsOfLoss, SequencesOfLoss, factored_chains_lack, factored_lack
from crfkit.linear.fast import FAST, FastPath
from crfkit.linear.fast.sequences import (
    blocks_of,
    dual_lack,
    dual_of,
    margin_chains_lack,
    margin_chains_of,
    online_lack,
    perceptron_lack,
    perceptron_of,
    sequences_lack,
    sequences_of,
)
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.group_counts import GroupCounts, counts_lack
from crfkit.linear.latent import LatentSums, latent_lacks
from crfkit.linear.layout import Layout, check_fits
from crfkit.linear.margins import MarginLoss, margin_lack
from crfkit.linear.objective import Objective, View, ViewedLoss, itself
from crfkit.linear.score import cells_by_position, scatter, score, transpose
from crfkit.linear.signed import SignedCounts, signed_lack
from crfkit.optimize.classic.marginal_dual import FactoredChains, FactoredSequences
from crfkit.optimize.classic.parallel import Signed
from crfkit.optimize.classic.scaling import Counted
from crfkit.optimize.margin.view import MarginChains, MarginSequences
from crfkit.optimize.problem import Curvature, Latent
from crfkit.optimize.sequential.sequences import (
    DualSequences,
    PerceptronSequences,
    SequenceBlocks,
    Sequences,
)
from crfkit.structures.structure import Structure

V = TypeVar("V")


class LinearLoss(ViewedLoss):
    """The loss of one batch as a function of the weights; without the penalty.

    Parameters
    ----------
    objective : Objective
    structure : Structure
    layout : Layout
        Made for the structure.
    batch : Batch
        With gold that the objective takes.
    threads : int, optional
        Default: one for each core. Results are the same bits for any number.

    Examples
    --------
    >>> from crfkit import Chain, Likelihood
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> loss = LinearLoss(Likelihood(), Chain(2), Layout.all_pairs(batch, 2, transitions="none"), batch)
    >>> gradient = np.empty(loss.size)
    >>> round(loss.value_and_grad(np.zeros(4), gradient), 4), gradient.tolist()  # 2 log 2
    (1.3863, [-0.5, 0.5, 0.5, -0.5])
    """

    def __init__(
        self,
        objective: Objective,
        structure: Structure,
        layout: Layout,
        batch: Batch,
        *,
        threads: int | None = None,
    ) -> None:
        if batch.positions == 0:
            raise ValueError("the batch is empty; training needs at least one position")
        check_fits(layout, structure)
        self.gold = structure.gold(batch)
        against = objective.covers(structure, [self.gold.kind])
        if against:
            raise NotCoveredError(against)
        self.objective, self.structure, self.layout = objective, structure, layout
        self.batch, self.threads = batch, threads
        self.weight = objective.sequence_weights(structure, batch)  # [N]

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.layout.weights

    @property
    def kind(self) -> str:
        """What the gold is: "path", "set" or "soft"."""
        return self.gold.kind

    @property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        return self.objective.convex and self.kind != "set"

    @property
    def minimizes(self) -> bool:
        """Whether minimizing it trains a model."""
        return self.objective.minimizes

    # ---- values and gradients

    @once
    def fast(self) -> FastPath | None:
        """The native path that covers this loss, if there is one."""
        made = next((path for path in FAST if not path.covers(self)), None)
        return None if made is None else made(self)

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F], and write its gradient to `gradient` [F]."""
        if self.fast is not None:
            return self.fast.value_and_grad(w, gradient)
        return self.general_value_and_grad(w, gradient)

    def general_value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the same by scoring, the objective and scattering in turn.

        Steps and segments with scores of their own make large arrays, so such batches are taken in blocks of
        sequences.
        """
        if len(self._blocks) > 1:
            return self._by_blocks(w, gradient)
        potentials = self.potentials(w)
        value, by_score = self.objective.loss(potentials, self.gold, self.weight, threads=self.threads)
        self.scatter(by_score, gradient)
        return value

    @once
    def _blocks(self) -> list[slice]:
        cells = max(cells_by_position(self.layout, self.batch), self.structure.cells())
        if cells == self.layout.labels or self.objective.whole:
            return [slice(0, self.batch.sequences)]
        return list(self.batch.cut(max(BLOCK_BYTES // (8 * cells * self.objective.copies), 1)))

    def _by_blocks(self, w: Floats, gradient: Floats) -> float:
        part, so_far = np.empty_like(gradient), Joined(gradient, self.objective)
        for chosen in self._blocks:
            block = self.part(chosen)
            try:
                value = block.general_value_and_grad(w, part)
            except NotFiniteError as error:
                raise error.after(chosen.start) from None
            except ValueError as error:
                raise ValueError(f"counted from sequence {chosen.start}: {error}") from error
            so_far.scale(value, float(block.weight.sum()), part)
            gradient += part
        return so_far.value

    def parts(self) -> Iterator[LinearLoss]:
        """Yield the loss in blocks of sequences whose scores take bounded memory."""
        if len(self._blocks) == 1:
            yield self
        else:
            yield from (self.part(chosen) for chosen in self._blocks)

    def part(self, sequences: slice | NDArray[np.int64]) -> LinearLoss:
        """Return the loss of some of the sequences, with the weights that they have here."""
        made = object.__new__(LinearLoss)
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _MADE})
        made.batch, made.weight = self.batch.select(sequences), self.weight[sequences]
        made.gold = self.structure.gold(made.batch)
        return made

    def potentials(self, w: Floats) -> Any:
        """Return the scores of the batch at w [F]; the next call writes over them."""
        scores = score(self.layout, w, self.batch, threads=self.threads, out=self._node)
        return self.objective.potentials(self.structure, scores, self.batch)

    def scatter(self, by_score: Mapping[str, Floats], out: Floats) -> None:
        """Write the gradient by weights [F] that follows from one by scores."""
        scatter(self.layout, self.batch, by_score, index=self.index, threads=self.threads, out=out)

    @once
    def _node(self) -> Floats:
        return np.empty((self.batch.positions, self.layout.labels))  # [P, L]

    @once
    def index(self) -> dict[str, _native.Transpose]:
        """The places of each attribute."""
        return transpose(self.layout, self.batch)

    @once
    def observed(self) -> Floats:
        """Counts of the features in the gold, [F]: the empirical side of eq. 1.22."""
        return feature_counts(self)

    # ---- what fast paths keep

    def prepare(self) -> None:
        """Prepare what the first evaluation needs, as on a thread that is idle."""
        _ = self.fast

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return what evaluations need beside layout and batch, for `unpack`; perhaps nothing."""
        return {} if self.fast is None else self.fast.packed()

    def unpack(self, kept: Mapping[str, NDArray[Any]]) -> None:
        """Take the result of `packed` for the same layout and batch in this process."""
        path = next(path for path in FAST if not path.covers(self))
        self.__dict__["fast"] = path(self, kept)

    def diagonal(self, w: Floats) -> Floats:
        """Return the approximate diagonal of the Hessian at w, [F]: Sha & Pereira (2003) section 3, H_f.

        It is the diagonal of the sum over all labelings; with sets of labels as gold, their own variance
        is not subtracted.
        """
        return approximate_diagonal(self, w)


class Joined:
    """The loss of all data, from those of its parts one after the other; see `Objective.joined`."""

    def __init__(self, gradient: Floats, objective: Objective) -> None:
        self.value, self.weight, self.gradient, self.objective = 0.0, 0.0, gradient, objective
        gradient[:] = 0.0

    def scale(self, value: float, weight: float, gradient: Floats) -> None:
        """Take in the value of a part of that weight, and scale its gradient, which is then to be added."""
        self.value, kept, added = self.objective.joined(self.value, self.weight, value, weight)
        self.weight += weight
        for array, factor in ((self.gradient, kept), (gradient, added)):
            if factor != 1.0:
                array *= factor


_MADE = ("fast", "index", "observed", "_node", "_blocks")  # of a batch


LinearLoss.VIEWS = {
    Curvature: View(diagonal_lacks, itself),
    Counted: View(counts_lack, GroupCounts),
    Signed: View(signed_lack, SignedCounts),
    Latent: View(latent_lacks, LatentSums),
    Sequences: View(sequences_lack, sequences_of),
    SequenceBlocks: View(online_lack, blocks_of),
    DualSequences: View(dual_lack, dual_of),
    MarginSequences: View(margin_lack, MarginLoss),
    MarginChains: View(margin_chains_lack, margin_chains_of),
    PerceptronSequences: View(perceptron_lack, perceptron_of),
    FactoredSequences: View(factored_lack, SequencesOfLoss),
    FactoredChains: View(factored_chains_lack, ChainsOfLoss),
}
