"""What the service does: messages in, messages out, without HTTP.

Plain requests, labels of tokens or spans of texts, take the native calls of `crfkit.models.Tagger`; all
others take the queries of `crfkit.models.SequenceModel`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp
from typing import Any

from crfkit.inference.constrained.spelled import constraints_of
from crfkit.models import SequenceModel
from crfkit.models.classic.missing_verbs import AbsentError
from crfkit.models.confidence import segment_confidence
from crfkit.models.documents import scheme_of
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import type_of
from crfkit.text.doc import Doc
from crfkit.text.offsets import from_unit
from crfkit.web.messages import (
    Alternative,
    CompareAnswer,
    Compared,
    ExplainAnswer,
    ExplainRequest,
    Result,
    TagAnswer,
    TagOptions,
    TagRequest,
    TextSpan,
)
from crfkit.web.models import Loaded
from crfkit.web.problems import Problem

__all__ = ["compare", "explain", "is_plain", "tag"]


def is_plain(given: TagOptions) -> bool:
    """Return whether a request asks for labels or spans only, which takes no more than one sweep."""
    return (
        given.probabilities == "none"
        and not given.kbest
        and given.constraints is None
        and (given.fixed is None if isinstance(given, TagRequest) else True)
    )


def tag(loaded: Loaded, given: TagRequest) -> TagAnswer:
    """Return the labels, spans and probabilities that a request asks for.

    Examples
    --------
    >>> import tempfile
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     crf.model_.with_text("words").save(f"{folder}/m.crf")
    ...     loaded = Loaded.open("m", f"{folder}/m.crf")
    >>> [one.labels for one in tag(loaded, TagRequest(tokens=[["New", "York"], ["in"]])).results]
    [['B-LOC', 'I-LOC'], ['O']]
    >>> [span.text for span in tag(loaded, TagRequest(text="in New York")).results[0].spans]
    ['New York']
    """
    return TagAnswer(loaded.told, results(loaded, given))


def results(loaded: Loaded, given: TagRequest) -> list[Result]:
    """Return a result for each text or sequence."""
    try:
        if given.tokens is not None and given.spans is None and is_plain(given):
            if len(given.tokens) == 1:
                return [Result(labels=loaded.tagger.tag(given.tokens[0]))]
            return [Result(labels=labels) for labels in loaded.model.predict(given.tokens, threads=1)]
        if given.text is not None or given.texts is not None:
            texts = [given.text] if given.text is not None else given.texts
            return _of_texts(loaded, texts or [], given)
        return _of_sequences(loaded, _sequences(given), given)
    except (ValueError, TypeError, AbsentError) as error:
        raise Problem(422, str(error)) from None


# ---- sequences


def _sequences(given: TagRequest) -> list[Any]:
    """Return sequences as a model takes them."""
    if given.tokens is not None:
        return given.tokens
    if given.items is not None:
        return given.items
    return [_rows(one, n) for n, one in enumerate(given.columns or ())]


def _rows(columns: dict[str, list[str]], n: int | None = None) -> list[dict[str, str]]:
    """Return the columns of a sequence as a dict for each position."""
    if len({*map(len, columns.values())}) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in columns.items())
        where = {"field": "columns"} | ({} if n is None else {"sequence": n})
        raise Problem(422, f"columns of one sequence differ in length: {sizes}", where)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _of_sequences(loaded: Loaded, X: list[Any], given: TagRequest) -> list[Result]:
    """Return what is asked of sequences."""
    if not X:
        return []
    model = loaded.model
    wants_spans, wants_labels = bool(given.spans), given.labels is not False
    if is_plain(given):
        if not wants_spans:
            return [Result(labels=labels) for labels in model.predict(X, threads=1)]
        both = [loaded.tagger.answer(x) for x in X]
        return [Result(labels=y if wants_labels else None, spans=_token_spans(s)) for y, s in both]
    marks = _labels_given(given.fixed, X, model)
    rules = _rules(given)
    labels = model.predict(X, given=marks, constraints=rules, infeasible=given.infeasible, threads=1)
    made = [Result(labels=y if wants_labels else None) for y in labels]
    if wants_spans:
        batch, allowed = model.batch_given(X, marks, 1)
        found = segment_confidence(model, batch, allowed=allowed, constraints=rules, threads=1)
        for one, several in zip(made, found, strict=True):
            one.spans = [TextSpan(a, b, label, p) for a, b, label, p in several if label != OUTSIDE]
    _add_probabilities(loaded, X, labels, marks, given, made)
    _add_alternatives(loaded, X, given, made)
    return made


def _token_spans(found: Iterable[Any]) -> list[TextSpan]:
    return [TextSpan(a, b, label, p) for a, b, label, p in found]


def _rules(given: TagOptions) -> list[Any] | None:
    if given.constraints is None:
        return None
    return [rule for text in given.constraints for rule in constraints_of(text, "constraints")]


def _labels_given(fixed: list[Any] | None, X: list[Any], model: SequenceModel) -> list[list[Any]] | None:
    """Return the known label of each position, None where it is not known."""
    if fixed is None:
        return None
    if model.encoding is not None and model.states is None and not model.segmental:
        told = f"the model learned the encoding {model.encoding}: it keeps fixed spans of texts, not labels"
        raise Problem(422, told + " of tokens", {"field": "fixed"})
    made: list[list[Any]] = [[None] * len(x) for x in X]
    for number, mark in enumerate(fixed):
        n, t, label = _mark(mark, number, 3, "[sequence, position, label], such as [0, 2, 'PER']")
        if not (0 <= n < len(X) and 0 <= t < len(X[n])):
            told = f"fixed has {mark}, but there is no position {t} in sequence {n}"
            raise Problem(422, told, {"field": "fixed", "entry": number})
        made[n][t] = _known(label, number, model, model.segmental)
    return made


def _known(label: str, number: int, model: SequenceModel, spans: bool) -> str:
    """Return a label of `fixed` that the model knows; with `spans` also the label of a span."""
    names = dict.fromkeys(model.answers)
    if spans:
        names |= dict.fromkeys(map(type_of, names)) if scheme_of(model) is not None else {}
    spelled = type_of(label) if spans and model.scheme is not None else label
    if label not in names and spelled not in names:
        told = f"fixed has the label {label!r:.40}, which the model does not know; its labels are "
        raise Problem(422, told + ", ".join(map(repr, names)), {"field": "fixed", "entry": number})
    return label


def _mark(mark: list[Any], number: int, size: int, form: str) -> list[Any]:
    fits = len(mark) == size and isinstance(mark[-1], str) and all(isinstance(one, int) for one in mark[:-1])
    if not fits:
        raise Problem(422, f"fixed has {mark!r:.60}, expected {form}", {"field": "fixed", "entry": number})
    return mark


def _add_probabilities(
    loaded: Loaded, X: list[Any], labels: list[Any], marks: Any, given: TagRequest, made: list[Result]
) -> None:
    if given.probabilities == "none":
        return
    model = loaded.model
    shares = model.predict_proba(X, given=marks, threads=1)
    place = {name: y for y, name in enumerate(shares.labels)}
    whole = marks is None and model.states is None and model.calibration is None
    each = model.log_prob(X, [*labels], threads=1).tolist() if whole else [None] * len(X)
    for one, y, share, p in zip(made, labels, shares, each, strict=True):
        one.probability = None if p is None else min(exp(p), 1.0)
        if given.probabilities == "all":
            one.probabilities = [dict(zip(shares.labels, row, strict=True)) for row in share.tolist()]
        else:
            own = [type_of(name) for name in y] if model.segmental and model.scheme is not None else y
            one.probabilities = [row[place[name]] for row, name in zip(share.tolist(), own, strict=True)]


def _add_alternatives(loaded: Loaded, X: list[Any], given: TagRequest, made: list[Result]) -> None:
    if not given.kbest:
        return
    if given.fixed is not None or given.constraints is not None:
        raise Problem(
            422, "kbest does not keep fixed labels or constraints; ask for them apart", {"field": "kbest"}
        )
    for one, several in zip(made, loaded.model.kbest(X, given.kbest, threads=1), strict=True):
        one.alternatives = [
            Alternative(
                best.probability,
                best.labels,
                [TextSpan(a, b, label) for a, b, label in best.spans] if given.spans else None,
            )
            for best in several
        ]


# ---- texts


def _of_texts(loaded: Loaded, texts: list[str], given: TagRequest) -> list[Result]:
    """Return what is asked of texts."""
    model = loaded.model
    marks = _spans_given(given, texts, model)
    rules = _rules(given)
    if rules is not None and given.infeasible == "free":
        raise Problem(422, "infeasible is for sequences of tokens; leave it out", {"field": "infeasible"})
    made = []
    for n, (text, fixed) in enumerate(zip(texts, marks, strict=True)):
        try:
            doc = model(text, fixed=fixed, constraints=rules)
        except (ValueError, TypeError) as error:
            raise Problem(422, str(error), {"text": n} if given.texts is not None else None) from None
        one = Result()
        if given.spans is not False:
            one.spans = _text_spans(doc, given)
        if given.labels or given.probabilities != "none" or given.kbest:
            _add_tokens(loaded, doc, given, one)
        made.append(one)
    return made


def _text_spans(doc: Doc, given: TagOptions) -> list[TextSpan]:
    """Return the spans of a document, with offsets in the unit that is asked for."""
    texts = [span.text for span in doc.spans]
    spans = doc.spans if given.offsets == "codepoint" else doc.in_unit(given.offsets).spans
    return [TextSpan(a, b, label, p, text) for (a, b, label, p), text in zip(spans, texts, strict=True)]


def _add_tokens(loaded: Loaded, doc: Doc, given: TagRequest, one: Result) -> None:
    """Add what is known of the tokens of a text: sentence by sentence, in one list."""
    if given.fixed is not None or given.constraints is not None:
        told = "labels, probabilities and kbest of texts do not know fixed spans and constraints; give tokens"
        raise Problem(422, told, {"field": "labels"})
    X = doc.sentence_words()
    if given.kbest and len(X) > 1:
        told = f"kbest is of one sentence, and the text has {len(X)}; give them one by one"
        raise Problem(422, told, {"field": "kbest"})
    plain = TagRequest(probabilities=given.probabilities, kbest=given.kbest, labels=True)
    found = _of_sequences(loaded, X, plain)
    tokens = doc.in_unit(given.offsets).tokens
    one.tokens = [] if tokens is None else tokens.tolist()
    if given.labels:
        one.labels = [label for each in found for label in each.labels or ()]
    if given.probabilities != "none":
        one.probabilities = [row for each in found for row in each.probabilities or ()]
        known = [each.probability for each in found if each.probability is not None]
        one.probability = _product(known) if len(known) == len(found) else None
    if given.kbest:
        one.alternatives = found[0].alternatives if found else []


def _product(given: Iterable[float]) -> float:
    made = 1.0
    for one in given:
        made *= one
    return made


def _spans_given(
    given: TagRequest, texts: list[str], model: SequenceModel
) -> list[list[tuple[int, int, str]]]:
    """Return the known spans of each text, in code points."""
    made: list[list[tuple[int, int, str]]] = [[] for _ in texts]
    for number, mark in enumerate(given.fixed or ()):
        n, start, end, label = _mark(mark, number, 4, "[text, start, end, label], such as [0, 4, 8, 'PER']")
        if not 0 <= n < len(texts):
            told = f"fixed has {mark}, but there is no text {n}"
            raise Problem(422, told, {"field": "fixed", "entry": number})
        start, end = from_unit(texts[n], [_small(start), _small(end)], given.offsets).tolist()
        made[n].append((start, end, _known(label, number, model, True)))
    return made


def _small(place: int) -> int:
    return max(min(place, 1 << 40), -1)


# ---- explanations, and two models


def explain(loaded: Loaded, given: ExplainRequest) -> ExplainAnswer:
    """Return why the labels of one text or sequence won."""
    x, tokens = _one(loaded, given)
    if given.at is not None and not 0 <= given.at < len(tokens):
        raise Problem(422, f"at is {given.at}, and there are {len(tokens)} tokens", {"field": "at"})
    try:
        found = loaded.model.explain(x, given.at, threads=1) if tokens else ()
    except (ValueError, TypeError, AbsentError) as error:
        raise Problem(422, str(error)) from None
    decisions = []
    for one in found:
        plain = one.to_dict()
        plain["contributions"] = plain["contributions"][: given.top]
        decisions.append({**plain, "positions": one.positions})
    return ExplainAnswer(loaded.told, tokens, decisions)


def _one(loaded: Loaded, given: ExplainRequest) -> tuple[Any, list[str]]:
    """Return one sequence, and what to call its positions."""
    if given.text is not None:
        try:
            doc = loaded.model(given.text)
        except (ValueError, TypeError) as error:
            raise Problem(422, str(error)) from None
        sentences = doc.sentence_words()
        if len(sentences) > 1:
            told = f"the text has {len(sentences)} sentences, expected one; give them one by one"
            raise Problem(422, told, {"field": "text"})
        words = sentences[0] if sentences else []
        return given.text, words
    if given.tokens is not None:
        return given.tokens, given.tokens
    if given.items is not None:
        return given.items, [f"item {t}" for t in range(len(given.items))]
    rows = _rows(given.columns or {})
    return rows, [" ".join(row.values()) for row in rows]


def compare(first: Loaded, second: Loaded, given: TagRequest) -> CompareAnswer:
    """Return what two models say of the same texts or sequences."""
    both = []
    for a, b in zip(results(first, given), results(second, given), strict=True):
        spans = [[(s.start, s.end, s.label) for s in one.spans or ()] for one in (a, b)]
        both.append(Compared(a.labels == b.labels and spans[0] == spans[1], a, b))
    share = sum(one.same for one in both) / len(both) if both else 1.0
    return CompareAnswer([first.told, second.told], share, both)
