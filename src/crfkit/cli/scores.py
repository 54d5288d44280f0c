"""The scores of systems, as ``crfkit evaluate`` prints them, and whether their difference could be luck."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted

if TYPE_CHECKING:
    from crfkit.metrics.registry import Metric
    from crfkit.tags.reading import LabelScheme

__all__ = ["Labels", "compared", "print_comparison", "scores_of"]

Labels = list[list[str]]


def scores_of(
    titles: list[str], gold: Labels, systems: list[Labels], scheme: LabelScheme | None, aloud: bool
) -> dict[str, Any]:
    """Return the scores of each system, of segments where a scheme is given, and print them if asked to."""
    from crfkit import metrics

    made: dict[str, Any] = {"systems": []}
    for title, found in zip(titles, systems, strict=True):
        scores: Any = (
            metrics.token_scores(gold, found)
            if scheme is None
            else metrics.span_scores(gold, found, scheme=scheme)
        )
        made["systems"].append({"name": title, **_plain(scores)})
        if aloud:
            print(*[f"{title}:"] * (len(systems) > 1), scores.report(), sep="\n")
    return made


def _plain(scores: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"tokens": scores.tokens, "accuracy": scores.accuracy}
    segmental = hasattr(scores, "by_type")
    whole = scores.overall if segmental else scores.micro
    made["kind"] = "segments" if segmental else "tokens"
    rows = scores.by_type if segmental else scores.by_label
    for name, one in (("micro", whole), ("macro", scores.macro), ("weighted", scores.weighted)):
        made[name] = {"precision": one.precision, "recall": one.recall, "f1": one.f1}
    made["by_label"] = {
        name: {
            "precision": s.precision,
            "recall": s.recall,
            "f1": s.f1,
            "support": s.support,
            "found": s.found,
        }
        for name, s in rows.items()
    }
    return made


def compared(gold: Labels, systems: list[Labels], metric: Metric, samples: int, seed: int) -> dict[str, Any]:
    """Return whether the difference of two systems could be luck."""
    from crfkit import metrics

    a, b = systems
    test = metrics.mcnemar(gold, a, b)
    drawn = metrics.paired_bootstrap(gold, a, b, metric, samples=samples, random_state=seed)
    return {"mcnemar": asdict(test), "bootstrap": asdict(drawn)}


def print_comparison(titles: list[str], made: dict[str, Any]) -> None:
    """Print whether the difference of two systems could be luck."""
    test, drawn = made["mcnemar"], made["bootstrap"]
    low, high = drawn["interval"]
    print(
        f"McNemar: {counted(test['only_a'], 'token')} right only in {titles[0]}, "
        f"{test['only_b']} only in {titles[1]}; "
        f"p = {test['p_value']:.4g}{' (exact)' if test['exact'] else ''}"
    )
    print(
        f"paired bootstrap of {drawn['metric']}: {drawn['a']:.4f} and {drawn['b']:.4f}, difference "
        f"{drawn['difference']:+.4f}, {100 * drawn['level']:.0f} % between {low:+.4f} and {high:+.4f}; "
        f"p = {drawn['p_value']:.4g} ({counted(drawn['samples'], 'sample')})"
    )
