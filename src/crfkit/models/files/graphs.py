"""Models of graphs in crfkit's own file: the graph with kinds and cliques, and the weights of each clique.

The container is that of all models (`crfkit.models.store`). Arrays are named by the number of the clique:
``clique0_ptr`` and ``clique0_cell`` (its weights), ``clique0.bytes``, ``.begin`` and ``.slots`` (names of
attributes, where they have names), ``clique0.cells``, ``.counts`` and ``.fixed`` (where the clique has them),
the axes of labels as one. The description holds kinds and cliques, and how samples become graphs, where the
model was trained on such (`crfkit.models.grounding`). Nothing in a file is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from crfkit import _native
from crfkit._safe.printable import cut, quoted
from crfkit.data.alphabet import Alphabet
from crfkit.graphs.text_form import GraphForm
from crfkit.graphs.text_lines import graph_of
from crfkit.linear.graphs.layout import columns_of
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.models.base import FittedBy
from crfkit.models.files.bounds import check_cells, room_for
from crfkit.models.files.inspect import check_labels, checked_alphabet, checked_rows
from crfkit.models.files.native import FORMAT, checked_weights, weights_in_files
from crfkit.models.files.summary import plain_history, plain_summary, summary_of
from crfkit.models.graph_model import DECODINGS, GraphModel
from crfkit.models.grounding import Grounding
from crfkit.models.parts import inside, map_of, part_of, plain_parts
from crfkit.models.store import Array, pack
from crfkit.structures.graphs.cliques import Clique
from crfkit.structures.graphs.graph import Graph
from crfkit.structures.structure import Slot

_FORMS = ("free", "symmetric", "same", "potts")


def graph_pieces(
    model: GraphModel,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    compact: bool = False,
    notes: str | None = None,
    license: str | None = None,
) -> Iterator[bytes]:
    """Return the pieces of the file of a model of graphs; `SequenceModel.save` explains the options."""
    model.check_alone()
    model = _without_zeros(model) if compact else model
    arrays: dict[str, Array] = {"w": weights_in_files(model.w, dtype)}
    cliques, training = [], model.training
    for number, (name, clique) in enumerate(model.graph.cliques.items()):
        block, key = model.layout.block[name], f"clique{number}"
        arrays[f"{key}_ptr"], arrays[f"{key}_cell"] = block.ptr, block.cell
        if name in model.attributes:
            parts = model.attributes[name].arrays()
            arrays.update(zip((f"{key}.bytes", f"{key}.begin", f"{key}.slots"), parts, strict=True))
        if isinstance(clique.cells, np.ndarray):
            arrays[f"{key}.cells"] = clique.cells.ravel()
        if clique.counts is not None:
            arrays[f"{key}.counts"] = clique.counts.reshape(-1, clique.counts.shape[-1])
        if clique.fixed is not None:
            arrays[f"{key}.fixed"] = clique.fixed.ravel()
        form = clique.cells if isinstance(clique.cells, str) else None
        cliques.append([name, list(clique.kinds), form, block.by is not None, clique.attractive])
    if training is not None:
        arrays.update({f"history.{name}": column for name, column in plain_history(training).items()})
    described_parts, of_parts = plain_parts(model)
    arrays.update(of_parts)
    kinds = [[kind, _plain_labels(kind, labels)] for kind, labels in model.graph.kinds.items()]
    shapes = [[model.graph.width(kind) for kind in clique.kinds] for clique in model.graph.cliques.values()]
    arrays.update(room_for(sum(len(shape) * math.prod(shape) for shape in shapes), arrays))
    described = {
        "format": FORMAT,
        "crfkit": _native.__version__,
        "license": str(model.license if license is None else license),
        "notes": str(model.notes if notes is None else notes),
        "structure": {"kind": "graph", "kinds": kinds, "cliques": cliques},
        "training": None if training is None else plain_summary(training),
        "form": None if model.form is None else str(model.form),
        "decoding": model.decoding,
        **described_parts,
    }
    return pack(arrays, described)


def _without_zeros(model: GraphModel) -> GraphModel:
    """Return the model without weights of attributes that are 0."""
    if model.rule:
        raise ValueError(f"a model decided by {model.rule} has no weights to leave out; leave compact out")
    layout, kept, blocks = model.layout, [], []
    for block in layout.blocks:
        w = model.w[layout.parts[block.name]]
        keep = np.ones(len(w), np.bool_) if block.name not in model.attributes else w != 0.0
        ptr = np.append(0, np.cumsum(keep))[block.ptr]
        kept.append(w[keep])
        blocks.append(replace(block, ptr=ptr.astype(block.ptr.dtype), cell=block.cell[keep]))
    return replace(model, layout=replace(layout, blocks=tuple(blocks)), w=np.concatenate(kept))


def _plain_labels(kind: str, labels: Any) -> int | list[str]:
    if isinstance(labels, np.ndarray):
        raise ValueError(
            f"the variables of kind {kind!r} have different numbers of labels; such a model cannot be saved"
        )
    return labels if isinstance(labels, int) else list(labels)


def graph_model_of(arrays: Mapping[str, Array], described: Mapping[str, Any]) -> GraphModel:
    """Return the model that arrays and a description hold; raise ValueError or KeyError on anything else."""
    graph, featured = _graph(described["structure"], arrays)
    slots, blocks, names = {}, [], {}
    for number, name in enumerate(graph.cliques):
        key, columns = f"clique{number}", columns_of(graph, name)
        ptr, cell = checked_rows(arrays, key, columns)
        if not featured[name] and (len(ptr) != 2 or len(cell) != columns):
            raise ValueError(f"{key} does not have one weight for each of the {columns} columns of {name!r}")
        slots[name] = Slot(((columns,),), "factor" if featured[name] else None)
        blocks.append(Block(name, name if featured[name] else None, ptr, cell))
        if featured[name] and f"{key}.begin" in arrays:
            names[name] = _names(arrays, key, len(ptr) - 1)
    layout = Layout(slots, tuple(blocks))
    w = checked_weights(arrays["w"], layout.weights)
    for name, clique in graph.cliques.items():
        if clique.attractive and (w[layout.parts[name]] < 0.0).any():
            raise ValueError(f"clique {name!r} is attractive and has weights below 0")
    texts = {name: described[name] for name in ("notes", "license")}
    for name, text in texts.items():
        if type(text) is not str:
            raise ValueError(f"the {name} are {quoted(str(text))}, expected a text")
    training = summary_of(described["training"], arrays)
    form, decoding = _form(described.get("form"), graph), described.get("decoding", "viterbi")
    if decoding not in list(DECODINGS):  # which may be of any type
        raise ValueError(f"the decoding is {quoted(str(decoding))}, expected one of {', '.join(DECODINGS)}")
    given = {
        "graph": graph,
        "layout": layout,
        "w": w,
        "attributes": names,
        "training": training,
        "form": form,
        "decoding": decoding,
        "estimator": FittedBy.of(described["estimator"], inside("estimator", arrays)),
        "feature_map": map_of(Grounding, described, arrays, graph, layout),
        **texts,
    }
    rule = part_of("rule", described, arrays)
    if rule is None:
        return GraphModel(**given)
    model: GraphModel = rule[0].of_rule(given, rule[1])
    return model


def _form(text: object, graph: Graph) -> GraphForm | None:
    """Return the text form of a graph; refuse one of another graph."""
    if text is None:
        return None
    if type(text) is not str:
        raise ValueError(f"the text form of its graph is {quoted(str(text))}")
    form = GraphForm.parse(text, "the text form of its graph")
    labels = {kind: names for kind, names in graph.kinds.items() if isinstance(names, tuple)}
    if [*labels] != [*form.kinds] or graph_of(labels, form.lines) != graph:
        raise ValueError("the text form of its graph does not describe its cliques")
    return form


def _names(arrays: Mapping[str, Array], key: str, rows: int) -> Alphabet:
    names = checked_alphabet(arrays, key)
    if len(names) != rows:
        raise ValueError(f"{key} has {len(names)} names for {rows} attributes")
    return names


def _graph(plain: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Graph, dict[str, bool]]:
    """Return the graph that a file describes, and which cliques have features; sizes before arrays."""
    kinds = _pairs(plain["kinds"], 2, "kind")
    widths = {}
    for name, labels in kinds:
        texts = isinstance(labels, list) and all(type(label) is str for label in labels)
        if not texts and type(labels) is not int:
            raise ValueError(f"the labels of kind {name!r} are {quoted(str(labels))}")
        widths[name] = len(labels) if isinstance(labels, list) else labels
        check_labels(widths[name], 1 << 24)
    cliques, featured, total = {}, {}, 0
    for number, (name, of, form, has, attractive) in enumerate(_pairs(plain["cliques"], 5, "clique")):
        if not isinstance(of, list) or not of or any(type(k) is not str or k not in widths for k in of):
            raise ValueError(f"clique {name!r} has the kinds {quoted(str(of))}")
        flags = type(has) is bool and type(attractive) is bool
        if not flags or not (form is None or form in _FORMS):
            raise ValueError(f"clique {name!r} is damaged: {cut(str([form, has, attractive]), 80)}")
        shape = [widths[kind] for kind in of]
        cells = 1
        for n in shape:  # integers of any size: nothing can overflow
            cells *= n
        total += cells * len(shape)
        check_cells(total, arrays, "its graph")
        parts: dict[str, Any] = {"cells": form, "attractive": attractive}
        for part, kind, needed in (("cells", np.int32, form is None), ("fixed", np.float64, False)):
            key = f"clique{number}.{part}"
            if needed or key in arrays:
                array = arrays[key]
                if array.dtype != kind or array.shape != (cells,):
                    raise ValueError(f"{key} is {array.dtype} with shape {array.shape}, expected ({cells},)")
                parts[part] = array.reshape(shape)
        counts = arrays.get(f"clique{number}.counts")
        if counts is not None:
            if counts.dtype != np.float64 or counts.ndim != 2 or len(counts) != cells:
                raise ValueError(f"clique{number}.counts is {counts.dtype} with shape {counts.shape}")
            parts["counts"] = counts.reshape(*shape, counts.shape[1])
        if form is None and int(parts["cells"].max(initial=-1)) >= cells:
            raise ValueError(f"clique{number}.cells has numbers of {cells} and more")
        cliques[name], featured[name] = Clique(*of, **parts), has
    return Graph(dict(kinds), **cliques), featured


def _pairs(plain: object, width: int, what: str) -> list[Any]:
    """Return a list of lists that begin with different names, of a known length."""
    if not isinstance(plain, list) or not all(isinstance(p, list) and len(p) == width for p in plain):
        raise ValueError(f"the list of its {what}s is damaged")
    names = [p[0] for p in plain]
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise ValueError(f"the names of its {what}s are not all different texts")
    return plain
