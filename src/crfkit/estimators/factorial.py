"""`FactorialCRF`: several labels at each position, as chains that are joined position by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats, Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.estimators.ready import ReadyMade, cut, label_ids, score_of
from crfkit.graphs.text_lines import Line, graph_of, ground
from crfkit.inference.graphs import GraphLabeling
from crfkit.inference.methods import Auto
from crfkit.inference.methods.method import Method
from crfkit.models.model import Metric
from crfkit.models.reading import read, recipe_of
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["FactorialCRF"]


class FactorialCRF(ReadyMade):
    """A factorial CRF: several label columns at once, such as the part of speech and the chunk of each word.

    Each column is a chain; *rungs* score the labels that two columns have at one position. This is the
    dynamic CRF of Sutton & McCallum (2006), section 1.4.2, figure 1.5. Sums are exact unless a sequence
    would need more than 2**27 cells.

    Parameters
    ----------
    rungs : "all", "none", or list of pairs
        Which columns are joined: every two, or pairs of their names, as in ``[("pos", "chunk")]``.
    features : str, path or Recipe, optional
        As in `ChainCRF`: X is then rows of tokens. Without one, X is features.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, random_state, n_jobs
        As in `GraphCRF`.
    method : a method of `crfkit.inference.methods`, or its name, optional
        Who sums, in training and in `predict_proba`.
    metric : str or function
        Of each column; `score` is their mean. "auto": the F1 of entities where labels spell them, else the
        accuracy of tokens, in which labels of None do not count.

    Attributes
    ----------
    model_ : GraphModel
        ``model_.tables()`` has the weights: of a rung as ``"pos chunk"``, of a chain as ``"pos[-1] pos"``.
    columns_ : list of str
        Names of the columns; "0", "1", ... where y has tuples.
    classes_ : dict
        Column -> its labels, in the order of the columns of `predict_proba`: by first appearance.
    inference_info_ : How
        How the last evaluation of training was answered.

    Notes
    -----
    y is a list of sequences of tuples, a label of each column; or a dict, column -> sequences of labels.
    None stands for a label that is not known, which is summed out. scikit-learn's cross-validation cuts X
    and y into folds, and can do so with lists of tuples only.

    Examples
    --------
    >>> from crfkit import FactorialCRF
    >>> X = [["the", "old", "dog", "barks"], ["dogs", "bark"]]
    >>> y = {
    ...     "pos": [["D", "A", "N", "V"], ["N", "V"]],
    ...     "chunk": [["B", "I", "I", "O"], ["B", "O"]],
    ... }
    >>> crf = FactorialCRF(features="w[-1..1]; suffix(w, 1)[0]").fit(X, y)
    >>> crf.predict([["the", "dog", "barks"]])
    {'pos': [['D', 'N', 'V']], 'chunk': [['B', 'I', 'O']]}
    >>> crf.predict([["the", "dog"]], given={"pos": [["D", "N"]]})["chunk"]
    [['B', 'I']]
    """

    _budget: ClassVar[int] = 2**27  #: cells of a sequence that is summed exactly

    rungs: Literal["all", "none"] | Sequence[tuple[str, str]] = "all"
    features: Any = None
    metric: Metric | str = "auto"

    def _method(self) -> Method | str | None:
        return Auto(budget=self._budget) if self.method is None else self.method

    def fit(
        self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of sequences
            As in `ChainCRF`.
        y : list of sequences of tuples, or a dict
            Labels of each column.
        sample_weight : array [N], optional
            Weight of each sequence.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        columns = _columns(y)
        lines = self._lines([*columns])
        data = self._data(X)
        alphabets = {name: Alphabet() for name in columns}
        labels = {name: label_ids(data, y, alphabets[name], name) for name, y in columns.items()}
        for name, alphabet in alphabets.items():
            if not len(alphabet):
                raise ValueError(f"y: column {name!r} has no labels; give some, or leave the column out")
        graph = graph_of({name: a.strings() for name, a in alphabets.items()}, lines)
        self._learn(ground(graph, lines, data.batch.seq_ptr, {"X": data}, labels), sample_weight, progress)
        self.columns_ = [*columns]
        self.classes_ = {name: np.array(a.strings(), dtype=object) for name, a in alphabets.items()}
        self._tuples = not isinstance(y, Mapping)
        return self

    def predict(self, X: Any, given: Mapping[Any, Any] | None = None) -> Any:
        """Return the best labels of each column, in the form that y had.

        Parameters
        ----------
        X : list of sequences
        given : dict, optional
            Column -> sequences of labels that are known, None where one is asked for: the labels of the
            other columns are the best ones with these.
        """
        data, found = self._found(X, given)
        spelled = {
            name: cut(self.classes_[name][found[name]].tolist(), data.batch.seq_ptr) for name in self.columns_
        }
        if not self._tuples:
            return {name: PerSequence(sequences) for name, sequences in spelled.items()}
        together = zip(*spelled.values(), strict=True)
        return PerSequence([list(zip(*sequence, strict=True)) for sequence in together])

    def predict_proba(self, X: Any, given: Mapping[Any, Any] | None = None) -> dict[str, list[Floats]]:
        """Return the probability of each label: column -> an array [T, L] for each sequence."""
        model, data = self._fitted(), self._data(X)
        found = model.predict_proba(
            self._batch(data), given=self._given(data, given), method=self.method, threads=self._threads
        )
        return {name: PerSequence(cut(found[name], data.batch.seq_ptr)) for name in self.columns_}

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean over columns of the metric of the estimator."""
        data, found = self._found(X)
        gold = _columns(y)
        if gold.keys() != self.classes_.keys():
            raise ValueError(f"y has the columns {', '.join(gold)}; the model has {', '.join(self.columns_)}")
        return score_of(data, gold, found, self.classes_, self.metric, sample_weight)

    def _found(self, X: Any, given: Mapping[Any, Any] | None = None) -> tuple[Dataset, GraphLabeling]:
        model, data = self._fitted(), self._data(X)
        known = self._given(data, given)
        return data, model.predict(self._batch(data), given=known, threads=self._threads)

    def _lines(self, columns: list[str]) -> list[Line]:
        own = [Line(name, (name,), (0,), by="X") for name in columns]
        steps = [Line(f"{name}[-1] {name}", (name, name), (-1, 0)) for name in columns]
        return [*own, *steps, *(Line(f"{a} {b}", (a, b), (0, 0)) for a, b in self._rungs(columns))]

    def _rungs(self, columns: list[str]) -> Iterable[tuple[str, str]]:
        if isinstance(self.rungs, str):
            check_choice("rungs", self.rungs, ("all", "none"))
            return combinations(columns, 2) if self.rungs == "all" else []
        made = []
        for pair in self.rungs:
            names = tuple(map(str, pair))
            if len(set(names)) != 2 or not {*names} <= {*columns}:
                raise ValueError(
                    f"rungs: {pair!r} is not a pair of two columns; the columns are {', '.join(columns)}"
                )
            made.append((names[0], names[1]))
        return made

    def _data(self, X: Any) -> Dataset:
        return read(X, recipe_of(self.features), self._threads)

    def batch(self, X: Any) -> GraphBatch:
        """Return the graphs of sequences, for queries of `model_`."""
        self._fitted()
        return self._batch(self._data(X))

    def _batch(self, data: Dataset) -> GraphBatch:
        return ground(self.model_.graph, self._lines(self.columns_), data.batch.seq_ptr, {"X": data})

    def _given(self, data: Dataset, given: Mapping[Any, Any] | None) -> dict[str, Ids] | None:
        """Return the ids of labels that are given, unless the model does not know one."""
        if given is None:
            return None
        known = {}
        for name, sequences in _named(given).items():
            if name not in self.classes_:
                raise ValueError(
                    f"given: {name!r} is not a column; the columns are {', '.join(self.columns_)}"
                )
            classes = self.classes_[name].tolist()
            alphabet = Alphabet(classes)
            known[name] = label_ids(data, sequences, alphabet, name)
            if len(alphabet) > len(classes):
                raise ValueError(
                    f"given: column {name!r} has the label {alphabet[len(classes)]!r}, which the model does "
                    "not know"
                )
        return known


def _named(given: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): sequences for name, sequences in given.items()}


def _columns(y: Any) -> dict[str, Any]:
    """Return the sequences of labels of each column."""
    if isinstance(y, Mapping):
        if not y:
            raise ValueError("y is an empty dict, expected sequences of labels for each column")
        return _named(y)
    if y is None or isinstance(y, str | bytes) or not isinstance(y, Iterable):
        raise ValueError(f"y is {y!r:.60}, expected a list of sequences of tuples, or a dict of columns")
    sequences = [list(sequence) for sequence in y]
    first = next((labels for sequence in sequences for labels in sequence), None)
    if not isinstance(first, tuple | list) or not first:
        raise ValueError(
            f"y: the first label is {first!r}, expected a tuple with a label of each column, ('D', 'B-NP')"
        )
    for n, sequence in enumerate(sequences):
        for t, labels in enumerate(sequence):
            if not isinstance(labels, tuple | list) or len(labels) != len(first):
                raise ValueError(
                    f"y: sequence {n}, position {t} is {labels!r:.60}, expected {len(first)} labels, as the "
                    "first position has"
                )
    return {str(c): [[labels[c] for labels in sequence] for sequence in sequences] for c in range(len(first))}
