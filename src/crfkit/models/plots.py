"""Pictures of models of graphs: learned tables as heat maps, probabilities of pixels as images.

They need matplotlib, the extra ``plot``. Figures are returned, not shown: ``figure.savefig("step.png")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from crfkit._safe.printable import cut, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crfkit.models.graph_model import GraphModel

_FEW = 12  #: labels on an axis up to which cells are annotated
_LONGEST = 80  #: letters of a name that are drawn
_MOST = 60  #: labels on an axis up to which they are named


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib; install it with: pip install 'crfkit[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def plot_table(model: GraphModel, clique: str, *, attribute: str | int | None = None) -> Figure:
    """Return a heat map of the weights of a clique: of a pair of variables, or of attributes by label.

    Parameters
    ----------
    model : GraphModel
    clique : str
        A clique of one variable with features (attributes are the rows), or of two variables.
    attribute : str or int, optional
        For a clique of two variables with features: which attribute's table, by name or number.
    """
    if clique not in model.graph.cliques:
        known = ", ".join(map(repr, model.graph.cliques))
        raise ValueError(f"{clique!r} is not a clique of the graph; its cliques are {known}")
    table, kinds = model.tables()[clique], model.graph.cliques[clique].kinds
    title, rows, names = clique, kinds[0], model.attributes.get(clique)
    featured = model.layout.block[clique].by is not None
    if featured and attribute is not None:
        number = _number(model, clique, attribute)
        table, featured = table[number], False
        title = f"{clique}: {attribute if isinstance(attribute, str) else f'attribute {number}'}"
    if table.ndim == 1:
        table = table[None]
    if table.ndim != 2:
        what = "give attribute=, one of its attributes" if featured else "it has more than two variables"
        raise ValueError(f"the table of clique {clique!r} has {table.ndim} axes; {what}")
    if featured:
        rows, strong = "attribute", _strongest(table)
        table = table[strong]
        called = [str(a) if names is None else names[int(a)] for a in strong]
    else:
        called = _labels(model, kinds[0]) if len(kinds) > 1 else [""] * len(table)
    columns = _labels(model, kinds[-1])
    return _heat_map(table, called, columns, (rows if len(called) > 1 else "", kinds[-1]), title)


def _number(model: GraphModel, clique: str, attribute: str | int) -> int:
    names, rows = model.attributes.get(clique), model.layout.rows_of(clique)
    if isinstance(attribute, str):
        number = -1 if names is None else names.find(attribute)
        if number < 0:
            raise ValueError(f"{attribute!r} is not an attribute of clique {clique!r}")
        return number
    if not 0 <= attribute < rows:
        raise ValueError(f"attribute is {attribute}, expected 0 to {rows - 1}")
    return attribute


def _strongest(table: Any) -> Any:
    """Return the rows with the largest weights, as many as can be named, in their order."""
    return np.sort(np.argsort(-np.abs(table).max(axis=1), kind="stable")[:_MOST])


def _labels(model: GraphModel, kind: str) -> list[str]:
    labels = model.graph.kinds[kind]
    return list(labels) if isinstance(labels, tuple) else [str(y) for y in range(model.graph.width(kind))]


def _plain(name: str) -> str:
    r"""Return a name as it is drawn: no formula, whatever it holds, and not longer than a picture.

    Examples
    --------
    >>> print(_plain("$x^2$"))
    \$x^2\$
    """
    return cut(shown(name), _LONGEST).replace("$", r"\$")


def _heat_map(table: Any, rows: list[str], columns: list[str], axes: tuple[str, str], title: str) -> Figure:
    height, width = table.shape
    figure = _figure(2.2 + 0.42 * min(width, _MOST), 1.4 + 0.32 * min(height, _MOST))
    plot = figure.add_subplot()
    most = float(np.abs(table).max(initial=0.0)) or 1.0
    image = plot.imshow(table, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    figure.colorbar(image, ax=plot, label="weight")
    plot.set_title(_plain(title))
    plot.set_ylabel(_plain(axes[0]))
    plot.set_xlabel(_plain(axes[1]))
    rows, columns = list(map(_plain, rows)), list(map(_plain, columns))
    for axis, names in ((plot.yaxis, rows), (plot.xaxis, columns)):
        if len(names) <= _MOST:
            axis.set_ticks(np.arange(len(names)), labels=names)
    if max(map(len, columns)) > 3:
        plot.tick_params(axis="x", labelrotation=90)
    if width <= _FEW and height <= 2 * _FEW:
        for y, row in enumerate(table.tolist()):
            for x, value in enumerate(row):
                color = "white" if abs(value) > 0.6 * most else "black"
                plot.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=7, color=color)
    return figure


def plot_grid(values: ArrayLike, shape: tuple[int, int], *, labels: Any = None) -> Figure:
    """Return pictures of an image's pixels: labels [V] as one, probabilities [V, L] as one for each label.

    Parameters
    ----------
    values : array [V] or [V, L]
        What `predict` or `predict_proba` says of the pixels of one image, row by row.
    shape : (height, width)
    labels : names of the labels, optional
    """
    given, (height, width) = np.asarray(values), shape
    if given.ndim not in (1, 2) or len(given) != height * width:
        raise ValueError(
            f"values has shape {given.shape}, expected {height * width} rows: one for each pixel of {shape}"
        )
    L = given.shape[1] if given.ndim == 2 else 1
    names = [str(y) for y in range(L)] if labels is None else [str(label) for label in labels]
    if given.ndim == 2 and len(names) != L:
        raise ValueError(f"there are {len(names)} names for {L} labels")
    across = min(L, 4)
    down = -(-L // across)
    figure = _figure(2.6 * across + 0.6, 0.4 + 2.6 * down * min(max(height / width, 0.3), 3.0))
    plots = figure.subplots(down, across, squeeze=False).ravel()
    for plot in plots:
        plot.set_axis_off()
    if given.ndim == 1:
        plots[0].imshow(given.reshape(shape), cmap="tab20", interpolation="nearest")
        return figure
    for y in range(L):
        image = plots[y].imshow(given[:, y].reshape(shape), cmap="magma", vmin=0.0, vmax=1.0)
        plots[y].set_title(_plain(names[y]), fontsize=9)
    figure.colorbar(image, ax=list(plots), label="probability", shrink=0.8)
    return figure
