"""`SkipChainCRF`: a chain with long edges between tokens that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.estimators.ready import ReadyMade, cut, label_ids, score_of
from crfkit.graphs.text_lines import Line, graph_of, ground
from crfkit.graphs.text_pairs import capitalized, equal_pairs, field_values
from crfkit.models.model import Metric
from crfkit.models.reading import columns_of, read, recipe_of
from crfkit.models.results import PerSequence
from crfkit.structures.graphs.batch import GraphBatch

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SkipChainCRF"]


class SkipChainCRF(ReadyMade):
    """A skip-chain CRF: a chain, and edges between equal tokens of a sequence, however far apart.

    One mention of a name may be easy and another hard; an edge carries what is known from one to the other.
    Sutton & McCallum (2006), section 1.5: equal capitalized words are joined, and the attributes of an edge
    are those that either of its ends has.

    Parameters
    ----------
    equal : str or function, optional
        What must be equal. With a template: a field of it, as ``"lower(w)"``; by default its first column.
        Without one: the key of items that are dicts, or a function of an item.
    where : "capitalized", function, or None
        Which tokens may be joined: those that begin with an upper-case letter, those for which a function
        of the token (of `equal`, where there is no template) is true, or all.
    pairs : function, optional
        A function of a sequence of X that returns its edges, pairs of positions ``(i, j)``; `equal` and
        `where` are then not used.
    skip : {"both", "first", "last", "none"}
        Attributes of an edge: those of either end, of the first or of the last; or none, a plain table.
    features : str, path or Recipe, optional
        As in `ChainCRF`: X is then rows of tokens. Without one, X is features.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, random_state, n_jobs
        As in `GraphCRF`.
    method : a method of `crfkit.inference.methods`, or its name, optional
        Default: exact for sequences that need few cells, else belief propagation; ``inference_info_``
        says which.
    metric : str or function
        Of `score`, as in `ChainCRF`. "auto": the F1 of entities where labels spell them, else the
        accuracy of tokens, in which labels of None do not count.

    Attributes
    ----------
    model_ : GraphModel
        ``model_.tables()["skip"]`` has the weights of the long edges.
    classes_ : array of str [L]
        The labels, by first appearance.
    inference_info_ : How
        How the last evaluation of training was answered: ``inference_info_.exact.mean()`` is the share of
        sequences that were summed exactly.

    Examples
    --------
    >>> from crfkit import Likelihood, SkipChainCRF
    >>> X = [["Mr.", "Green", "said", "Green", "left"], ["Green", "is", "a", "color"]]
    >>> y = [["O", "N", "O", "N", "O"], ["O", "O", "O", "O"]]
    >>> crf = SkipChainCRF(features="w[-1..0]", objective=Likelihood(l2=0.1)).fit(X, y)
    >>> crf.predict([["Green", "left", "and", "Mr.", "Green", "spoke"]])
    [['N', 'O', 'O', 'O', 'N', 'O']]
    >>> crf.batch(X).scopes["skip"].tolist()  # the two of the first sentence are joined
    [[1, 3]]
    """

    equal: str | Callable[[Any], Any] | None = None
    where: Literal["capitalized"] | Callable[[Any], bool] | None = "capitalized"
    pairs: Callable[[Any], Iterable[tuple[int, int]]] | None = None
    skip: Literal["both", "first", "last", "none"] = "both"
    features: Any = None
    metric: Metric | str = "auto"

    def fit(
        self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, progress: bool | None = False
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of sequences
            As in `ChainCRF`: a sequence is a whole document where names are to be joined across sentences.
        y : list of lists
            One label for each position; None where it is not known.
        sample_weight : array [N], optional
            Weight of each sequence.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        check_choice("skip", self.skip, ("both", "first", "last", "none"))
        data, pairs = self._read(X)
        alphabet = Alphabet()
        labels = label_ids(data, y, alphabet)
        if not len(alphabet):
            raise ValueError("y has no labels, expected some to learn from")
        if not len(pairs):
            raise ValueError(
                "no two tokens of a sequence are joined, so edges have nothing to learn from; look at equal, "
                "where and pairs, or train a ChainCRF"
            )
        graph = graph_of({"token": alphabet.strings()}, self._lines())
        batch = ground(
            graph, self._lines(), data.batch.seq_ptr, {"X": data}, {"token": labels}, {"skip": pairs}
        )
        self._learn(batch, sample_weight, progress)
        self.classes_ = np.array(alphabet.strings(), dtype=object)
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """Return the best labels of each sequence: always a list of lists of strings."""
        data, batch = self._batch(X)
        found = self.model_.predict(batch, threads=self._threads)["token"]
        return PerSequence(cut(self.classes_[found].tolist(), data.batch.seq_ptr))

    def predict_proba(self, X: Any) -> list[Floats]:
        """Return the probability of each label, an array [T, L] for each sequence, as in ``classes_``."""
        data, batch = self._batch(X)
        found = self.model_.predict_proba(batch, method=self.method, threads=self._threads)["token"]
        return PerSequence(cut(found, data.batch.seq_ptr))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return how good the predictions are, by the metric of the estimator."""
        data, batch = self._batch(X)
        found = self.model_.predict(batch, threads=self._threads)["token"]
        return score_of(data, {"": y}, {"": found}, {"": self.classes_}, self.metric, sample_weight)

    def batch(self, X: Any) -> GraphBatch:
        """Return the graphs of sequences, for queries of `model_`."""
        return self._batch(X)[1]

    def _lines(self) -> list[Line]:
        return [
            Line("word", ("token",), (0,), by="X"),
            Line("step", ("token", "token"), (-1, 0)),
            Line(
                "skip",
                ("token", "token"),
                by=None if self.skip == "none" else "X",
                at="both" if self.skip == "none" else self.skip,
            ),
        ]

    def _batch(self, X: Any) -> tuple[Dataset, GraphBatch]:
        model = self._fitted()
        data, pairs = self._read(X)
        ptr = data.batch.seq_ptr
        return data, ground(model.graph, self._lines(), ptr, {"X": data}, None, {"skip": pairs})

    def _read(self, X: Any) -> tuple[Dataset, Ids]:
        """Return the data, and the pairs of positions that are joined."""
        if isinstance(X, Dataset | Batch):
            raise ValueError(
                "X has attributes only, and no tokens to compare; give sequences of items or of token rows"
            )
        recipe = recipe_of(self.features)
        given: Any = X if isinstance(X, Columns) else list(X)
        data = read(given, recipe, self._threads)
        ptr = data.batch.seq_ptr
        if self.pairs is not None:
            return data, _named_pairs(self.pairs, given, ptr)
        if recipe is None or not (self.equal is None or isinstance(self.equal, str)):
            value = [self._value(item) for sequence in given for item in sequence]
            names = dict.fromkeys(value)
            number = {name: i for i, name in enumerate(names)}
            ids = tokens = np.array([number[name] for name in value], dtype=np.int32)
            spelled: list[Any] = [*names]
        else:
            field = recipe.columns[0] if self.equal is None else self.equal
            ids, tokens, spelled = field_values(columns_of(given, recipe), field)
        return data, equal_pairs(ids, ptr, where=self._allowed(spelled, tokens))

    def _value(self, item: Any) -> Any:
        if callable(self.equal):
            return self.equal(item)
        if self.equal is None:
            raise ValueError("equal is not given; say what makes tokens equal: a key of items, or a function")
        if not isinstance(item, Mapping) or self.equal not in item:
            raise ValueError(f"equal is {self.equal!r}, but the item {item!r:.60} has no such key")
        return item[self.equal]

    def _allowed(self, spelled: list[Any], tokens: Ids) -> Bools | None:
        if self.where is None:
            return None
        if callable(self.where):
            yes: NDArray[np.bool_] = np.array([bool(self.where(token)) for token in spelled], dtype=np.bool_)
        else:
            check_choice("where", self.where, ("capitalized",))
            yes = capitalized([str(token) for token in spelled])
        return yes[tokens]


def _named_pairs(pairs: Callable[[Any], Iterable[tuple[int, int]]], X: Any, ptr: Pointers) -> Ids:
    """Return the pairs that a function names, checked: positions of all sequences, [M, 2]."""
    made = [np.zeros((0, 2), dtype=np.int64)]
    for n, sequence in enumerate(X):
        found = list(pairs(sequence))
        if not found:
            continue
        array, T = np.asarray(found), int(ptr[n + 1] - ptr[n])
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise ValueError(f"pairs of sequence {n} are {found!r:.60}, expected pairs of positions (i, j)")
        if array.min() < 0 or array.max() >= T or (array[:, 0] == array[:, 1]).any():
            raise ValueError(
                f"pairs of sequence {n} must be two different positions from 0 to {T - 1}: {found!r:.60}"
            )
        made.append(array + int(ptr[n]))
    return np.concatenate(made).astype(np.int32)
