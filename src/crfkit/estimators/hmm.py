"""`HMM`: a hidden Markov model with the data, queries and model files of chains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.arrays import Floats, weights_of
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled, spelled_number
from crfkit.estimators.base import learned, unless_absent
from crfkit.estimators.continued_training import united_names
from crfkit.estimators.fitting import has_gold, weighted
from crfkit.estimators.queries import SequenceQueries
from crfkit.estimators.saving import recorded
from crfkit.estimators.symbols import Symbols, Words
from crfkit.models.reading import read, recipe_of
from crfkit.structures import Chain
from crfkit.structures.gold import Sets
from crfkit.training.learners.generative import Observed, Smoothing, baum_welch, learned_of

if TYPE_CHECKING:
    from typing_extensions import Self

_SMOOTHING: Final = Smoothing()


class HMM(SequenceQueries):
    """A hidden Markov model: p(x, y), counted from labels or learned without them by Baum-Welch.

    Parameters
    ----------
    labels : int or list of str, optional
        The hidden states, or their number: needed where there are no labels. Names that y lacks are added.
    smoothing : Smoothing
        What is added to the counts of each table: ``Smoothing(emission=0.1)``.
    min_count : int
        Words that are seen less often are learned as unknown words.
    features : str, path or Recipe, optional
        What is emitted: the word, or the word and its spelling class, as in ``"w[0]; shape(w)[0]"``, by which
        unknown words are told apart. X is rows of tokens; with None, items with one feature.
    restarts : int
        Baum-Welch begins so often from other random tables; the best result is kept.
    max_iterations : int
        Of Baum-Welch, for each start.
    tolerance : float
        Baum-Welch ends when an iteration adds less than this for each position to the objective.
    metric : str or function
        Of `score`, as in `ChainCRF`.
    random_state : int, optional
        For the starts and for draws.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : Model
        A chain whose scores are log p(x, y), so that its p(y | x) is the posterior: save, explain or tag with
        it. Weights of words are relative to unknown words (`crfkit.estimators.symbols`).
    classes_ : array of str [L]
    start_ : array [L]
        The probabilities of the first label.
    transition_ : array [L, L]
    end_ : array [L]
    emission_ : array [L, S]
        The probabilities; a row of `transition_` and its entry of `end_` sum to 1.
    symbols_ : list of str [S]
        The columns of `emission_`: words, classes, and the unknown word.
    history_ : list of float
        The objective (log-likelihood of what is known, plus the log prior) before each iteration and at the
        end.
    n_iter_ : int
        Iterations of Baum-Welch; 0 where everything is labeled.
    counts_ : Words, or None
        The counts of labeled data, for `partial_fit`; None after Baum-Welch.

    Notes
    -----
    Empty sequences count for nothing. See `crfkit.training.learners.generative` for the formulas.

    Examples
    --------
    >>> from crfkit import HMM
    >>> hmm = HMM().fit([["the", "dog"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> hmm.predict([["the", "cat"]])
    [['D', 'N']]
    >>> hidden = HMM(labels=2, restarts=3).fit([["a", "b", "a", "b"], ["b", "a", "b"]])
    >>> path = hidden.tag(["a", "b", "a"])
    >>> path[0] == path[2] != path[1]
    True
    """

    _beside: ClassVar[tuple[str, ...]] = (
        "start_",
        "transition_",
        "end_",
        "emission_",
        "symbols_",
        "history_",
        "n_iter_",
    )

    history_: list[float] = learned()
    counts_: Words | None = learned()

    labels: int | Sequence[str] | None = None
    smoothing: Smoothing = _SMOOTHING
    min_count: int = 1
    features: Any = "w[0]"
    restarts: int = 1
    max_iterations: int = 200
    tolerance: float = 1e-5

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of sequences, Dataset or Columns
            See `crfkit.models.reading`.
        y : list of lists, optional
            Labels; None where one is not known or for a whole sequence, a set where it is one of several, a
            dict where they have probabilities.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        """
        self._check()
        return self._learn(weighted(self._prepared(X, y), sample_weight), None)

    @unless_absent
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Sequence[str | int] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more labeled sequences: the same as `fit` on those of before and these together.

        The counts of what was learned are kept (``counts_``), also in pickles, but not in model files. There
        is no `partial_fit` after `fit` without labels, whose counts are expectations of one training.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; all labels are known, or have probabilities.
        classes : list of str, optional
            Labels that there are, seen or not.

        Examples
        --------
        >>> from crfkit import HMM
        >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
        >>> one, two = HMM().fit(X, y), HMM().fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
        >>> (one.emission_ == two.emission_).all()
        np.True_
        """
        self._check()
        before = getattr(self, "counts_", None)
        data = self._prepared(X, y)
        if before is not None:
            data = united_names(self.model_, data)
        if classes is not None:
            data = replace(data, labels=Alphabet([*data.labels.strings(), *map(spelled_number, classes)]))
        data = weighted(data, sample_weight)
        if isinstance(Chain(data.labels.strings()).gold(data.batch), Sets):
            raise ValueError(
                "partial_fit needs the label of each position: counts of others depend on all data; call fit"
            )
        return self._learn(data, before)

    def _absent(self) -> Mapping[str, str]:
        fitted = "model_" in vars(self)
        if fitted and getattr(self, "counts_", None) is None:
            return {
                "partial_fit": "counts of labeled data are not there, of a file or of Baum-Welch: call fit"
            }
        return {}

    def _check(self) -> None:
        if not isinstance(self.smoothing, Smoothing):
            raise TypeError(
                f"smoothing is {self.smoothing!r}, expected Smoothing, as Smoothing(emission=0.1)"
            )
        for name, least in (("min_count", 1), ("restarts", 1), ("max_iterations", 1)):
            check_number(name, getattr(self, name), least, whole=True)
        check_number("tolerance", self.tolerance)

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.counts_ = None

    def _learn(self, data: Dataset, before: Words | None) -> Self:
        """Learn from data, and from the counts of others before them."""
        batch, chain = data.batch, Chain(data.labels.strings())
        words, word = Words.of(batch)
        gold = chain.gold(batch)
        weight = np.ones(len(data)) if batch.weight is None else batch.weight
        if isinstance(gold, Sets):
            symbols = Symbols.of(words, self.min_count)
            learned = baum_welch(
                Observed(symbols.of_word[word], symbols.count, gold, weight),
                chain,
                self.smoothing,
                restarts=self.restarts,
                seed=self._seed,
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                threads=self._threads,
            )
        else:
            counts = Observed(word, len(words.seen), gold, weight).counted(chain, gold, weight)
            words = replace(words, counts=counts)
            words = words if before is None else before.joined(words)
            symbols = Symbols.of(words, self.min_count)
            assert words.counts is not None
            learned = learned_of(symbols.counted(words.counts), self.smoothing)
        self.counts_ = None if isinstance(gold, Sets) else words
        tables = learned.tables
        model = symbols.model(tables, chain, data)
        self.classes_ = np.array(model.labels, dtype=object)
        self.start_, self.emission_ = tables.start, tables.emission
        self.transition_, self.end_ = tables.step[:, :-1], tables.step[:, -1]
        self.symbols_ = symbols.names(data)
        self.history_, self.n_iter_ = learned.history, len(learned.history) - 1
        self.model_ = recorded(self, model)
        if not learned.converged:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"Baum-Welch has not converged in {self.max_iterations} iterations: raise max_iterations or "
                "tolerance",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def log_likelihood(self, X: Any, y: Any = None) -> Floats:
        """Return log p(x) of each sequence, or with y log p(x, y), [N]; unknown words are one word."""
        found: Floats = inference.log_partition(
            self.model_.potentials(self.model_.batch_of(self._data(X)), threads=self._threads),
            threads=self._threads,
        )
        return found if y is None else found + self.log_prob(X, y)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return how good predictions are, as `ChainCRF` does; without labels, log p(x) by position."""
        data = self._data(X, y)
        if data.batch.label is not None:
            return super().score(data, None, sample_weight)
        weight = weights_of(sample_weight, len(data))
        each = np.ones(len(data)) if weight is None else weight
        positions = float(each @ np.diff(data.batch.seq_ptr))
        return float(each @ self.log_likelihood(data)) / max(positions, 1e-300)

    def generate(
        self, n: int = 1, random_state: int | None = None, max_length: int = 1000
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Draw n sequences of symbols and their labels from p(x, y); `sample` draws labels of given words.

        Parameters
        ----------
        n : int
        random_state : int, optional
            The estimator's unless given.
        max_length : int
            Sequences are cut after this number of positions.

        Examples
        --------
        >>> from crfkit import HMM
        >>> X, y = HMM().fit([["the", "dog"]] * 50, [["D", "N"]] * 50).generate(3)
        >>> X[0], y[0]
        (['the', 'dog'], ['D', 'N'])
        """
        check_is_fitted(self, "model_")
        check_number("n", n, 1, whole=True)
        check_number("max_length", max_length, 1, whole=True)
        rng, L = (
            np.random.default_rng(self._seed if random_state is None else random_state),
            len(self.classes_),
        )
        start, emission = np.cumsum(self.start_), np.cumsum(self.emission_, axis=1)
        step = np.cumsum(np.column_stack([self.transition_, self.end_]), axis=1)

        def draw(sums: Floats) -> int:
            return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))

        X: list[list[str]] = []
        y: list[list[str]] = []
        words = self._words()
        for _ in range(n):
            labels: list[int] = []
            label = draw(start)
            while label < L and len(labels) < max_length:
                labels.append(label)
                label = draw(step[label])
            X.append([words[draw(emission[label])] for label in labels])
            y.append([self.classes_[label] for label in labels])
        return X, y

    def _words(self) -> list[str]:
        """Return the symbols as the tokens that the template read, where it took them as they are."""
        recipe = self.model_.recipe
        before = "" if recipe is None else recipe.templates[0].literals[0]
        return [name.removeprefix(before) for name in self.symbols_]

    def _prepared(self, X: Any, y: Any) -> Dataset:
        """Return data whose labels are all known by name."""
        data = read(X, recipe_of(self.features), self._threads)
        if data.extractor is not None and data.extractor.hashed is not None:
            raise ValueError("X has hashed attributes, of which words cannot be told apart; give names")
        names = self._names()
        if y is not None:
            data = labeled(data, y, Alphabet(names))
        elif names and data.batch.label is None and data.batch.allowed is None and data.batch.soft is None:
            data = replace(data, labels=Alphabet(names))
        elif names:
            raise ValueError("labels is given, but X has labels of its own: leave labels out")
        else:
            has_gold(data, "HMM without labels=..., the hidden states,", "labels")
        if len(data.labels) > len(names) and isinstance(self.labels, int):
            new = data.labels.strings()[len(names)]
            raise ValueError(f"labels is the number {self.labels}, but y has the label {new!r}: give names")
        if not len(data.labels):
            raise ValueError("y has no label at all: give labels=..., the hidden states or their number")
        return data

    def _names(self) -> Sequence[str]:
        """Return the names of the hidden states that were given; a number stands for "0", "1", ..."""
        if self.labels is None:
            return ()
        if isinstance(self.labels, str):
            raise TypeError(f"labels is {self.labels!r}, of type str, expected a number or a list of names")
        if isinstance(self.labels, Sequence):
            return self.labels
        check_number("labels", self.labels, 1, whole=True)
        return [str(i) for i in range(self.labels)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
