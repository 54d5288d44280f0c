"""The page of errors: scores, what was taken for what, doubtful gold, calibration, parts of the data.

In the address: `gold` and `predicted`, the cell whose sentences are listed; `sort`; `from`, the first of
them; `coverage`, the part of the predicted spans that is kept, in percent; `model`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crfkit import view
from crfkit.metrics.mistakes import Mistake, WrongSequence, doubtful
from crfkit.metrics.pictures import calibration_picture, confused, groups_picture
from crfkit.metrics.reliability import calibration
from crfkit.models.slices import slices
from crfkit.view.markup import Markup
from crfkit.view.text import percent
from crfkit.web.inspector.judging import Judged, pair_of
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.state import Query, Wrong

if TYPE_CHECKING:
    from crfkit.web.inspector.inspector import Inspector

__all__ = ["SORTS", "page", "suspects"]

#: How sentences may be sorted.
SORTS = {"surest": "Surest", "shortest": "Shortest", "loss": "Largest loss"}
_AT_A_TIME = 5
_DOUBTS = 10
_AROUND = 40  #: tokens of a long sentence around a mistake


def page(inspector: Inspector, query: Query) -> dict[str, Any]:
    """Return what the page shows."""
    data = inspector.data
    if data is None:
        return {}
    which = query.number("model", 0, 0, len(inspector.models) - 1)
    kept = query.number("coverage", 100, 1, 100)
    sort = query.choice("sort", SORTS, "surest")
    found = inspector.judged(which)
    report = found.report
    chosen = (query.get("gold"), query.get("predicted"))
    every = [(each, one) for each in found.wrong for one in each.mistakes]
    listed = [pair for pair in every if chosen == ("", "") or pair_of(pair[1], report) == chosen]
    count = len(listed)
    listed = _by_sentence(_sorted(found, listed, sort))
    first = query.number("from", 1, 1, 10**9) - 1
    pairs = Counter(pair_of(one, report) for _, one in every)

    def link(gold: str, predicted: str) -> dict[str, object]:
        if not pairs[gold, predicted]:
            return {}
        address = query.link(gold=gold, predicted=predicted, **{"from": None})
        told = f"gold {gold}, predicted {predicted}: {pairs[gold, predicted]}"
        now = "true" if chosen == (gold, predicted) else None
        return {"href": address, "aria_label": told, "aria_current": now, "id": f"c-{gold}-{predicted}"}

    doubts = doubtful(found.wrong)
    sure, right = zip(*found.kept, strict=True) if found.kept else ((), ())
    return {
        "which": which,
        "report": report,
        "found": found,
        "confusion": confused(report, "", inspector.labels, link),
        "kinds": Counter(one.kind for _, one in every).most_common(),
        "chosen": chosen,
        "sorts": SORTS,
        "sort": sort,
        "count": count,
        "many": len(listed),
        "first": first,
        "listed": [_item(data, found, pair, inspector.labels) for pair in listed[first : first + _AT_A_TIME]],
        "next": first + _AT_A_TIME if first + _AT_A_TIME < len(listed) else 0,
        "doubts": [_item(data, found, pair, inspector.labels, 6) for pair in _by_sentence(doubts)[:_DOUBTS]],
        "doubtful": len(doubts),
        "slices": _slices(inspector, which, data),
        "calibration": _calibration(found),
        "coverage": view.coverage(sure, right, kept / 100, title="") if found.kept else None,
        "kept": kept,
        "colors": inspector.colors,
        "wide": len(report.confusion.labels if report.scheme is None else report.rows) > 8,
    }


def suspects(inspector: Inspector, query: Query) -> tuple[str, str, bytes]:
    """Return the doubtful gold labels as a file of JSON lines."""
    data = inspector.data
    if data is None:
        raise Wrong("there are no data; start the inspector with --data")
    which = query.number("model", 0, 0, len(inspector.models) - 1)
    rows = [
        {"sentence": each.sequence, "words": list(data.words[each.sequence - 1]), **one.to_dict()}
        for each, one in doubtful(inspector.judged(which).wrong)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return "suspects.jsonl", "application/jsonl", text.encode("utf-8", "backslashreplace")


def _by_sentence(listed: list[tuple[WrongSequence, Mistake]]) -> list[tuple[WrongSequence, Mistake]]:
    """Return the first mistake of each sentence."""
    found: dict[int, tuple[WrongSequence, Mistake]] = {}
    for pair in listed:
        found.setdefault(pair[0].sequence, pair)
    return [*found.values()]


def _sorted(
    found: Judged, listed: list[tuple[WrongSequence, Mistake]], sort: str
) -> list[tuple[WrongSequence, Mistake]]:
    if sort == "surest":

        def sure(pair: tuple[WrongSequence, Mistake]) -> float:
            each, one = pair
            known = {(a, b, y): p or 0.0 for a, b, y, p in found.spans[each.sequence - 1]}
            return -known.get(one.predicted, 0.0) if one.predicted else 0.0

        return sorted(listed, key=sure)
    if sort == "shortest":
        return sorted(listed, key=lambda pair: len(pair[0].words or ()))
    return sorted(listed, key=lambda pair: -float(found.loss[pair[0].sequence - 1]))


def _item(
    data: Material,
    found: Judged,
    pair: tuple[WrongSequence, Mistake],
    labels: Sequence[str],
    around: int = _AROUND,
) -> dict[str, Any]:
    """Return a sentence with a mistake, or what is around it."""
    each, one = pair
    n = each.sequence - 1
    words = list(data.words[n])
    ends = [place[:2] for place in (one.gold, one.predicted) if place]
    a = max(0, min(a for a, _ in ends) - around)
    b = min(len(words), max(b for _, b in ends) + around)
    return {
        "number": n + 1,
        "picture": compared_picture(words, (a, b), {"predicted": found.spans[n]}, found.gold[n], labels),
        "one": one,
        "at": one.place[0],
        "gold": percent(one.probability or 0.0),
    }


def compared_picture(
    words: Sequence[str], limits: tuple[int, int], versions: Any, gold: Any, labels: Sequence[str]
) -> Markup:
    """Return a sentence, or a part of it, as several have labeled it."""
    a, b = limits
    shown = [*words[a:b]]
    before, after = int(a > 0), int(b < len(words))
    shown = ["…"] * before + shown + ["…"] * after

    def moved(spans: Any) -> list[tuple[Any, ...]]:
        return [(s - a + before, e - a + before, *more) for s, e, *more in spans if a <= s and e <= b]

    text, placed = view.joined(shown, moved(gold))
    made = {name: view.joined(shown, moved(spans))[1] for name, spans in versions.items()}
    return view.compare(text, made, gold=placed, labels=labels)


def _slices(inspector: Inspector, which: int, data: Material) -> list[tuple[str, Markup]]:
    """Return the scores of sentences by length and by unknown words."""
    found = inspector.judged(which)

    def made() -> list[tuple[str, Markup]]:
        several = slices(data.words, inspector.models[which].model)
        return [
            (one.title, groups_picture(found.compared.report(one.groups), "", one.names)) for one in several
        ]

    shown: list[tuple[str, Markup]] = inspector.once(f"slices {which}", made)
    return shown


def _calibration(found: Judged) -> dict[str, Any]:
    if not found.claims:
        return {"picture": None, "error": None}
    sure, right = zip(*found.claims, strict=True)
    made = calibration(sure, right)
    return {"picture": calibration_picture({"labels": made}, title=""), "error": made.expected_error}
