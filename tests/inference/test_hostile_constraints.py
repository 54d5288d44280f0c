"""Constraints on whole labelings that a stranger's model file may hold: refused, or cheap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Chain, inference
from crfkit.arrays import Bools
from crfkit.constraints import AtLeast, AtMost, AtMostOnce, Exactly, LinearConstraint
from crfkit.errors import InfeasibleError
from crfkit.inference.constrained import decoding
from crfkit.inference.constrained.decoding import Rules
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.inference.constrained.plain import globals_of
from crfkit.inference.constrained.resolve import rules_of
from crfkit.structures.gold import Path
from tests.cases.growth import check_growth, peak_of, seconds_of


def scores(labels: int = 4, positions: int = 3, sequences: int = 1) -> Any:
    chain = Chain([f"L{i}" for i in range(labels)])
    node = np.random.default_rng(0).normal(size=(sequences * positions, labels))
    return chain.potentials(node, seq_ptr=positions * np.arange(sequences + 1))


def chain(labels: int) -> Chain:
    return Chain([f"L{i}" for i in range(labels)])


@pytest.mark.parametrize("k", [10**9, 1 << 31])
@pytest.mark.parametrize("kind", [AtLeast, Exactly])
def test_large_counts_take_no_memory(kind: Any, k: int) -> None:
    def ask() -> None:
        with pytest.raises(InfeasibleError):
            inference.constrained(scores(), [kind("L1", k)])

    assert peak_of(ask) < 32 << 20


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtLeast("L1", 10**400),
        lambda: AtMost("L1", (1 << 31) + 1),
        lambda: LinearConstraint({("L1", 10**400): 1.0}, 1.0),
        lambda: LinearConstraint({"L1": 1e308}, 1.0),
        lambda: LinearConstraint({"L1": 10**400}, 1.0),
        lambda: LinearConstraint({"L1": 1.0}, -1e308),
    ],
)
def test_numbers_that_nothing_can_count_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|is beyond|is not a finite number"):
        make()


@pytest.mark.parametrize(("labels", "count"), [(300, 10_000), (4095, 100)])
def test_many_constraints_for_many_labels_are_refused_soon(labels: int, count: int) -> None:
    plain = [{"kind": "AtMostOnce", "labels": None}] * count

    def read() -> None:
        with pytest.raises(ValueError, match="too many or too large for"):
            globals_of(plain, chain(labels))

    assert seconds_of(read, 1) < 2
    assert peak_of(read) < 128 << 20


def test_constraints_name_a_bounded_number_of_labels() -> None:
    different = [
        {"kind": "AtMostOnce", "labels": [f"L{i}", {"pattern": "L.*", "flags": 32}]} for i in range(40)
    ]
    with pytest.raises(ValueError, match="the constraints name 12,000 labels in all, more than 10,000"):
        globals_of(different, chain(300))


def test_equal_constraints_are_one_rule() -> None:
    given: list[GlobalConstraint] = [AtMostOnce(), AtMost("L1", 1)] * 5000
    assert len(rules_of(given, chain(4))) == 2


def test_tables_of_equal_labels_are_shared() -> None:
    given: list[GlobalConstraint] = [AtMost("L1", k) for k in range(600)]

    assert peak_of(lambda: rules_of(given, chain(300))) < 128 << 20


def test_labelings_of_many_sequences_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    many = scores(labels=3, positions=3, sequences=40)
    rules: list[GlobalConstraint] = [
        LinearConstraint({"L0": 1.0}, 0.5),
        LinearConstraint({("L1", -1): 1.0}, 0.5),
    ]
    whole = inference.constrained(many, rules)
    assert "k-best" in {one.how for one in whole}
    looked, broken = [], decoding._broken

    def counted(path: Path, rules: Rules, labels: int) -> Bools:
        looked.append(len(path.seq_ptr) - 1)
        return broken(path, rules, labels)

    monkeypatch.setattr(decoding, "_broken", counted)
    monkeypatch.setattr(decoding, "_MOST_MARKS", 200)  # of 2 parts and 8 labelings: 12 sequences
    again = inference.constrained(many, rules)
    assert [one.score for one in again] == [one.score for one in whole]
    assert max(looked[1:]) == 12 * 8


def test_the_culprit_of_many_is_not_searched_for_long() -> None:
    rules: list[GlobalConstraint] = [AtLeast(f"L{i % 4}", 1 + i // 4) for i in range(2000)]

    def ask() -> None:
        with pytest.raises(InfeasibleError):
            inference.constrained(scores(), rules)

    assert seconds_of(ask, 1) < 3


def test_terms_at_positions_cost_what_stands_there() -> None:
    rng = np.random.default_rng(0)

    def make(n: int) -> tuple[Any, list[GlobalConstraint]]:
        node = rng.normal(size=(n, 2))
        node[0, 0] = 1.0
        terms = {("L0", i): 0.0 if i else 1.0 for i in range(n)}
        return Chain(["L0", "L1"]).potentials(node), [LinearConstraint(terms, 2.0)]

    check_growth(make, lambda given: inference.constrained(*given), 4000)


def test_terms_at_positions_count_as_before() -> None:
    found = inference.constrained(
        Chain(["a", "b"]).potentials([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]]),
        [LinearConstraint({("b", 0): 1.0, ("b", -1): 1.0, ("b", 7): -9.0, ("b", -7): -9.0}, 1.0)],
    )
    assert found.labels.tolist() == [1, 1, 0]
