"""The page of the queue: the sentence that the model is least sure of, labeled by keyboard.

In the address: `by`, the order; `key`, a sentence that is asked for. An answer is a POST with the spans, the
tokens that stay open, and the answer that it replaces.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import inference, view
from crfkit.inference.spans import Steps, segment_probability
from crfkit.models.confidence import pairs_of
from crfkit.models.documents import scheme_of
from crfkit.models.model import SequenceModel
from crfkit.tags.reading import CUT, START
from crfkit.tags.schemes import OUTSIDE
from crfkit.text import FORMATS, Doc, write
from crfkit.text.formats.registry import find
from crfkit.view.entities import UNSURE
from crfkit.view.markup import Markup
from crfkit.view.style import color_classes, kind_of
from crfkit.view.text import share
from crfkit.web.inspector.labeling import ORDERS, Labeling
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.numbers import Spans, spans_of
from crfkit.web.inspector.reading import batch_of
from crfkit.web.inspector.state import Query, Wrong
from crfkit.web.inspector.store import Conflict, StoreError

if TYPE_CHECKING:
    from crfkit.web.inspector.inspector import Inspector

__all__ = ["Refused", "change", "export", "page"]

_NEXT = 4
_KEYS = 9  #: labels that have a digit
_LONGEST = 400  #: tokens of a sentence that is labeled
_NAME = 80  #: letters of a label


class Refused(ValueError):  # noqa: N818 - what a page says
    """An answer that was not saved."""

    def __init__(self, status: int, told: str) -> None:
        super().__init__(told)
        self.status = status


def page(inspector: Inspector, query: Query) -> dict[str, Any]:
    """Return what the page shows."""
    labeling: Labeling | None = inspector.labeling
    if labeling is None:
        return {}
    by = query.choice("by", ORDERS, "entropy")
    try:
        left, unsure = labeling.order(by)
        runs = labeling.store.runs()
        given = labeling.labels()
    except StoreError as error:
        raise Refused(503, str(error)) from None
    model, pool = labeling.model, labeling.pool
    names = _names(inspector, labeling)
    made: dict[str, Any] = {
        "labeling": labeling,
        "by": by,
        "orders": ORDERS,
        "left": len(left),
        "given": len(given),
        "runs": runs,
        "curve": view.learning(
            [
                (one.answers, one.score)
                for one in sorted(runs, key=lambda one: one.answers)
                if one.score is not None
            ],
            metric=f"{runs[-1].metric} of {inspector.data.name}" if runs and inspector.data else "dev score",
        ),
        "kept": _kept(given),
        "colors": inspector.colors,
        "formats": formats(),
        "now": None,
        "next": [],
        "until": labeling.trained + labeling.every - len(given),
    }
    asked = query.get("key")
    if asked:
        if asked not in labeling.keys:
            raise Wrong("this sentence is not in the pool")
        n = labeling.keys.index(asked)
        left = [n, *(one for one in left if one != n)]
    if not left:
        return made
    now = left[0]
    made["now"] = _asked(labeling, model, pool, now, names, inspector)
    made["why"] = _why(model, pool, now, float(unsure[now]), by, made["now"])
    made["next"] = [
        (_line(model, pool, n, inspector.labels), float(unsure[n]), labeling.keys[n])
        for n in left[1 : 1 + _NEXT]
    ]
    return made


def change(inspector: Inspector, query: Query) -> Query:
    """Save an answer; return the state of the page that follows."""
    labeling: Labeling | None = inspector.labeling
    if labeling is None:
        raise Refused(409, "there is no pool; start the inspector with --pool")
    if not inspector.edit:
        raise Refused(403, "the inspector only reads; start it with --edit to give labels")
    action = query.choice("action", ("label", "skip", "undo", "train"), "label")
    after = Query([("by", query.get("by"))] if query.get("by") else [])
    if action == "train":
        if not labeling.labels():
            raise Refused(409, "there are no labels to learn from yet")
        labeling.train()
        return after
    try:
        if action == "undo":
            return _undone(labeling, after)
        key = query.get("key")
        if key not in labeling.keys:
            raise Refused(400, "the sentence is not in the pool; nothing was saved")
        words = list(labeling.pool.words[labeling.keys.index(key)])
        spans, open_ = ([], []) if action == "skip" else _read_answer(query, words)
        kept = query.number("kept", 0, 0, len(words))
        seen = query.number("seen", 0, 0, 1 << 60)
        labeling.store.add(key, action, words, spans, open_, kept, seen=seen)
    except Conflict as error:
        raise Refused(409, str(error)) from None
    except StoreError as error:
        raise Refused(503, str(error)) from None
    if action == "label":
        labeling.answered()
    return after


def export(inspector: Inspector, query: Query) -> tuple[str, str, bytes]:
    """Return the labels given so far as a file, in a format of `crfkit.text` or in columns."""
    labeling: Labeling | None = inspector.labeling
    if labeling is None:
        raise Wrong("there is no pool; start the inspector with --pool")
    format = query.choice("format", formats(), "jsonl")
    docs = _documents(labeling)
    stem = labeling.store.name.partition(".")[0] or "labels"
    if format == "columns":
        from crfkit.web.inspector.labeling import tags_of

        lines = []
        for one in labeling.labels():
            tags = tags_of(labeling.opened, one)
            lines += [f"{word}\t{tag or ''}" for word, tag in zip(one.words, tags, strict=True)] + [""]
        return (
            f"{stem}.txt",
            "text/plain; charset=utf-8",
            "\n".join(lines).encode("utf-8", "backslashreplace"),
        )
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a format cannot hold; the list of formats says it
        write(docs, file, format)
    ending = (find(format).endings or (".json",))[0]
    return f"{stem}{ending}", "application/octet-stream", file.getvalue()


def formats() -> list[str]:
    """Return the formats of an export: all that are one file and need no other package."""
    records = [find(name) for name in FORMATS]
    able = [
        one.name for one in records if one.files is None and not isinstance(one.write, str) and not one.needs
    ]
    return [*able, "columns"]


def labels_of(model: SequenceModel) -> list[str]:
    """Return what a person may call a span: types where labels are tags, else the labels."""
    if model.segmental:
        return [y for y in model.structure.labels if y != OUTSIDE]
    return [kind for kind in pairs_of(model)[2] if kind not in ("", OUTSIDE)]


# ---- within


def _names(inspector: Inspector, labeling: Labeling) -> list[str]:
    """Return what a span may be called: as the model knows, and as the data do, which it may not know yet."""
    known = labels_of(labeling.model)
    gold = [] if inspector.data is None or inspector.data.gold is None else inspector.data.gold
    if scheme_of(labeling.model) is None and not labeling.model.segmental:
        more = {y for labels in gold for y in labels}
    else:
        more = {kind_of(y) for labels in gold for y in labels}
    return [*known, *sorted(more - {*known, OUTSIDE, ""})]


def _asked(
    labeling: Labeling, model: SequenceModel, pool: Material, n: int, names: list[str], inspector: Inspector
) -> dict[str, Any]:
    """Return the sentence that is to be labeled, for the page's script."""
    key, words = labeling.keys[n], list(pool.words[n])
    if len(words) > _LONGEST:
        words = words[:_LONGEST]
    before = labeling.answers().get(key)
    [spans] = spans_of(model, batch_of(model, pool.read([n])))
    probable = _shares(model, pool.read([n]), spans, names)
    if before is not None and before.action == "label":
        spans = [(a, b, y, None) for a, b, y in before.spans]
    elif OUTSIDE not in model.answers and scheme_of(model) is None:
        pass  # every token has a label
    places = pool.places(n)
    text = pool.text(n)
    gaps = [text[(places[t - 1][1] if t else 0) : places[t][0]] for t in range(len(words))]
    colors = {**color_classes([*inspector.labels, *names]), **inspector.colors}  # new ones get some color
    data = {
        "words": words,
        "gaps": gaps,
        "spans": [list(one) for one in spans],
        "open": before.open if before is not None else [],
        "shares": probable,
        "labels": [[y, colors[y]] for y in names],
        "none": OUTSIDE in model.answers or scheme_of(model) is not None or model.segmental,
        "keys": _KEYS,
    }
    return {
        "key": key,
        "number": n + 1,
        "seen": labeling.store.last(key),
        "data": json.dumps(data, ensure_ascii=False),
        "picture": _line(model, pool, n, inspector.labels),
        "spans": spans,
        "answered": before is not None,
    }


