"""How precise answers are where only the surest are kept: precision against coverage."""

from __future__ import annotations

from collections.abc import Sequence

from crfkit.view.chart import Chart
from crfkit.view.frame import framed
from crfkit.view.markup import Markup, tag
from crfkit.view.text import share

__all__ = ["coverage"]


def coverage(
    probability: Sequence[float],
    right: Sequence[bool],
    at: float = 1.0,
    *,
    what: str = "spans",
    title: str = "Coverage against precision",
    note: str = "",
) -> Markup:
    """Return the precision of the surest answers by how many of all are kept, and one point of it in words.

    Parameters
    ----------
    probability : sequence of float
        How sure each answer is.
    right : sequence of bool
        Whether it is right.
    at : float
        The part of the answers that is kept, for the point.
    what : str
        What answers are called.

    Examples
    --------
    >>> made = coverage([0.9, 0.8, 0.4, 0.3], [True, True, False, True], 0.5)
    >>> "100.0 % of 2 spans" in made, "above .60" in made
    (True, True)
    """
    order = sorted(range(len(probability)), key=lambda i: -probability[i])
    if not order:
        return framed(tag("p", f"There are no {what}.", class_="soft"), title, note)
    correct, parts = 0, []
    for n, i in enumerate(order, 1):
        correct += bool(right[i])
        parts.append(correct / n)
    kept = max(1, round(at * len(order)))
    first = max(1, len(order) // 50)  # of very few the precision jumps
    low = min(parts[first - 1 :])
    across = [n / len(order) for n in range(first, len(order) + 1)]
    chart = Chart(
        "precision", (0.0, 1.0), (max(0.0, low - 0.05), 1.0), below="part that is kept", size=(360.0, 220.0)
    )
    chart.curve(across, parts[first - 1 :])
    chart.dot(kept / len(order), max(parts[kept - 1], max(0.0, low - 0.05)), kind="factor", radius=5.0)
    limit = probability[order[kept - 1]]
    if kept < len(order):
        limit = (limit + probability[order[kept]]) / 2
    review = len(order) - kept
    told = [
        tag("b", f"{100 * parts[kept - 1]:.1f} % of {kept:,} {what}"),
        f" are right: those above {share(limit)}. ",
        f"{review:,} go to review, of which {sum(not right[i] for i in order[kept:]):,} are wrong.",
    ]
    body = tag("div", chart.drawn(), tag("div", tag("p", *told), class_="words"), class_="side")
    return framed(body, title, note)
