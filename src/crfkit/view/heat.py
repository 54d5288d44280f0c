"""Tables whose cells are colored by number: marginals, transitions, confusion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from crfkit.view.frame import framed, scrolled
from crfkit.view.lattice import rows_of
from crfkit.view.markup import Markup, join, tag
from crfkit.view.style import color_classes
from crfkit.view.text import brief, cut, share, signed, split, width

__all__ = ["confusion", "marginals", "transitions", "weights"]

_LONGEST = 26
_MOST = 26  #: rows and columns
_ACROSS = 760.0  #: heads of columns that are wider together stand upright


def marginals(
    tokens: Sequence[str],
    labels: Sequence[str],
    node: Any,
    best: Sequence[int] | None = None,
    *,
    least: float = 0.01,
    title: str = "",
) -> Markup:
    """Return the probability of each label of each token, as a table; the chosen ones are framed.

    Examples
    --------
    >>> made = marginals(["the", "dog"], ["D", "N"], [[0.9, 0.1], [0.004, 0.996]], [0, 1])
    >>> made.count("<td"), ">.90<" in made, "&gt;.99" in made
    (5, True, True)
    """
    node = node.tolist() if hasattr(node, "tolist") else node
    shown = rows_of(labels, node, best, None, least)
    colors = color_classes(labels)
    names = brief((labels[y] for y in shown), _LONGEST)
    rows = []
    for y in shown:
        cells = [
            tag(
                "td",
                share(p),
                style=f"--p:{p:.2f}",
                class_="t" if best is not None and best[t] == y else None,
            )
            if (p := node[t][y]) >= least or (best is not None and best[t] == y)
            else tag("td")
            for t in range(len(tokens))
        ]
        rows.append(tag("tr", _head(labels[y], "row", short=names), *cells, class_=colors[labels[y]]))
    hidden = len(labels) - len(shown)
    note = f"{hidden} of {len(labels)} labels are nowhere above {share(least)}" if hidden > 0 else ""
    return framed(_table([tag("td"), *(_head(one, "col") for one in tokens)], rows, "marginals"), title, note)


def transitions(
    rows: Sequence[str],
    columns: Sequence[str],
    weights: Any,
    *,
    title: str = "Transitions",
    note: str = "from the row to the column",
) -> Markup:
    """Return weights by row and column, as a table: blue is likely, orange unlikely.

    Where there are very many, those rows and columns that have the largest ones.

    Examples
    --------
    >>> "+1.50" in transitions(["D", "N"], ["D", "N"], [[0.0, 1.5], [-0.25, 0.0]])
    True
    """
    weights = weights.tolist() if hasattr(weights, "tolist") else weights
    kept_rows = _largest([max(map(abs, row), default=0.0) for row in weights])
    kept = _largest([max((abs(row[x]) for row in weights), default=0.0) for x in range(len(columns))])
    most = max((abs(w) for row in weights for w in row), default=0.0) or 1.0
    digits = 1 if len(kept) > 8 else 2
    colors = color_classes([*rows, *columns])
    names = brief([*rows, *columns], _LONGEST)
    body = [
        tag(
            "tr",
            _head(rows[y], "row", colors[rows[y]], names),
            *(
                tag(
                    "td",
                    signed(w, digits),
                    class_="y" if w > 0 else "n" if w < 0 else None,
                    style=f"--p:{abs(w) / most:.2f}" if w else None,
                )
                for w in (weights[y][x] for x in kept)
            ),
        )
        for y in kept_rows
    ]
    if len(kept) < len(columns) or len(kept_rows) < len(rows):
        note += f"; {len(kept_rows)} of {len(rows)} rows, {len(kept)} of {len(columns)} columns"
        note += ", those with the largest"
    heads = [tag("td"), *(_head(columns[x], "col", colors[columns[x]], names) for x in kept)]
    tones = (
        tag("span", "+ likely", style="--k:var(--for)"),
        tag("span", "− unlikely", style="--k:var(--against)"),
    )
    return framed(
        _table(heads, body, title or "transitions", _wide(names[columns[x]] for x in kept)),
        title,
        note,
        join(tones),
    )


def confusion(
    labels: Sequence[str],
    matrix: Any,
    *,
    columns: Sequence[str] | None = None,
    colored: Iterable[str] = (),
    border: Mapping[str, int] | None = None,
    title: str = "Gold by predicted",
    note: str = "",
    link: Callable[[str, str], Mapping[str, object]] | None = None,
) -> Markup:
    """Return how often each gold label (row) was predicted as each label (column).

    What is right is gray, errors are colored by their number. Where there are very many labels, those with
    the most errors.

    Parameters
    ----------
    labels : sequence of str
        Names of the rows.
    matrix : table of int [rows, columns]
    columns : sequence of str, optional
        Default: the labels. What is only a row or only a column is no label, and stays gray.
    colored : iterable of str
        All labels of the model, so that each has one color in all pictures.
    border : mapping, optional
        How many spans of each type have a wrong border; a second line of the cell of this type.
    link : function of the names of a row and of a column, optional
        What the number of a cell links to, as attributes of HTML.

    Examples
    --------
    >>> made = confusion(["N", "V"], [[3, 1], [0, 2]])
    >>> made.count('class="d"'), made.count('class="w"')
    (2, 1)
    """
    names = list(labels if columns is None else columns)
    matrix = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    wrong = [
        [0 if labels[y] == names[x] else times for x, times in enumerate(row)] for y, row in enumerate(matrix)
    ]
    most = max((times for row in wrong for times in row), default=0) or 1
    kept_rows = _largest([sum(row) for row in wrong])
    kept = _largest([sum(row[x] for row in wrong) for x in range(len(names))])
    both = {*labels} & {*names}
    colors = {**dict.fromkeys([*labels, *names], "o"), **color_classes([*colored, *both])}
    short = brief([*labels, *names], _LONGEST)
    body = []
    for y in kept_rows:
        cells: list[Markup] = []
        for x in kept:
            times = matrix[y][x]
            if labels[y] == names[x]:
                more = (border or {}).get(labels[y], 0)
                small = tag("small", f"+{more:,} border") if more else None
                cells.append(tag("td", _linked(link, labels[y], names[x], f"{times:,}", small), class_="d"))
            elif times:
                shade = f"--p:{0.15 + 0.85 * times / most:.2f}"
                told = _linked(link, labels[y], names[x], f"{times:,}")
                cells.append(tag("td", told, class_="w", style=shade))
            else:
                cells.append(tag("td"))
        body.append(tag("tr", _head(labels[y], "row", colors[labels[y]], short), *cells))
    errors = sum(map(sum, wrong)) + sum((border or {}).values())
    said = [note or f"{errors:,} error{'' if errors == 1 else 's'}"]
    if len(kept) < len(names) or len(kept_rows) < len(labels):
        said.append(f"the {max(len(kept), len(kept_rows))} of {len(names)} labels with the most")
    heads = [tag("td"), *(_head(names[x], "col", colors[names[x]], short) for x in kept)]
    tall = _wide(short[names[x]] for x in kept)
    return framed(_table(heads, body, title or "confusion", tall), title, "; ".join(said))


def weights(
    names: Sequence[str], labels: Sequence[str], table: Any, *, title: str = "", note: str = ""
) -> Markup:
    """Return the weights of attributes by label, as a table; cells without a weight are empty.

    Parameters
    ----------
    names : sequence of str
        Attributes, such as ``word[0]=York``.
    labels : sequence of str
        All labels of the model.
    table : rows of numbers
        0 where there is no weight.

    Examples
    --------
    >>> made = weights(["word[0]=York", "bias"], ["O", "B-LOC"], [[0, 1.5], [-0.25, 0]])
    >>> "+1.50" in made, made.count('class="y"'), made.count('class="n"')
    (True, 1, 1)
    """
    table = table.tolist() if hasattr(table, "tolist") else table
    most = max((abs(w) for row in table for w in row), default=0.0) or 1.0
    colors = color_classes(labels)
    body = []
    for name, row in zip(names, table, strict=True):
        value, template = split(name)
        where = tag("span", " ", cut(template, 40), class_="soft") if template else None
        head = tag("th", tag("code", tag("bdi", cut(value, 40))), where, scope="row", class_="l", title=name)
        cells = [
            tag("td", signed(w), class_="y" if w > 0 else "n", style=f"--p:{abs(w) / most:.2f}")
            if w
            else tag("td")
            for w in row
        ]
        body.append(tag("tr", head, *cells))
    short = brief(labels, _LONGEST)
    heads = [tag("td"), *(_head(one, "col", colors[one], short) for one in labels)]
    return framed(_table(heads, body, title or "weights", _wide(short.values())), title, note)


def _linked(
    link: Callable[[str, str], Mapping[str, object]] | None, row: str, column: str, *told: Any
) -> Markup:
    given = {} if link is None else link(row, column)
    return tag("a", *told, **given) if given.get("href") else join(one for one in told if one is not None)


def _largest(sizes: Sequence[float]) -> list[int]:
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    return sorted(order[:_MOST])


def _head(name: str, scope: str, color: str | None = None, short: Mapping[str, str] | None = None) -> Markup:
    shown = cut(name, _LONGEST) if short is None else short[name]
    return tag("th", tag("bdi", shown), scope=scope, class_=color, title=name if shown != name else None)


def _wide(heads: Iterable[str]) -> bool:
    return sum(width(one) + 16 for one in heads) > _ACROSS


def _table(heads: Iterable[Markup], rows: Iterable[Markup], name: str, tall: bool = False) -> Markup:
    look = "heat tall" if tall else "heat"
    made = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_=look)
    return scrolled(made, name)
