"""`ChainCRF`: a linear-chain CRF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, NoReturn

from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.labeling import labeled
from crfkit.estimators.fitting import Fitting, has_gold
from crfkit.estimators.queries import SequenceQueries
from crfkit.features import Recipe
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.models.encoding import encoded
from crfkit.models.model import Metric, Model
from crfkit.models.reading import read
from crfkit.objectives import Likelihood
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Chain
from crfkit.structures.structure import Structure
from crfkit.training.choose import objective_of
from crfkit.training.fit import Init
from crfkit.training.foreign import refuse_unknown
from crfkit.training.stop import Stop
from crfkit.training.train import structure_of

__all__ = ["ChainCRF"]

# Frozen, so that estimators may share them; objects, so that their options are parameters.
_CHAIN: Final = Chain()
_FEATURES: Final = Features()
_LIKELIHOOD: Final = Likelihood()
_STOP: Final = Stop()


class ChainCRF(SequenceQueries, Fitting):
    """A linear-chain conditional random field that follows the conventions of scikit-learn.

    Parameters
    ----------
    structure : Chain, or "chain"
        What is labeled how, without the labels, which are found in y: ``Chain(order=2)``. Where its
        constraints have a `crfkit.structures.constraints.Scheme`, labels spell segments: others are neither
        learned nor predicted, and segment metrics read labels so.
    features : Features, or one of "observed", "all", "likely"
        Which weights there are: ``Features(min_count=3)``.
    objective : Likelihood, Perceptron, or the name of one
        What to optimize, penalty included.
    optimizer : an optimizer, its name, or "auto"
        "auto" takes the fastest sound one.
    init : Model, "memm" or function, optional
        Where `fit` starts, as in `crfkit.train`; `partial_fit` goes on from what it has.
    stop : Stop
        When training ends: ``Stop(max_iterations=50)``.
    template : str, path or Recipe, optional
        Text of a template (crfkit's own, CRF++ or Wapiti), a `pathlib.Path` to one, or a Recipe: X is then
        rows of tokens. Without one, X is features.
    encoding : {"IO", "BIO", "BIOES", "BCEU"}, optional
        Train on other labels than those of y, which must spell segments (`crfkit.models.encoding`): "BCEU"
        has begin, continue, end and unique. Whatever the estimator returns, and ``classes_``, is as in y.
    metric : str or function
        Of the dev set and of `score`: a name of `crfkit.metrics`, "log_prob", or a function of gold and
        predicted labels. "auto": the F1 of entities where labels spell them, else the accuracy of tokens.
    seed : int
        For optimizers that draw, and for `sample`.
    threads : int, optional
        Default: all cores. Results do not depend on it.
    constraints : sequence of constraints
        On whole labelings, such as ``[Once()]`` (`crfkit.constraints`): labels that are predicted keep them,
        exactly; training, probabilities and draws do not know them.

    Attributes
    ----------
    model_ : Model
        Save, explain or convert it; ``model_.training`` says how it was trained.
    classes_ : array of str [L]
        The labels, in the order of the columns of `predict_proba`: by first appearance.
    n_iter_ : int
        Iterations of the last training.

    Notes
    -----
    Options of structure, features, objective, optimizer and stop are parameters too, as in a grid search over
    ``structure__order``, ``features__min_count``, ``objective__l2`` and ``stop__max_iterations``.

    What X and y may be: `crfkit.models.reading` and `crfkit.data.labeling`. An estimator is not a
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
        "optimizer": None,
        "stop": None,
    }

    def __init__(
        self,
        structure: Chain | str = _CHAIN,
        features: Features | str = _FEATURES,
        objective: Objective | str = _LIKELIHOOD,
        optimizer: Optimizer | str = "auto",
        init: Init = None,
        stop: Stop = _STOP,
        template: Any = None,
        encoding: str | None = None,
        metric: Metric | str = "auto",
        seed: int = 0,
        threads: int | None = None,
        constraints: Sequence[GlobalConstraint] = (),
        **unknown: NoReturn,
    ) -> None:
        refuse_unknown(unknown, type(self).__name__, self._get_param_names())
        self.structure = structure
        self.features = features
        self.objective = objective
        self.optimizer = optimizer
        self.init = init
        self.stop = stop
        self.template = template
        self.encoding = encoding
        self.metric = metric
        self.seed = seed
        self.threads = threads
        self.constraints = constraints

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: Model | None
    ) -> tuple[Dataset, Structure]:
        data = read(X, recipe, self.threads, gold=y is None)
        if y is not None:
            data = labeled(data, y, Alphabet(known))
        elif known:  # the data brought labels of their own
            data = replace(data, labels=Alphabet([*data.labels.strings(), *known]))
        return self._encoded(has_gold(data, "ChainCRF", "labels")), structure_of(self.structure)

    def _judged(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        data = read(X, recipe, self.threads, gold=y is None)
        return self._encoded(data if y is None else labeled(data, y, Alphabet()))

    def _encoded(self, data: Dataset) -> Dataset:
        return data if self.encoding is None else encoded(data, self.encoding)
