"""The page of one text: its labels, its lattice, why, and what else it could be.

In the address: `text`, or `n`, a sentence of the data; `at`, the token that is asked about; `fixed`, labels
that somebody has fixed, as ``3:B-LOC:York``: they hold while the token with that number is that word.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crfkit import view
from crfkit.models.pictures import decision_picture
from crfkit.tags.schemes import OUTSIDE
from crfkit.view.markup import Markup
from crfkit.view.text import split
from crfkit.web.inspector.judging import spans_in
from crfkit.web.inspector.numbers import Numbers, Spans, numbers_of, reason, spans_of, unseen
from crfkit.web.inspector.reading import Typed, given_batch
from crfkit.web.inspector.state import LONGEST_ADDRESS, Query, Wrong

if TYPE_CHECKING:
    from crfkit.web.inspector.inspector import Inspector

__all__ = ["page"]

_WINDOW = 60  #: tokens of a lattice
_FINE = 30  #: tokens up to which a lattice shows what has 1 %
_LABELS = 4  #: labels of a token that are listed
_MARKS = 20_000  #: tokens up to which all spans are colored
_SPANS = 12  #: of a labeling in the list


@dataclass(frozen=True, eq=False)
class Shown:
    """The sentence that a page is about, within its text."""

    text: str
    words: list[str]  #: of the whole text
    places: list[tuple[int, int]]  #: of the words in the text
    ptr: list[int]
    source: Any  #: the typed text, or the data and a number
    gold: list[str] | None = None

    def read(self, n: int | None = None) -> Any:
        """Return the sentences, or one of them, as the model reads them."""
        if isinstance(self.source, Typed):
            return self.source.read(n)
        data, number = self.source
        return data.read([number])


def page(inspector: Inspector, query: Query) -> dict[str, Any]:
    """Return what the page shows."""
    begun = time.perf_counter()
    which = query.number("model", 0, 0, len(inspector.models) - 1)
    model = inspector.models[which].model
    shown = _shown(inspector, query, which)
    made: dict[str, Any] = {
        "text": shown.text,
        "hint": inspector.typing[which].hint,
        "typing": inspector.typing[which],
        "which": which,
        "number": query.get("n"),
        "sentences": 0 if inspector.data is None else len(inspector.data),
        "tokens": len(shown.words),
    }
    if not shown.words:
        return made
    fixed = _fixed(query, shown.words, list(model.answers))
    given = [[fixed.get(t) for t in range(a, b)] for a, b in pairwise(shown.ptr)]
    at_asked = query.get("at") != ""
    at = query.number("at", 0, 0, 10**7) if at_asked else 0
    at = min(at, len(shown.words) - 1)
    batch, allowed = given_batch(model, shown.read(), given)
    spans = spans_of(model, batch, allowed)
    if not at_asked:
        at = _doubtful(spans, shown.ptr)
    number = next(n for n, (a, b) in enumerate(pairwise(shown.ptr)) if a <= at < b)
    first, end = shown.ptr[number : number + 2]
    if len(shown.ptr) > 2:
        batch, allowed = given_batch(model, shown.read(number), [given[number]])
    found = numbers_of(model, batch, allowed)
    words, t = shown.words[first:end], at - first
    link = _Links(query, shown.words, fixed, first)
    made |= {
        "marked": _marked(model, shown, spans, inspector.labels),
        "fixed": [(word, label, link.release(t)) for t, label in fixed.items() for word in [shown.words[t]]],
        "lattice": _lattice(model, found, words, t, {i - first for i in fixed if first <= i < end}, link),
        "at": at,
        "long": link.long,
        "kbest": _kbest(found, words),
        "entropy": found.entropy,
        "many": len(shown.ptr) - 1,
        "sentence": number + 1,
        "why": _why(model, batch, allowed, words, t, found, link),
        "unseen": [split(name) for name in unseen(model, shown.read(number), t)[:20]],
        "colors": inspector.colors,
        "doubts": ""
        if hasattr(model, "predict_proba")
        else f"It decides by {model.rule}: not probabilities.",
    }
    made["milliseconds"] = 1000 * (time.perf_counter() - begun)
    return made


def _shown(inspector: Inspector, query: Query, which: int) -> Shown:
    """Return the text that is asked for: what is typed, or a sentence of the data."""
    if query.get("n") and not query.all("text"):
        data = inspector.data
        if data is None:
            raise Wrong("there are no data to take a sentence from; start the inspector with --data")
        n = query.number("n", 1, 1, len(data)) - 1
        words = list(data.words[n])
        gold = None if data.gold is None else data.gold[n]
        return Shown(data.text(n), words, data.places(n), [0, len(words)], (data, n), gold)
    typed = inspector.typing[which](query.get("text"))
    return Shown(typed.text, typed.words, typed.offsets, typed.ptr, typed)


def _fixed(query: Query, words: Sequence[str], labels: list[str]) -> dict[int, str]:
    """Return the labels that are fixed, by token; those of words that have changed are forgotten."""
    found = {}
    for one in query.all("fixed"):
        place, _, rest = one.partition(":")
        t = int(place) if place.isascii() and place.isdigit() and len(place) < 9 else len(words)
        if t < len(words) and rest.endswith(f":{words[t]}"):
            label = rest[: len(rest) - len(words[t]) - 1]
            if label not in labels:
                raise Wrong(f"fixed has the label {label!r:.40}, which the model does not know")
            found[t] = label
    return dict(sorted(found.items()))


def _doubtful(spans: list[Spans], ptr: list[int]) -> int:
    """Return the first token of the least probable span."""
    each = [(1.0 if p is None else p, a + first) for several, first in zip(spans, ptr, strict=False)
            for a, _, _, p in several]  # fmt: skip
    return min(each)[1] if each else 0


class _Links:
    """Addresses of the same page that ask about another token, or fix a label."""

    def __init__(self, query: Query, words: list[str], fixed: Mapping[int, str], first: int) -> None:
        self.query, self.words, self.fixed, self.first = query, words, fixed, first
        self.long = len(query.link()) > LONGEST_ADDRESS  # no address holds the text: its form does

    def _address(self, at: int, fixed: Mapping[int, str]) -> str:
        if self.long:
            return ""
        told = [f"{t}:{label}:{self.words[t]}" for t, label in fixed.items()]
        return self.query.link(at=at, fixed=told)

    def ask(self, t: int) -> str:
        """Return the address that asks about a token of the sentence."""
        return self._address(t + self.first, self.fixed)

    def fix(self, t: int, label: str) -> str:
        """Return the address that fixes a label, or releases it where it is fixed."""
        t += self.first
        fixed = {**self.fixed, t: label}
        if self.fixed.get(t) == label:
            del fixed[t]
        return self._address(t, fixed)

    def release(self, t: int) -> str:
        """Return the address that releases a token of the text."""
        return self._address(t, {i: label for i, label in self.fixed.items() if i != t})


def _marked(model: Any, shown: Shown, spans: list[Spans], labels: list[str]) -> Markup:
    """Return the text with its spans in color, below the gold where there is some."""
    placed = []
    for several, first in zip(spans, shown.ptr, strict=False):
        for a, b, label, p in several:
            placed.append((shown.places[first + a][0], shown.places[first + b - 1][1], label, p))
    text = shown.text
    if len(shown.words) > _MARKS:
        end = shown.places[_MARKS - 1][1]
        text, placed = text[:end] + " …", [one for one in placed if one[1] <= end]
    if shown.gold is None:
        return view.entities(text, placed, labels=labels, legend=False)
    gold = [(shown.places[a][0], shown.places[b - 1][1], y) for a, b, y in spans_in(model, shown.gold)]
    return view.compare(text, {"predicted": placed}, gold=gold, labels=labels)


def _lattice(
    model: Any, found: Numbers, words: list[str], at: int, fixed: set[int], link: _Links
) -> dict[str, Any]:
    """Return the lattice, or the tokens around the one that is asked about, and which these are."""
    labels = list(model.structure.labels)
    a = max(0, min(at - _WINDOW // 2, len(words) - _WINDOW))
    b = min(a + _WINDOW, len(words))
    told = f"tokens {a + 1:,} to {b:,} of {len(words):,}" if b - a < len(words) else ""
    if model.segmental:
        near = [(s - a, e - a, *more) for s, e, *more in found.segments if a <= s and e <= b]
        best = [(s - a, e - a, y) for s, e, y in found.kbest[0].spans if a <= s and e <= b]
        return {"picture": view.segments(words[a:b], near, best, labels=labels), "part": told}

    def linked(t: int, y: int | None) -> dict[str, object]:
        i = t + a
        if link.long:
            return {}
        if y is None:
            return {"href": link.ask(i), "data_t": i, "aria_label": f"why {words[i]}"}
        told = f"{words[i]} = {labels[y]}: {found.node[i, y]:.3f}"
        held = {"aria_label": f"{told}, fixed" if i in fixed else told, "data_t": i, "data_y": y}
        if labels[y] not in model.answers:
            return {}
        return {**held, "href": link.fix(i, labels[y]), "class_": "node"}

    paths = [one.ids[a:b] for one in found.kbest[:2]]
    edge = None if found.edge is None else found.edge[-(len(words) - 1) :][a : b - 1]
    picture = view.lattice(
        words[a:b],
        labels,
        found.node[a:b],
        edge if b - a > 1 else None,
        found.best[a:b],
        paths[1] if len(paths) > 1 else None,
        least=0.01 if b - a <= _FINE else 0.03,  # small circles of many tokens are many
        at=at - a,
        fixed={i - a for i in fixed},
        link=linked,
    )
    return {"picture": picture, "part": told}


def _kbest(found: Numbers, words: list[str]) -> dict[str, Any]:
    """Return the best labelings as rows of spans, each with whether it differs from the first."""
    if not found.kbest:
        return {"rows": [], "share": 0.0}
    first = set(found.kbest[0].spans)
    rows = []
    for one in found.kbest:
        mine = dict.fromkeys(one.spans, True)
        gone = [(a, b, OUTSIDE) for a, b, y in first - set(mine) if not _covered(a, b, one.spans)]
        listed = sorted([*one.spans, *gone])
        if len(listed) > _SPANS:
            listed = [span for span in listed if span not in first][:_SPANS] or listed[:_SPANS]
        told = [(" ".join(words[a:b]), y, (a, b, y) not in first) for a, b, y in listed]
        rows.append({"p": one.probability, "spans": told, "part": one.relative})
    return {"rows": rows, "share": sum(one.probability for one in found.kbest)}


def _covered(start: int, end: int, spans: Sequence[tuple[int, int, str]]) -> bool:
    return any(a < end and start < b for a, b, _ in spans)


def _why(
    model: Any, batch: Any, allowed: Any, words: list[str], at: int, found: Numbers, link: _Links
) -> dict[str, Any]:
    """Return the labels that a token may have, and what speaks for the one that it has."""
    labels = list(model.structure.labels)
    row = found.node[at]
    order = sorted(range(len(labels)), key=lambda y: -row[y])[:_LABELS]
    listed = [
        (labels[y], float(row[y]), link.fix(at, labels[y]) if labels[y] in model.answers else "")
        for y in order
        if row[y] >= 0.0005 or y == order[0]
    ]
    made: dict[str, Any] = {"word": words[at], "label": labels[found.best[at]], "labels": listed}
    if model.segmental:
        made["labels"] = [(y, p, "") for y, p, _ in listed]
    try:
        one = reason(model, batch, words, at, None if model.segmental else allowed)
    except ValueError as error:
        return {**made, "picture": None, "message": str(error)}
    return {**made, "label": one.label, "picture": decision_picture(one, words, narrow=True), "message": ""}
