"""`BoostedCRF`: a chain whose potentials are sums of regression trees, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, ExtractorSpec, labeled
from crfkit.estimators.base import check_neighbors, learned
from crfkit.estimators.fitting import has_gold, weighted
from crfkit.estimators.queries import SequenceQueries
from crfkit.estimators.saving import recorded
from crfkit.linear.layout import Layout
from crfkit.models.forest import Forest
from crfkit.models.model import SequenceModel
from crfkit.models.names import Names
from crfkit.models.reading import read
from crfkit.models.trees import Trees, columns_of
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint
from crfkit.training.events import display_for
from crfkit.training.learners.boosting import Boosted, Boosting, boost

if TYPE_CHECKING:
    from typing_extensions import Self


class BoostedCRF(SequenceQueries):
    """A chain CRF on real-valued features; regression trees find the conjunctions that matter.

    Gradient tree boosting (Dietterich, Ashenfelter & Bulatov 2004; Gupta 2005, section 2.5): each round adds
    regression trees, grown by scikit-learn to the errors of the marginals. See
    `crfkit.training.learners.boosting`.

    Parameters
    ----------
    boosting : Boosting, optional
        Rounds, size of trees, shrinkage, sub-sampling: ``Boosting(rounds=200, leaves=16)``.
    l2, max_iterations : optional
        Fields of `boosting`, for short: its l2 and its rounds.
    structure : Chain
        A chain of order 1, without the labels; it may have constraints.
    constraints : sequence of constraints
        On neighbors, such as ``[Scheme("BIO")]``: those of `structure`, for short.
    window : int
        Trees also test the features of this number of positions before and after.
    metric : str or function
        The score of `score`, as in `ChainCRF`.
    random_state : int, optional
        For sub-sampling and draws.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : SequenceModel
        A chain whose attributes are the leaves of the trees, with the trees as its `feature_map`: it takes
        the same X. ``model_.explain`` shows which conjunctions count.
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

    _maps: ClassVar[str] = "trees"
    _beside: ClassVar[tuple[str, ...]] = ("n_iter_", "losses_", "dev_losses_")

    losses_: Floats = learned()
    dev_losses_: Floats = learned()

    @property
    def _trees(self) -> Trees:
        made = self.model_.feature_map
        assert isinstance(made, Trees)
        return made

    @property
    def forests_(self) -> Mapping[str, Forest]:
        """The trees of "node", and of "edge" where steps have some."""
        return self._trees.forests

    @property
    def columns_(self) -> int:
        """How many columns X has."""
        return self._trees.columns

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made = super()._of_model(model)
        made.window = model.feature_map.window
        return made

    _defaults: ClassVar[Mapping[str, Any]] = {"boosting": Boosting()}

    boosting: Boosting | None = None
    l2: float | None = None
    max_iterations: int | None = None
    structure: Chain | str | None = None
    constraints: Sequence[Constraint] = ()
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
        if not isinstance(self.boosting, Boosting | None):
            raise TypeError(f"boosting is {self.boosting!r}, expected Boosting, as Boosting(rounds=200)")
        check_number("window", self.window, 0, whole=True)
        check_neighbors(self.constraints, "BoostedCRF")
        given = self._part("structure")
        if not isinstance(given, Chain) or given.order != 1:
            raise ValueError(f"structure is {given.describe()}, but boosting learns chains of order 1")
        data = weighted(has_gold(self._labeled(X, y), "BoostedCRF", "labels"), sample_weight)
        trees = Trees({}, columns_of(data.batch), self.window)  # none yet
        judge = None
        if dev is not None:
            if not isinstance(dev, tuple) or len(dev) != 2:
                raise ValueError(f"dev is a {type(dev).__name__}, expected a pair (X, y)")
            held = self._labeled(*dev, data.labels.strings())
            if len(held.labels) > len(data.labels):
                new = held.labels.strings()[len(data.labels)]
                raise ValueError(f"dev has the label {new!r}, which y does not have")
            judge = trees.rows(held.batch), held.batch
        chain = given.with_labels(data.labels.strings())
        display = display_for(progress)
        try:
            found = boost(
                trees.rows(data.batch),
                data.batch,
                chain,
                self._part("boosting"),
                dev=judge,
                seed=self._seed,
                threads=self._threads,
                listener=display,
            )
        finally:
            if display is not None:
                display.close()
        self._keep_model(found, chain, trees, data.extractor)
        if found.interrupted:
            raise KeyboardInterrupt
        return self

    def _absent(self) -> Mapping[str, str]:
        return {"tag": "X is not tokens; use predict([x])"}

    def _keep_model(self, found: Boosted, chain: Chain, trees: Trees, made_by: ExtractorSpec | None) -> None:
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
        trees = replace(trees, forests={slot: one.forest for slot, one in found.leaves.items()})
        names = Names(Alphabet(chain.labels), trees.names["node"], trees.names.get("edge", Alphabet()))
        w = np.concatenate([node.value, of_steps, *tables])
        self.losses_, self.dev_losses_ = found.losses, found.dev_losses
        self.n_iter_ = found.rounds
        model = SequenceModel(chain, layout, names, w, made_by, feature_map=trees)
        self.classes_ = np.array(model.labels, dtype=object)
        self.model_ = recorded(self, model)

    def _labeled(self, X: Any, y: Any, known: Sequence[str] = ()) -> Dataset:
        data = read(X, None, self._threads)
        return data if y is None else labeled(data, y, Alphabet(known))
