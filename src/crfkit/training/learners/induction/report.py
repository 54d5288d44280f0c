"""What feature induction found, round by round: for people (Markdown) and for programs (JSON lines)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from crfkit.data.sink import write_bytes


@dataclass(frozen=True)
class Example:
    """A token that the model got wrong, or nearly so, and at which a feature is true."""

    sequence: int
    position: int
    gold: str
    predicted: str

    def __str__(self) -> str:
        told = "but hardly" if self.gold == self.predicted else f"not {self.predicted}"
        return f"{self.sequence}:{self.position} {self.gold}, {told}"


@dataclass(frozen=True)
class InducedFeature:
    """A feature that was added: an attribute or a conjunction, together with a label."""

    name: str  #: of the attribute; ``A|B`` is true where A and B are
    label: str
    gain: float  #: by which the approximate log-likelihood of the tokens rises, less the penalty
    weight: float  #: that gains most, with all other weights fixed
    tokens: int  #: at which it is true, of those that were looked at
    explained: int  #: of these, where its weight speaks for the gold label or against another
    examples: tuple[Example, ...]  #: some of these


@dataclass(frozen=True)
class Round:
    """One round: the features that were added, and what the model became."""

    number: int
    wrong: int  #: tokens that the model before got wrong
    tokens: int  #: that were looked at: these, and those that were right by no more than the margin
    features: tuple[InducedFeature, ...]  #: by gain, the highest first
    weights: int  #: of attributes and conjunctions, with those of this round
    score: float  #: of the dev set with these; nan without one
    seconds: float

    def __str__(self) -> str:
        joint = sum("|" in feature.name for feature in self.features)
        scored = "" if math.isnan(self.score) else f", dev {self.score:.4f}"
        return (
            f"round {self.number}: {self.wrong:,} tokens wrong, {self.tokens:,} looked at, "
            f"{len(self.features):,} features added ({joint:,} with |), {self.weights:,} in all{scored}, "
            f"{self.seconds:.1f} s"
        )


def write_report(path: str | os.PathLike[str], rounds: Iterable[Round]) -> None:
    """Write rounds as Markdown where the name ends in .md, else as JSON lines, one for each feature.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> one = InducedFeature("a|b", "X", 2.5, 1.5, 3, 2, (Example(0, 4, "X", "Y"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.jsonl"
    ...     write_report(path, [Round(1, 3, 9, (one,), 1, float("nan"), 0.1)])
    ...     print(path.read_text()[:55])
    {"round": 1, "name": "a|b", "label": "X", "gain": 2.5,
    """
    made = list(rounds)
    text = markdown(made) if os.fspath(path).endswith(".md") else "".join(_lines(made))
    write_bytes(path, [text.encode()])


def _lines(rounds: Iterable[Round]) -> Iterator[str]:
    for one in rounds:
        for feature in one.features:
            plain: dict[str, Any] = {"round": one.number, **asdict(feature)}
            yield json.dumps(plain, ensure_ascii=False) + "\n"


def markdown(rounds: Iterable[Round], most: int | None = None) -> str:
    """Return rounds as tables, with at most that many features of each."""
    lines = []
    for one in rounds:
        lines += [f"## Round {one.number}", "", str(one), ""]
        lines += ["| gain | label | weight | feature | tokens | explained | examples |"]
        lines += ["| ---: | --- | ---: | --- | ---: | ---: | --- |"]
        for feature in one.features[:most]:
            name = feature.name.replace("|", r"\|").replace("`", "'")
            lines.append(
                f"| {feature.gain:.2f} | {feature.label} | {feature.weight:+.2f} | `{name}` "
                f"| {feature.tokens} | {feature.explained} | {'; '.join(map(str, feature.examples))} |"
            )
        lines.append("")
    return "\n".join(lines)
