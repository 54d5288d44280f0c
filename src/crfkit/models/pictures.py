"""What pictures show of models, of their training and of single sentences; `crfkit.view` draws them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import view
from crfkit._safe.printable import counted
from crfkit.tags.schemes import OUTSIDE
from crfkit.view.markup import Markup

if TYPE_CHECKING:
    from crfkit.models.base import Model
    from crfkit.models.explanation import Decision, Explanation
    from crfkit.models.graph_model import GraphModel
    from crfkit.models.model import SequenceModel
    from crfkit.training.record import TrainingRecord

_DECISIONS = 8  #: of an explanation that are open; the others are folded
_FEATURES = 6  #: of each label, for and against it
_NAMED = 30  #: labels


def lines_of(model: Model) -> dict[str, str]:
    """Return what a model is, in names and texts.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> lines_of(ChainCRF().fit([[["a"], ["b"]]], [["D", "N"]]).model_)["labels"]
    '2: D, N'
    """
    layout: Any = model.layout
    labels = model.labels
    made: dict[str, str] = {}
    if isinstance(labels, dict):
        made["model"] = "graph"
        made |= {f"labels of {kind}": _names(names) for kind, names in labels.items()}
    else:
        made["model"] = str(model.told).removeprefix("a model of ")  # type: ignore[attr-defined]
        made["labels"] = _names(labels)
        made["attributes"] = f"{layout.attributes:,}"
    used = np.count_nonzero(model.w)
    made["weights"] = f"{layout.weights:,}{'' if used == layout.weights else f'; {used:,} are not 0'}"
    if model.training is not None:
        made["training"] = str(model.training).replace("\n", " ")
    for name in ("notes", "license"):
        if getattr(model, name):
            made[name] = getattr(model, name)
    return made


def _names(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _NAMED else ""
    return f"{len(names):,}: {', '.join(names[:_NAMED])}{more}"


def model_pictures(model: Model, title: str = "Model", features: int = _FEATURES) -> list[Markup]:
    """Return what a model is, its training, transitions and strongest features.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([[["a"], ["b"]]], [["D", "N"]])
    >>> len(model_pictures(crf.model_))
    4
    """
    rows = lines_of(model)
    rows.pop("training", None)
    made = [view.facts(rows, title=title)]
    if model.training is not None:
        made.append(training_picture(model.training))
    made += _of_graph(model) if isinstance(model.labels, dict) else _of_chain(model, features)
    return made


def _of_chain(model: Any, features: int) -> Iterator[Markup]:
    from crfkit.models.explain import state_weights
    from crfkit.models.weights import transition_table

    labels = list(model.structure.labels)
    if len(model.layout.transition_cell):
        table = transition_table(model)
        yield view.transitions(table.rows, table.columns, table.weights)
    by_label: dict[str, list[tuple[str, float]]] = {name: [] for name in labels}
    for (attribute, name), weight in state_weights(model).items():
        if weight:
            by_label[name].append((attribute, weight))
    if any(by_label.values()):
        strongest = {}
        for name, pairs in by_label.items():
            order = sorted(pairs, key=lambda one: -one[1])
            strongest[name] = [*order[:features], *order[max(len(order) - features, features) :]]
        yield view.top_features(strongest, labels=labels, most=2 * features)


def _of_graph(model: Any) -> Iterator[Markup]:
    found: GraphModel = model
    for clique, table in found.tables().items():
        kinds = found.graph.cliques[clique].kinds
        featured = found.layout.block[clique].by is not None
        if not featured and table.ndim <= 2:
            names = [list(found.labels[kind]) for kind in kinds]
            rows = names[0] if len(kinds) == 2 else [clique]
            note = f"{' x '.join(kinds)}"
            yield view.transitions(rows, names[-1], np.atleast_2d(table), title=f"Clique {clique}", note=note)


def training_picture(record: TrainingRecord, title: str = "Training") -> Markup:
    """Return the curves of a training, and what is proved."""
    history: Mapping[str, Any] = record.history
    seconds = history.get("seconds", ())
    return view.training(
        list(history["objective"]),
        gap=list(history["gap"]),
        score=list(history["score"]) if record.metric else (),
        seconds=list(seconds),
        kept=record.kept,
        metric=record.metric,
        title=title,
        note=f"{record.optimizer}, {counted(record.iterations, 'iteration')}; {record.reason}. "
        f"{record.certificate}",
    )


def explanation_pictures(found: Explanation) -> list[Markup]:
    """Return why labels won, the least certain ones first."""
    order = sorted(range(len(found)), key=lambda i: found[i].probability)
    return [decision_picture(found[i], found.tokens) for i in order[:_DECISIONS]]


def decision_picture(
    one: Decision, tokens: Sequence[str] = (), what: str = "", most: int = 14, *, narrow: bool = False
) -> Markup:
    """Return why a label won, as steps."""
    from crfkit.models.explanation import place_of

    if not what:
        what = place_of(one.at)
        if isinstance(one.at, int) and one.at + one.positions <= len(tokens):
            what = " ".join(tokens[one.at : one.at + one.positions])
    rows = [(each.name, one._where(each), each.amount) for each in one.contributions]
    pair = one.runner_up, one.runner_up_probability
    return view.waterfall(what, one.label, one.probability, *pair, rows, most=most, narrow=narrow)


def sentence_pictures(model: SequenceModel, x: Any, words: Sequence[str], title: str = "") -> list[Markup]:
    """Return a sentence in color, and its lattice, or the segments that are probable.

    Parameters
    ----------
    model : SequenceModel
    x : one sequence, or a batch of one
        As X in `predict`.
    words : sequence of str
        What to call its positions.
    title : str
    """
    batch = model.batch_of(x)
    return [entities_picture(model, batch, words, title), lattice_picture(model, batch, words)]


def lattice_picture(model: SequenceModel, x: Any, words: Sequence[str]) -> Markup:
    """Return the lattice of a sequence with the best two labelings; of a model of segments, these.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([[["a"], ["b"]]], [["D", "N"]])
    >>> lattice_picture(crf.model_, [[["a"], ["b"]]], ["a", "b"]).count("<polyline")
    2
    """
    from crfkit import inference

    batch = model.batch_of(x)
    labels = list(model.structure.labels)
    if model.segmental:
        chosen = model.segments_in(model._path(batch))[0]
        found = model.segment_marginals(batch)[0]
        return view.segments(words, [one for one in found if one[2] != OUTSIDE], chosen, labels=labels)
    potentials = model.potentials(batch)
    pairs = model.structure.order == 1
    shares = inference.marginals(potentials, edges_by_position=pairs)
    paths = [one.labels.tolist() for one in inference.kbest(potentials, 2)[0]]
    second = paths[1] if len(paths) > 1 else None
    return view.lattice(words, labels, shares.node, shares.edge if pairs else None, paths[0], second)


def entities_picture(model: SequenceModel, batch: Any, words: Sequence[str], title: str = "") -> Markup:
    """Return the words of a sequence with what the model predicts, in color."""
    spans = [one for one in model.predict_spans(batch)[0] if math.isfinite(one[3])]
    text, placed = view.joined(words, spans)
    return view.entities(text, placed, labels=list(model.structure.labels), title=title)
