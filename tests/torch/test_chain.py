"""CRF: constraints, parameters, and what modules must be able to do."""

from __future__ import annotations

import copy
import io
import pickle
from itertools import product
from typing import Any

import pytest
import torch
from torch import nn

from crfkit import Chain, inference
from crfkit.constraints import Forbid, Scheme, SegmentLength
from crfkit.structures import LocalChain
from crfkit.torch import CRF
from tests.cases.torch.devices import DEVICE

NAMES = ["O", "B-X", "I-X"]


def trained(**how: Any) -> CRF:
    """A layer with random scores."""
    torch.manual_seed(0)
    crf = CRF(NAMES, **how)
    for parameter in crf.parameters():
        nn.init.normal_(parameter)
    crf.to(DEVICE)
    return crf


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("constraints", [[], [Scheme("BIO"), Forbid("B-X", "B-X")]])
def test_queries_equal_those_of_crfkit(order: int, constraints: list[Any]) -> None:
    if order == 0 and constraints:
        return  # a chain of order 0 refuses them
    crf = trained(order=order, constraints=constraints)
    node = torch.randn(1, 4, 3, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    tables = [p.detach().double().cpu().numpy() for p in crf.edges] if order == 2 else None
    if order == 1:
        tables = crf.edge.detach().double().cpu().numpy()
    start, stop = (x.detach().double().cpu().numpy() for x in (crf.start, crf.stop))
    scores = crf.chain.potentials(node[0].double().cpu().numpy(), tables, start=start, stop=stop)
    assert float(crf.log_partition(node).detach()) == pytest.approx(inference.log_partition(scores), rel=1e-6)
    assert float(crf.entropy(node).detach()) == pytest.approx(inference.entropy(scores), rel=1e-5)
    best = inference.decode(scores)
    assert crf.decode(node).lists() == [best.labels.tolist()]
    assert crf.decode(node).names() == [[NAMES[y] for y in best.labels]]
    expected = torch.from_numpy(inference.marginals(scores).node)
    torch.testing.assert_close(crf.marginals(node)[0].double().cpu(), expected, rtol=1e-5, atol=1e-6)
    several = inference.kbest(scores, 3)
    assert crf.kbest(node, 3).lists() == [[y.labels.tolist() for y in several]]
    labels = torch.from_numpy(best.labels).long()[None].to(DEVICE)
    value = float(inference.log_partition(scores)) - best.score
    assert float(crf.loss(node, labels).detach()) == pytest.approx(value, rel=1e-5)
    assert float(crf.log_prob(node, labels).detach()) == pytest.approx(-value, rel=1e-5)
    assert crf.sample(node, 5).shape == (1, 5, 4)


def test_constraints_hold_in_loss_and_draws_and_are_not_parameters() -> None:
    crf = trained(constraints=[Scheme("BIO")])
    assert set(crf.state_dict()) == {"start", "stop", "edge"}
    node = torch.zeros(2, 3, 3, device=DEVICE)
    forbidden = torch.tensor([[0, 2, 0], [1, 2, 0]], device=DEVICE)
    assert crf.loss(node, forbidden, reduction="none", check=False).isinf().tolist() == [True, False]
    with pytest.raises(ValueError, match="sequence 0, position 1: label 2 is forbidden there"):
        crf.loss(node, forbidden, check=True)
    crf.loss(node, forbidden, reduction="none", check=False).sum().backward()
    assert crf.edge.grad is not None
    assert crf.edge.grad.isfinite().all()
    for draw in crf.sample(node, 20).flatten(0, 1).tolist():
        assert crf.chain.resolved is not None
        assert crf.chain.resolved.accepts(draw)


def test_training_finds_the_labels() -> None:
    torch.manual_seed(0)
    crf, net = CRF(3).to(DEVICE), nn.Linear(4, 3).to(DEVICE)
    x, y = torch.randn(8, 5, 4).to(DEVICE), torch.randint(3, (8, 5)).to(DEVICE)
    optimizer = torch.optim.Adam([*crf.parameters(), *net.parameters()], lr=0.1)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = crf(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("order", [1, 2])
def test_copies_answer_the_same(order: int) -> None:
    crf = trained(order=order, constraints=[Scheme("BIO")])
    node = torch.randn(2, 4, 3, device=DEVICE)
    buffer = io.BytesIO()
    torch.save(crf.state_dict(), buffer)
    buffer.seek(0)
    loaded = CRF(NAMES, order, [Scheme("BIO")]).to(DEVICE)
    loaded.load_state_dict(torch.load(buffer))
    for other in (copy.deepcopy(crf), pickle.loads(pickle.dumps(crf)), loaded, CRF(crf.chain)):
        if other.start.abs().sum() == 0:
            assert other.chain == crf.chain
            continue
        torch.testing.assert_close(other.log_partition(node), crf.log_partition(node))
        assert other.labels == tuple(NAMES)


def test_types_of_parameters() -> None:
    crf = trained(constraints=[Scheme("BIO")])
    node, labels = torch.randn(2, 4, 3, device=DEVICE), torch.zeros(2, 4, dtype=torch.int64, device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = crf.loss(node.bfloat16(), labels)
    assert loss.dtype == torch.float32
    assert crf.start.dtype == torch.float32
    wide = copy.deepcopy(crf).double()
    torch.testing.assert_close(wide.loss(node, labels).float(), crf.loss(node, labels))
    assert copy.deepcopy(crf).half().loss(node, labels).isfinite()
    assert CRF(2, dtype=torch.float64).edge.dtype == torch.float64


def test_it_prints_what_it_is_and_warms_up() -> None:
    assert repr(CRF(3, 2)) == (
        "CRF(\n  labels=3, order=2\n"
        "  (edges): ParameterList(\n"
        "      (0): Parameter containing: [torch.float32 of size 3x3]\n"
        "      (1): Parameter containing: [torch.float32 of size 3x3x3]\n  )\n)"
    )
    assert "constraints=[Scheme" in repr(CRF(NAMES, constraints=[Scheme("BIO")]))
    crf = trained()
    crf.warm_up(2, 3)
    assert crf.edge.grad is None


def test_refused() -> None:
    with pytest.raises(ValueError, match="labels is empty"):
        CRF([])
    with pytest.raises(ValueError, match="is not a chain with labels"):
        CRF(Chain())
    with pytest.raises(ValueError, match="is not a chain with labels"):
        CRF(LocalChain(2))
    with pytest.raises(ValueError, match="do not give them again"):
        CRF(Chain(2), order=2)


def limited() -> CRF:
    return trained(constraints=[Scheme("BIO"), SegmentLength(None, 2, 3)])


def test_limits_on_segment_lengths_against_all_labelings() -> None:
    crf = limited()
    assert crf.chain.resolved is not None
    node = torch.randn(1, 4, 3, generator=torch.Generator().manual_seed(2)).to(DEVICE)
    free = CRF(NAMES).to(DEVICE)
    free.load_state_dict(crf.state_dict())
    every = [y for y in product(range(3), repeat=4) if crf.chain.resolved.accepts(y)]
    paths = torch.tensor(every, device=DEVICE)
    scores = torch.stack([free.log_prob(node, y[None])[0] for y in paths]).detach()
    p = scores.softmax(0)
    logz = scores.logsumexp(0) + free.log_partition(node)[0]
    torch.testing.assert_close(crf.log_partition(node)[0], logz)
    torch.testing.assert_close(crf.entropy(node)[0], -(p * p.log()).sum(), rtol=1e-5, atol=1e-6)
    assert crf.decode(node).lists() == [list(every[int(p.argmax())])]
    assert crf.kbest(node, 2).lists() == [[list(every[i]) for i in p.topk(2).indices.tolist()]]
    single, steps = crf.marginals(node, edges=True)
    hot = nn.functional.one_hot(paths, 3).double()
    torch.testing.assert_close(single[0].double(), torch.einsum("n,ntl->tl", p, hot), rtol=1e-5, atol=1e-6)
    pairs = torch.einsum("n,nti,ntj->tij", p, hot[:, :-1], hot[:, 1:])
    torch.testing.assert_close(steps[0, 1:].double(), pairs, rtol=1e-5, atol=1e-6)
    assert {tuple(y) for y in crf.sample(node, 30)[0].tolist()} <= set(every)
    for i in (0, 3):
        torch.testing.assert_close(crf.log_prob(node, paths[[i]])[0], p[i].log(), rtol=1e-5, atol=1e-6)
    unknown = torch.tensor([[1, -1, -100, 0]], device=DEVICE)
    inside = (paths[:, 0] == 1) & (paths[:, 3] == 0)
    torch.testing.assert_close(crf.loss(node, unknown).double(), -p[inside].sum().log(), rtol=1e-5, atol=1e-6)
    never = torch.tensor([[1, 0, 0, 0]], device=DEVICE)
    assert crf.loss(node, never, check=False) == torch.inf
    assert crf.log_prob(node, never) == -torch.inf
    with pytest.raises(ValueError, match="sequence 0: the scores and constraints forbid all labelings"):
        crf.loss(node, never, check=True)


def test_limits_on_segment_lengths_refuse_other_numbers_of_labels() -> None:
    crf, node = limited(), torch.zeros(1, 2, 4, device=DEVICE)
    with pytest.raises(
        ValueError, match=r"node has shape \(1, 2, 4\), scores of 4 labels, but the layer has 3"
    ):
        crf.decode(node)
    with pytest.raises(ValueError, match="expected 3 labels in the last axis"):
        crf.loss(node[..., :3], allowed=node == 0)
    sets: Any = [[1, 1]]
    with pytest.raises(ValueError, match="allowed is list, expected a tensor"):
        crf.loss(node[..., :3], allowed=sets)


def test_limits_on_segment_lengths_in_other_forms() -> None:
    crf = limited()
    node = torch.randn(3, 3, device=DEVICE)
    jagged = torch.nested.nested_tensor_from_jagged(node, torch.tensor([0, 3], device=DEVICE))
    packed = nn.utils.rnn.pack_sequence([node])
    labels = crf.decode(node[None])
    assert crf.decode(jagged).lists() == crf.decode(packed).lists() == labels.lists()
    gold = torch.tensor([1, 2, 0], device=DEVICE)
    loss = crf.loss(node[None], gold[None])
    torch.testing.assert_close(crf.loss(node, gold, offsets=[0, 3]), loss)
    torch.testing.assert_close(crf.loss(packed, nn.utils.rnn.pack_sequence([gold])), loss)
    one = nn.functional.one_hot(gold[None], 3)
    torch.testing.assert_close(crf.loss(node[None], allowed=one.bool()), loss)
    with pytest.raises(ValueError, match="distributions over labels exclude each other"):
        crf.loss(node[None], allowed=one.float())
    with pytest.raises(ValueError, match="give labels or allowed, not both"):
        crf.loss(node[None], gold[None], allowed=one.bool())
    if DEVICE == "cpu":
        with pytest.raises(ValueError, match="sequence 0, position 0: the label is 7"):
            crf.loss(node[None], gold[None] + 6)
