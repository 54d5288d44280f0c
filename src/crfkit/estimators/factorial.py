"""`FactorialCRF`: several labels at each position, as chains that are joined position by position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
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

    Each column is a chain; *links* score the labels that two columns have at one position, or at two
    neighbors. This is the dynamic CRF of Sutton & McCallum (2006), section 1.4.2, figure 1.5. Sums are exact
    unless a sequence would need more than 2**27 cells.

    Parameters
    ----------
    links : "all", "none", or list of pairs
        Which columns are joined: every two, or pairs of their names, as in ``[("pos", "chunk")]``.
        ``("pos[-1]", "chunk")`` joins the chunk with the part of speech of the position before.
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
        links = [line.ends for line in found.lines if len({*line.kinds}) == 2]
        return {"links": links, "features": found.recipe}

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.columns_ = [*model.graph.kinds]
        self.classes_ = {name: np.array(labels, dtype=object) for name, labels in model.labels.items()}

    def _lines(self, columns: list[str]) -> list[Line]:
        own = [Line(name, (name,), (0,), by="X") for name in columns]
        steps = [Line(f"{name}[-1] {name}", (name, name), (-1, 0)) for name in columns]
        return [*own, *steps, *self._links(columns)]

    def _links(self, columns: list[str]) -> Iterable[Line]:
        pairs: Iterable[Sequence[Any]]
        if isinstance(self.links, str):
            check_choice("links", self.links, ("all", "none"))
            pairs = combinations(columns, 2) if self.links == "all" else []
        else:
            pairs = self.links
        lines = [_link(pair, columns) for pair in pairs]
        return {line.name: line for line in lines}.values()


def _link(pair: Sequence[Any], columns: list[str]) -> Line:
    """Return the line of a pair of names, each with an offset or without: the first comes first."""
    ends = sorted(((_end(str(name), columns)) for name in pair), key=lambda end: end[1])
    if len({name for name, _ in ends} & {*columns}) != 2 or len(ends) != 2:
        raise ValueError(
            f"links: {pair!r} is not a pair of two columns; the columns are {', '.join(columns)}"
        )
    apart = ends[1][1] - ends[0][1]
    if apart > 1:
        raise ValueError(f"links: {pair!r} joins labels {apart} positions apart, expected 1 at most")
    made = Line("", tuple(name for name, _ in ends), (-apart, 0))
    return replace(made, name=made.scope)


def _end(text: str, columns: list[str]) -> tuple[str, int]:
    """Return a column and an offset: "pos[-1]" is what "pos" is at the position before."""
    found = None if text in columns else re.fullmatch(r"(.+)\[([+-]?\d)\]", text)
    return (found[1], int(found[2])) if found else (text, 0)
