"""A model: frozen alphabets, layout, structure, weights and recipe. It predicts; it cannot train.

Its fields are arrays, strings and small values, and nothing changes after it is made: threads may share it.
What the kernels want of the weights is made by the first query and stays with the model; it is neither saved
nor pickled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from crfkit import _native, inference
from crfkit.arrays import Floats, Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.features.recipe import Recipe
from crfkit.linear.layout import Layout
from crfkit.linear.score import cells_by_position, ready_rows, score
from crfkit.models.once import Once
from crfkit.native import kernels, threads_or_all
from crfkit.structures import Chain, ChainPotentials
from crfkit.structures.local import normalised_by_step
from crfkit.training.events import Summary

__all__ = ["Metric", "Model", "check_local", "gold_labels"]

#: Gold labels and predicted ones, a list of strings for each sequence, to a number; more is better.
Metric = Callable[[list[list[str]], list[list[str]]], float]

#: Doubles of scores held at a time by queries: 32 MB.
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Model:
    """What training gives; see `crfkit.train`.

    Notes
    -----
    The first query spreads the weights out into a table of at most ``layout.table_bytes`` (512 MB unless the
    layout says otherwise; 11 MB for CoNLL-2000), once for all threads. A second table of that size at most
    serves edge attributes.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> extract = ItemExtractor()
    >>> model = train(extract([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]]))
    >>> model.predict(extract([[["a"], ["the"], ["dog"]]]))
    [['D', 'D', 'N']]
    """

    labels: Alphabet
    attributes: Alphabet  #: empty where attributes are hashed or ids without names
    edge_attributes: Alphabet
    chain: Chain
    layout: Layout
    w: Floats  #: [F]
    recipe: Recipe | None = None  #: how columns become attributes, where that is known
    label_column: str | int | None = None  #: of the recipe's data
    hashed: int | None = None  #: number of ids that attribute names are hashed to
    training: Summary | None = None
    notes: str = ""  #: free text that goes with the model
    licence: str = ""  #: under which terms others may use it
    local: bool = False  #: each step is normalised by itself: a maximum-entropy Markov model, no CRF

    def __post_init__(self) -> None:
        w = np.array(self.w, dtype=np.float64)  # a copy: nobody else can change it
        if w.shape != (self.layout.weights,):
            raise ValueError(f"w has shape {w.shape}, expected ({self.layout.weights},)")
        if self.labels.strings() != list(self.chain.labels):
            raise ValueError("labels and chain.labels differ")
        check_local(self.local, self.chain, self.layout)
        w.setflags(write=False)
        object.__setattr__(self, "w", w)
        for name in ("labels", "attributes", "edge_attributes"):
            object.__setattr__(self, name, getattr(self, name).freeze())

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**state, "layout": replace(self.layout)}  # without what the kernels made of it

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.w.setflags(write=False)

    def __repr__(self) -> str:
        return (
            f"<Model of {len(self.labels)} labels, {self.layout.attributes:,} attributes, "
            f"{self.layout.weights:,} weights>"
        )

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Literal["float64", "float32"] = "float64",
        compact: bool = False,
        notes: str | None = None,
        licence: str | None = None,
    ) -> None:
        """Write the model to a file, as a whole or not at all.

        Attributes whose weights are all zero are left out, which changes no bit of an answer.

        Parameters
        ----------
        path : path
        dtype : {"float64", "float32"}
            Of the weights in the file; float32 halves them and rounds.
        compact : bool
            Leave out every weight of zero, and edge attributes without others; scores stay the same but
            for their last digits.
        notes, licence : str, optional
            Texts that go with the file in place of those of the model; ``crfkit show`` prints them.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit import Model, train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.crf"), notes="an example")
        ...     again = Model.load(os.path.join(folder, "m.crf"))
        >>> again.predict(ItemExtractor()([[["dog"]]])), again.notes
        ([['N']], 'an example')
        """
        from crfkit.data.sink import write_bytes
        from crfkit.models.files.native import pieces

        write_bytes(path, pieces(self, dtype=dtype, compact=compact, notes=notes, licence=licence))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Open a file that `save` wrote; its arrays stay in the file until they are used."""
        from crfkit.models.files.native import open_model

        return open_model(path)

    def to_bytes(self, *, dtype: Literal["float64", "float32"] = "float64", compact: bool = False) -> bytes:
        """Return the bytes of the file that `save` would write."""
        from crfkit.models.files.native import pieces

        return b"".join(pieces(self, dtype=dtype, compact=compact))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Return the model that `to_bytes` made bytes of; it looks up in them."""
        from crfkit.models.files.native import model_of

        return model_of(data, "the data")

    def batch_of(self, data: Dataset | Batch) -> Batch:
        """Return the data with the ids of this model.

        Attributes that the model does not know are dropped, gold labels that it does not know become -1.
        A batch must have the ids of the model already, and is returned as it is.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> X = [[["the"], ["dog"]], [["a"], ["dog"]]]
        >>> model = train(ItemExtractor()(X, [["D", "N"]] * 2))
        >>> model.batch_of(ItemExtractor()([[["new"], ["dog"]]])).attr.tolist()
        [1]
        """
        if isinstance(data, Batch):
            return data
        batch = _checked(data).batch
        return batch.renamed(
            labels=self.labels.merge(data.labels),
            attributes=_new_ids(
                batch.attr, data.attributes, self.attributes, "attributes" if self.layout.attributes else ""
            ),
            edges=_new_ids(
                batch.edge_attr,
                data.edge_attributes,
                self.edge_attributes,
                "edge attributes" if self.layout.edge_attributes else "",
            ),
            label_count=len(self.labels),
        )

    def potentials(self, batch: Batch, *, threads: int | None = None) -> ChainPotentials:
        """Return the scores of a batch with the ids of this model, for `crfkit.inference`."""
        layout, w = self.layout, self.w

        def ready(name: str) -> _native.ReadyRows:
            return self._once(name, lambda: ready_rows(layout, w, name, threads))

        scores = score(layout, w, batch, threads=threads, ready=ready)
        made = self.chain.potentials_of(scores, batch)
        return normalised_by_step(made) if self.local else made

    def cells(self, batch: Batch) -> int:
        """Return how many scores a position of a batch has, with those of steps where they have their own."""
        L = self.layout.labels
        return L * L if self.local else cells_by_position(self.layout, batch)

    def predict(
        self,
        data: Dataset | Batch,
        *,
        method: Literal["viterbi", "posterior"] = "viterbi",
        threads: int | None = None,
    ) -> list[list[str]]:
        """Return the best labels of each sequence."""
        names = np.array(self.chain.labels, dtype=object)  # [L]
        found: list[list[str]] = []
        for part, potentials in self._parts(self.batch_of(data), threads):
            flat: list[str] = names[flat_labels(potentials, method, threads)].tolist()
            found.extend(flat[a:b] for a, b in pairwise(part.seq_ptr.tolist()))
        return found

    def marginals(self, data: Dataset | Batch, *, threads: int | None = None) -> list[Floats]:
        """Return the probability of every label at every position: [T, L] for each sequence."""
        found: list[Floats] = []
        for part, potentials in self._parts(self.batch_of(data), threads):
            node = inference.marginals(potentials, threads=threads).node
            found.extend(node[a:b] for a, b in pairwise(part.seq_ptr.tolist()))
        return found

    def log_likelihood(self, data: Dataset | Batch, *, threads: int | None = None) -> Floats:
        """Return log p(gold | x) of each sequence, [N]; labels of -1 are summed over, as far as allowed."""
        from crfkit.structures.gold import allowed_labels

        found = [np.zeros(0)]
        for part, potentials in self._parts(self.batch_of(data), threads):
            label = part.label
            if label is None or part.soft is not None:
                raise ValueError("the data have no gold labels to take the likelihood of")
            if (label >= 0).all():
                found.append(inference.log_prob(potentials, label, threads=threads))
                continue
            mask = allowed_labels(part, len(self.labels))
            clamped = inference.log_partition(potentials.clamped(mask), threads=threads)
            found.append(clamped - inference.log_partition(potentials, threads=threads))
        return np.concatenate(found)

    def evaluate(
        self, data: Dataset, metric: Metric | str = "token_accuracy", *, threads: int | None = None
    ) -> float:
        """Return a metric of the predictions: a function of gold and predicted labels, or a name."""
        if isinstance(metric, str):
            from crfkit import metrics

            metric = metrics.named(metric)
        return float(metric(gold_labels(data), self.predict(data, threads=threads)))

    @property
    def decoder(self) -> _native.Decoder | None:
        """What tags one sequence at a time; None where scores of nodes and transitions are not all there is.

        That is so with real-valued columns, limits on segment lengths and steps normalised each by itself.
        `crfkit.Tagger` is the way to use it.
        """
        return self._once("decoder", self._made_decoder)

    def _made_decoder(self) -> _native.Decoder | None:
        if self.layout.dense or self.local:
            return None
        none = np.zeros(1, dtype=np.int64)
        nothing = self.potentials(Batch(none, none, np.zeros(0, dtype=np.int32)))  # the transitions alone
        if nothing.expansion is not None:
            return None
        names: _native.FrozenAlphabet | _native.Hasher | _native.Alphabet = self.attributes._native
        if self.hashed is not None:
            names = _native.Hasher(self.hashed)
            names.freeze()
        assert not isinstance(names, _native.Alphabet), "the attributes of a model are frozen"
        rows = self._once("node", lambda: ready_rows(self.layout, self.w))
        ends = (nothing.start, nothing.stop)
        return _native.Decoder(kernels, names, rows, nothing.tables, *ends, self.chain.labels)

    @property
    def _once(self) -> Once:
        made: Once | None = self.__dict__.get("_made_once")
        return self.__dict__.setdefault("_made_once", Once()) if made is None else made

    def _parts(self, batch: Batch, threads: int | None) -> Iterator[tuple[Batch, ChainPotentials]]:
        """Cut a large batch, so that its scores stay small."""
        for chosen in batch.cut(self.positions_at_a_time(batch)):
            whole = chosen.stop - chosen.start == batch.sequences
            part = batch if whole else batch.select(chosen)
            yield part, self.potentials(part, threads=threads)

    def positions_at_a_time(self, batch: Batch) -> int:
        """Return how many positions of a batch to score together, so that their scores take 32 MB."""
        return max(_CELLS // self.cells(batch), 1)


def flat_labels(
    potentials: ChainPotentials, method: Literal["viterbi", "posterior"], threads: int | None
) -> Ids:
    """Return the ids of the best labels of all sequences, end to end: [P]."""
    if method == "viterbi" and potentials.expansion is None:
        values, paths, _ = kernels.best(potentials.problem, threads_or_all(threads))  # [N], [1, P]
        if values.min(initial=0.0) > -np.inf:
            best: Ids = paths[0]
            return best
    found = inference.decode(potentials, method, threads=threads)
    return np.concatenate([np.zeros(0, dtype=np.int32), *(labelling.labels for labelling in found)])


def check_local(local: bool, chain: Chain, layout: Layout) -> None:
    """Raise unless the steps of such a model can be normalised by themselves, where they are."""
    if local and (chain.order != 1 or chain.constraints or layout.stop):
        raise ValueError(
            "a locally normalised model is a chain of order 1 without constraints and stop weights; this one "
            f"has order {chain.order}, {len(chain.constraints)} constraints and "
            f"{'' if layout.stop else 'no '}stop weights"
        )


def _checked(data: Dataset) -> Dataset:
    """Return a data set, or say what to do with what was given instead."""
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data is of type {type(data).__name__}, expected a Dataset or a Batch: for features X and "
            "labels y as lists, ItemExtractor()(X, y); for one sequence, Tagger(model).tag(x)"
        )
    return data


def gold_labels(data: Dataset) -> list[list[str]]:
    """Return the gold labels as strings; a position without one is an error."""
    label = _checked(data).batch.label
    if label is None:
        raise ValueError("the data have no labels to compare with")
    if (label < 0).any():
        p = int(np.argmax(label < 0))
        n = int(np.searchsorted(data.batch.seq_ptr, p, side="right")) - 1
        raise ValueError(f"sequence {n}, position {p - int(data.batch.seq_ptr[n])} has no label")
    names = data.labels.strings()
    ids = label.tolist()
    return [[names[y] for y in ids[a:b]] for a, b in pairwise(data.batch.seq_ptr.tolist())]


def _new_ids(ids: Ids | None, theirs: Alphabet, ours: Alphabet, what: str) -> Ids | None:
    """Return our id of each of their attributes, -1 to drop it (all without `what`); None: all stay."""
    if ids is None or not ids.size:
        return None
    if not what:
        return np.broadcast_to(np.int32(-1), int(ids.max()) + 1)  # one number in memory
    if theirs is ours or (not len(theirs) and not len(ours)):
        return None
    if not len(theirs):
        raise ValueError(f"the {what} of the data have no names (hashed ids?), those of the model do")
    if not len(ours):
        raise ValueError(f"the {what} of the data have names, those of the model are hashed ids")
    return ours.merge(theirs)
