"""The probabilities that a model gives to labels, segments and whole labelings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.models.encoding import Recoding
from crfkit.models.reading import are_docs
from crfkit.models.results import LabelProba, PerSequence, Span
from crfkit.models.scoring import Scoring, asked
from crfkit.models.states import States
from crfkit.structures.gold import sets_of
from crfkit.tags.schemes import OUTSIDE

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel


class Probabilities(Scoring):
    """Probabilities of a `crfkit.models.SequenceModel`."""

    def predict_spans(self, X: Any, *, threads: int | None = None) -> list[list[Span]]:
        """Return the predicted segments of each sequence as (start, end, label, probability).

        Those that labels spell by a scheme, or runs of equal labels, in both cases without O. The probability
        is that of exactly this segment, with both ends and the label, over all labelings (Culotta & McCallum
        2004); one sweep serves all segments.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["in"], ["New"], ["York"]]] * 9, [["O", "B-LOC", "I-LOC"]] * 9))
        >>> [span] = model.predict_spans([[["New"], ["York"], ["in"]]])[0]
        >>> span[:3], 0.5 < span.probability < 1.0
        ((0, 2, 'LOC'), True)
        """
        from crfkit.models.confidence import segment_confidence
        from crfkit.models.decoding import spans_of_each

        if are_docs(X):
            return PerSequence([[*doc.spans] for doc in cast("SequenceModel", self).pipe(X, threads=threads)])
        each = spans_of_each(cast("SequenceModel", self), X, threads)
        if each is not None:
            return PerSequence(each)
        found = segment_confidence(cast("SequenceModel", self), X, threads=threads)
        return PerSequence(
            [Span(a, b, self.said([y])[0], p) for a, b, y, p in several if y != OUTSIDE] for several in found
        )

    def segment_marginals(
        self, X: Any, *, min_probability: float = 0.01, threads: int | None = None
    ) -> list[list[tuple[int, int, str, float]]]:
        """Return the probable segments of each sequence as (start, end, label, probability).

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        min_probability : float
            Segments that are less probable are left out.
        threads : int, optional
        """
        if not self.segmental:
            raise ValueError(
                f"the model is {self.structure.describe()}, which has labels of positions; use predict_proba"
            )
        found: list[list[tuple[int, int, str, float]]] = []
        names = self.structure.labels
        parts = self.parts(self.batch_of(X, threads=threads), threads=threads)
        for part, segment in asked(
            parts, lambda _, scores: inference.marginals(scores, threads=threads).segment
        ):
            assert segment is not None  # [P, D, L]
            ptr = part.seq_ptr
            begin = len(found)
            found += [[] for _ in range(part.sequences)]
            p, d, y = np.nonzero(segment >= max(min_probability, 1e-300))
            sequence = np.searchsorted(ptr, p, side="right") - 1
            values = segment[p, d, y].tolist()
            first = (p - ptr[sequence]).tolist()
            for n, a, more, label, share in zip(
                sequence.tolist(), first, d.tolist(), y.tolist(), values, strict=True
            ):
                found[begin + n].append((a, a + more + 1, names[label], min(share, 1.0)))
        return found

    def predict_proba(self, X: Any, *, given: Any = None, threads: int | None = None) -> LabelProba:
        """Return the probability of every label at every position: [T, L] for each sequence.

        Columns are `labels`: of hidden states, each is the sum over the states of a label; of another
        encoding, over all that spell a tag of the training data there. ``to_dicts()`` names them. Labels that
        are `given` are known, as in `predict`.
        """
        found: list[Floats] = []
        batch, allowed = self.batch_given(X, given, threads)
        parts = self.parts(batch, allowed=allowed, threads=threads, cells=self.share_cells)
        for part, node in asked(parts, lambda _, potentials: self.label_shares(potentials, threads)):
            found.extend(node[a:b] for a, b in pairwise(part.seq_ptr.tolist()))
        return LabelProba(found, self.said(self.answers))

    def label_shares(self, potentials: Any, threads: int | None = None) -> Floats:
        """Return the probabilities of `answers` at all positions, [P, L], from scores (`potentials`)."""
        spelling, parts = self.spelling, self._parts
        pairs = isinstance(spelling, Recoding) and parts is None
        found = inference.marginals(potentials, edges_by_position=pairs, threads=threads, counts=pairs)
        shares: Floats = found.node
        if isinstance(spelling, States):
            shares = spelling.summed(shares)
        elif isinstance(spelling, Recoding):
            shares = (
                spelling.shares(shares, found.edge, potentials.seq_ptr)
                if parts is None
                else spelling.shares_of_parts(shares, parts)
            )
        curves = cast("SequenceModel", self).calibration
        return shares if curves is None else curves.labels(shares)

    @property
    def share_cells(self) -> int:
        """How many numbers `label_shares` needs for each position: pairs of labels, or 1."""
        pairs = isinstance(self.spelling, Recoding) and self._parts is None
        return len(self.structure.labels) ** 2 if pairs else 1

    @property
    def _parts(self) -> Ids | None:
        """Which part of a segment each label of another encoding always is; None: that depends."""
        spelling, structure = self.spelling, self.structure
        if not isinstance(spelling, Recoding):
            return None

        def found() -> Ids | None:
            parts = None if structure.resolved is None else spelling.parts(structure.resolved)
            if parts is None and (structure.order or 0) > 1:
                name = cast("SequenceModel", self).encoding
                rules_too = "" if name == "IO" else f", or the constraint Scheme({name!r})"
                raise ValueError(
                    f"the model learned the encoding {name} by {structure.describe()}: probabilities of "
                    f"the tags of the data need order 1{rules_too}; train so, or without the encoding"
                )
            return parts

        return self._once("parts of labels", found)

    def check_labelings(self, what: str) -> None:
        """Refuse a query of whole labelings where the model has no probabilities for them."""
        if self.states is not None:
            raise ValueError(
                f"{what} is not for models with hidden states: a labeling is a sum over many paths of "
                "states; use predict_proba, or sample"
            )
        if cast("SequenceModel", self).calibration is not None:
            raise ValueError(
                f"{what} is not for models calibrated by isotonic regression, which corrects probabilities "
                "of labels and segments only; calibrate by temperature"
            )

    def log_prob(self, X: Any, y: Any = None, *, threads: int | None = None) -> Floats:
        """Return log p(y | x) of each sequence, [N].

        Positions where y is None or a set are summed over; a label that the model does not know has
        probability 0. A Batch has labels by id: those of -1 are summed over, as far as allowed.
        """

        def scored(part: Batch, potentials: Any) -> Floats:
            label = part.label
            if label is None or part.soft is not None:
                raise ValueError("y is missing: the data have no gold labels; give labeled data")
            total: Floats = inference.log_partition(potentials, threads=threads)
            if (label >= 0).all():
                return np.asarray(potentials.path_score(label, part.begin) - total)
            within = sets_of(part, len(self.structure.labels)).clamped(potentials)
            return np.asarray(inference.log_partition(within, threads=threads) - total)

        recoded = isinstance(X, Dataset) and isinstance(self.spelling, Recoding)  # its tags are the data's
        ready = isinstance(X, Dataset | Batch) and y is None and not recoded
        data = X if ready else self.dataset(X, y, threads=threads)
        each = asked(self.parts(self.batch_of(data), threads=threads), scored)
        found = np.concatenate([np.zeros(0), *(found for _, found in each)])
        if isinstance(data, Dataset):
            found[self._with_strange(data)] = -np.inf
        return found

    def _with_strange(self, data: Dataset) -> Ids:
        """Return the sequences with a label that the model does not know."""
        label, allowed = data.batch.label, data.batch.allowed
        if label is None:
            return np.zeros(0, np.int32)
        names = self.structure.labels if self.states is None else self.answers
        # Whether the model knows each label; the last is that of -1, None.
        known = np.append(Alphabet(names).freeze().ids(data.labels.strings()) >= 0, True)
        possible = known[label]  # [P]
        if allowed is not None:
            possible &= (label >= 0) | allowed[:, known[:-1][: allowed.shape[1]]].any(axis=1)
        strange = np.searchsorted(data.batch.seq_ptr, np.flatnonzero(~possible), side="right") - 1
        return np.unique(strange).astype(np.int32)

    def entropy(self, X: Any, *, threads: int | None = None) -> Floats:
        """Return the entropy of p(y | x) over all label sequences in nats, [N].

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> sure, unsure = model.entropy([[["the"], ["dog"]], [["new"], ["words"]]])
        >>> bool(sure < unsure)
        True
        """
        from crfkit.models.active_learning import uncertainty

        return uncertainty(cast("SequenceModel", self), X, "entropy", threads=threads)
