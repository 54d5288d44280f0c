"""`ChainCRF`: a linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.estimators.adapting import adapt
from crfkit.estimators.labelling import labelled
from crfkit.estimators.params import PartParams
from crfkit.estimators.queries import ChainQueries, dev_metric, weights_of
from crfkit.estimators.reading import Reader, read, recipe_of
from crfkit.features import Recipe
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric, Model
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import Optimiser
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint, Scheme
from crfkit.training.choose import objective_of
from crfkit.training.fit import Likely
from crfkit.training.foreign import refuse_unknown
from crfkit.training.interrupt import pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ChainCRF"]

_LIKELIHOOD: Final = Likelihood()  # frozen, so estimators may share it


class ChainCRF(ChainQueries, PartParams):
    """A linear-chain conditional random field that follows the conventions of scikit-learn.

    Parameters
    ----------
    objective : Likelihood, Perceptron, or the name of one
        What to optimise, penalty included. Its options are parameters too: ``objective__l2``.
    optimiser : an optimiser, its name, or "auto"
        "auto" takes the fastest sound one. Options of an object are parameters: ``optimiser__memory``.
    features : {"observed", "all", "likely"} or Likely
        Which pairs of attribute and label have a weight.
    template : str, path or Recipe, optional
        Text of a template (crfkit's own, CRF++ or Wapiti), a `pathlib.Path` to one, or a Recipe: X is then
        rows of tokens. Without one, X is features.
    order : int
        How many labels before the current one a transition looks at.
    constraints : sequence of constraints
        See `crfkit.structures.constraints`.
    transitions : {"all", "observed", "none"}
        Which steps have a weight of their own, whatever a template says.
    start, stop : bool
        Weights for the first and the last label.
    min_count : float
        Keep what is seen at least so often.
    scheme : str or Scheme, optional
        Labels spell segments, as "BIO" or "BIOES": others are neither learned nor predicted, and segment
        metrics read labels so.
    max_seconds, max_iterations : optional
        The budget of training.
    patience : float, optional
        Passes over the data without a better dev score before training ends; None: it goes on. See
        `crfkit.train`.
    metric : str or function, optional
        Of the dev set and of `score`. Default: what fits the labels, and the token accuracy.
    seed : int
        For optimisers that draw, and for `sample`.
    threads : int, optional
        Default: all cores. Results do not depend on it.
    progress : bool, optional
        Show progress; None: where standard error is a terminal.

    Attributes
    ----------
    model_ : Model
        Save, explain or convert it; ``model_.training`` tells how it came about.
    classes_ : array of str [L]
        The labels, in the order of the columns of `predict_marginals`: by first appearance.
    n_iter_ : int
        Iterations of the last training.
    extractor_ : Reader
        Makes data sets of X and y.

    Notes
    -----
    What X and y may be: `crfkit.estimators.reading` and `crfkit.estimators.labelling`. An estimator is not a
    classifier for scikit-learn, whose classifiers have one label for each sample: cross-validation does not
    stratify, and scorers come from `crfkit.metrics.scorer`. ``cross_val_predict`` returns an array of lists
    of labels; it allows scikit-learn's own methods only, so marginals of folds need a loop over ``KFold``.

    Examples
    --------
    >>> from crfkit import ChainCRF, Likelihood
    >>> X = [[{"w": "the"}, {"w": "old"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}]]
    >>> crf = ChainCRF(objective=Likelihood(l2=0.1)).fit(X, [["D", "A", "N"], ["D", "N"]])
    >>> crf.predict([[{"w": "the"}, {"w": "dog"}]])
    [['D', 'N']]
    >>> crf.set_params(objective__l2=0.5).objective.l2
    0.5
    >>> tagger = ChainCRF(template="w[-1..1]; suffix(w, 2)[0]").fit([["the", "dog"]], [["D", "N"]])
    >>> tagger.predict([["the", "hog"]])
    [['D', 'N']]
    """

    _parts: ClassVar[tuple[str, ...]] = ("objective", "optimiser", "features", "scheme")

    classes_: NDArray[np.object_]
    n_iter_: int

    def __init__(
        self,
        objective: Objective | str = _LIKELIHOOD,
        optimiser: Optimiser | str = "auto",
        features: Literal["observed", "all", "likely"] | Likely = "observed",
        template: Any = None,
        order: int = 1,
        constraints: Sequence[Constraint] = (),
        transitions: Literal["all", "observed", "none"] = "all",
        start: bool = False,
        stop: bool = False,
        min_count: float = 0,
        scheme: str | Scheme | None = None,
        max_seconds: float | None = None,
        max_iterations: int | None = None,
        patience: float | None = 10,
        metric: Metric | str | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: bool | None = False,
        **unknown: NoReturn,
    ) -> None:
        refuse_unknown(unknown, type(self).__name__, self._get_param_names())
        self.objective = objective
        self.optimiser = optimiser
        self.features = features
        self.template = template
        self.order = order
        self.constraints = constraints
        self.transitions = transitions
        self.start = start
        self.stop = stop
        self.min_count = min_count
        self.scheme = scheme
        self.max_seconds = max_seconds
        self.max_iterations = max_iterations
        self.patience = patience
        self.metric = metric
        self.seed = seed
        self.threads = threads
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Ctrl-C ends training: the estimator holds the model so far, and KeyboardInterrupt is raised. Where
        training ends before it converges there is a `ConvergenceWarning`, as in `crfkit.train`.

        Parameters
        ----------
        X : list of sequences, Dataset, Columns or Batch
            See `crfkit.estimators.reading`.
        y : list of lists
            One label for each position; None where it is not known, a set where it is one of several, a dict
            where they have probabilities (`crfkit.estimators.labelling`). May be left out where X has labels.
        X_dev, y_dev : optional
            Judge the weights as they go: training ends when they get no better, and the best are kept.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        """
        recipe = recipe_of(self.template)
        data = self._labelled(read(X, recipe, None, self.threads), y, sample_weight)
        return self._learned(replace(self._train(data, self._dev(X_dev, y_dev, recipe)), recipe=recipe))

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn on from what was learned before; without anything, as `fit` does.

        The L2 penalty pulls towards the weights before instead of 0 (`crfkit.estimators.adapting`): weights
        of attributes that the new sequences lack stay. Transitions are shared and move, so old data may be
        labelled worse; a larger l2 holds on to more. New attributes and labels are added. The optimiser must
        need values and gradients alone, as "lbfgs" does, which is what "auto" takes.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : list of str, optional
            Labels that there are, seen or not.
        """
        before: Model | None = getattr(self, "model_", None)
        recipe = recipe_of(self.template)
        known = [*(() if before is None else before.labels.strings()), *(classes or ())]
        data = self._labelled(read(X, recipe, None, self.threads), y, sample_weight, known)
        if y is None and classes is not None:  # the data brought labels of their own
            data = replace(data, labels=Alphabet([*data.labels.strings(), *classes]))
        if before is None:
            return self._learned(replace(self._train(data), recipe=recipe))
        model = adapt(
            before,
            data,
            Chain(data.labels.strings(), self.order, self._constraints()),
            objective_of(self.objective),
            self.features,
            {
                "min_count": self.min_count,
                "transitions": self.transitions,
                "start": self.start,
                "stop": self.stop,
            },
            self.optimiser,
            self.seed,
            self.threads,
            {
                "max_seconds": self.max_seconds,
                "max_iterations": self.max_iterations,
                "progress": self.progress,
            },
        )
        return self._learned(replace(model, recipe=recipe))

    def _labelled(
        self, data: Dataset, y: Any, sample_weight: ArrayLike | None, known: Sequence[str] = ()
    ) -> Dataset:
        if y is not None:
            data = labelled(data, y, Alphabet(known))
        batch = data.batch
        if batch.label is None and batch.allowed is None and batch.soft is None:
            raise ValueError(
                "y is missing: ChainCRF requires y to be passed, but the target y is None; give one list of "
                "labels for each sequence"
            )
        if not len(data):
            raise ValueError("X has no sequences (0 samples): there is nothing to learn from")
        weight = weights_of(sample_weight, len(data))
        return data if weight is None else replace(data, batch=replace(batch, weight=weight))

    def _dev(self, X: Any, y: Any, recipe: Recipe | None) -> Dataset | None:
        if X is None and y is None:
            return None
        if X is None or (y is None and not isinstance(X, Dataset | Batch)):
            raise ValueError("X_dev and y_dev go together: give both, or X_dev as a Dataset with labels")
        data = read(X, recipe, None, self.threads)
        return data if y is None else labelled(data, y, Alphabet())

    def _constraints(self) -> tuple[Constraint, ...]:
        if self.scheme is None:
            return tuple(self.constraints)
        return (*self.constraints, Scheme(self.scheme) if isinstance(self.scheme, str) else self.scheme)

    def _train(self, data: Dataset, dev: Dataset | None = None) -> Model:
        return train(
            data.freeze(),  # the model takes these very alphabets, so that ids need no renaming
            dev,
            objective=self.objective,
            optimiser=self.optimiser,
            features=self.features,
            min_count=self.min_count,
            transitions=self.transitions,
            start=self.start,
            stop=self.stop,
            order=self.order,
            constraints=self._constraints(),
            metric=dev_metric(self.metric, self.scheme),
            patience=self.patience,
            max_seconds=self.max_seconds,
            max_iterations=self.max_iterations,
            seed=self.seed,
            threads=self.threads,
            progress=self.progress,
        )

    def _learned(self, model: Model) -> Self:
        self.model_ = model
        named = len(model.attributes) > 0 or model.layout.attributes == 0
        self.extractor_ = Reader(model.recipe, model.labels, model.attributes, model.edge_attributes, named)
        self.classes_ = np.array(model.chain.labels, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations
        pass_on(model.training)
        return self
