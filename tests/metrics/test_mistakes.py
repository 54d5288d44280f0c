"""Mistakes in words, against their definition by enumeration, and as people and programs get them."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest

from crfkit.metrics import METRICS, metric
from crfkit.metrics.comparison import Columns
from crfkit.metrics.mistakes import DOUBTFUL, Mistake, doubtful, mistakes_of
from crfkit.tags import spans

TAGS = ("O", "B-A", "I-A", "B-B", "I-B")


def overlap(a: tuple[int, int, str], b: tuple[int, int, str]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def test_kinds_hold_what_they_say_for_all_short_tags() -> None:
    """Each span that is not in both is in one mistake; nothing that could be paired is left."""
    for gold, found in product(product(TAGS, repeat=3), repeat=2):
        true, made = spans(gold), spans(found)
        right = {*true} & {*made}
        mistakes = mistakes_of(gold, found, "lenient")
        golds = [one.gold for one in mistakes if one.gold]
        assert sorted(golds) == [one for one in true if one not in right]
        assert sorted(one.predicted for one in mistakes if one.predicted) == [
            one for one in made if one not in right
        ]
        for one in mistakes:
            if one.gold is None or one.predicted is None:
                assert one.kind == ("missed" if one.gold else "invented")
                continue
            assert overlap(one.gold, one.predicted)
            assert one.kind == ("wrong border" if one.gold[2] == one.predicted[2] else "wrong type")
        missed = [one.gold for one in mistakes if one.kind == "missed" and one.gold]
        invented = [one.predicted for one in mistakes if one.kind == "invented" and one.predicted]
        assert not any(overlap(a, b) for a in missed for b in invented)
        assert [one.place for one in mistakes] == sorted(one.place for one in mistakes)


def test_labels_without_a_scheme_are_runs_of_one_mistake() -> None:
    gold: list[str | None] = ["N", "N", None, "N", "O", "V"]
    found = ["V", "V", "N", "N", "N", "O"]
    assert [(one.kind, one.gold, one.predicted) for one in mistakes_of(gold, found)] == [
        ("wrong label", (0, 2, "N"), (0, 2, "V")),
        ("invented", None, (4, 5, "N")),
        ("missed", (5, 6, "V"), None),
    ]


def test_a_report_prints_words_lines_and_doubts() -> None:
    gold = [["B-LOC", "O"], ["B-PER", "I-PER", "O", "B-LOC"]]
    found = [["O", "O"], ["O", "B-PER", "B-LOC", "B-ORG"]]
    words = [["Rome", "is"], ["Ada", "King", "in", "Rome"]]
    sure = [[0.4, 0.9], [0.3, 0.2, 0.004, 0.0001]]
    report = Columns.of(gold, found, metric("span_f1"), scheme="lenient").report()
    wrong = report.errors(None, words=words, probability=sure, lines=[1, 4])
    assert str(wrong[0]).splitlines() == [
        "sequence 2, line 4: 4 of 4 labels wrong",
        "  Ada King in Rome",
        "    wrong border  1-2 Ada King: PER, predicted for King",
        "    invented      3 in: LOC  ? gold has 0.004",
        "    wrong type    4 Rome: LOC, predicted ORG  ? gold has 0.0001",
    ]
    assert [one.probability for one in wrong[0].mistakes] == [0.2, 0.004, 0.0001]
    assert [(each.sequence, one.kind) for each, one in doubtful(wrong)] == [
        (2, "wrong type"),
        (2, "invented"),
    ]
    told = json.loads(json.dumps(wrong[0].to_dict()))
    assert told["words"] == words[1]
    assert told["mistakes"][0] == {
        "kind": "wrong border",
        "gold": {"start": 0, "end": 2, "label": "PER"},
        "predicted": {"start": 1, "end": 2, "label": "PER"},
        "part": "",
        "probability": 0.2,
    }
    assert str(report.errors(1)[0]).splitlines()[1] == "    wrong border  1-2: PER, predicted for 2"
    assert DOUBTFUL == 0.01


def test_all_mistakes_together_are_the_counts_of_the_report() -> None:
    draw = random.Random(5)
    gold, found = ([draw.choices(TAGS, k=draw.randint(1, 9)) for _ in range(60)] for _ in range(2))
    found = [(b * 9)[: len(a)] for a, b in zip(gold, found, strict=True)]
    report = Columns.of(gold, found, metric("span_f1"), scheme="lenient").report()
    mistakes = [one for each in report.errors(None) for one in each.mistakes]
    total = report.micro
    assert sum(one.gold is not None for one in mistakes) == total.support - total.correct
    assert sum(one.predicted is not None for one in mistakes) == total.found - total.correct


def test_one_long_sequence_takes_no_longer_than_its_length() -> None:
    """Every span looks only at those that it overlaps."""
    n = 30_000
    gold, found = ["B-A", "I-A"] * n, ["B-A", "B-A"] * n
    mistakes = mistakes_of(gold, found, "lenient")
    assert [sum(one.kind == kind for one in mistakes) for kind in ("wrong border", "invented")] == [n, n]


@pytest.mark.parametrize("part", ["", "pos"])
def test_a_long_text_is_cut(part: str) -> None:
    one = Mistake("missed", (0, 50, "LOC"), None, part)
    assert one.line() == f"missed        {part and part + ' '}1-50: LOC"
    assert len(one.line(["word"] * 50)) < 80


def test_accuracy_is_printed_once() -> None:
    report = Columns.of([["a", "b"]], [["a", "a"]], METRICS["accuracy"]).report()
    assert str(report).count("accuracy") == 1
    assert str(report).splitlines()[-1] == "accuracy 0.5000 of 2 labels; 0 of 1 sequence without a mistake"


def test_a_confusion_is_no_wider_than_a_page() -> None:
    names = [f"label-of-{n}" for n in range(12)]
    report = Columns.of([names], [names[1:] + names[:1]], METRICS["accuracy"]).report()
    lines = str(report.confusion).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == ["the most frequent errors", "1  label-of-0, predicted label-of-1"]
