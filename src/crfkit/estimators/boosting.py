"""`BoostedCRF`: a chain whose potentials are sums of regression trees, as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.base import learned
from crfkit.estimators.fitting import has_gold, weighted
from crfkit.estimators.queries import SequenceQueries
from crfkit.linear.layout import Layout
from crfkit.models.files.estimators import FileFields, chain_of, read_parts, refusing, write_parts
from crfkit.models.model import Model
from crfkit.models.names import Names
from crfkit.models.reading import read
from crfkit.structures import Chain
from crfkit.training.events import display_for
from crfkit.training.learners.boosting import Boosted, Boosting, boost
from crfkit.training.learners.boosting_round import windowed
from crfkit.training.learners.forest import Forest, Rows

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["BoostedCRF"]

_BOOSTING: Final = Boosting()
_KIND: Final = "crfkit boosted"
_ARRAYS: Final = {
    "ptr": np.int64,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
}
_MOST_COLUMNS: Final = 1 << 22  #: of windows in a file
_LACKS: Final = (
    "the trees, whose leaves are its attributes: save the estimator with estimator.save(path), and open that "
    "with BoostedCRF.load(path)"
)


class BoostedCRF(SequenceQueries):
    """A chain CRF for real-valued features that learns which conjunctions of them matter.

    Gradient tree boosting (Dietterich, Ashenfelter & Bulatov 2004; Gupta 2005, section 2.5): each round adds
    regression trees, grown by scikit-learn to the errors of the marginals. See
    `crfkit.training.learners.boosting`.

    Parameters
    ----------
    boosting : Boosting
        Rounds, size of trees, shrinkage, sub-sampling: ``Boosting(rounds=200, leaves=16)``.
    structure : Chain
        Of order 1, without the labels; it may have constraints.
    window : int
        Trees also test the features of so many positions before and after.
    metric : str or function
        Of `score`, as in `ChainCRF`.
    random_state : int, optional
        Of sub-sampling, and of draws.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : Model
        A chain whose attributes are the leaves of the trees; ``model_.explain`` shows which
        conjunctions count. It labels data whose leaves are known, and is not saved by itself: use the
        estimator.
    forests_ : dict of Forest
        The trees of "node", and of "edge" where ``boosting.steps``.
    losses_, dev_losses_ : arrays
        The negative log-likelihood before each round, and at the end.
    classes_ : array of str [L]
    n_iter_ : int
        Rounds that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import BoostedCRF
    >>> X = [np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])] * 20
    >>> crf = BoostedCRF().fit(X, [["same", "differ", "differ", "same"]] * 20)  # not a linear function of X
    >>> crf.predict([np.array([[1.0, 1.0], [1.0, 0.0]])])
    [['same', 'differ']]
    """

    forests_: dict[str, Forest] = learned()
    losses_: Floats = learned()
    dev_losses_: Floats = learned()
    columns_: int = learned()  #: of X

    boosting: Boosting = _BOOSTING
    structure: Chain | str | None = None
    window: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Learn from sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of arrays [T, K]
            Real-valued features of each position; K is the same for all sequences.
        y : list of lists of str
            One label for each position.
        dev : (X, y), optional
            Data whose likelihood ends training: ``boosting.patience`` rounds after it was best.
        sample_weight : array [N], optional
            Weight of each sequence.
        progress : bool, optional
            Show rounds; None: where standard error is a terminal.
        """
        if not isinstance(self.boosting, Boosting):
            raise TypeError(f"boosting is {self.boosting!r}, expected Boosting, as Boosting(rounds=200)")
        check_number("window", self.window, 0, whole=True)
        given = self._part("structure")
        if not isinstance(given, Chain) or given.order != 1:
            raise ValueError(f"structure is {given.describe()}, but boosting learns chains of order 1")
        data = weighted(has_gold(self._labeled(X, y), "BoostedCRF", "labels"), sample_weight)
        judge = None
        if dev is not None:
            if not isinstance(dev, tuple) or len(dev) != 2:
                raise ValueError(f"dev is a {type(dev).__name__}, expected a pair (X, y)")
            held = self._labeled(*dev, data.labels.strings())
            if len(held.labels) > len(data.labels):
                new = held.labels.strings()[len(data.labels)]
                raise ValueError(f"dev has the label {new!r}, which y does not have")
            judge = self._rows(held.batch, _columns(data.batch)), held.batch
        chain = given.with_labels(data.labels.strings())
        display = display_for(progress)
        try:
            found = boost(
                self._rows(data.batch, _columns(data.batch)),
                data.batch,
                chain,
                self.boosting,
                dev=judge,
                seed=self._seed,
                threads=self._threads,
                listener=display,
            )
        finally:
            if display is not None:
                display.close()
        self._learned(found, chain, _columns(data.batch))
        if found.interrupted:
            raise KeyboardInterrupt
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trees and the model to a file that `load` opens, as a whole or not at all.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from crfkit import BoostedCRF
        >>> crf = BoostedCRF().fit([np.array([[0.0], [1.0]])] * 9, [["a", "b"]] * 9)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.save(os.path.join(folder, "boosted.crf"))
        ...     BoostedCRF.load(os.path.join(folder, "boosted.crf")).predict([np.array([[1.0], [0.0]])])
        [['b', 'a']]
        """
        check_is_fitted(self, "model_")
        arrays = {
            f"{slot}.{name}": getattr(forest, name)
            for slot, forest in self.forests_.items()
            for name in _ARRAYS
        }
        about = {"window": self.window, "columns": self.columns_, "rounds": self.n_iter_}
        write_parts(path, _KIND, replace(self.model_, lacks=""), arrays, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Open a file that `save` wrote."""
        model, fields = read_parts(path, _KIND)
        chain = chain_of(model, fields.source)
        window, columns = fields.count("window"), fields.count("columns")
        if columns * (2 * window + 1) > _MOST_COLUMNS:
            fields.refuse("columns", f"{columns:,} with a window of {window:,}, which no trees have")
        if chain.order != 1 or model.layout.dense or model.extractor is not None:
            fields.refuse(
                "model", f"{chain.describe()}, expected a chain of order 1 whose attributes are leaves"
            )
        with refusing(fields.source):
            slots = [slot for slot in ("node", "edge") if slot == "node" or f"{slot}.ptr" in fields]
            made = cls(structure=replace(chain, labels=()), window=window)
            forests = {slot: _forest(fields, slot) for slot in slots}
            made._holding(replace(model, lacks=_LACKS), forests, columns, fields.count("rounds"))
            made._check_leaves()
            return made

    def _absent(self) -> Mapping[str, str]:
        return {"tag": "X is not tokens; use predict([x])"}

    def _learned(self, found: Boosted, chain: Chain, columns: int) -> None:
        L = len(chain.labels)
        node = found.leaves["node"]
        edge = found.leaves.get("edge")
        layout = Layout.of_chain(
            L,
            node.ptr,
            node.cell,
            np.zeros(1, np.int64) if edge is None else edge.ptr,
            np.zeros(0, np.int32) if edge is None else edge.cell,
            np.arange(L * L, dtype=np.int32),
            start=True,
            stop=True,
        )
        of_steps = np.zeros(0) if edge is None else edge.value
        tables = [found.tables[name] for name in ("transition", "start", "stop")]
        forests = {slot: one.forest for slot, one in found.leaves.items()}
        names = {slot: Alphabet(forest.names(self._names(columns))) for slot, forest in forests.items()}
        model = Model(
            chain,
            layout,
            Names(Alphabet(chain.labels), names["node"], names.get("edge", Alphabet())),
            np.concatenate([node.value, of_steps, *tables]),
            lacks=_LACKS,
        )
        self.losses_, self.dev_losses_ = found.losses, found.dev_losses
        self._holding(model, forests, columns, found.rounds)

    def _holding(self, model: Model, forests: dict[str, Forest], columns: int, rounds: int) -> Self:
        width = columns * (2 * self.window + 1)
        if any(forest.feature.size and int(forest.feature.max()) >= width for forest in forests.values()):
            raise ValueError(f"the trees test more than the {width} columns that there are")
        self.model_, self.forests_, self.columns_, self.n_iter_ = model, forests, columns, rounds
        self.classes_ = np.array(model.structure.labels, dtype=object)
        return self

    def _check_leaves(self) -> None:
        """Refuse a model with attributes that are not leaves: what it says of them would not be heard."""
        known = {"node": self.model_.attributes, "edge": self.model_.edge_attributes}
        for slot, attributes in known.items():
            forest = self.forests_.get(slot)
            leaves = set() if forest is None else set(forest.names(self._names(self.columns_)))
            strange = [name for name in attributes if name not in leaves]
            if strange:
                raise ValueError(
                    f"its model has the attribute {quoted(strange[0])}, which is no leaf of a tree"
                )

    def _names(self, columns: int) -> list[str]:
        offsets = range(-self.window, self.window + 1)
        return [f"x{k}[{offset}]" if self.window else f"x{k}" for offset in offsets for k in range(columns)]

    def _labeled(self, X: Any, y: Any, known: Sequence[str] = ()) -> Dataset:
        data = read(X, None, self._threads)
        return data if y is None else labeled(data, y, Alphabet(known))

    def _rows(self, batch: Batch, columns: int) -> Rows:
        if _columns(batch) != columns:
            raise ValueError(
                f"X has {_columns(batch)} real-valued columns, the model was fitted with {columns}"
            )
        assert batch.dense is not None
        return windowed(batch.dense, batch.seq_ptr, self.window)

    def _data(self, X: Any, y: Any = None) -> Dataset:
        """Return the data with leaves for attributes."""
        check_is_fitted(self, "model_")
        given = self._labeled(X, y)
        batch = given.batch
        rows = self._rows(batch, self.columns_)
        P, names = batch.positions, self._names(self.columns_)
        leaf = self.forests_["node"].leaves(rows)  # [P, trees]
        made = Batch(
            batch.seq_ptr,
            np.arange(P + 1, dtype=np.int64) * leaf.shape[1],
            leaf.ravel(),
            label=batch.label,
            allowed=batch.allowed,
            weight=batch.weight,
        )
        attributes, edge_attributes = Alphabet(self.forests_["node"].names(names)), Alphabet()
        if "edge" in self.forests_:
            inside = np.ones(P, dtype=np.int64)
            inside[batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]] = 0
            step = self.forests_["edge"].leaves(rows[inside > 0])
            ptr = np.append(0, np.cumsum(inside * step.shape[1]))
            made = replace(made, edge_ptr=ptr, edge_attr=step.ravel())
            edge_attributes = Alphabet(self.forests_["edge"].names(names))
        return Dataset(made, given.labels, attributes, edge_attributes)


def _columns(batch: Batch) -> int:
    """Return how many real-valued columns there are; refuse data without."""
    if batch.dense is None or len(batch.attr):
        raise ValueError(
            "BoostedCRF takes real-valued features, an array [T, K] for each sequence, and X has named ones; "
            "make arrays of them, as with sklearn.feature_extraction.DictVectorizer, or use ChainCRF"
        )
    return int(batch.dense.shape[1])


def _forest(fields: FileFields, slot: str) -> Forest:
    """Return the trees of a file, of the right types; `Forest` checks what they say."""
    return Forest(*(fields.array(f"{slot}.{name}", dtype, None) for name, dtype in _ARRAYS.items()))
