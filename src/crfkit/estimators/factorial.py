"""`FactorialCRF`: several labels at each position, as chains that are joined position by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.estimators.ready import ReadyMade
from crfkit.graphs.text_lines import Line, graph_of
from crfkit.inference.methods import Auto
from crfkit.inference.methods.method import Method
from crfkit.models.graph_model import GraphModel
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.grounding.sequences import Sequences, columns_in, form_of, label_ids
from crfkit.models.reading import recipe_for
from crfkit.structures.graphs.graph import Graph


class FactorialCRF(ReadyMade):
    """A factorial CRF: several label columns at once, such as the part of speech and the chunk of each word.

    Each column is a chain; *links* score the labels that two columns have at one position. This is the
    dynamic CRF of Sutton & McCallum (2006), section 1.4.2, figure 1.5. Sums are exact unless a sequence
    would need more than 2**27 cells.

    Parameters
    ----------
    links : "all", "none", or list of pairs
        Which columns are joined: every two, or pairs of their names, as in ``[("pos", "chunk")]``.
    features : "auto", str, path, Recipe, function or None
        As in `ChainCRF`.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, init, restarts, random_state, n_jobs
        As in `GraphCRF`.
    method : a method of `crfkit.inference.methods`, or its name, optional
        The inference method of training and of `predict_proba`.
    metric : str or function
        The score of each column; `score` is their mean. "auto": the F1 of entities where labels spell them,
        else the accuracy of tokens, in which labels of None do not count.

    Attributes
    ----------
    model_ : GraphModel
        ``model_.tables()`` has the weights: of a link as ``"pos chunk"``, of a chain as ``"pos[-1] pos"``.
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
    >>> y = {"pos": [["D", "A", "N", "V"], ["N", "V"]], "chunk": [["B", "I", "I", "O"], ["B", "O"]]}
    >>> crf = FactorialCRF(features="w[-1..1]; suffix(w, 1)[0]").fit(X, y)
    >>> crf.predict([["the", "dog", "barks"]])
    {'pos': [['D', 'N', 'V']], 'chunk': [['B', 'I', 'O']]}
    >>> crf.predict([["the", "dog"]], given={"pos": [["D", "N"]]})["chunk"]
    [['B', 'I']]
    """

    _budget: ClassVar[int] = 2**27  #: cells of a sequence that is summed exactly

    links: Literal["all", "none"] | Sequence[tuple[str, str]] = "all"
    features: Any = "auto"

    def _method(self) -> Method | str | None:
        return Auto(budget=self._budget) if self.method is None else self.method

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        form = form_of(y)
        columns = columns_in(y, form)
        recipe = recipe_for(self.features, X, gold=False)
        grounding = Sequences(tuple(columns), tuple(self._lines([*columns])), form, recipe)
        samples = grounding.samples(X, self._threads)
        alphabets = {name: Alphabet() for name in columns}
        labels = {name: label_ids(samples, y, alphabets[name], name) for name, y in columns.items()}
        for name, alphabet in alphabets.items():
            if not len(alphabet):
                raise ValueError(f"y: column {name!r} has no labels; give some, or leave the column out")
        self.columns_ = [*columns]
        self.classes_ = {name: np.array(a.strings(), dtype=object) for name, a in alphabets.items()}
        graph = graph_of({name: a.strings() for name, a in alphabets.items()}, grounding.lines)
        return graph, grounding.as_read(samples), samples, labels

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        found = model.feature_map
        if not isinstance(found, Sequences) or found.form == "labels":
            return None
        links = [line.kinds for line in found.lines if line.offsets == (0, 0)]
        return {"links": links, "features": found.recipe}

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.columns_ = [*model.graph.kinds]
        self.classes_ = {name: np.array(labels, dtype=object) for name, labels in model.labels.items()}

    def _lines(self, columns: list[str]) -> list[Line]:
        own = [Line(name, (name,), (0,), by="X") for name in columns]
        steps = [Line(f"{name}[-1] {name}", (name, name), (-1, 0)) for name in columns]
        return [*own, *steps, *(Line(f"{a} {b}", (a, b), (0, 0)) for a, b in self._links(columns))]

    def _links(self, columns: list[str]) -> Iterable[tuple[str, str]]:
        if isinstance(self.links, str):
            check_choice("links", self.links, ("all", "none"))
            return combinations(columns, 2) if self.links == "all" else []
        made = []
        for pair in self.links:
            names = tuple(map(str, pair))
            if len(set(names)) != 2 or not {*names} <= {*columns}:
                raise ValueError(
                    f"links: {pair!r} is not a pair of two columns; the columns are {', '.join(columns)}"
                )
            made.append((names[0], names[1]))
        return made
