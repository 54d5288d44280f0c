"""How ``crfkit evaluate`` prints reports, and whether the difference of two systems could be luck."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted
from crfkit.metrics.mistakes import doubtful

if TYPE_CHECKING:
    from crfkit.cli.groups.judging import Judging
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.metrics import Report
    from crfkit.metrics.registry import Metric

Labels = list[list[str]]


@dataclass(frozen=True)
class Texts:
    """What people need to see of each sequence to understand its mistakes."""

    words: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    probability: list[list[float | None]] = field(default_factory=list)  #: of each gold label
    claims: list[tuple[float, bool]] = field(
        default_factory=list
    )  #: of each position: how sure, and if right

    def add(
        self,
        block: Columns | Dataset,
        probability: list[float | None] | None = None,
        claims: Sequence[tuple[float, bool]] = (),
    ) -> None:
        """Add the words and lines of a block, the probabilities of its gold labels, and what is claimed."""
        from crfkit.cli.tagging import sequences
        from crfkit.data.formats.columns import Columns

        if isinstance(block, Columns):
            self.words.extend(sequences(block.strings()[0].tolist(), block))
            if block.lines is not None:
                self.lines.extend(block.lines.begin.tolist())
        if probability is not None:
            self.probability.extend(sequences(probability, block))
        self.claims.extend(claims)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `Report.errors`."""
        made = {"words": self.words, "lines": self.lines, "probability": self.probability}
        return {name: each or None for name, each in made.items()}


def tell(
    titles: list[str],
    reports: list[Report],
    judging: Judging,
    as_json: bool,
    test: dict[str, Any] | None = None,
    texts: Texts | None = None,
) -> None:
    """Print the report of each system, and of two what `compared` says of them."""
    if as_json:
        each = [_plain(report, judging.errors, texts) for report in reports]
        named = [{"name": title, **one} for title, one in zip(titles, each, strict=True)]
        print(json.dumps(each[0] if test is None else {"systems": named, **test}, ensure_ascii=False))
        return
    for title, report in zip(titles, reports, strict=True):
        blocks = [] if test is None else [f"{title}:"]
        blocks += [f"{report.confusion}\n"] if judging.confusion else []
        blocks += _mistakes(report, judging.errors, texts)
        print(*blocks, report, *([] if test is None else [""]), sep="\n")
    if test is not None:
        _print_test(titles, test)


def _plain(report: Report, errors: int, texts: Texts | None) -> dict[str, Any]:
    if not errors:
        return report.to_dict()
    wrong = report.errors(None, **({} if texts is None else texts.keywords))
    doubts = [{**one.to_dict(), each.unit: each.sequence} for each, one in doubtful(wrong)[:errors]]
    return report.to_dict() | {"errors": [one.to_dict() for one in wrong[:errors]], "doubtful": doubts}


def _mistakes(report: Report, errors: int, texts: Texts | None) -> Iterator[str]:
    """Yield the worst sequences, and the gold labels that may be wrong themselves."""
    if not errors:
        return
    wrong = report.errors(None, **({} if texts is None else texts.keywords))
    yield from (f"{_wrapped(str(one))}\n" for one in wrong[:errors])
    doubts = doubtful(wrong)
    if doubts:
        lines = [f"  {each.name}\n    {one.line(each.words)}" for each, one in doubts[:errors]]
        title = f"suspected gold errors: {len(doubts):,}; the model gives less than 1 % to the gold label"
        yield "\n".join([title, *map(_wrapped, lines), ""])


def _wrapped(text: str) -> str:
    """Return lines that a terminal does not break inside words; those of files and pipes stay whole."""
    if not sys.stdout.isatty():
        return text
    made: list[str] = []
    for line in text.splitlines():
        inner = " " * (len(line) - len(line.lstrip()) + 4)
        wide = get_terminal_size().columns
        made += textwrap.wrap(line, wide, subsequent_indent=inner, break_on_hyphens=False) or [line]
    return "\n".join(made)


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
