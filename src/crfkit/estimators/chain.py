"""`ChainCRF`: a linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from numpy.typing import ArrayLike

from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.labelling import labelled
from crfkit.estimators.adapting import adapt
from crfkit.estimators.fitting import Fitting, weighted
from crfkit.estimators.queries import ChainQueries, dev_metric
from crfkit.features import Recipe
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric, Model
from crfkit.models.reading import read, recipe_of
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import Optimiser
from crfkit.structures import Chain
from crfkit.training.choose import objective_of
from crfkit.training.fit import Init
from crfkit.training.foreign import refuse_flag, refuse_unknown
from crfkit.training.stop import Stop
from crfkit.training.train import structure_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ChainCRF"]

# Frozen, so that estimators may share them; objects, so that their options are parameters.
_CHAIN: Final = Chain()
_FEATURES: Final = Features()
_LIKELIHOOD: Final = Likelihood()
_STOP: Final = Stop()


class ChainCRF(ChainQueries, Fitting):
    """A linear-chain conditional random field that follows the conventions of scikit-learn.

    Parameters
    ----------
    structure : Chain, or "chain"
        What is labelled how, without the labels, which are found in y: ``Chain(order=2)``. Where its
        constraints have a `crfkit.structures.constraints.Scheme`, labels spell segments: others are neither
        learned nor predicted, and segment metrics read labels so.
    features : Features, or one of "observed", "all", "likely"
        Which weights there are: ``Features(min_count=3)``.
    objective : Likelihood, Perceptron, or the name of one
        What to optimise, penalty included.
    optimiser : an optimiser, its name, or "auto"
        "auto" takes the fastest sound one.
    init : Model, "memm" or function, optional
        Where `fit` starts, as in `crfkit.train`; `partial_fit` goes on from what it has.
    stop : Stop
        When training ends: ``Stop(max_iterations=50)``.
    template : str, path or Recipe, optional
        Text of a template (crfkit's own, CRF++ or Wapiti), a `pathlib.Path` to one, or a Recipe: X is then
        rows of tokens. Without one, X is features.
    metric : str or function, optional
        Of the dev set and of `score`. Default: what fits the labels, and the token accuracy.
    seed : int
        For optimisers that draw, and for `sample`.
    threads : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : Model
        Save, explain or convert it; ``model_.training`` says how it was trained.
    classes_ : array of str [L]
        The labels, in the order of the columns of `predict_marginals`: by first appearance.
    n_iter_ : int
        Iterations of the last training.

    Notes
    -----
    Options of structure, features, objective, optimiser and stop are parameters too, as in a grid search over
    ``structure__order``, ``features__min_count``, ``objective__l2`` and ``stop__max_iterations``.

    What X and y may be: `crfkit.models.reading` and `crfkit.data.labelling`. An estimator is not a
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
    >>> crf.set_params(objective__l2=0.5, structure__order=2).structure.order
    2
    >>> tagger = ChainCRF(template="w[-1..1]; suffix(w, 2)[0]").fit([["the", "dog"]], [["D", "N"]])
    >>> tagger.predict([["the", "hog"]])
    [['D', 'N']]
    """

    _parts: ClassVar[Mapping[str, Callable[[Any], Any] | None]] = {
        "structure": structure_of,
        "features": Features.of,
        "objective": objective_of,
        "optimiser": None,
        "stop": None,
    }

    def __init__(
        self,
        structure: Chain | str = _CHAIN,
        features: Features | str = _FEATURES,
        objective: Objective | str = _LIKELIHOOD,
        optimiser: Optimiser | str = "auto",
        init: Init = None,
        stop: Stop = _STOP,
        template: Any = None,
        metric: Metric | str | None = None,
        seed: int = 0,
        threads: int | None = None,
        **unknown: NoReturn,
    ) -> None:
        refuse_unknown(unknown, type(self).__name__, self._get_param_names())
        refuse_flag(stop, type(self).__name__)
        self.structure = structure
        self.features = features
        self.objective = objective
        self.optimiser = optimiser
        self.init = init
        self.stop = stop
        self.template = template
        self.metric = metric
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        sample_weight: ArrayLike | None = None,
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
            One label for each position; None where it is not known, a set where it is one of several, a dict
            where they have probabilities (`crfkit.data.labelling`). May be left out where X has labels.
        X_dev, y_dev : optional
            Data to score the weights on: training ends when the score no longer rises, and the best are kept.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        recipe = recipe_of(self.template)
        data = self._labelled(read(X, recipe, self.threads), y, sample_weight)
        model = self._fitted(data, progress, self._dev(X_dev, y_dev, recipe))
        return self._learned(_with(model, recipe))

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Learn on from what was learned before; without anything, as `fit` does.

        The L2 penalty pulls towards the weights before instead of 0 (`crfkit.estimators.adapting`): weights
        of attributes that the new sequences lack stay. Transitions are shared and move, so old data may be
        labelled worse; a larger l2 holds on to more. New attributes and labels are added. The optimiser must
        need only values and gradients, as "lbfgs" does, which is what "auto" takes.

        Parameters
        ----------
        X, y, sample_weight, progress
            As in `fit`.
        classes : list of str, optional
            Labels that there are, seen or not.
        """
        before: Model | None = getattr(self, "model_", None)
        recipe = recipe_of(self.template)
        known = [*(() if before is None else before.labels.strings()), *(classes or ())]
        data = self._labelled(read(X, recipe, self.threads), y, sample_weight, known)
        if y is None and classes is not None:  # the data brought labels of their own
            data = replace(data, labels=Alphabet([*data.labels.strings(), *classes]))
        if before is None:
            return self._learned(_with(self._fitted(data, progress), recipe))
        model = adapt(
            before,
            data,
            structure=structure_of(self.structure),
            features=Features.of(self.features),
            objective=objective_of(self.objective),
            optimiser=self.optimiser,
            stop=Stop.of(self.stop),
            seed=self.seed,
            threads=self.threads,
            progress=progress,
        )
        return self._learned(_with(model, recipe))

    def _fitted(self, data: Dataset, progress: bool | None, dev: Dataset | None = None) -> Model:
        return self._train(data, progress, dev, self.init, dev_metric(self.metric, self._scheme))

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
        return weighted(data, sample_weight)

    def _dev(self, X: Any, y: Any, recipe: Recipe | None) -> Dataset | None:
        if X is None and y is None:
            return None
        if X is None or (y is None and not isinstance(X, Dataset | Batch)):
            raise ValueError(
                "only one of X_dev and y_dev is given; give both, or X_dev as a Dataset with labels"
            )
        data = read(X, recipe, self.threads)
        return data if y is None else labelled(data, y, Alphabet())


def _with(model: Model, recipe: Recipe | None) -> Model:
    return model if recipe is None else replace(model, extractor=ExtractorSpec(recipe))
