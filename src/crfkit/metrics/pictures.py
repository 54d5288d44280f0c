"""What pictures show of reports: plain data out of scores, confusions and calibrations.

`crfkit.view` draws them; this says what of each report is worth a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crfkit import view
from crfkit._safe.printable import counted
from crfkit.metrics.counts import COLUMNS
from crfkit.metrics.mistakes import Mistake, WrongSequence, doubtful, mistakes_of
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import runs_of, spans
from crfkit.view.markup import Markup
from crfkit.view.text import percent

if TYPE_CHECKING:
    from crfkit.metrics.reliability import Calibration
    from crfkit.metrics.report import Report
    from crfkit.metrics.tokenwise import Confusion

__all__ = ["INVENTED", "MISSED", "calibration_picture", "confused", "confusion_of_spans"]
__all__ += ["confusion_picture", "groups_picture", "mistake_pictures", "report_pictures"]

MISSED, INVENTED = "missed", "invented"
_AROUND = 8  #: words on each side of a doubtful one


def report_pictures(report: Report, labels: Sequence[str] = ()) -> list[Markup]:
    """Return the scores of a report, what was taken for what, and its groups.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([[{"w": "New"}, {"w": "York"}]], [["B-LOC", "I-LOC"]])
    >>> len(report_pictures(crf.evaluate([[{"w": "York"}]], [["B-LOC"]])))
    2
    """
    if report.parts:
        made = []
        for name, one in report.parts.items():
            made += [_scores(one, labels, f"{name}: "), confused(one, f"{name}: gold by predicted", labels)]
        return made
    made = [_scores(report, labels), confused(report, labels=labels)]
    if report.groups:
        made.append(groups_picture(report, "By group"))
    return made


def groups_picture(report: Report, title: str, order: Sequence[str] = ()) -> Markup:
    """Return the scores of the groups of a report, those that are named first."""
    groups = {str(name): one for name, one in report.groups.items()}
    groups = {name: groups[name] for name in [*order, *groups] if name in groups}
    named = {"accuracy": "accuracy", report.metric: report.metric}
    rows: dict[str, Sequence[float | int | None]] = {
        name: [one.n, *{"accuracy": one.accuracy, report.metric: one.score}.values()]
        for name, one in groups.items()
    }
    return view.scores([f"{report.unit}s", *named], rows, bar=len(named), title=title)


def confusion_picture(found: Confusion) -> Markup:
    """Return how often each label was taken for each label."""
    return view.confusion(found.labels, found.matrix.tolist())


def calibration_picture(found: Mapping[str, Calibration], title: str = "Calibration") -> Markup:
    """Return one or two calibrations, with their Brier scores."""
    curves = {
        name: (one.confidence.tolist(), one.accuracy.tolist(), one.count.tolist())
        for name, one in found.items()
    }
    numbers = [f"{one.expected_error:.4f}, Brier score {one.brier:.4f}" for one in found.values()]
    return view.reliability(curves, title=title, note=f"expected error {' before, '.join(numbers)}")


def mistake_pictures(
    report: Report, wrong: Sequence[WrongSequence], most: int, labels: Sequence[str] = ()
) -> list[Markup]:
    """Return the worst sequences with their words, and the gold labels that may be wrong themselves.

    Parameters
    ----------
    report : Report
    wrong : sequence of WrongSequence
        Of `Report.errors(None, words=...)`.
    most : int
        Sequences, and gold labels, that are shown.
    labels : sequence of str
        All labels of the model.
    """
    kinds: dict[str, int] = {}
    for each in wrong:
        for one in each.mistakes:
            kinds[one.kind] = kinds.get(one.kind, 0) + 1
    total = sum(kinds.values())
    shares = {kind: [times, times / total] for kind, times in sorted(kinds.items(), key=lambda one: -one[1])}
    made = [view.scores(["errors", "share"], shares, bar=1, title="Errors by kind")] if kinds else []
    for each in wrong[:most]:
        made.append(_sentence(report, each, labels))
    doubts = doubtful(wrong)
    if doubts:
        told = f"the model gives the gold label less than 1 % at {counted(len(doubts), 'place')}"
        made.append(view.facts({}, title="Is the gold wrong?", note=told))
        made += [_doubt(report, *one, labels) for one in doubts[:most]]
    return made


def _doubt(report: Report, each: WrongSequence, one: Mistake, labels: Sequence[str]) -> Markup:
    """Return a gold label that may be wrong, with the words around it."""
    note = f"the model gives the gold label {percent(one.probability or 0.0)}"
    if each.words is None or isinstance(each.gold, dict) or isinstance(each.predicted, dict):
        return view.facts({each.name: one.line(each.words)}, note=note)
    ends = [place for place in (one.gold, one.predicted) if place is not None]
    first = max(min(place[0] for place in ends) - _AROUND, 0)
    last = min(max(place[1] for place in ends) + _AROUND, len(each.words))
    words = each.words[first:last]
    sides = [[(p[0] - first, p[1] - first, p[2])] if p else [] for p in (one.gold, one.predicted)]
    text, gold = view.joined(words, sides[0])
    predicted = view.joined(words, sides[1])[1]
    title = f"{each.name}: {one.kind}"
    return view.compare(text, {"predicted": predicted}, gold=gold, labels=labels, title=title, note=note)


def _sentence(report: Report, each: WrongSequence, labels: Sequence[str]) -> Markup:
    if each.words is None or isinstance(each.gold, dict) or isinstance(each.predicted, dict):
        lines = {str(n): one.line(each.words) for n, one in enumerate(each.mistakes, 1)}
        return view.facts(lines, title=each.name, note=f"{each.wrong} wrong")
    found = {}
    for name, tags in (("gold", each.gold), ("predicted", each.predicted)):
        text, found[name] = view.joined(each.words, _spans(report, tags))
    kinds = ", ".join(dict.fromkeys(one.kind for one in each.mistakes))
    return view.compare(
        text,
        {"predicted": found["predicted"]},
        gold=found["gold"],
        labels=labels,
        title=each.name,
        note=kinds,
    )


def _spans(report: Report, tags: Sequence[str | None]) -> list[tuple[int, int, str]]:
    """Return spans, or runs of equal labels where they spell none."""
    if report.scheme is not None:
        return [*spans([y or OUTSIDE for y in tags], report.scheme)]
    return [one for one in runs_of([y or OUTSIDE for y in tags]) if one[2] != OUTSIDE]


def _scores(report: Report, labels: Sequence[str], before: str = "") -> Markup:
    rows: dict[str, Sequence[float | int | None]] = {name: row.cells for name, row in report.rows.items()}
    rows |= {name: one.cells for name, one in report._averages.items()}
    right = int((report.wrong == 0).sum())
    note = f"accuracy {report.accuracy:.4f} " if report.metric != "accuracy" else ""
    note += f"of {report.labels:,} labels; "
    note += f"{right:,} of {counted(report.n, report.unit)} without a mistake"
    title = f"{before}{report.metric} {report.score:.4f}"
    return view.scores(COLUMNS, rows, bar=2, labels=[*labels, *report.rows], title=title, note=note)


def confusion_of_spans(report: Report) -> tuple[list[str], list[list[int]], dict[str, int]]:
    """Return the types of spans, how many of each were taken for each, and how many have a wrong border.

    The last row is of spans that were invented, the last column of those that were missed.
    """
    names = list(report.rows)
    place = {name: i for i, name in enumerate([*names, ""])}
    table = [[0] * (len(names) + 1) for _ in place]
    border: dict[str, int] = {}
    for i in range(len(names)):
        table[i][i] = report.rows[names[i]].correct
    for one in _all(report):
        gold, found = one.gold and one.gold[2], one.predicted and one.predicted[2]
        if gold == found:
            border[str(gold)] = border.get(str(gold), 0) + 1
        else:
            table[place[gold or ""]][place[found or ""]] += 1
    return names, table, border


def confused(
    report: Report, title: str = "Gold by predicted", labels: Sequence[str] = (), link: Any = None
) -> Markup:
    """Return the confusion of spans, with those missed and invented, or of labels; `link` as in the view."""
    if report.scheme is None:
        found = report.confusion
        return view.confusion(found.labels, found.matrix.tolist(), colored=labels, title=title, link=link)
    names, table, border = confusion_of_spans(report)
    columns = [*names, MISSED]
    more = {"border": border, "title": title, "link": link}
    return view.confusion([*names, INVENTED], table, columns=columns, colored=labels, **more)


def _all(report: Report) -> list[Mistake]:
    found: list[Any] = []
    for n in report.wrong.nonzero()[0].tolist():
        gold, predicted = report.labels_of(n)
        assert not isinstance(gold, dict)
        assert not isinstance(predicted, dict)
        found += mistakes_of(gold, predicted, report.scheme)
    return found
