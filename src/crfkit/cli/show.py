"""``crfkit show``: what is in a model."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from crfkit._safe.printable import counted, shown
from crfkit.cli.groups.compose import option
from crfkit.cli.groups.judging import Top
from crfkit.cli.groups.output import AsHtml, AsJson

if TYPE_CHECKING:
    from crfkit.models.graph_model import GraphModel
    from crfkit.models.model import SequenceModel

_WIDEST = 16  # labels of which a table of transitions still fits a page
_NO_END = 1 << 16  # columns, where nobody looks at a screen
_ALL = 1 << 30  # weights


def show(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    top: Top = 5,
    label: Annotated[
        list[str] | None, option("Judging", "--label", help="Only this label; repeatable.")
    ] = None,
    as_json: AsJson = False,
    as_html: AsHtml = False,
    quiet: Annotated[
        bool, option("Output", "--quiet", "-q", help="Print sizes and training only, no tables.")
    ] = False,
) -> None:
    """Print sizes, strongest weights and training of a model.

    It also prints labels, transitions, constraints, the recipe, notes and the license.

    For example:

      crfkit show chunks.crf --top 10
      crfkit show usaddr.crfsuite --label StreetName --label ZipCode
      crfkit show chunks.crf --json | jq .training.certificate
      crfkit show chunks.crf --html > chunks.html
    """
    from crfkit.models.files import guess_kind, load_bytes
    from crfkit.models.model import SequenceModel
    from crfkit.models.store import file_bytes, unzipped

    content = unzipped(file_bytes(model), model)  # once: it may be a pipe
    found = load_bytes(content, source=model)
    if as_html:
        from crfkit.cli.pictures import print_page, shown_model

        if as_json or label:
            raise ValueError("--html goes without --json and --label; give one of them")
        print_page(model, shown_model(found, model, top or _ALL))
        return
    if not isinstance(found, SequenceModel):
        if label:
            raise ValueError(
                f"--label is for models of sequences, and {model} is one of graphs; leave it out"
            )
        show_graph(model, found, as_json, top=0 if quiet else top or _ALL)
        return
    kind = guess_kind(content) or "crfkit"
    names = list(found.structure.labels)
    for one in label or ():
        if one not in names:
            import difflib

            close = difflib.get_close_matches(one, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; the labels are {', '.join(names[:20])}"
            raise ValueError(f"--label is {one!r}, which is not a label of {model}{hint}")
    made = _described(model, found, kind, label or names, top or _ALL)
    if as_json:
        print(json.dumps(made, ensure_ascii=False))
    else:
        _print(made, tables=not quiet)


def _described(path: str, model: SequenceModel, kind: str, labels: list[str], top: int) -> dict[str, Any]:
    """Return everything that is shown, as plain data."""
    import numpy as np

    from crfkit.cli.summaries import summary_of

    layout = model.layout
    weights = {name: part.stop - part.start for name, part in layout.parts.items() if part.stop > part.start}
    made: dict[str, Any] = {
        "model": path,
        "kind": kind,
        "structure": model.structure.kind,
        "described": model.structure.describe(),
        "order": layout.order,
        "labels": list(model.structure.labels),
        "attributes": layout.attributes,
        "edge_attributes": layout.edge_attributes,
        "weights": layout.weights,
        "weights_by_part": weights,
        "nonzero": int(np.count_nonzero(model.w)),
        "max_length": None,
        "scheme": model.scheme,
        "encoding": model.encoding,
        "constraints": [repr(rule) for rule in (*model.structure.constraints, *model.constraints)],
        "recipe": None if model.recipe is None else str(model.recipe),
        "strongest": strongest(model, labels, top),
        "transitions": None,
        "training": summary_of(model) if model.training is not None else None,
        "notes": model.notes,
        "license": model.license,
    }
    if model.structure.segmental:
        made["max_length"] = model.structure.lengths()
        made["segment_attributes"] = len(model.names.segment_attributes)
    tables = layout.transition_tables(model.w)
    if tables and len(layout.transition_cell):
        made["transitions"] = tables[0].tolist()
    return made


def strongest(model: SequenceModel, labels: list[str], top: int) -> dict[str, list[tuple[str, float]]]:
    """Return the attributes of the largest weights for each label, the most negative ones last."""
    from crfkit.models.explain import state_weights

    by_label: dict[str, list[tuple[str, float]]] = {name: [] for name in labels}
    for (attribute, name), weight in state_weights(model).items():
        if name in by_label:
            by_label[name].append((attribute, weight))
    found: dict[str, list[tuple[str, float]]] = {}
    for name, pairs in by_label.items():
        order = sorted(pairs, key=lambda pair: -pair[1])
        high = [pair for pair in order[:top] if pair[1] > 0.0]
        low = [pair for pair in order[max(len(order) - top, len(high)) :] if pair[1] < 0.0]
        found[name] = [*high, *low]
    return found


def _print(made: dict[str, Any], tables: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    page = sys.stdout.isatty()  # else nothing is cut or wrapped
    out = Console(width=None if page else _NO_END, highlight=False)

    def line(name: str, value: object) -> None:
        fact = Table.grid(padding=(0, 1))
        fact.add_row(Text(f"{name:<12}"), Text(shown(value), overflow="fold"))  # a long path stays whole
        out.print(fact)

    def some(names: list[str], most: int, joint: str, unit: str) -> str:
        cut = page and len(names) > most
        return joint.join(names[:most]) + f"{joint}... {len(names)} {unit}" if cut else joint.join(names)

    line("model", f"{made['model']} ({made['kind']}), {made['described']}")
    line("labels", f"{len(made['labels'])}: {some(made['labels'], 30, ', ', 'labels')}")
    if made["max_length"]:
        line("lengths", ", ".join(f"{name} {longest}" for name, longest in made["max_length"].items()))
    if made["scheme"]:
        line("scheme", made["scheme"])
    if made["encoding"]:
        line("encoding", made["encoding"])
    of_segments = f", of segments {made['segment_attributes']:,}" if "segment_attributes" in made else ""
    steps = f"{made['attributes']:,}, of transitions {made['edge_attributes']:,}"
    line("attributes", steps + of_segments)
    parts = ", ".join(f"{name} {size:,}" for name, size in made["weights_by_part"].items())
    line("weights", f"{made['weights']:,} ({parts}); {made['nonzero']:,} are not 0")
    for rule in made["constraints"]:
        line("constraint", rule)
    if made["recipe"] is not None:
        line("recipe", some(made["recipe"].splitlines(), 12, "; ", "lines"))
    if made["training"]:
        from crfkit.cli.summaries import training_lines

        for name, text in training_lines(made["training"]):
            line(name, text)
    for name in ("notes", "license"):
        if made[name]:
            line(name, made[name])
    if tables and any(made["strongest"].values()):
        table = Table("label", "weight", "attribute", title="strongest weights", title_justify="left")
        for label, rows in made["strongest"].items():
            for i, (attribute, weight) in enumerate(rows):
                style = "green" if weight > 0 else "red"
                mark = Text(f"{weight:+.4f}", style)
                table.add_row(Text(shown(label) if not i else ""), mark, Text(shown(attribute)))
            table.add_section()
        out.print(table)
    if tables and made["transitions"]:
        for table in _heat(made["labels"], made["transitions"], out.width):
            out.print(table)


def _heat(labels: list[str], table: list[list[float]], width: int) -> list[Any]:
    """Return transitions as tables with colors, each no wider than a page; of many labels the strongest."""
    from rich.table import Table
    from rich.text import Text

    largest = max((abs(w) for row in table for w in row), default=0.0) or 1.0
    if len(labels) > _WIDEST:
        cells = sorted(
            ((w, x, y) for x, row in enumerate(table) for y, w in enumerate(row) if w),
            key=lambda c: -abs(c[0]),
        )[:30]
        made = Table("from", "to", "weight", title="strongest transitions", title_justify="left")
        for w, x, y in sorted(cells, key=lambda c: -c[0]):
            made.add_row(Text(shown(labels[x])), Text(shown(labels[y])), _cell(w, largest))
        return [made]
    blocks: list[Table] = []
    names = list(map(shown, labels))
    for columns in _fitting(names, width):
        title = "transitions" if not blocks else None
        made = Table("from \\ to", title=title, title_justify="left")
        for y in columns:
            made.add_column(Text(names[y]))
        for name, row in zip(names, table, strict=True):
            made.add_row(Text(name), *[_cell(row[y], largest) for y in columns])
        blocks.append(made)
    return blocks


def _fitting(labels: list[str], width: int) -> list[list[int]]:
    """Cut the columns of a table into blocks that fit a page.

    Examples
    --------
    >>> _fitting(["B-NP", "I-NP", "O"], 36), _fitting(["B-NP", "I-NP", "O"], 80)
    ([[0, 1], [2]], [[0, 1, 2]])
    """
    first = max(len("from \\ to"), *map(len, labels)) + 4
    made: list[list[int]] = [[]]
    used = first
    for y, name in enumerate(labels):
        needed = max(len(name), len("+00.00")) + 3
        if made[-1] and used + needed > width:
            made.append([])
            used = first
        made[-1].append(y)
        used += needed
    return made


def _cell(weight: float, largest: float) -> Any:
    from rich.text import Text

    heat = round(150 * min(abs(weight) / largest, 1.0))
    color = f"on rgb(0,{heat},0)" if weight > 0 else f"on rgb({heat},0,0)"
    return Text(f"{weight:+.2f}", f"white {color}" if heat > 8 else "", justify="right")


_FEW = 30  # labels that are named


def show_graph(path: str, model: GraphModel, as_json: bool, *, top: int = 0) -> None:
    """Print what is in a model of graphs, with the `top` strongest weights of each clique."""
    made = _graph_described(path, model, top)
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


def _graph_described(path: str, model: GraphModel, top: int) -> dict[str, Any]:
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
