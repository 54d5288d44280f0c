"""The page of two models on the same data: which is better, whether by luck, and where they disagree.

In the address: `who`, those who are right in the sentences that are listed; `from`, the first of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import view
from crfkit.metrics.significance import Bootstrap, McNemar, bootstrap_counts, mcnemar
from crfkit.web.inspector.errors import compared_picture
from crfkit.web.inspector.judging import Judged
from crfkit.web.inspector.state import Query, Wrong

if TYPE_CHECKING:
    from crfkit.web.inspector.inspector import Inspector

__all__ = ["WHO", "disagreements", "page"]

#: Sentences by who has all of it right.
WHO = {
    "a": "A right",
    "b": "B right",
    "differ": "Both wrong, differently",
    "alike": "Both wrong, alike",
    "both": "Both right",
}
_AT_A_TIME = 5
_SAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Versus:
    """Two models on the same data."""

    a: Judged
    b: Judged
    whole: Bootstrap  #: of the score; a minus b
    test: McNemar
    rows: list[tuple[str, int, Bootstrap]]  #: of each type: its name, how many there are
    groups: dict[str, list[int]]  #: sentences by `WHO`


def page(inspector: Inspector, query: Query) -> dict[str, Any]:
    """Return what the page shows."""
    if len(inspector.models) < 2 or inspector.data is None:
        return {}
    data = inspector.data
    found: Versus = inspector.once("versus", lambda: _versus(inspector))
    who = query.choice("who", WHO, "a")
    listed = found.groups[who]
    first = query.number("from", 1, 1, 10**9) - 1
    names = ("A", "B")
    rows = [("all", found.a.report.micro.support, found.whole), *found.rows]
    drawn = view.intervals([(name, _ends(one, 0), _ends(one, 1)) for name, _, one in rows], names)
    items = [
        {
            "number": n + 1,
            "picture": compared_picture(
                data.words[n],
                (0, len(data.words[n])),
                {"A": found.a.spans[n], "B": found.b.spans[n]},
                found.a.gold[n],
                inspector.labels,
            ),
        }
        for n in listed[first : first + _AT_A_TIME]
    ]
    return {
        "found": found,
        "verdict": _verdict(found.whole),
        "rows": [(*row, picture, _verdict(row[2])) for row, picture in zip(rows, drawn, strict=False)],
        "scale": drawn[-1],
        "who": who,
        "names": WHO,
        "first": first,
        "listed": items,
        "count": len(listed),
        "next": first + _AT_A_TIME if first + _AT_A_TIME < len(listed) else 0,
        "recipes": _recipes(*(one.model for one in inspector.models)),
        "facts": [_facts(one.model) for one in inspector.models],
        "colors": inspector.colors,
    }


def disagreements(inspector: Inspector, query: Query) -> tuple[str, str, bytes]:
    """Return the sentences that one of the two has right, or that they have wrong differently."""
    if len(inspector.models) < 2 or inspector.data is None:
        raise Wrong("there is nothing to compare; start the inspector with two models and --data")
    data = inspector.data
    found: Versus = inspector.once("versus", lambda: _versus(inspector))
    rows = []
    for who in ("a", "b", "differ"):
        for n in found.groups[who]:
            each = {"gold": found.a.gold[n], "a": found.a.spans[n], "b": found.b.spans[n]}
            rows.append({"sentence": n + 1, "right": who, "words": list(data.words[n]), **each})
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return "disagreements.jsonl", "application/jsonl", text.encode("utf-8", "backslashreplace")


def _versus(inspector: Inspector) -> Versus:
    a, b = inspector.judged(0), inspector.judged(1)
    data = inspector.data
    assert data is not None
    assert data.gold is not None
    judging: Any = a.compared.judging
    N = a.compared.N
    each = np.arange(N)
    counts = [
        judging.metric.count(one.compared.encoded, each, N) for one in (b, a)
    ]  # the difference is a - b
    whole = bootstrap_counts(np.stack(counts, 1), judging.metric.value, a.report.metric, samples=_SAMPLES)
    predicted = [[_labels(one, n) for n in range(N)] for one in (a, b)]
    test = mcnemar(data.gold, *predicted)
    groups: dict[str, list[int]] = {name: [] for name in WHO}
    for n in range(N):
        right = [not one.report.wrong[n] for one in (a, b)]
        same = predicted[0][n] == predicted[1][n]
        name = (
            "both" if all(right) else "a" if right[0] else "b" if right[1] else "alike" if same else "differ"
        )
        groups[name].append(n)
    return Versus(a, b, whole, test, _by_type(a, b), groups)


def _labels(one: Judged, n: int) -> list[str]:
    predicted = one.compared.labels_of(n)[1]
    assert not isinstance(predicted, dict)
    return [y or "" for y in predicted]


def _by_type(a: Judged, b: Judged) -> list[tuple[str, int, Bootstrap]]:
    """Return the F1 of each type of both, with the difference by samples of the sentences."""
    N = a.compared.N
    tables = []
    for one in (b, a):
        names, counts, _ = one.compared.counts(np.arange(N), N)  # [N, 3, K]
        tables.append({name: counts[:, :, k] for k, name in enumerate(names)})
    support = {name: row.support for name, row in a.report.rows.items()}
    found = []
    for name in sorted(support, key=lambda name: -support[name])[:40]:
        nothing = np.zeros((N, 3))
        pair = np.stack([table.get(name, nothing) for table in tables], 1)
        found.append((name, support[name], bootstrap_counts(pair, _f1, "f1", samples=_SAMPLES)))
    return found


def _f1(counts: Any) -> Any:
    """Return F1 of counts [..., 3] of what is right, predicted and in the gold."""
    right, *others = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    total = sum(others)
    return np.divide(2 * right, total, out=np.zeros_like(right), where=total > 0)


def _ends(one: Bootstrap, which: int) -> tuple[float, float, float]:
    """Return the score of the first or the second model with its interval: the first is `b` of the test."""
    return (one.a, *one.interval_a) if which else (one.b, *one.interval_b)


def _verdict(one: Bootstrap) -> str:
    if one.p_value >= 0.05:
        return ""
    return "A" if one.difference > 0 else "B"


def _recipes(a: Any, b: Any) -> list[tuple[str, str]]:
    """Return the lines of two recipes, each with a sign: + where only A has it, - where only B has."""
    lines = [_lines(one.recipe) for one in (a, b)]
    made = [("" if line in lines[1] else "+", line) for line in lines[0]]
    return made + [("−", line) for line in lines[1] if line not in lines[0]]


def _lines(recipe: Any) -> list[str]:
    """Return the lines of a recipe, with the names of columns that its attributes have."""
    if recipe is None:
        return []
    if recipe.dialect != "crfkit":
        return str(recipe).splitlines()
    return [one.literals[0].removesuffix("=") for one in recipe.templates]


def _facts(model: Any) -> str:
    record = model.training
    told = f"{model.layout.weights:,} weights"
    if record is not None and record.seconds == record.seconds:
        told += f" · trained in {record.seconds:.1f} s"
    return told if model.recipe is None else f"{told} · {len(model.recipe.templates)} templates"
