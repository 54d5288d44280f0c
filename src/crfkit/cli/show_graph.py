"""``crfkit show`` of a model of graphs: kinds, cliques, weights, training."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit._safe.printable import counted, shown

if TYPE_CHECKING:
    from crfkit.models.graph_model import GraphModel

__all__ = ["show_graph"]

_FEW = 30  # labels that are named


def show_graph(path: str, model: GraphModel, as_json: bool, *, top: int = 0) -> None:
    """Print what is in a model of graphs, with so many of the strongest weights of each clique."""
    made = _described(path, model, top)
    if as_json:
        print(json.dumps(made, ensure_ascii=False))
        return
    lines: list[tuple[str, object]] = [("model", f"{path} (crfkit), a graph")]
    for kind, labels in made["kinds"].items():
        named = labels if isinstance(labels, list) else []
        many = ", ..." if len(named) > _FEW else ""
        names = f": {', '.join(named[:_FEW])}{many}" if named else ""
        lines.append(("kind", f"{kind}, {counted(len(named) or labels, 'label')}{names}"))
    for clique, about in made["cliques"].items():
        by = f" for {counted(about['attributes'], 'attribute')}" if about["attributes"] is not None else ""
        lines.append(
            ("clique", f"{clique} ({', '.join(about['kinds'])}): {counted(about['weights'], 'weight')}{by}")
        )
    lines.append(("weights", f"{made['weights']:,}; {made['nonzero']:,} are not 0"))
    if made["training"] is not None:
        from crfkit.cli.summaries import training_lines

        lines += training_lines(made["training"])
    lines += [(name, made[name]) for name in ("notes", "license") if made[name]]
    for name, value in lines:
        print(f"{name:<12} {shown(value)}")
    for clique, about in made["cliques"].items():
        if about["strongest"]:
            print(f"\nstrongest weights of {shown(clique)}")
        for weight, attribute, labels in about["strongest"]:
            print(f"  {weight:+10.4f}  {shown(labels)}{'  ' * bool(attribute)}{shown(attribute)}")
    if top and made["form"] is not None:
        print(f"\n{made['form'].strip()}")


def _described(path: str, model: GraphModel, top: int) -> dict[str, Any]:
    """Return everything that is shown, as plain data."""
    graph, layout, summary = model.graph, model.layout, model.training
    cliques = {}
    for name, clique in graph.cliques.items():
        block = layout.block[name]
        rows = None if block.by is None else layout.rows_of(name)
        cliques[name] = {
            "kinds": list(clique.kinds),
            "weights": len(block.cell),
            "attributes": rows,
            "strongest": _strongest(model, name, top),
        }
    training: dict[str, Any] | None = None
    if summary is not None:
        texts = ("objective", "optimizer", "iterations", "reason", "end", "converged", "metric")
        training = {name: getattr(summary, name) for name in (*texts, "certificate")}
        for name in ("seconds", "loss", "gap", "score"):
            value = float(getattr(summary, name))
            training[name] = value if math.isfinite(value) else None
        training["notes"] = list(summary.notes)
    return {
        "model": path,
        "kind": "crfkit",
        "structure": "graph",
        "kinds": {k: list(n) if isinstance(n, tuple) else n for k, n in graph.kinds.items()},
        "cliques": cliques,
        "weights": layout.weights,
        "nonzero": int(np.count_nonzero(model.w)),
        "form": None if model.form is None else str(model.form),
        "training": training,
        "notes": model.notes,
        "license": model.license,
    }


def _labels(model: GraphModel, kind: str) -> list[str]:
    names = model.graph.kinds[kind]
    return [*names] if isinstance(names, tuple) else [str(y) for y in range(model.graph.width(kind))]


def _strongest(model: GraphModel, clique: str, top: int) -> list[tuple[float, str, str]]:
    """Return the largest weights of a clique by absolute value: weight, attribute, labels."""
    block, part = model.layout.block[clique], model.layout.parts[clique]
    w, graph = model.w[part], model.graph
    names = model.attributes.get(clique)
    row = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))
    spread = graph.cliques[clique].spread(graph.shape(clique)).tocsc()  # [cells, columns]
    made = []
    for i in np.argsort(-np.abs(w), kind="stable")[:top].tolist():
        attribute = "" if not block.by else names[int(row[i])] if names is not None else str(row[i])
        cells = spread.indices[spread.indptr[block.cell[i]] : spread.indptr[block.cell[i] + 1]]
        made.append((float(w[i]), attribute, _cells(model, clique, cells)))
    return made


def _cells(model: GraphModel, clique: str, cells: Any) -> str:
    """Return the labels of the first cell that a weight counts in."""
    graph = model.graph
    place = np.unravel_index(cells[0], graph.shape(clique))
    labels = [
        _labels(model, kind)[int(y)] for kind, y in zip(graph.cliques[clique].kinds, place, strict=True)
    ]
    return " ".join(labels) + (f" and {len(cells) - 1} more" if len(cells) > 1 else "")
