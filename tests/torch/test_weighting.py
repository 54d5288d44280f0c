"""Weights of labels and positions, and smoothed gold: against all labelings, and torch's cross entropy."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.constraints import Scheme, SegmentLength
from crfkit.torch import CRF
from crfkit.torch.functional import chain_loss
from tests.cases.torch.chains import Chains, labelings, random_chains, random_labels, rows_of
from tests.cases.torch.devices import DEVICE

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what torch.compile itself does


def ask(chains: Chains, labels: Tensor, **how: Any) -> Tensor:
    where: dict[str, Any] = {"lengths": chains.length}
    if chains.first is not None:
        where = {"offsets": torch.cat([chains.length.new_zeros(1), chains.length.cumsum(0)])}
    elif chains.index is not None:
        mask = torch.zeros(chains.node.shape[:2], dtype=torch.bool, device=labels.device)
        for b in range(len(mask)):
            for row in rows_of(chains, b):
                mask[row] = True
        where = {"mask": mask}
    scores = {"edge": chains.edge, "start": chains.start, "stop": chains.stop}
    return chain_loss(chains.node, labels=labels, **{"reduction": "none", **scores, **where, **how})


def weighted_losses(chains: Chains, labels: Tensor, weight: Tensor) -> list[float]:
    """The sum of -w_t log p(y_t | y_1, ..., y_{t-1}), from the mass of all labelings with each beginning."""
    found = []
    for b in range(len(chains.length)):
        rows = rows_of(chains, b)
        gold = tuple(int(labels[row]) for row in rows)
        every = labelings(chains, b)
        mass = [sum(exp(s) for s, y in every if y[:t] == gold[:t]) for t in range(len(gold) + 1)]
        found.append(sum(float(weight[row]) * log(mass[t] / mass[t + 1]) for t, row in enumerate(rows)))
    return found


@pytest.mark.parametrize("edges", ["shared", "each", "between"])
@pytest.mark.parametrize("form", ["padded", "time-first", "holes", "packed"])
def test_weights_of_positions_and_labels(form: str, edges: str) -> None:
    if form == "packed" and edges == "between":
        return
    chains = random_chains(4, 4, 3, form=form, edges=edges, dtype=torch.float64, device=DEVICE)
    labels = random_labels(chains)
    random = torch.Generator().manual_seed(3)
    each = torch.rand(labels.shape, generator=random, dtype=torch.float64).to(DEVICE)
    by_label = torch.tensor([0.5, 2.0, 0.0], device=DEVICE)
    for more, weight in [
        ({"position_weight": each}, each),
        ({"label_weight": by_label}, by_label[labels].double()),
        ({"label_weight": by_label, "position_weight": each}, by_label[labels] * each),
    ]:
        expected = torch.tensor(weighted_losses(chains, labels, weight), dtype=torch.float64)
        torch.testing.assert_close(ask(chains, labels, **more).cpu(), expected)
    ones = torch.ones(3, device=DEVICE)
    torch.testing.assert_close(ask(chains, labels, label_weight=ones), ask(chains, labels))
    inside = sum(float(each[row]) for b in range(4) for row in rows_of(chains, b))
    mean = ask(chains, labels, position_weight=each, reduction="token")
    torch.testing.assert_close(mean, ask(chains, labels, position_weight=each).sum() / inside)


@pytest.mark.parametrize("forbidden", [0.0, 0.15])
@pytest.mark.parametrize("form", ["padded", "holes", "packed"])
def test_smoothed_gold(form: str, forbidden: float) -> None:
    """(1 - s) times the labels, s times the mean over all labelings that are allowed."""
    chains = random_chains(
        4, 4, 3, form=form, forbidden=forbidden, dtype=torch.float64, seed=5, device=DEVICE
    )
    labels = random_labels(chains, unknown=0.3)
    found, plain = ask(chains, labels, label_smoothing=0.25, check=False), ask(chains, labels, check=False)
    sure = 0
    for b in range(4):
        scores = torch.tensor([s for s, _ in labelings(chains, b)], dtype=torch.float64)
        logp = scores.log_softmax(0)
        mean = logp[scores > -torch.inf].mean()
        expected = 0.75 * plain[b].cpu() - 0.25 * mean if plain[b].isfinite() else plain[b].cpu()
        torch.testing.assert_close(found[b].cpu(), expected)
        sure += bool(plain[b].isfinite())
    assert sure >= 1


def test_one_position_is_cross_entropy() -> None:
    node, labels = torch.randn(7, 1, 5, dtype=torch.float64), torch.randint(5, (7, 1))
    weight = torch.rand(5)
    edge = torch.randn(5, 5)
    smooth = chain_loss(node, edge, labels, label_smoothing=0.1)
    torch.testing.assert_close(
        smooth, torch.nn.functional.cross_entropy(node[:, 0], labels[:, 0], label_smoothing=0.1)
    )
    heavy = chain_loss(node, edge, labels, label_weight=weight, reduction="token")
    torch.testing.assert_close(
        heavy, torch.nn.functional.cross_entropy(node[:, 0], labels[:, 0], weight.double())
    )


@pytest.mark.parametrize("form", ["padded", "holes", "packed"])
def test_gradients(form: str) -> None:
    chains = random_chains(3, 3, 2, form=form, dtype=torch.float64, device=DEVICE)
    labels = random_labels(chains)
    leaves = [x.clone().requires_grad_() for x in chains.scores]
    weight = torch.rand(labels.shape, dtype=torch.float64, device=DEVICE).requires_grad_()

    def loss(node: Tensor, start: Tensor, edge: Tensor, stop: Tensor, weight: Tensor) -> Tensor:
        from dataclasses import replace

        made = replace(chains, node=node, start=start, edge=edge, stop=stop)
        return ask(made, labels, position_weight=weight, label_smoothing=0.2)

    assert torch.autograd.gradcheck(loss, [*leaves, weight])
    assert torch.autograd.gradgradcheck(loss, [*leaves, weight], atol=1e-4)


def test_impossible_gold_and_nan_are_alone() -> None:
    node = torch.zeros(3, 2, 2, dtype=torch.float64)
    node[1, 0, 0], node[2, 1, 1] = -torch.inf, torch.nan
    node.requires_grad_()
    labels = torch.zeros(3, 2, dtype=torch.long)
    how: Any = {"label_weight": torch.ones(2), "label_smoothing": 0.5, "check": False, "reduction": "none"}
    edge = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    found = chain_loss(node, edge, labels, **how)
    assert found.isinf().tolist() == [False, True, False]
    assert found.isnan().tolist() == [False, False, True]
    found[:2].sum().backward()
    assert node.grad is not None and edge.grad is not None  # noqa: PT018
    assert node.grad[0].isfinite().all()
    assert node.grad[1].eq(0).all()
    assert edge.grad.isfinite().all()
    with pytest.raises(ValueError, match="sequence 1, position 0: label 0 is forbidden there"):
        chain_loss(node, edge, labels, label_weight=torch.ones(2))


@pytest.mark.skipif(DEVICE != "cpu", reason="values are looked at on the CPU")
def test_compiled() -> None:
    crf = CRF(3, dtype=torch.float64)
    weight = torch.tensor([1.0, 2.0, 0.5])

    def loss(node: Tensor, labels: Tensor) -> Tensor:
        return crf.loss(node, labels, label_weight=weight, label_smoothing=0.1)

    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    for T in (3, 5):
        node = torch.randn(2, T, 3, dtype=torch.float64, requires_grad=True)
        labels = torch.randint(3, (2, T))
        grads = [torch.autograd.grad(f(node, labels), node)[0] for f in (compiled, loss)]
        torch.testing.assert_close(*grads)


def test_layers_take_them() -> None:
    torch.manual_seed(0)
    crf = CRF(["O", "B-X", "I-X"], constraints=[Scheme("BIO")], dtype=torch.float64, device=DEVICE)
    node, labels = torch.randn(2, 4, 3, device=DEVICE), torch.tensor([[1, 2, 0, 1]] * 2, device=DEVICE)
    weight = torch.tensor([1.0, 2.0, 2.0], device=DEVICE)
    mine = crf.loss(node, labels, label_weight=weight, label_smoothing=0.1)
    torch.testing.assert_close(
        mine, chain_loss(node, labels=labels, label_weight=weight, label_smoothing=0.1, **crf.tables())
    )
    limited = CRF(crf.labels, constraints=[Scheme("BIO"), SegmentLength("X", 1, 2)], device=DEVICE)
    assert limited.loss(node, labels, label_smoothing=0.1) > 0.9 * limited.loss(node, labels)
    with pytest.raises(ValueError, match="limits on segment lengths exclude weights"):
        limited.loss(node, labels, label_weight=weight)
    for how, message in [
        ({"label_weight": weight[:2]}, r"label_weight has shape \(2,\), expected \(3,\)"),
        ({"position_weight": weight}, r"position_weight has shape \(3,\), expected \(2, 4\)"),
        ({"label_smoothing": 1.5}, "label_smoothing is 1.5, expected 0 to 1"),
        ({"label_smoothing": -1}, "label_smoothing is -1, expected 0 or more"),
    ]:
        wrong: Any = how
        with pytest.raises(ValueError, match=message):
            crf.loss(node, labels, **wrong)
    sets = torch.ones(2, 4, 3, dtype=torch.bool, device=DEVICE)
    with pytest.raises(ValueError, match="need labels, not allowed"):
        crf.loss(node, allowed=sets, label_weight=weight)
    if DEVICE == "cpu":
        with pytest.raises(ValueError, match="sequence 0 has an unknown label"):
            crf.loss(node, labels.masked_fill(labels == 2, -1), label_weight=weight)
    with pytest.raises(ValueError, match="chains of order 0 and 1"):
        CRF(3, order=2, device=DEVICE).loss(node, labels, label_weight=weight)
