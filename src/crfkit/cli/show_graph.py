"""``crfkit show`` of a model of graphs: kinds, cliques, weights, training."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.models.graph_model import GraphModel

__all__ = ["show_graph"]

_FEW = 30  # labels that are named


def show_graph(path: str, model: GraphModel, as_json: bool) -> None:
    """Print what is in a model of graphs."""
    made = _described(path, model)
    if as_json:
        print(json.dumps(made, ensure_ascii=False))
        return
    lines: list[tuple[str, object]] = [("model", f"{path} (crfkit), a graph")]
    for kind, labels in made["kinds"].items():
        named = labels if isinstance(labels, list) else []
        many = ", ..." if len(named) > _FEW else ""
        names = f": {', '.join(named[:_FEW])}{many}" if named else ""
        lines.append(("kind", f"{kind}, {len(named) or labels} labels{names}"))
    for clique, about in made["cliques"].items():
        by = f" for {about['attributes']:,} attributes" if about["attributes"] is not None else ""
        lines.append(("clique", f"{clique} ({', '.join(about['kinds'])}): {about['weights']:,} weights{by}"))
    lines.append(("weights", f"{made['weights']:,}; {made['nonzero']:,} are not 0"))
    training = made["training"]
    if training is not None:
        took = f"{training['iterations']} iterations, {training['seconds']:.1f} s"
        lines.append(("trained by", f"{training['optimiser']}, {took}"))
        lines.append(("objective", f"{training['objective']}: {training['loss']}"))
        if training["metric"]:
            lines.append(("dev", f"{training['metric']} {training['score']:.4f}"))
        lines += [("stopped", training["reason"]), ("certificate", training["certificate"])]
        lines += [("note", note) for note in training["notes"]]
    lines += [(name, made[name]) for name in ("notes", "licence") if made[name]]
    for name, value in lines:
        print(f"{name:<12} {value}")


def _described(path: str, model: GraphModel) -> dict[str, Any]:
    """Return everything that is shown, as plain data."""
    import numpy as np

    graph, layout, summary = model.graph, model.layout, model.training
    cliques = {}
    for name, clique in graph.cliques.items():
        block = layout.block[name]
        rows = None if block.by is None else layout.rows_of(name)
        cliques[name] = {"kinds": list(clique.kinds), "weights": len(block.cell), "attributes": rows}
    training: dict[str, Any] | None = None
    if summary is not None:
        texts = ("objective", "optimiser", "iterations", "seconds", "reason", "end", "converged", "metric")
        training = {name: getattr(summary, name) for name in (*texts, "certificate")}
        for name in ("loss", "gap", "score"):
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
        "training": training,
        "notes": model.notes,
        "licence": model.licence,
    }
