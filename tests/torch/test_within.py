"""Answers that keep to sets of labels, segments with their probability, layers of trained models."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import crfkit
from crfkit import SemiMarkov, tags
from crfkit.constraints import Scheme, SegmentLength
from crfkit.torch import CRF, SegmentCRF
from crfkit.torch.functional import chain_best, chain_marginals
from tests.cases.torch.devices import DEVICE

NAMES = ["O", "B-X", "I-X"]
RULES = [Scheme("BIO"), SegmentLength("X", 1, 2)]


def trained(labels: Any = NAMES, **how: Any) -> CRF:
    torch.manual_seed(0)
    crf = CRF(labels, device=DEVICE, dtype=torch.float64, **how)
    for scores in crf.parameters():
        torch.nn.init.normal_(scores)
    return crf


def every(crf: CRF, node: Tensor) -> dict[tuple[int, ...], float]:
    """All labelings of [T, L] with their probability."""
    count = len(crf.labels)
    labels = torch.tensor(list(itertools.product(range(count), repeat=len(node))), device=node.device)
    chance = crf.log_prob(node.expand(len(labels), -1, -1), labels).exp()
    return {tuple(y): p for y, p in zip(labels.tolist(), chance.tolist(), strict=True)}


@pytest.mark.parametrize("how", [{}, {"constraints": RULES}, {"order": 2}, {"constraints": RULES[:1]}])
def test_answers_keep_to_sets(how: Any) -> None:
    crf = trained(**how)
    node = torch.randn(2, 4, 3, device=DEVICE, dtype=torch.float64)
    sets = torch.rand(2, 4, 3, device=DEVICE) < 0.6
    sets[..., 0] = True
    best, many = crf.decode(node, allowed=sets), crf.kbest(node, 3, allowed=sets)
    drawn = crf.sample(node, 50, allowed=sets)
    mass, share = crf.log_partition(node, allowed=sets), crf.marginals(node, allowed=sets)
    entropy = crf.entropy(node, allowed=sets)
    for b in range(2):
        kept = {y: p for y, p in every(crf, node[b]).items() if all(sets[b, t, k] for t, k in enumerate(y))}
        ordered = sorted(kept, key=lambda y: -kept[y])
        assert tuple(best.labels[b].tolist()) == ordered[0]
        assert [tuple(y) for y in many.labels[b].tolist()] == ordered[:3]
        assert {tuple(y) for y in drawn[b].tolist()} <= {y for y, p in kept.items() if p > 0}
        total = sum(kept.values())
        torch.testing.assert_close((mass - crf.log_partition(node))[b].exp().item(), total)
        p = np.array(list(kept.values())) / total
        assert entropy[b].item() == pytest.approx(-(p[p > 0] * np.log(p[p > 0])).sum())
        expected = torch.zeros(4, 3, dtype=torch.float64)
        for y, chance in kept.items():
            expected[range(4), y] += chance / total
        torch.testing.assert_close(share[b].cpu(), expected)


def test_sets_of_packed_rows_and_wrong_ones() -> None:
    node, edge = torch.zeros(3, 2), torch.zeros(2, 2)
    sets = torch.tensor([[True, False], [False, True], [False, True]])
    assert chain_best(node, edge, offsets=[0, 1, 3], allowed=sets).lists() == [[0], [1, 1]]
    leaf = torch.randn(1, 3, 2, requires_grad=True)
    chain_marginals(leaf, edge, allowed=sets[None]).square().sum().backward()
    assert leaf.grad is not None
    assert leaf.grad[0][~sets].eq(0).all()
    crf = CRF(2)
    with pytest.raises(ValueError, match=r"allowed has type torch.float32, expected torch.bool"):
        crf.decode(leaf.detach(), allowed=sets[None].float())
    with pytest.raises(ValueError, match=r"allowed has shape \(1, 2, 2\), expected \(1, 3, 2\)"):
        crf.decode(leaf.detach(), allowed=sets[None, :2])
    with pytest.raises(ValueError, match="sequence 0, position 1: allowed is an empty set"):
        crf.decode(leaf.detach(), allowed=sets[None] & torch.tensor([True, False]))


@pytest.mark.parametrize("rules", [[], RULES[:1], RULES])
def test_spans_and_their_probability(rules: Any) -> None:
    crf = trained(constraints=rules)
    node = torch.randn(3, 6, 3, device=DEVICE) - 5 * torch.tensor([1.0, 0.0, 0.0], device=DEVICE)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [0, 1, 0, 1, 1, 1], [0] * 6], device=DEVICE)
    found = crf.spans(node, mask)
    assert found[2] == []
    assert sum(map(len, found)) >= 2
    for b in range(2):
        rows = mask[b].nonzero()[:, 0].tolist()
        chance: dict[tuple[int, int, str], float] = defaultdict(float)
        for labels, p in every(crf, node[b, rows].double()).items():
            for start, end, name in tags.spans([NAMES[y] for y in labels]):
                chance[rows[start], rows[end - 1] + 1, name] += p
        best = crf.decode(node, mask).names()[b]
        expected = [(rows[a], rows[z - 1] + 1, name) for a, z, name in tags.spans(best)]
        assert [one[:3] for one in found[b]] == expected
        assert [one[3] for one in found[b]] == pytest.approx([chance[one[:3]] for one in found[b]])
    packed = crf.spans(node[:2, :3].flatten(0, 1), offsets=[0, 3, 6])
    assert packed == crf.spans(node[:2, :3])
    only = torch.zeros(3, 6, 3, dtype=torch.bool, device=DEVICE)
    only[..., 0] = True
    assert crf.spans(node, mask, allowed=only) == [[], [], []]


def test_runs_of_plain_labels_are_spans() -> None:
    crf = trained(["A", "B"])
    node = torch.tensor([[[9.0, 0.0], [9.0, 0.0], [0.0, 9.0]]], device=DEVICE)
    assert [one[:3] for one in crf.spans(node)[0]] == [(0, 2, "A"), (2, 3, "B")]


@pytest.mark.parametrize("how", [{}, {"order": 0}, {"order": 2}, {"constraints": RULES}])
def test_layers_of_models(how: Any) -> None:
    crf = trained(**how)
    again = CRF.from_model(crf.to_model(), dtype=torch.float64, device=DEVICE)
    assert again.chain == crf.chain
    for mine, theirs in zip(crf.parameters(), again.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_layer_of_a_trained_model_answers_as_it_does() -> None:
    X = [
        [{"word": w, "end": w[-1]} for w in row.split()] for row in ("the dog runs", "a cat", "the cat runs")
    ]
    y = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"]]
    model = crfkit.ChainCRF().fit(X, y).model_
    crf = CRF.from_model(model, dtype=torch.float64)
    batch = model.dataset(X).batch
    node, ends = torch.tensor(model.potentials(batch).node), torch.tensor(batch.seq_ptr)
    assert crf.decode(node, offsets=ends).names() == model.predict(X)
    np.testing.assert_allclose(
        crf.marginals(node, offsets=ends).detach(), np.concatenate(model.predict_proba(X)), rtol=1e-9
    )
    segments: Any = SegmentCRF(["O", "X"], 2).to_model()
    with pytest.raises(ValueError, match="is not a chain: expected a model with labels of positions"):
        CRF.from_model(segments)


@pytest.mark.parametrize("limits", [3, {"O": 1, "X": 3}])
def test_segments_answer_the_same_without_torch(limits: Any, tmp_path: Path) -> None:
    torch.manual_seed(1)
    crf = SegmentCRF(SemiMarkov(["O", "X"], limits), dtype=torch.float64, device=DEVICE)
    for scores in crf.parameters():
        torch.nn.init.normal_(scores)
    node = torch.randn(4, 7, 2, device=DEVICE)
    crf.to_model().save(tmp_path / "m.crf")
    model: Any = crfkit.load(tmp_path / "m.crf")
    arrays = [x.double().cpu().numpy() for x in node]
    assert model.predict(arrays) == [[crf.labels[y] for y in row] for row in crf.decode(node).labels.tolist()]
    share = crf.marginals(node, segments=True)[1].cpu().detach()
    for b, one in enumerate(model.segment_marginals(arrays, min_probability=0.0)):
        for start, end, name, p in one:
            assert share[b, start, end - start - 1, crf.labels.index(name)].item() == pytest.approx(p)
