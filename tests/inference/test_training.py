"""What training asks of potentials: the cost, scores and marginals by slot, the score of the gold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, SemiMarkov, inference
from crfkit.inference.reference import Enumeration
from crfkit.inference.reference.enumeration import labeling_score
from crfkit.structures.gold import Path
from crfkit.structures.potentials import weighted_sum
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from tests.cases.potential_cases import ENUMERABLE
from tests.cases.potentials import Case, Potentials, chain, segments

NEVER = float("-inf")


def drawn_gold(batch: Potentials) -> Path:
    """Draw one allowed labeling of each sequence."""
    draws = [found[0] for found in inference.sample(batch, seed=3)]
    label = np.concatenate([np.zeros(0, np.int32), *(y.labels for y in draws)])
    begin = np.concatenate([np.zeros(0, np.bool_), *(y.begin for y in draws if y.begin is not None)])
    return Path(batch.seq_ptr, label, begin if isinstance(batch, SemiMarkovPotentials) else None)


def of_case(case: Case) -> str:
    return f"{case.structure}-{case.name}"


@pytest.mark.parametrize("case", ENUMERABLE, ids=of_case)
def test_the_cost_of_every_labeling(case: Case) -> None:
    batch = case.make()
    gold = drawn_gold(batch)
    costly = batch.with_cost(gold)
    for n, (first, end) in enumerate(pairwise(batch.seq_ptr.tolist())):
        right = gold.label[first:end]
        before = {(y.labels, y.begin): y.score for y in Enumeration(batch.sequence(n)).outcomes}
        after = {(y.labels, y.begin): y.score for y in Enumeration(costly.sequence(n)).outcomes}
        assert after.keys() == before.keys()
        for y, score in after.items():
            assert score == pytest.approx(before[y] + np.sum(np.array(y[0]) != right), abs=1e-9)


@pytest.mark.parametrize("case", ENUMERABLE, ids=of_case)
def test_the_score_of_a_gold_path(case: Case) -> None:
    batch = case.make()
    gold = drawn_gold(batch)
    weight = np.resize([0.5, 0.0, 2.0], len(batch.seq_ptr) - 1)
    wanted = 0.0
    for n, (first, end) in enumerate(pairwise(batch.seq_ptr.tolist())):
        begin = None if gold.begin is None else gold.begin[first:end].tolist()
        wanted += weight[n] * labeling_score(batch.sequence(n), gold.label[first:end].tolist(), begin)
    assert batch.gold_score(gold, weight) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("case", ENUMERABLE, ids=of_case)
def test_slots_hold_every_score(case: Case) -> None:
    """Expected parts times scores by slot are the expected score, so log Z - entropy."""
    batch = case.make()
    ones = np.ones(len(batch.seq_ptr) - 1)
    log_partition, slots = inference.expected(batch, ones)
    product = sum(weighted_sum(slots[slot], array) for slot, array in batch.scores().items())
    assert product == pytest.approx(np.sum(log_partition - inference.entropy(batch)), abs=1e-6)


def test_gold_of_weight_nothing_may_be_impossible() -> None:
    batch = Chain(2).potentials([[0.0, NEVER], [1.0, 0.0]], seq_ptr=[0, 1, 2])
    gold = Path(batch.seq_ptr, np.array([1, 0], dtype=np.int32))
    assert batch.gold_score(gold, np.array([0.0, 2.0])) == 2.0
    assert batch.gold_score(gold, np.array([1.0, 2.0])) == NEVER


def test_segments_without_begins_are_runs_of_one_label() -> None:
    batch = segments(np.random.default_rng(0), 2, (4, 0, 3), longest=3)
    label = np.array([0, 0, 1, 1, 1, 1, 1], dtype=np.int32)
    begin = np.array([1, 0, 1, 0, 1, 0, 0])
    assert batch.path_score(label).tolist() == batch.path_score(label, begin).tolist()
    ones = np.ones(3)
    assert batch.gold_score(Path(batch.seq_ptr, label), ones) == pytest.approx(
        batch.path_score(label, begin).sum()
    )


def test_marginals_by_slot_say_how_segments_cover_positions() -> None:
    batch = SemiMarkov(2, max_length=2).potentials(node=np.zeros((2, 2)))  # 4 + 2 labelings, all alike
    _, slots = inference.expected(batch, [6.0])
    assert slots["node"].round(9).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert slots["length"].round(9).tolist() == [4.0, 4.0, 1.0, 1.0]
    assert slots["segment"].round(9).tolist() == [[2.0, 2.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("weight", [[1.0, 1.0], [0.0, 1.0]])
def test_expected_and_best_name_a_sequence_without_a_labeling(weight: list[float]) -> None:
    batch = Chain(2).potentials([[0.0, 0.0], [NEVER, NEVER]], seq_ptr=[0, 1, 2])
    with pytest.raises(ValueError, match="sequence 1 has no labeling"):
        inference.expected(batch, weight)
    with pytest.raises(ValueError, match="sequence 1 has no labeling"):
        inference.best(batch)


@pytest.mark.parametrize("weight", [1.0, [1.0], [[1.0, 1.0]]])
def test_expected_needs_a_weight_for_each_sequence(weight: Any) -> None:
    batch = Chain(2).potentials([[0.0, 0.0]] * 2, seq_ptr=[0, 1, 2])
    with pytest.raises(ValueError, match=r"weight has shape .*\(2,\)"):
        inference.expected(batch, weight)


def test_expected_arrays_belong_to_the_caller() -> None:
    batch = chain(np.random.default_rng(0), 3, (3, 2))
    first = inference.expected(batch, [1.0, 1.0])[1]
    kept = {slot: array.copy() for slot, array in first.items()}
    for array in first.values():
        array += 1.0
    for slot, array in inference.expected(batch, [1.0, 1.0])[1].items():
        assert array.tolist() == kept[slot].tolist()


def test_raw_scores_are_those_before_steps_were_normalized() -> None:
    given = chain(np.random.default_rng(0), 3, (3, 2), per_position=True)
    assert given.raw is given
    made = replace(given, node=given.node + 1.0, unnormalized=given)
    assert made.raw is given
    assert made.clamped(np.ones((5, 3), np.bool_)).raw is given
    assert made.sequence(1).raw.node.tolist() == given.node[3:].tolist()
