"""How ``crfkit evaluate`` prints reports, and whether the difference of two systems could be luck."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted

if TYPE_CHECKING:
    from crfkit.cli.groups.judging import Judging
    from crfkit.metrics import Report
    from crfkit.metrics.registry import Metric

__all__ = ["Labels", "compared", "tell"]

Labels = list[list[str]]


def tell(
    titles: list[str],
    reports: list[Report],
    judging: Judging,
    as_json: bool,
    test: dict[str, Any] | None = None,
) -> None:
    """Print the report of each system, and of two what `compared` says of them."""
    if as_json:
        each = [_plain(report, judging.errors) for report in reports]
        named = [{"name": title, **one} for title, one in zip(titles, each, strict=True)]
        print(json.dumps(each[0] if test is None else {"systems": named, **test}, ensure_ascii=False))
        return
    for title, report in zip(titles, reports, strict=True):
        blocks = [] if test is None else [f"{title}:"]
        blocks += [f"{report.confusion}\n"] if judging.confusion else []
        blocks += [f"{mistake}\n" for mistake in report.errors(judging.errors)]
        print(*blocks, report, *([] if test is None else [""]), sep="\n")
    if test is not None:
        _print_test(titles, test)


def _plain(report: Report, errors: int) -> dict[str, Any]:
    return report.to_dict() | ({"errors": [one.to_dict() for one in report.errors(errors)]} if errors else {})


def compared(gold: Labels, systems: list[Labels], metric: Metric, samples: int, seed: int) -> dict[str, Any]:
    """Return whether the difference of two systems could be luck."""
    from crfkit import metrics

    a, b = systems
    test = metrics.mcnemar(gold, a, b)
    drawn = metrics.paired_bootstrap(gold, a, b, metric, samples=samples, random_state=seed)
    return {"mcnemar": asdict(test), "bootstrap": asdict(drawn)}


def _print_test(titles: list[str], made: dict[str, Any]) -> None:
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
