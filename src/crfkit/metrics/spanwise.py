"""Scores of spans, counted and printed as conlleval does.

A span is correct if its type and both its ends are. The report is the script's text, but for a quirk:
spans without a type (labels B, I and O) have one line here, two there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import shown
from crfkit.metrics.counts import Average, Score, averages
from crfkit.metrics.encoding import Encoded, Ints, LabelSequences, encode, group
from crfkit.tags.reading import LabelScheme, Spans, find, rules


@dataclass(frozen=True, eq=False)
class SpanScores:
    """What `span_scores` returns; ``str()`` gives conlleval's report."""

    overall: Score  #: all types together (micro average)
    by_type: Mapping[str, Score]  #: types that occur, by name
    macro: Average  #: mean over types
    weighted: Average  #: mean over types, weighted by support
    tokens: int
    correct_tokens: int
    groups: Mapping[Hashable, SpanScores] = field(default_factory=dict)  #: empty without ``by``

    @property
    def precision(self) -> float:
        """Overall precision."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """Overall recall."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """Overall F1."""
        return self.overall.f1

    @property
    def support(self) -> int:
        """True spans in all."""
        return self.overall.support

    @property
    def accuracy(self) -> float:
        """Which part of all tokens has the right label."""
        return self.correct_tokens / self.tokens if self.tokens else 0.0

    def report(self) -> str:
        """Return the text that conlleval prints."""
        all_ = self.overall
        lines = [
            f"processed {self.tokens} tokens with {all_.support} phrases; "
            f"found: {all_.found} phrases; correct: {all_.correct}."
        ]
        if self.tokens:
            lines.append(f"accuracy: {100 * self.correct_tokens / self.tokens:6.2f}%; {_percentages(all_)}")
        for kind, score in self.by_type.items():
            lines.append(f"{shown(kind):>17}: {_percentages(score)}  {score.found}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.report()


def span_scores(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    scheme: LabelScheme = "lenient",
    by: Sequence[Hashable] | None = None,
    labels: Sequence[str] | None = None,
    seq_ptr: NDArray[Any] | None = None,
) -> SpanScores:
    """Score predicted spans by precision, recall and F1, as conlleval does.

    Parameters
    ----------
    y_true, y_pred
        One list of labels for each sequence, or flat arrays of ids.
    scheme
        How labels spell spans, as in `crfkit.tags.spans`.
    by
        The group of each sequence, such as its document or field: ``groups`` then has scores for each.
    labels, seq_ptr
        Names of the ids, and where sequences begin, where labelings are flat arrays of ids.

    Examples
    --------
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC"]]
    >>> scores = span_scores(y_true, y_pred, by=["page 1", "page 2"])
    >>> print(scores)
    processed 5 tokens with 3 phrases; found: 3 phrases; correct: 2.
    accuracy:  80.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67
                  LOC: precision: 100.00%; recall:  50.00%; FB1:  66.67  1
                  PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2
    >>> scores.by_type["LOC"].recall, scores.groups["page 2"].f1
    (0.5, 1.0)

    By ids, as in a training loop:

    >>> names, ptr = ["O", "B-LOC", "B-PER", "I-PER"], np.array([0, 4, 5])
    >>> true, pred = np.array([2, 3, 0, 1, 1]), np.array([2, 3, 0, 2, 1])
    >>> round(span_scores(true, pred, labels=names, seq_ptr=ptr).f1, 3)
    0.667
    """
    encoded = encode({"y_true": y_true, "y_pred": y_pred}, labels, seq_ptr)
    names, groups = group(by, encoded.N)
    G = max(len(names), 1)
    kinds, counts = span_counts(encoded, scheme, groups, G)
    place = groups[encoded.sequence]  # [P]
    right = encoded.columns[0] == encoded.columns[1]  # [P]
    tokens = np.bincount(place, minlength=G)  # [G]
    correct = np.bincount(place[right], minlength=G)  # [G]
    parts = {
        name: _scores(kinds, counts[g], int(tokens[g]), int(correct[g]), {}) for g, name in enumerate(names)
    }
    return _scores(kinds, counts.sum(0), int(tokens.sum()), int(correct.sum()), parts)


def span_counts(encoded: Encoded, scheme: LabelScheme, groups: Ints, G: int) -> tuple[tuple[str, ...], Ints]:
    """Return the types, [K], and how many spans are correct, found and true: [G, 3, K].

    Sequence n counts for ``groups[n]``.
    """
    reading = rules(scheme, encoded.names)
    K = len(reading.kinds)
    gold, found = (find(column, encoded.seq_ptr, reading) for column in encoded.columns[:2])
    hit = _same(gold, found, len(encoded.columns[0]))

    def count(kind: Ints, sequence: Ints) -> Ints:
        return np.bincount(groups[sequence] * K + kind, minlength=G * K).reshape(G, K)

    three = (
        count(gold.kind[hit], gold.sequence[hit]),
        count(found.kind, found.sequence),
        count(gold.kind, gold.sequence),
    )
    return reading.kinds, np.stack(three, 1)


def _same(gold: Spans, found: Spans, P: int) -> Ints:
    """Return which gold spans were found, with their type and both ends: places in ``gold``."""
    at = np.full(P, -1)  # [P] the found span that starts there
    at[found.start] = np.arange(len(found.start))
    twin = at[gold.start]
    hit = np.flatnonzero(twin >= 0)
    twin = twin[hit]
    right: Ints = hit[(found.end[twin] == gold.end[hit]) & (found.kind[twin] == gold.kind[hit])]
    return right


def _scores(
    kinds: Sequence[str], counts: Ints, tokens: int, correct: int, groups: Mapping[Hashable, SpanScores]
) -> SpanScores:
    by_type = {kind: Score(*counts[:, k].tolist()) for k, kind in enumerate(kinds) if counts[:, k].any()}
    macro, weighted = (averages(counts, weighted=heavy).tolist() for heavy in (False, True))
    overall = Score(*counts.sum(1).tolist())
    return SpanScores(overall, by_type, Average(*macro), Average(*weighted), tokens, correct, groups)


def _percentages(score: Score) -> str:
    # In the order of operations of the script, so that the second decimal is rounded as there.
    precision = 100 * score.correct / score.found if score.found else 0.0
    recall = 100 * score.correct / score.support if score.support else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
