"""How estimators train: what those of all structures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import weights_of
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.estimators.adapting import adapt, continued, joined
from crfkit.estimators.base import fixed, learned, unless_absent
from crfkit.estimators.inputs import AnyConstraint, itemized, recipe_for, split_constraints
from crfkit.estimators.keeping import InFiles, recorded
from crfkit.estimators.parameters import Trained
from crfkit.features import Recipe
from crfkit.inference.constrained.kinds import check_globals
from crfkit.models.model import Metric, SequenceModel
from crfkit.models.reading import read
from crfkit.structures.structure import Structure
from crfkit.training.curvature import with_curvature
from crfkit.training.fit import Init
from crfkit.training.runs.convergence import WarnedLast, pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Fitting", "has_gold", "weighted"]


def weighted(data: Dataset, sample_weight: ArrayLike | None) -> Dataset:
    """Return data with these weights of sequences [N], checked."""
    weight = weights_of(sample_weight, len(data))
    return data if weight is None else replace(data, batch=replace(data.batch, weight=weight))


class Fitting(InFiles, Trained):
    """An estimator whose parameters are those of `crfkit.train`, and which holds the model that it gives.

    What becomes of X and y is up to the structure: `_prepared` and `_judged`.
    """

    _needed: ClassVar[Mapping[str, str]] = {
        "features": "features is a function, which a file cannot hold: pickle the estimator, or train a "
        "model on the items that the function makes, and save that"
    }
    structure: Any = None
    features: Any = "auto"
    init: Init = None
    metric: Metric | str = "auto"
    constraints: Sequence[AnyConstraint] = ()  #: on neighbors, and on whole sequences

    model_: SequenceModel = learned()
    classes_: NDArray[np.object_] = learned()
    n_iter_: int = learned()
    _data_held: Dataset | None = fixed()  #: `data_`

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        """Return data with gold, whose labels begin with `known`, and the structure that fits them.

        `before` is the model that training goes on from.
        """
        raise NotImplementedError

    def _judged(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        """Return a dev set."""
        raise NotImplementedError

    @property
    def _whole(self) -> Any:
        """The constraints on whole sequences."""
        return split_constraints(self.constraints)[1] if self.constraints else ()

    def _part(self, name: str) -> Any:
        """Return a part; the structure keeps the constraints about neighbors."""
        part = super()._part(name)
        near = split_constraints(self.constraints)[0] if self.constraints and name == "structure" else ()
        if near and not (self.structure is None or isinstance(self.structure, str)):
            raise ValueError(
                f"constraints has {near[0]}, which is about neighbors, beside structure="
                f"{type(part).__name__}(...): write structure={type(part).__name__}(constraints=[{near[0]}])"
            )
        return replace(part, constraints=near) if near else part

    def _read_by(self, X: Any, y: Any) -> tuple[Any, Recipe | None]:
        """Return X as attributes or as what a recipe reads, and the recipe."""
        X, segments = itemized(self.features, X), self._part("structure").segmental
        return X, recipe_for(self.features, X, gold=y is None, segments=segments)

    @property
    def _dev_metric(self) -> Metric | str:
        return self.metric

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        sample_weight: ArrayLike | None = None,
        unlabeled: Any = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Ctrl-C ends training: the estimator holds the model so far, and KeyboardInterrupt is raised. Where
        training ends before it converges there is a `ConvergenceWarning`, as in `crfkit.train`.

        Parameters
        ----------
        X : list of sequences, Dataset, Columns or Batch
            See `crfkit.models.reading`.
        y : list of lists
            One label for each position; None where it is not known or for a whole sequence, a set where it
            is one of several, a dict where they have probabilities (`crfkit.data.dataset`). `SemiCRF` also
            takes tags and segments. May be left out where X has labels: a Dataset, or Columns, whose labels
            are in the column called label, else in the last one.
        dev : (X, y), Dataset, Columns or Batch, optional
            Data with labels to score the weights on: training ends when the score no longer rises, and the
            best are kept.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        unlabeled : list of sequences, Dataset or Columns, optional
            Further sequences without labels, for the objectives "entropy" and "posterior".
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        check_globals(self._whole)
        X, recipe = self._read_by(X, y)
        data, structure = self._prepared(X, y, recipe, (), None)
        made_by = None if data.extractor is None else data.extractor.recipe
        judged = self._dev(dev, made_by or recipe, structure)
        more = None
        if unlabeled is not None:
            more = read(itemized(self.features, unlabeled), made_by or recipe, self._threads)
        data = weighted(data, sample_weight)
        return self._fitted(data, structure, recipe, progress, judged, unlabeled=more)

    @property
    def data_(self) -> Dataset:
        """What was learned from, for `partial_fit`; it is not in pickles and copies, and `del` frees it.

        What is left of it then is how firmly it held the weights (`SequenceModel.curvature`).
        """
        if self._data_held is None:
            raise AttributeError("data_")  # `__getattr__` says why
        return self._data_held

    @data_.deleter
    def data_(self) -> None:
        self.model_ = self._without_data()
        self._data_held = None

    def _without_data(self) -> SequenceModel:
        """Return the model with what it needs to learn on without data."""
        held, model = self._data_held, self.model_
        if held is None or model.curvature is not None:
            return model
        return with_curvature(model, held, self._part("objective"), threads=self._threads)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not the data."""
        state: dict[str, Any] = {**super().__getstate__()}
        if state.pop("_data_held", None) is not None:
            state["model_"] = self._without_data()
        return state

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Say why there is no such attribute."""
            if name == "data_":
                raise AttributeError(
                    f"this {type(self).__name__} does not hold the data that it was trained on"
                )
            super().__getattr__(name)

    @unless_absent
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Learn on from what was learned before, and keep it; without anything, as `fit` does.

        An estimator holds the data that it was trained on (`data_`), and trains on these and the new ones
        from the weights that it has, which ends where `fit` on both does. Where the data are gone (after
        ``del estimator.data_``, in a pickle's copy), moves away from the weights before are penalized by how
        firmly the old data held them (`crfkit.estimators.adapting`); the optimizer must then need only values
        and gradients, as "lbfgs" does, which is what "auto" takes. Where that is not known either, as of a
        perceptron, it is refused. New attributes and labels are added.

        Parameters
        ----------
        X, y, sample_weight, progress
            As in `fit`.
        classes : list of str, optional
            Labels that there are, seen or not.
        """
        check_globals(self._whole)
        before: SequenceModel | None = getattr(self, "model_", None)
        X, recipe = self._read_by(X, y)
        if before is not None and recipe is not None and recipe.lacks_mean:
            recipe = before.recipe or recipe  # with the mean of what was learned first
        known = [*(() if before is None else before.answers), *(classes or ())]
        data, structure = self._prepared(X, y, recipe, known, before)
        data = weighted(data, sample_weight)
        if before is None:
            return self._fitted(data, structure, recipe, progress)
        held = self._data_held
        if held is not None:
            both = joined(held, data, before)
            # Averages of a perceptron go on from a start that no longer has a mistake to learn from.
            start = before if self._part("objective").minimizes else None
            return self._fitted(both, continued(before, structure, both), recipe, progress, init=start)
        with WarnedLast():
            model = adapt(
                before,
                data,
                structure=structure,
                features=self._part("selection"),
                objective=self._part("objective"),
                optimizer=self.optimizer,
                stop=self._part("stop"),
                seed=self._seed,
                threads=self._threads,
                progress=progress,
            )
            return self._learned(_with(model, recipe))

    def _fitted(
        self,
        data: Dataset,
        structure: Structure,
        recipe: Recipe | None,
        progress: bool | None,
        dev: Dataset | None = None,
        init: Init = None,
        unlabeled: Dataset | None = None,
    ) -> Self:
        """Train on data, and hold them where there is learning on."""
        data = data.freeze()  # the model takes these very alphabets, so that ids need no renaming
        with WarnedLast():
            model = self._train(data, structure, progress, dev, init, unlabeled)
            self._data_held = None if "partial_fit" in self._absent() else data
            return self._learned(_with(model, recipe))

    def _dev(self, dev: Any, recipe: Recipe | None, structure: Structure) -> Dataset | None:
        """Return the data to score on, of a pair (X, y) or of data with labels."""
        if dev is None:
            return None
        if isinstance(dev, Dataset | Batch | Columns):
            return self._judged(itemized(self.features, dev), None, recipe, structure)
        if not isinstance(dev, tuple) or len(dev) != 2:
            raise ValueError(
                f"dev is a {type(dev).__name__}, expected a pair, as in fit(X, y, dev=(X_dev, y_dev)), or a "
                "Dataset or Columns with labels"
            )
        return self._judged(itemized(self.features, dev[0]), dev[1], recipe, structure)

    def _train(
        self,
        data: Dataset,
        structure: Structure,
        progress: bool | None,
        dev: Dataset | None = None,
        init: Init = None,
        unlabeled: Dataset | None = None,
    ) -> SequenceModel:
        return train(
            data,
            dev,
            unlabeled=unlabeled,
            structure=structure,
            selection=self._part("selection"),
            objective=self._part("objective"),
            optimizer=self.optimizer,
            init=self.init if init is None else init,
            metric=self._dev_metric,
            stop=self._part("stop"),
            random_state=self._seed,
            n_jobs=self._threads,
            progress=progress,
        )

    def _learned(self, model: SequenceModel) -> Self:
        model = model.constrained(self._whole) if len(self._whole) else model
        self.model_ = recorded(self, model)
        self.classes_ = np.array(model.answers, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations
        pass_on(model.training)
        return self


def has_gold(data: Dataset, who: str, what: str) -> Dataset:
    """Return data that have sequences with gold; refuse others."""
    batch = data.batch
    if not len(data):
        raise ValueError("X has no sequences (0 samples): there is nothing to learn from")
    if batch.label is None and batch.allowed is None and batch.soft is None:
        raise ValueError(
            f"y is missing: {who} requires y to be passed, but the target y is None; give one list of "
            f"{what} for each sequence"
        )
    return data


def _with(model: SequenceModel, recipe: Recipe | None) -> SequenceModel:
    """Return a model that knows the recipe."""
    if recipe is None or recipe.lacks_mean:  # the data have the recipe with its mean
        return model
    made_by = model.extractor or ExtractorSpec()
    return replace(model, extractor=replace(made_by, recipe=recipe, hashed=None))
