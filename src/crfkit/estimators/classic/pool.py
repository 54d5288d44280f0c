"""`OpinionPool`: a logarithmic opinion pool of linear-chain CRFs as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.checks import check_choice, check_number
from crfkit.data.dataset import Dataset
from crfkit.estimators.base import fixed, learned
from crfkit.estimators.chain import ChainCRF
from crfkit.estimators.fitting import Call
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.models.model import SequenceModel
from crfkit.optimize.problem import End
from crfkit.structures.structure import Structure
from crfkit.training.classic.many import Task, train_all
from crfkit.training.classic.pool import KINDS, Kind, learn_weights, pooled
from crfkit.training.classic.subsets import (
    Subset,
    SubsetData,
    chosen_subsets,
    label_subsets,
    positional_subsets,
    random_subsets,
)
from crfkit.training.fit import Fit, Init, with_labels_of

if TYPE_CHECKING:
    from typing_extensions import Self

_WAYS: Final = ("random", "positional", "label")


class OpinionPool(ChainCRF):
    """Chain CRFs on subsets of the features, pooled by a weighted product of their distributions.

    Gupta (2005) section 2.6; Smith, Cohn & Osborne (2005). The pool is a chain again, so the model has the
    files, queries and speed of any other. Pooling regularizes: experts may go without a penalty, as in
    ``objective=Likelihood(l2=0.0)``.

    Parameters
    ----------
    experts : int, optional
        Number of experts: 4 unless given where subsets are random; where they are of labels, one for each
        label unless given. Positional subsets and functions say it by themselves.
    subsets : {"random", "positional", "label"} or list of functions
        What each expert has weights of: a share of the attributes, drawn by itself; attributes of the current
        token, of tokens before it and of tokens after it, by the offsets of the template or by names like
        "w[-1]=the" and "-1:w"; all attributes, but weights of some labels only; or the attributes whose names
        a function accepts. Transitions and real-valued columns are in all experts.
    fraction : float
        Which part of the attributes an expert has, where subsets are random.
    whole : bool
        Add an expert that has everything, as Smith et al. do.
    weights : {"sum-to-one", "positive", "free", "equal"}
        What the weights of the experts may be. All but equal ones are learned by the likelihood of the pool.
    held_out : float
        Share of the sequences that only the weights of the experts are learned from; 0: from those that the
        experts learn from. Data given as ``X_dev`` take its place.
    structure, selection, objective, optimizer, stop
        Parts of each expert, as in `ChainCRF`.
    l1, l2, order, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    features, train_scheme, metric, random_state, n_jobs
        As in `ChainCRF`.

    Attributes
    ----------
    model_ : Model
        The pool as one chain.
    experts_ : list of Model [K]
    weights_ : array [K]
        How much each expert says.
    subsets_ : list of str [K]
        What each expert has weights of.
    classes_ : array of str [L]
    n_iter_ : int
        Iterations of all experts together.

    Examples
    --------
    >>> from crfkit import Likelihood
    >>> from crfkit.estimators.classic import OpinionPool
    >>> X = [["the", "old", "dog"], ["a", "dog"], ["the", "dog"]]
    >>> y = [["D", "A", "N"], ["D", "N"], ["D", "N"]]
    >>> pool = OpinionPool(subsets="positional", features="w[-1..1]", held_out=0.0).fit(X, y)
    >>> pool.subsets_, pool.weights_.round(3).shape
    (['current', 'before', 'after'], (3,))
    >>> pool.predict([["a", "old", "dog"]])
    [['D', 'A', 'N']]
    """

    _beside: ClassVar[tuple[str, ...]] = ("weights_", "subsets_")

    experts_: list[SequenceModel] = learned()
    weights_: Floats = learned()
    subsets_: list[str] = learned()

    def _absent(self) -> Mapping[str, str]:
        return {
            "partial_fit": "call fit with all data, or take the pool as the start of one chain, as in "
            "ChainCRF(init=pool.model_)"
        }

    experts: int | None = None
    subsets: str | Sequence[Callable[[str], bool]] = "random"
    fraction: float = 0.5
    whole: bool = False
    weights: Kind = "sum-to-one"
    held_out: float = 0.1
    init: Init = fixed()
    constraints: Sequence[GlobalConstraint] = fixed(())

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on sequences, as `ChainCRF` does; the weights of the experts are learned from `dev`."""
        return super().fit(X, y, dev=dev, sample_weight=sample_weight, progress=progress)

    def _train(self, data: Dataset, structure: Structure, call: Call) -> SequenceModel:
        self._check()
        data = data.freeze()
        if structure.local:
            raise ValueError("a pool of local chains is not a local chain; use structure=Chain()")
        structure = with_labels_of(structure, data.labels.strings())
        rest, judge = self._split(data, call.dev)
        objective, features = self._part("objective"), self._part("selection")
        subsets = [*self._subsets(rest), *([Subset("everything")] if self.whole else [])]

        def task(k: int, subset: Subset) -> Task:
            def make(threads: int) -> Fit:
                view = SubsetData(rest, subset, threads)
                stop, seed = self._part("stop"), self._seed
                return Fit(view, structure, objective, features, self.optimizer, stop, None, seed)

            return Task(f"expert {k + 1} ({subset.name})", make)

        tasks = [task(k, subset) for k, subset in enumerate(subsets)]
        trained = train_all(tasks, threads=self._threads, progress=call.progress, what="experts")
        experts = trained.models
        equal = pooled(experts, np.full(len(experts), 1.0 / len(experts)))
        kind: Kind = "equal" if trained.interrupted else self.weights
        found = learn_weights(experts, equal.batch_of(judge), kind, threads=self._threads)
        self.experts_, self.weights_ = experts, found.weights
        self.subsets_ = [subset.name for subset in subsets]
        told = [f"{a:.4f} of {name}" for a, name in zip(found.weights, self.subsets_, strict=True)]
        summary = trained._replace(interrupted=trained.interrupted or found.end is End.INTERRUPTED).summary(
            f"OpinionPool of {objective!r}",
            optimizer="LBFGS",
            why=f"the weights of the experts: {found.reason}",
            loss=found.loss,
            notes=[f"a pool of {len(experts)} experts: {', '.join(told)}"],
        )
        return replace(pooled(experts, found.weights), training=summary)

    def _check(self) -> None:
        if self.experts is not None:
            check_number("experts", self.experts, 1, whole=True)
        check_choice("weights", self.weights, KINDS)
        for name in ("fraction", "held_out"):
            given = getattr(self, name)
            check_number(name, given)
            if given > 1.0 or (name == "held_out" and given == 1.0):
                raise ValueError(f"{name} is {given}, expected a share of 1")
        if isinstance(self.subsets, str):
            check_choice("subsets", self.subsets, _WAYS, "a list of functions of attribute names")

    def _split(self, data: Dataset, dev: Dataset | None) -> tuple[Dataset, Dataset]:
        """Return what experts learn from, and what their weights are learned from."""
        if dev is not None:
            return data, dev
        if not self.held_out or self.weights == "equal":
            return data, data
        N, order = len(data), np.random.default_rng(self._seed).permutation(len(data))
        n = max(round(self.held_out * N), 1)
        if n >= N:
            raise ValueError(
                f"held_out={self.held_out} leaves no sequence of {N} for the experts; give held_out=0.0"
            )
        return data[np.sort(order[n:])], data[np.sort(order[:n])]

    def _subsets(self, data: Dataset) -> list[Subset]:
        if self.subsets == "random":
            experts = 4 if self.experts is None else self.experts
            return random_subsets(data, experts, self.fraction, self._seed)
        if self.subsets == "label":
            return label_subsets(data.labels.strings(), self.experts)
        made = (
            positional_subsets(data) if isinstance(self.subsets, str) else chosen_subsets(data, self.subsets)
        )
        if not made:
            raise ValueError("subsets is empty, expected one function or more")
        if self.experts not in (None, len(made)):
            raise ValueError(f"experts is {self.experts}, but the subsets are {len(made)}: leave experts out")
        return made
