"""`HiddenChainCRF`: a chain with several hidden states for each label, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from crfkit.arrays import Floats
from crfkit.checks import check_choice, check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.base import check_neighbors, fixed
from crfkit.estimators.fitting import Call, Fitting, has_gold
from crfkit.estimators.queries import SequenceQueries
from crfkit.estimators.saving import recorded
from crfkit.features import Recipe
from crfkit.linear.layout import Layout
from crfkit.models.model import SequenceModel
from crfkit.models.reading import read
from crfkit.models.scores import DECISIONS
from crfkit.models.states import States, barred, state_names
from crfkit.optimize.problem import End
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint, Resolved
from crfkit.structures.gold import kind_of_gold
from crfkit.structures.structure import Structure
from crfkit.training.fit import Init
from crfkit.training.runs.checkpoint import within

if TYPE_CHECKING:
    from typing_extensions import Self


_SPREAD: Final = 0.5  #: standard deviation of the first weights; at 0 the states of a label stay the same


class HiddenStates(Fitting):
    """What estimators with hidden states share: random starts, and a chain over states."""

    states: int | Mapping[str, int] = 2
    restarts: int = 1
    structure: Chain | str | None = None
    order: int | None = None
    init: Init = fixed()
    constraints: Any = fixed(())
    scheme: str = fixed("auto")

    def _absent(self) -> Mapping[str, str]:
        paths = "a label sequence is a sum over many paths of states; use predict_proba, or sample"
        return {
            "partial_fit": "what a hidden state stands for is found from all data together; call fit with "
            "all data",
            "kbest": paths,
            "entropy": paths,
        }

    @classmethod
    def _foreign(cls, model: Any) -> str:
        if isinstance(model, SequenceModel) and model.states is not None:
            return "" if type(model) is SequenceModel else model.told
        return "a model without hidden states"

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        count = np.bincount(model.states.group).tolist()
        return cls(states=dict(zip(model.answers, count, strict=True)), features=model.recipe)

    def _rules(self, names: Sequence[str]) -> Resolved | None:
        """Return which labels may follow each other; None: all."""
        raise NotImplementedError

    def _stated(self, data: Dataset) -> tuple[Dataset, Chain]:
        """Return data whose gold is sets of states, and the chain over these."""
        objective = self._part("objective")
        if "set" not in objective.golds:
            raise ValueError(
                f"the objective {objective.name} needs to know every state, and states are hidden; use "
                "likelihood"
            )
        if getattr(objective, "label_weights", None) is not None:
            raise ValueError("label_weights are not for hidden states; give sample_weight to fit")
        names = tuple(data.labels.strings())
        states = States(state_names(names, self.states), None)
        chain = self._part("structure")
        if not isinstance(chain, Chain) or chain.kind != Chain.kind:
            raise ValueError(f"hidden states are those of a chain, not of {chain.describe()}; give a Chain")
        rules = self._rules(names)
        if rules is not None and rules.expansion is not None:
            raise ValueError("hidden states cannot limit the lengths of segments; leave SegmentLength out")
        allowed = () if rules is None else (rules.transition, rules.start, rules.stop)
        forbidden = barred(states, *allowed) if allowed else ()
        return states.sets(data), Chain(order=chain.order, constraints=forbidden)

    def _train(self, data: Dataset, structure: Structure, call: Call) -> SequenceModel:
        """Return the best of several starts: by the dev set where there is one, else by the objective.

        Where no label has more than one state, nothing is hidden: the loss is convex, and one start is
        enough.
        """
        check_number("restarts", self.restarts, whole=True)
        if self.restarts < 1:
            raise ValueError(f"restarts is {self.restarts}, expected 1 or more")
        if kind_of_gold(data.batch) == "path":
            return super()._train(data, structure, call)
        found: list[SequenceModel] = []
        seed = self._seed
        for r in range(self.restarts):
            keep = call.checkpoint if self.restarts == 1 else within(call.checkpoint, f"start-{r}")
            start = replace(call, init=_random(seed, r), checkpoint=keep)
            found.append(super()._train(data, structure, start))
            made = found[-1].training
            if made is not None and made.end == End.INTERRUPTED.value:
                break
        return max(found, key=lambda model: _goodness(model, call.dev is not None))


def _random(seed: int, restart: int) -> Callable[[Any, Layout], Floats]:
    """Return what draws the first weights."""

    def drawn(problem: Any, layout: Layout) -> Floats:
        return np.random.default_rng([seed, restart]).normal(scale=_SPREAD, size=layout.weights)

    return drawn


def _goodness(model: SequenceModel, judged: bool) -> float:
    made = model.training
    assert made is not None
    return made.score if judged else -made.loss


class HiddenChainCRF(HiddenStates, SequenceQueries):
    """A chain CRF with hidden states for each label: the LDCRF of Morency, Quattoni & Darrell (2007).

    A label may have phases that y does not show, such as the stroke and the retraction of a gesture. Each
    label has states of its own, a chain of states is learned, and only the sum over the states of the gold
    labels is made likely (`crfkit.models.states`).

    Parameters
    ----------
    states : int or dict
        How many states each label has, or ``{"gesture": 3}`` with 1 for labels that are not named.
    restarts : int
        Training begins so often from other random weights; the best result is kept. The likelihood with
        hidden states is not convex: another start may end at another optimum.
    decoding : {"posterior", "viterbi"}
        `predict` returns the label whose states have the highest sum of probabilities at each position, or
        the labels of the best path of states.
    structure : Chain, or "chain"
        A chain of order 1 or more; its constraints are those of the labels, and hold for their states.
    constraints : sequence of constraints
        On neighbors, such as ``[Scheme("BIO")]``: those of `structure`, for short.
    objective : Likelihood
        Others need to know every state.
    optimizer : an optimizer, its name, or "auto"
        "em" is expectation maximization (`crfkit.optimize.EM`); others follow the gradient.
    l1, l2, order, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    selection, stop, features, tokenizer, sentences, alignment, metric, random_state, n_jobs
        As in `ChainCRF`; the seed is also that of the first weights.

    Attributes
    ----------
    model_ : Model
        A chain over states called ``label/0``, ``label/1``, ...: `Model.explain` works on states.
        ``model_.training.loss`` is the objective that was reached.
    classes_ : array of str [L]
        The labels, by first appearance.
    n_iter_ : int
        Iterations of the training that was kept.

    Notes
    -----
    `predict_proba` has the probabilities of labels. With one state for each label this is `ChainCRF`.

    Examples
    --------
    >>> from crfkit import HiddenChainCRF
    >>> X = [[["a"], ["b"], ["a"], ["b"], ["c"]], [["c"], ["a"], ["b"]]] * 5  # a and b take turns
    >>> y = [["X", "X", "X", "X", "Y"], ["Y", "X", "X"]] * 5
    >>> crf = HiddenChainCRF(states={"X": 2}).fit(X, y)
    >>> crf.predict([[["a"], ["b"], ["c"]]]), crf.model_.structure.labels
    ([['X', 'X', 'Y']], ('X/0', 'X/1', 'Y/0'))
    """

    decoding: Literal["posterior", "viterbi"] = "posterior"
    constraints: Sequence[Constraint] = ()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a new `decoding` also holds for what was learned, and for ``model_``."""
        super().set_params(**params)
        if "decoding" in params and hasattr(self, "model_"):
            self.model_ = recorded(self, self._deciding(self.model_))
        return self

    def _keep_model(self, model: SequenceModel) -> Self:
        return super()._keep_model(self._deciding(model))

    def _deciding(self, model: SequenceModel) -> SequenceModel:
        """Return the model with the decision rule of the estimator, which its file keeps."""
        check_choice("decoding", self.decoding, DECISIONS)
        return replace(model, decision=self.decoding)

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made = super()._of_model(model)
        made.decoding = model.decision or "posterior"
        return made

    def _rules(self, names: Sequence[str]) -> Resolved | None:
        chain = self._part("structure")
        assert isinstance(chain, Chain)  # `_stated` has refused others
        return chain.with_labels(names).resolved

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        check_choice("decoding", self.decoding, DECISIONS)
        check_neighbors(self.constraints, "HiddenChainCRF")
        data = read(X, recipe, self._threads, gold=y is None)
        if y is not None:
            data = labeled(data, y, Alphabet(known))
        return self._stated(has_gold(data, "HiddenChainCRF", "labels"))

    def _dev_data(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        data = read(X, recipe, self._threads, gold=y is None)
        return data if y is None else labeled(data, y, Alphabet())