def _shares(model: SequenceModel, X: Any, spans: Spans, names: list[str]) -> list[dict[str, float]]:
    """Return, for each predicted span, how probable it is with each label."""
    if model.segmental or (model.structure.order or 0) > 1 or model.states is not None or not spans:
        return [{y: p} if p is not None else {} for _, _, y, p in spans]
    flags, kind, kinds = pairs_of(model)
    begins, cuts = (flags & START) != 0, (flags & CUT) != 0
    steps = Steps(begins[:, :-1], ~cuts[:-1, :-1], cuts[:-1])
    batch = batch_of(model, X)
    potentials = model.potentials(batch, threads=1)
    wanted = [(a, b, i) for a, b, _, _ in spans for i, name in enumerate(kinds) if name in names]
    among = np.stack([kind == i for _, _, i in wanted])
    ends = np.array([one[:2] for one in wanted])
    found = segment_probability(potentials, ends[:, 0], ends[:, 1], among, steps, threads=1).tolist()
    each: list[dict[str, float]] = []
    at = 0
    for a, b, _, _ in spans:
        mine = {}
        while at < len(wanted) and wanted[at][:2] == (a, b):
            mine[kinds[wanted[at][2]]] = round(min(found[at], 1.0), 4)
            at += 1
        each.append(mine)
    return each


