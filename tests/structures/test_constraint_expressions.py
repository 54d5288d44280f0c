"""Patterns of constraints, of users and of model files, cost a bounded time on any labels."""

from __future__ import annotations

import re

import pytest

from crfkit import Chain
from crfkit.inference.constrained.kinds import AtMost
from crfkit.inference.constrained.plain import globals_of, plain_globals
from crfkit.structures.constraints import Constraint, Forbid, Require, SegmentLength, resolve
from crfkit.structures.rules import constraints_of, plain_constraints
from tests.cases.growth import peak_of

LABELS = ["a" * 40 + "!", "a" * 40, "b"]
ENDLESS = re.compile("(a+)+|b")


@pytest.mark.parametrize(
    "rule", [Forbid(ENDLESS, "b"), Require(ENDLESS, ENDLESS), SegmentLength(ENDLESS, 1, 2)]
)
def test_a_pattern_that_could_take_long_is_refused(rule: Constraint) -> None:
    said = r"expression '\(a\+\)\+\|b' could take more than 10\^15 steps on a text of 41 .*; write \{1,20\}"
    with pytest.raises(ValueError, match=said):
        resolve([rule], LABELS)
    with pytest.raises(ValueError, match=said):
        plain_constraints([rule], LABELS)


def test_a_pattern_that_takes_long_on_long_labels_only_serves_short_ones() -> None:
    labels = ["aa", "b", "c"]
    resolved = resolve([Forbid(ENDLESS, "c")], labels)
    assert resolved.transition.tolist() == [[True, True, False], [True, True, False], [True, True, True]]


def test_patterns_of_pairs_and_of_global_constraints_are_refused_too() -> None:
    with pytest.raises(ValueError, match="could take more than 10"):
        resolve([Forbid(pair=re.compile("(a+)+,(a+)+"))], LABELS)
    with pytest.raises(ValueError, match="could take more than 10"):
        plain_globals([AtMost(ENDLESS, 1)], Chain(LABELS))


def test_back_references_on_labels_are_what_they_were() -> None:
    names = ["B-PER", "I-PER", "B-ORG", "I-ORG", "O"]
    for text in (r"(.*),\1", r".-(.*),.-(?!\1).*", r"(.)-.*,(?!\1).*"):
        found = resolve([Forbid(pair=re.compile(text))], names).transition
        expected = [[re.fullmatch(text, f"{a},{b}") is None for b in names] for a in names]
        assert found.tolist() == expected


def test_a_file_with_a_back_reference_on_long_labels_is_refused() -> None:
    """Commas everywhere made one comparison for each of them: hours."""
    labels = ["," * 50_000, "b"]
    pair = {"kind": "pair", "pattern": r"(.*),\1", "flags": 32}
    with pytest.raises(ValueError, match="takes too long on such labels"):
        constraints_of([pair], labels)
    with pytest.raises(ValueError, match="could take 10,001,000,015 steps on a text of 100,001 characters"):
        resolve([Forbid(pair=re.compile(r"(.*),\1"))], labels)


def test_the_steps_of_all_patterns_of_a_file_are_added_up() -> None:
    labels = [f"{i:03d}" + "," * 300 for i in range(300)]
    pair = {"kind": "pair", "pattern": r"(.*),\1", "flags": 32}
    with pytest.raises(ValueError, match="takes too long on such labels"):
        constraints_of([pair], labels)
    chain = Chain(["," * 600 + str(i) for i in range(100)])
    term = [{"pattern": r"(,*)\1\d", "flags": 32}, None, 1.0]
    with pytest.raises(ValueError, match="takes too long on such labels"):
        globals_of([{"kind": "LinearConstraint", "terms": [term] * 600, "bound": 1.0}], chain)


def test_a_large_class_in_a_file_is_refused() -> None:
    """Compiling it took a second for each two dozen characters."""
    rule = {"kind": "pair", "pattern": "[\\u0000-\\uffff]" * 30, "flags": 34}
    with pytest.raises(ValueError, match="ranges of over"):
        constraints_of([rule], ["a", "b"])


def test_pairs_are_not_kept() -> None:
    """The names of all pairs took 400 MB."""
    labels = [f"{i}" + "x" * 20_000 for i in range(100)]
    assert peak_of(lambda: resolve([Forbid(pair=re.compile("1x.*"))], labels)) < 100e6
