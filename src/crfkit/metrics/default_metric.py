"""The one rule for which metric judges labels, and what becomes of gold labels that a model does not have.

``metric="auto"`` is the F1 of entities where labels are those of segments or follow a scheme
(`crfkit.tags.detection.follow_scheme`, or a constraint that says so), else the accuracy of tokens. The
labels of the *model* decide, so that every test set is judged alike; without a model those of the gold do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

from crfkit._safe.printable import shown
from crfkit.errors import DataWarning, warn_about
from crfkit.metrics.registry import METRICS, Metric, metric, of_spans
from crfkit.structures.constraints import Scheme
from crfkit.tags.detection import are_tags, follow_scheme
from crfkit.tags.reading import LabelScheme

AUTO: Final = "auto"
LOG_PROB: Final = "log_prob"  #: of the gold, the mean over positions


def metric_for(labels: Iterable[str], *, segments: bool = False) -> str:
    """Return the name of the metric that ``"auto"`` stands for.

    Parameters
    ----------
    labels : names
        Labels of the model, or, without one, of the gold.
    segments : bool
        Whether they are known to spell segments: those of a segment model, or with a `Scheme`.

    Examples
    --------
    >>> metric_for(["O", "B-PER", "I-PER"]), metric_for(["NN", "VB"]), metric_for(["NN"], segments=True)
    ('span_f1', 'accuracy', 'span_f1')
    """
    return "span_f1" if segments or follow_scheme(labels) else "accuracy"


def named_for(name: str, scheme: Scheme | None = None) -> Metric:
    """Return a metric by its name; one of spans reads labels by the scheme of the model, if it has one."""
    return metric(name, scheme=scheme) if scheme is not None and of_spans(name) else metric(name)


def judge_for(metric: Any, auto: str) -> Any:
    """Return a metric by its name, `auto` for "auto"; a function stays what it is."""
    return named_for(auto if metric == AUTO else metric) if isinstance(metric, str) else metric


def scheme_of_rows(name: str, labels: Iterable[str], scheme: LabelScheme | None = None) -> LabelScheme | None:
    """Return how labels spell the spans that a report has rows of; None: its rows are of labels.

    Metrics of spans have spans, those of labels have labels; others, what the labels spell.

    Examples
    --------
    >>> tags = ["B-PER", "O"]
    >>> [scheme_of_rows(name, tags) for name in ("span_f1", "accuracy", "sequence_accuracy")]
    ['lenient', None, 'lenient']
    """
    if not of_spans(name) and (name in METRICS and name != "sequence_accuracy"):
        return None
    spelled = of_spans(name) or scheme is not None or follow_scheme(labels)
    return (scheme or "lenient") if spelled else None


def rule_of_kind(
    labels: Sequence[str], whole: bool, scheme: LabelScheme = "lenient"
) -> tuple[Metric, LabelScheme | None]:
    """Return the metric of one kind of variables, and how its labels spell spans, if all are known.

    Examples
    --------
    >>> rule_of_kind(["B-PER", "O"], whole=True)[0].name, rule_of_kind(["B-PER", "O"], whole=False)[0].name
    ('span_f1', 'accuracy')
    """
    spelled = whole and follow_scheme(labels)
    return (metric("span_f1", scheme=scheme), scheme) if spelled else (metric("accuracy"), None)


def check_known(
    gold: Iterable[Sequence[Any]],
    known: Iterable[Any],
    *,
    scheme: Scheme | None = None,
    source: str = "y",
    who: str = "the model",
    remedy: str = "give data with the labels that the model was trained on",
    then: str = "count as errors",
) -> None:
    """Say which gold labels a model does not know; refuse gold of which it knows nothing that matters.

    What matters are the types of entities where labels follow a scheme, elsewhere the labels; O, which most
    data share, does not count.

    Parameters
    ----------
    gold : sequences of labels
    known : labels
        Those of the model.
    scheme : Scheme, optional
        How labels spell segments, where that is known.
    source, who, remedy, then : str
        What messages call the data and the model, what they advise, and what becomes of unknown labels.

    Examples
    --------
    >>> check_known([["B-LOC", "O"]], ["B-NP", "I-NP", "O"])
    Traceback (most recent call last):
    ValueError: y: none of its entity types (LOC) is one of the model (NP); give data with the labels that the
    model was trained on
    """
    counts = Counter(chain.from_iterable(gold))
    names = set(known)
    unknown = Counter({label: count for label, count in counts.items() if label not in names})
    if not unknown:
        return
    spells = scheme is not None or follow_scheme(map(str, names))
    mine, theirs = ({_type(label, spells, scheme) for label in each} - {"O"} for each in (counts, names))
    if mine and not mine & theirs:
        tags = scheme is not None or (spells and are_tags(map(str, counts)))
        what = "entity types" if tags else "labels"
        raise ValueError(
            f"{source}: none of its {what} ({some(mine)}) is one of {who} ({some(theirs)}); {remedy}"
        )
    times, all_ = sum(unknown.values()), sum(counts.values())
    listed = ", ".join(f"{shown(label)} ({count:,})" for label, count in unknown.most_common(5))
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    warn_about(
        f"{source} has labels that {who} does not know: {listed}{more}; {times:,} of {all_:,} positions "
        f"({100 * times / all_:.2g} %), which {then}",
        DataWarning,
    )


def _type(label: Any, spells: bool, scheme: Scheme | None) -> str:
    """Return what of a label matters: the type of its entity, or the label itself."""
    text = str(label)
    if scheme is not None:
        try:
            return scheme.parse(text)[1] or "O"
        except ValueError:
            return text
    return text[2:] if spells and text[1:2] == "-" else text


def some(names: set[str]) -> str:
    """Return a few names of many.

    Examples
    --------
    >>> some({"D", "N"}), some(set("NABCDE"))
    ('D, N', 'A, B, C, D, E, ...')
    """
    return ", ".join(map(shown, sorted(names)[:5])) + (", ..." if len(names) > 5 else "")
