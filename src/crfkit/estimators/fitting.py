"""How estimators train: what those of all structures share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import weights_of
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec, spelled_number
from crfkit.data.formats.columns import Columns
from crfkit.estimators.base import AnyConstraint, fixed, learned, split_constraints, unless_absent
from crfkit.estimators.continued_training import adapt, continued, joined
from crfkit.estimators.documents import Documented
from crfkit.estimators.parameters import Trained
from crfkit.estimators.saving import OF_FEATURES, InFiles, recorded
from crfkit.features import Recipe
from crfkit.inference.constrained.kinds import check_globals
from crfkit.metrics.default_metric import AUTO
from crfkit.models.model import Metric, SequenceModel
from crfkit.models.reading import are_docs, itemized, read, recipe_for
from crfkit.structures.structure import Structure
from crfkit.tags.schemes import canonical
from crfkit.training.curvature import with_curvature
from crfkit.training.events import Listener
from crfkit.training.fit import Init
from crfkit.training.foreign import refuse_in_fit
from crfkit.training.runs.checkpoint import Checkpoints
from crfkit.training.runs.convergence import WarnedLast, pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Call:
    """What one call of `fit` says beside X and y."""

    dev: Dataset | None = None
    unlabeled: Dataset | None = None
    init: Init = None  #: in place of that of the estimator
    checkpoint: str | os.PathLike[str] | Checkpoints | None = None
    listeners: Sequence[Listener] = ()
    progress: bool | None = False


def weighted(data: Dataset, sample_weight: ArrayLike | None) -> Dataset:
    """Return data with these weights of sequences [N], checked."""
    weight = weights_of(sample_weight, len(data))
    return data if weight is None else replace(data, batch=replace(data.batch, weight=weight))


class Fitting(Documented, InFiles, Trained):
    """An estimator whose parameters are those of `crfkit.train`, and which holds the model that it gives.

    What becomes of X and y is up to the structure: `_prepared` and `_dev_data`.
    """

    _needed: ClassVar[Mapping[str, str]] = OF_FEATURES
    structure: Any = None
    features: Any = "auto"
    init: Init = None
    metric: Metric | str = "auto"
    scheme: str = "auto"  #: of the tags in y
    constraints: Sequence[AnyConstraint] = ()  #: on neighbors, and on whole sequences

    model_: SequenceModel = learned()
    classes_: NDArray[np.object_] = learned()
    n_iter_: int = learned()
    _data_held: Dataset | None = fixed()  #: `data_`
    _since: tuple[SequenceModel, Dataset] | None = fixed()  #: the model of data that are gone, those since

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        """Return data with gold, whose labels begin with `known`, and the structure that fits them.

        `before` is the model that training goes on from.
        """
        raise NotImplementedError

    def _dev_data(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        """Return a dev set."""
        raise NotImplementedError

    @property
    def _scheme(self) -> str | None:
        """The scheme of the tags in y; None where the tags say it."""
        return None if self.scheme == AUTO else canonical(self.scheme)

    @property
    def _global_constraints(self) -> Any:
        """The constraints on whole sequences."""
        return split_constraints(self.constraints)[1] if self.constraints else ()

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
        checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
        listeners: Sequence[Listener] = (),
        progress: bool | None = False,
        **others: Any,
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Ctrl-C ends training: the estimator holds the model so far, and KeyboardInterrupt is raised. Where
        training ends before it converges there is a `ConvergenceWarning`, as in `crfkit.train`.

        Parameters
        ----------
        X : list of sequences, documents, Dataset, Columns or Batch
            See `crfkit.models.reading`. Documents of raw text (`crfkit.Doc`) bring their labels as spans.
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
        checkpoint : path or Checkpoints, optional
            A folder: training goes on from the checkpoint there, with the same result as if it had never
            been interrupted.
        listeners : sequence of functions
            Each is called with every event; see `crfkit.training.events`.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        **others
            There are none: what other tools call these is answered with what to write.
        """
        refuse_in_fit(others)
        if self.constraints != ():
            check_globals(self._global_constraints)
        X, y, docs = self._learning(X, y)
        X, recipe = self._read_by(X, y)
        self._check_text(X, recipe)
        data, structure = self._prepared(X, y, recipe, (), None)
        made_by = None if data.extractor is None else data.extractor.recipe
        judged = self._dev(dev, made_by or recipe, structure)
        more = None
        if unlabeled is not None:
            unlabeled = self._unfolded(unlabeled, spec=self._reads.spec)[0]
            more = read(itemized(self.features, unlabeled), made_by or recipe, self._threads)
        data = weighted(data, self._by_sentence(sample_weight, docs))
        call = Call(judged, more, None, checkpoint, listeners, progress)
        return self._fitted(data, structure, recipe, call)

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
        self._data_held = self._since = None

    def _without_data(self) -> SequenceModel:
        """Return the model with what it needs to learn from new data alone."""
        held, model = self._data_held, self.model_
        if held is None or model.curvature is not None:
            return model
        return with_curvature(model, held, self._part("objective"), threads=self._threads)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not the data."""
        state: dict[str, Any] = {**super().__getstate__()}
        state.pop("_since", None)
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
        *,
        classes: Sequence[str | int] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from new data too, and keep what was learned before; without anything, as `fit` does.

        An estimator holds the data that it was trained on (`data_`), and trains on these and the new ones
        from the weights that it has, which ends where `fit` on both does. Where the data are gone (after
        ``del estimator.data_``, in a pickle's copy), moves away from the weights before are penalized by how
        firmly the old data held them (`crfkit.estimators.continued_training`), and the data since are held
        in their stead; the optimizer must then need only values and gradients, as "lbfgs" does, which is
        what "auto" takes. Where that is not known either, as of a perceptron, it is refused. New attributes
        and labels are added.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : list of str, optional
            Labels that there are, seen or not.
        """
        if self.constraints != ():
            check_globals(self._global_constraints)
        before: SequenceModel | None = getattr(self, "model_", None)
        X, y, docs = self._learning(X, y)
        X, recipe = self._read_by(X, y)
        self._check_text(X, recipe)
        if before is not None:
            recipe = self._going_on(X, recipe, before.recipe)
        known = [*(() if before is None else before.answers), *map(spelled_number, classes or ())]
        data, structure = self._prepared(X, y, recipe, known, before)
        data = weighted(data, self._by_sentence(sample_weight, docs))
        if before is None:
            return self._fitted(data, structure, recipe, Call())
        held = self._data_held
        if held is not None:
            both = joined(held, data, before)
            # Averages of a perceptron go on from a start that no longer has a mistake to learn from.
            start = before if self._part("objective").minimizes else None
            return self._fitted(both, continued(before, structure, both), recipe, Call(init=start))
        anchor = before
        if self._since is not None:
            anchor, earlier = self._since
            data = joined(earlier, data, before)
            structure = continued(before, structure, data)
        with WarnedLast():
            model = adapt(
                anchor,
                data,
                structure=structure,
                features=self._part("selection"),
                objective=self._part("objective"),
                optimizer=self.optimizer,
                stop=self._part("stop"),
                start=before,
                seed=self._seed,
                threads=self._threads,
            )
            self._since = anchor, data
            return self._keep_model(_with(model, recipe))

    def _going_on(self, X: Any, recipe: Recipe | None, before: Recipe | None) -> Recipe | None:
        """Return the recipe of data to learn from next: what the first ones led to holds for all."""
        if recipe is not None and recipe.lacks_mean:
            return before or recipe  # with the mean of what was learned first
        if self.features != "auto" or isinstance(X, Dataset | Batch):
            return recipe
        if before is None and recipe is not None:
            raise ValueError(
                "X is tokens, and the model was trained on features of positions; give these, as in fit"
            )
        return before

    def _fitted(self, data: Dataset, structure: Structure, recipe: Recipe | None, call: Call) -> Self:
        """Train on data, and hold them where there is `partial_fit`."""
        data = data.freeze()  # the model takes these very alphabets, so that ids need no renaming
        with WarnedLast():
            model = self._train(data, structure, call)
            self._data_held, self._since = None if "partial_fit" in self._absent() else data, None
            return self._keep_model(_with(model, recipe))

    def _dev(self, dev: Any, recipe: Recipe | None, structure: Structure) -> Dataset | None:
        """Return the data to score on, of a pair (X, y) or of data with labels."""
        if dev is None:
            return None
        if are_docs(dev):
            X, y, _ = self._unfolded(dev, spec=self._reads.spec)
            return self._dev_data(itemized(self.features, X), y, recipe, structure)
        if isinstance(dev, Dataset | Batch | Columns):
            return self._dev_data(itemized(self.features, dev), None, recipe, structure)
        if not isinstance(dev, tuple) or len(dev) != 2:
            raise ValueError(
                f"dev is a {type(dev).__name__}, expected a pair, as in fit(X, y, dev=(X_dev, y_dev)), or a "
                "Dataset or Columns with labels"
            )
        return self._dev_data(itemized(self.features, dev[0]), dev[1], recipe, structure)

    def _train(self, data: Dataset, structure: Structure, call: Call) -> SequenceModel:
        return train(
            data,
            call.dev,
            unlabeled=call.unlabeled,
            structure=structure,
            selection=self._part("selection"),
            objective=self._part("objective"),
            optimizer=self.optimizer,
            init=self.init if call.init is None else call.init,
            metric=self._dev_metric,
            stop=self._part("stop"),
            random_state=self._seed,
            n_jobs=self._threads,
            checkpoint=call.checkpoint,
            listeners=call.listeners,
            progress=call.progress,
        )

    def _keep_model(self, model: SequenceModel) -> Self:
        model = self._with_text(
            model.constrained(self._global_constraints) if len(self._global_constraints) else model
        )
        self.model_ = recorded(self, model)
        self.classes_ = np.array(model.labels, dtype=object)
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
