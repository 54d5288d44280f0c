"""`SkipChainCRF`: a chain with long edges between tokens that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

import numpy as np

from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.estimators.ready import ReadyMade
from crfkit.graphs.text_lines import Line, graph_of
from crfkit.models.graph_model import GraphModel
from crfkit.models.grounding import Grounding, Samples
from crfkit.models.grounding.joined import JOINED, Joined
from crfkit.models.grounding.sequences import Sequences, label_ids
from crfkit.models.reading import recipe_for
from crfkit.structures.graphs.graph import Graph

_KIND: Final = "token"


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
    features : "auto", str, path, Recipe, function or None
        As in `ChainCRF`.
    l1, l2, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    objective, optimizer, selection, stop, init, restarts, random_state, n_jobs
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
    features: Any = "auto"

    def _grounded(self, X: Any, y: Any) -> tuple[Graph, Grounding, Samples, dict[str, Any]]:
        check_choice("skip", self.skip, ("both", "first", "last", "none"))
        lines = (
            Line("word", (_KIND,), (0,), by="X"),
            Line("step", (_KIND, _KIND), (-1, 0)),
            Line(
                JOINED,
                (_KIND, _KIND),
                by=None if self.skip == "none" else "X",
                at="both" if self.skip == "none" else self.skip,
            ),
        )
        joined = Joined(self.equal, self.where, self.pairs)
        grounding = Sequences((_KIND,), lines, "labels", recipe_for(self.features, X, gold=False), joined)
        samples = grounding.samples(X, self._threads)
        alphabet = Alphabet()
        labels = label_ids(samples, y, alphabet)
        if not len(alphabet):
            raise ValueError("y has no labels, expected some to learn from")
        if not len(samples.data[1][JOINED]):
            raise ValueError(
                "no two tokens of a sequence are joined, so edges have nothing to learn from; look at equal, "
                "where and pairs, or train a ChainCRF"
            )
        self.classes_ = np.array(alphabet.strings(), dtype=object)
        graph = graph_of({_KIND: alphabet.strings()}, lines)
        return graph, grounding.as_read(samples), samples, {_KIND: labels}

    @classmethod
    def _params_of_model(cls, model: GraphModel) -> dict[str, Any] | None:
        found = model.feature_map
        if not isinstance(found, Sequences) or found.joined is None:
            return None
        (line,) = (line for line in found.lines if line.paired)
        skip = "none" if line.by is None else line.at
        joined = found.joined
        return {"equal": joined.equal, "where": joined.where, "skip": skip, "features": found.recipe}

    def _take_model(self, model: Any) -> None:
        super()._take_model(model)
        self.classes_ = np.array(model.labels[_KIND], dtype=object)