def _why(model: SequenceModel, pool: Material, n: int, unsure: float, by: str, now: dict[str, Any]) -> str:
    batch = batch_of(model, pool.read([n]))
    potentials = model.potentials(batch, threads=1)
    score = inference.decode(potentials, threads=1)[0].score
    best = exp(min(score - float(np.atleast_1d(inference.log_partition(potentials, threads=1))[0]), 0.0))
    told = f"{by} {unsure:.2f}{' nats' if by == 'entropy' else ''}; the best labeling has {share(best)}"
    doubt = sum(1 for *_, p in now["spans"] if p is not None and p < UNSURE)
    return told + (f"; {doubt} of {len(now['spans'])} spans are in doubt" if now["spans"] else "")


def _line(model: SequenceModel, pool: Material, n: int, labels: list[str]) -> Markup:
    """Return a sentence of the pool with what the model predicts."""
    [spans] = spans_of(model, batch_of(model, pool.read([n])))
    places, text = pool.places(n), pool.text(n)
    most = min(len(places), 60)
    end = places[most - 1][1] if most else 0
    placed = [(places[a][0], places[b - 1][1], y, p) for a, b, y, p in spans if b <= most]
    shown = text[:end] + (" …" if most < len(places) else "")
    return view.entities(shown, placed, labels=labels, legend=False)


def _kept(given: Sequence[Any]) -> float | None:
    """Return the part of the tokens whose label people left as the model had it."""
    tokens = sum(len(one.words) for one in given)
    return sum(one.kept for one in given) / tokens if tokens else None


def _read_answer(query: Query, words: list[str]) -> tuple[list[tuple[int, int, str]], list[int]]:
    """Return the spans and open tokens of an answer, checked."""
    try:
        given, left = json.loads(query.get("spans", "[]")), json.loads(query.get("open", "[]"))
        spans = sorted((int(a), int(b), str(y)) for a, b, y in given)
        open_ = sorted({int(t) for t in left})
    except (ValueError, TypeError, RecursionError):
        raise Refused(400, "spans and open are not lists as the page sends them; nothing was saved") from None
    end = 0
    for a, b, y in spans:
        if not end <= a < b <= len(words):
            raise Refused(
                400, f"the span {a} to {b} is not within {len(words)} tokens, or overlaps another one"
            )
        if y == OUTSIDE or not y.strip() or len(y) > _NAME or not y.isprintable():
            raise Refused(
                400, f"the label {y!r:.40} is not valid: expected 1 to {_NAME} characters, and not O"
            )
        end = b
    if open_ and not 0 <= open_[0] <= open_[-1] < len(words):
        raise Refused(400, f"open has token numbers beyond the {len(words)} tokens")
    return spans, open_


def _undone(labeling: Labeling, after: Query) -> Query:
    """Take the last answer back, and ask for its sentence again."""
    done = [one for one in labeling.answers().values() if one.sentence in set(labeling.keys)]
    if not done:
        raise Refused(409, "there is nothing to undo")
    last = max(done, key=lambda one: one.id)
    labeling.store.add(last.sentence, "undo", last.words, last.spans, last.open, 0, seen=last.id)
    return Query([*after.pairs, ("key", last.sentence)])


def _documents(labeling: Labeling) -> list[Doc]:
    """Return the labeled sentences as documents; what nobody decided is unknown there."""
    numbers = {key: n for n, key in enumerate(labeling.keys)}
    made = []
    for one in labeling.labels():
        n = numbers.get(one.sentence)
        text = " ".join(one.words) if n is None else labeling.pool.text(n)
        places = Material("", [], [one.words]).places(0) if n is None else labeling.pool.places(n)
        spans = [(places[a][0], places[b - 1][1], y) for a, b, y in one.spans]
        open_ = set(one.open)
        known = None
        if open_:
            known = [
                (
                    places[t][0],
                    places[t + 1][0] if t + 1 < len(places) and t + 1 not in open_ else places[t][1],
                )
                for t in range(len(places))
                if t not in open_
            ]
        made.append(Doc(text, places, spans=spans, id=one.sentence[:12], known=known))
    return made
