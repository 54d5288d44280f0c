"""The functions that users call: every form of input against all labelings, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

from crfkit.torch import functional
from tests.cases.torch.chains import Chains, labelings, random_chains, random_labels, rows_of
from tests.cases.torch.devices import DEVICE

FORMS = ["padded", "time-first", "holes", "packed", "nested", "sequence"]


@dataclass
class Asked:
    chains: Chains  # what enumeration sees
    labels: Tensor
    node: Any  # what the user gives
    gold: Any
    where: dict[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        c = self.chains
        return {"edge": c.edge, "start": c.start, "stop": c.stop, **self.where}


def asked(form: str, unknown: float = 0.0, **how: Any) -> Asked:
    """A batch of four short chains in one of the forms that users give."""
    how = {"dtype": torch.float64, "device": DEVICE, **how}
    inner = {"nested": "packed", "sequence": "padded"}.get(form, form)
    chains = random_chains(4, 3, 3, form=inner, **how)
    if form == "sequence":  # no empty ones there
        chains = replace(chains, length=chains.length.clamp(min=1))
    labels = random_labels(chains, unknown)
    node, gold, where = chains.node, labels, {}
    if form == "holes":
        mask = torch.zeros(4, 3, dtype=torch.bool, device=DEVICE)
        for b in range(4):
            for row in rows_of(chains, b):
                mask[row] = True
        where = {"mask": mask}
        gold = torch.where(mask, labels, 99)  # what is masked is not looked at
    elif form in ("padded", "time-first"):
        where = {"lengths": chains.length}
    elif form == "sequence":
        n = chains.length.cpu()
        node = pack_padded_sequence(node, n, batch_first=True, enforce_sorted=False)
        gold = pack_padded_sequence(labels, n, batch_first=True, enforce_sorted=False)
    else:
        offsets = torch.cat([chains.length.new_zeros(1), chains.length.cumsum(0)]).long()
        where = {"offsets": offsets}
        if form == "nested":
            node = torch.nested.nested_tensor_from_jagged(node, offsets)
            gold = torch.nested.nested_tensor_from_jagged(labels, offsets)
            where = {}
    return Asked(chains, labels, node, gold, where)


def agrees(y: tuple[int, ...], labels: Tensor, rows: list[tuple[int, ...]]) -> bool:
    return all(int(labels[row]) in (-1, label) for label, row in zip(y, rows, strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_every_query_against_all_labelings(form: str) -> None:
    a = asked(form, unknown=0.3)
    logz = functional.chain_log_partition(a.node, **a.given)
    losses = functional.chain_loss(a.node, labels=a.gold, reduction="none", **a.given)
    torch.testing.assert_close(functional.chain_log_prob(a.node, labels=a.gold, **a.given), -losses)
    entropy = functional.chain_entropy(a.node, **a.given)
    best = functional.chain_best(a.node, **a.given)
    several = functional.chain_kbest(a.node, k=3, **a.given)
    draws = functional.chain_sample(a.node, n=2, **a.given)
    node, steps = functional.chain_marginals(a.node, edges=True, **a.given)
    if form == "nested":
        assert best.labels.is_nested
        assert draws.is_nested
        node, steps = node.values(), steps.values()
    for b in range(4):
        every, rows = labelings(a.chains, b), rows_of(a.chains, b)
        score = torch.tensor([s for s, _ in every], dtype=torch.float64)
        p = score.softmax(0).tolist()
        assert float(logz[b]) == pytest.approx(float(score.logsumexp(0)))
        gold = sum(q for q, (_, y) in zip(p, every, strict=True) if agrees(y, a.labels, rows))
        assert float((-losses[b]).exp()) == pytest.approx(gold)
        assert float(entropy[b]) == pytest.approx(float(-(score.softmax(0) * score.log_softmax(0)).sum()))
        assert tuple(best.lists()[b]) == every[0][1]
        assert [tuple(y) for y in several.lists()[b]][: len(every)] == [y for _, y in every[:3]] + [()] * (
            3 - len(every[:3])
        ) or len(every) < 3
        assert float(best.score[b]) == pytest.approx(every[0][0])
        for t, row in enumerate(rows):
            for i in range(3):
                share = sum(q for q, (_, y) in zip(p, every, strict=True) if y[t] == i)
                assert float(node[row][i]) == pytest.approx(share)
            if t:
                share = sum(q for q, (_, y) in zip(p, every, strict=True) if y[t - 1 : t + 1] == (0, 1))
                assert float(steps[row][0, 1]) == pytest.approx(share)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("edges", ["shared", "each"])
def test_sets_and_distributions_against_all_labelings(form: str, edges: str) -> None:
    if form in ("nested", "sequence") and edges == "each":
        return  # the same path as packed and padded
    a = asked(form, edges=edges)
    random = torch.Generator().manual_seed(3)
    shape = a.chains.node.shape
    sets = (torch.rand(shape, generator=random) < 0.5).to(DEVICE)
    sets.scatter_(-1, a.labels[..., None], True)  # never empty
    soft = torch.rand(shape, generator=random, dtype=torch.float64).to(DEVICE)
    soft = soft / soft.sum(-1, keepdim=True)
    by_set = functional.chain_loss(a.node, allowed=_in_form(a, sets), reduction="none", **a.given)
    by_share = functional.chain_loss(a.node, allowed=_in_form(a, soft), reduction="none", **a.given)
    both = functional.chain_loss(
        a.node, labels=a.gold, allowed=_in_form(a, sets), reduction="none", **a.given
    )
    torch.testing.assert_close(
        both, functional.chain_loss(a.node, labels=a.gold, reduction="none", **a.given)
    )
    for b in range(4):
        every, rows = labelings(a.chains, b), rows_of(a.chains, b)
        score = torch.tensor([s for s, _ in every], dtype=torch.float64)
        logz = score.logsumexp(0)
        inside = [all(bool(sets[row][i]) for i, row in zip(y, rows, strict=True)) for _, y in every]
        assert float(by_set[b]) == pytest.approx(float(logz - score[torch.tensor(inside)].logsumexp(0)))
        chance = torch.ones(len(every), dtype=torch.float64)
        for n, (_, y) in enumerate(every):
            for i, row in zip(y, rows, strict=True):
                chance[n] *= soft[row][i].cpu()
        assert float(by_share[b]) == pytest.approx(float(logz - (chance * score).sum()))


def _in_form(a: Asked, x: Tensor) -> Any:
    """A tensor by row in the form of what the user gives."""
    if isinstance(a.node, Tensor):
        return torch.nested.nested_tensor_from_jagged(x, a.node.offsets()) if a.node.is_nested else x
    return pack_padded_sequence(x, a.chains.length.cpu(), batch_first=True, enforce_sorted=False)


@pytest.mark.parametrize("form", ["padded", "holes", "packed", "nested", "sequence"])
def test_gradients_of_every_form_against_differences(form: str) -> None:
    a = asked(form, unknown=0.3)
    node = a.chains.node.detach().requires_grad_()
    soft = torch.softmax(node.detach().flip(-1), -1)

    def loss(x: Tensor, edge: Tensor) -> Tensor:
        b = replace(a, chains=replace(a.chains, edge=edge), node=_in_form(a, x))
        by_labels = functional.chain_loss(b.node, labels=a.gold, reduction="token", **b.given)
        return by_labels + functional.chain_loss(b.node, allowed=_in_form(a, soft), **b.given)

    edge = a.chains.edge.detach().requires_grad_()
    assert torch.autograd.gradcheck(loss, (node, edge), fast_mode=True)


def test_reductions_and_weights() -> None:
    a = asked("padded")
    weight = torch.tensor([0.5, 2.0, 0.0, 1.0], dtype=torch.float64, device=DEVICE)
    each = functional.chain_loss(a.node, labels=a.gold, reduction="none", **a.given)
    for kind, divisor in (("sum", 1), ("mean", 4), ("token", int(a.chains.length.sum()))):
        for factor in (None, weight):
            total = functional.chain_loss(a.node, labels=a.gold, reduction=kind, weight=factor, **a.given)  # type: ignore[arg-type]
            torch.testing.assert_close(total, (each * (1 if factor is None else factor)).sum() / divisor)
    weight.requires_grad_()
    loss = functional.chain_loss(a.node, labels=a.gold, weight=weight, **a.given)
    (by_weight,) = torch.autograd.grad(loss, weight)
    torch.testing.assert_close(by_weight, each / 4)
    weighted = functional.chain_loss(a.node, labels=a.gold, reduction="none", weight=weight, **a.given)
    torch.testing.assert_close(weighted, each * weight)


@pytest.mark.parametrize("order", [2, 3])
def test_order_k_equals_order_one_over_tuples(order: int) -> None:
    """Tables of higher order that are 0 change nothing; one that is not agrees with enumeration."""
    a = asked("holes", unknown=0.2)
    L = 3
    zeros = [torch.zeros((L,) * (h + 1), dtype=torch.float64, device=DEVICE) for h in range(2, order + 1)]
    tables = {**a.given, "edge": [a.chains.edge, *zeros]}
    other = torch.randn(a.chains.node.shape, dtype=torch.float64).to(DEVICE)
    for name, more in (
        ("log_partition", {}),
        ("loss", {"labels": a.gold}),
        ("entropy", {}),
        ("marginals", {}),
        ("best", {}),
        ("kbest", {"k": 2}),
        ("loss", {"allowed": other.softmax(-1)}),
        ("loss", {"allowed": other >= other.amax(-1, keepdim=True) - 0.5}),
    ):
        function = getattr(functional, f"chain_{name}")
        torch.testing.assert_close(
            function(a.node, **more, **tables), function(a.node, **more, **a.given), equal_nan=True
        )
    kl = functional.chain_kl(a.node, other_node=other, other_edge=tables["edge"], **tables)
    torch.testing.assert_close(
        kl, functional.chain_kl(a.node, other_node=other, other_edge=a.chains.edge, **a.given)
    )
    node = a.chains.node.clone().requires_grad_()
    entropy = functional.chain_entropy(node, **tables).sum()
    (found,) = torch.autograd.grad(entropy, node)
    again = a.chains.node.clone().requires_grad_()
    (expected,) = torch.autograd.grad(functional.chain_entropy(again, **a.given).sum(), again)
    torch.testing.assert_close(found, expected)


def test_kl_is_zero_to_itself_and_differentiable() -> None:
    a = asked("holes")
    node = a.chains.node.clone().requires_grad_()
    same = functional.chain_kl(
        node,
        other_node=a.node,
        other_edge=a.chains.edge,
        other_start=a.chains.start,
        other_stop=a.chains.stop,
        **a.given,
    )
    torch.testing.assert_close(same, torch.zeros_like(same))
    (gradient,) = torch.autograd.grad(same.sum(), node)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("order", [1, 2])
def test_kl_is_infinite_where_only_q_forbids(order: int) -> None:
    node = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    node[1, 1:, 2] = -torch.inf  # p does not take the steps into label 2 of the second sequence
    wide, narrow = torch.zeros(3, 3).double(), torch.zeros(3, 3).double()
    narrow[:, 2] = -torch.inf
    p, q = ([x, torch.zeros(3, 3, 3).double()] if order == 2 else x for x in (wide, narrow))
    node.requires_grad_()
    value = functional.chain_kl(node, p, node.detach(), q)
    assert value[0] == torch.inf
    torch.testing.assert_close(value[1], torch.tensor(0.0).double())
    (gradient,) = torch.autograd.grad(value.sum(), node)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))
    nothing = torch.full((3,), -torch.inf).double()
    for how in ({"start": nothing}, {"other_start": nothing}, {"start": nothing, "other_start": nothing}):
        assert (functional.chain_kl(node, p, node.detach(), q, **how) == torch.inf).all()


def test_draws_follow_the_generator_and_the_distribution() -> None:
    node = torch.tensor([[[0.0, 1.0], [2.0, 0.0]]], device=DEVICE)
    edge = torch.tensor([[0.0, 1.0], [0.5, 0.0]], device=DEVICE)

    def draw(seed: int) -> Tensor:
        generator = torch.Generator(DEVICE).manual_seed(seed)
        return functional.chain_sample(node, edge, 400, generator=generator)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    share = torch.nn.functional.one_hot(draw(1)[0], 2).double().mean(0)
    torch.testing.assert_close(share, functional.chain_marginals(node, edge)[0].double(), atol=0.1, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types(dtype: torch.dtype) -> None:
    chains = random_chains(3, 4, 3, dtype=dtype, device=DEVICE)
    labels = random_labels(chains)
    node = chains.node.clone().requires_grad_()
    how: dict[str, Any] = {"edge": chains.edge, "lengths": chains.length}
    loss = functional.chain_loss(node, labels=labels, **how)
    loss.backward()
    assert loss.dtype == torch.float32
    assert node.grad is not None
    assert node.grad.dtype == dtype
    exact = functional.chain_loss(chains.node.double(), labels=labels, **how)
    torch.testing.assert_close(loss.double(), exact, rtol=1e-5, atol=1e-6)
    assert functional.chain_marginals(chains.node, **how).dtype == torch.float32
    assert functional.chain_log_partition(chains.node, **how).dtype == torch.float64
    halves = {"edge": chains.edge.half(), "lengths": chains.length}
    assert functional.chain_loss(chains.node, labels=labels, **halves).isfinite()


def test_gold_that_is_forbidden_costs_infinity_and_leaves_the_others_alone() -> None:
    node = torch.zeros(3, 2, 2, device=DEVICE, requires_grad=True)
    edge = torch.tensor([[0.0, -torch.inf], [0.0, 0.0]], device=DEVICE)
    labels = torch.tensor([[0, 1], [1, 0], [0, 0]], device=DEVICE)
    for more in ({}, {"allowed": torch.ones(3, 2, 2, dtype=torch.bool, device=DEVICE)}):
        each = functional.chain_loss(node, edge, labels, reduction="none", check=False, **more)
        assert each[0] == torch.inf
        assert each[1:].isfinite().all()
        (gradient,) = torch.autograd.grad(each[1:].sum() + each[0], node)
        assert (gradient[0] == 0).all()
        assert gradient[1].abs().sum() > 0
    with pytest.raises(
        ValueError, match="sequence 0, position 1: label 1 is forbidden there, after the gold"
    ):
        functional.chain_loss(node, edge, labels, check=True)
    with pytest.raises(ValueError, match="sequence 1: the scores hold NaN or"):
        functional.chain_loss(
            node + torch.tensor([0, torch.nan, 0]).to(DEVICE)[:, None, None],
            edge,
            labels[[1, 1, 2]],
            check=True,
        )
    with pytest.raises(ValueError, match="sequence 0: the scores and constraints allow no labeling"):
        functional.chain_loss(node, torch.full_like(edge, -torch.inf), labels, check=True)
    assert functional.chain_loss(node, edge, labels[[1, 1, 2]], check=True).isfinite()


def test_distributions_where_nothing_is_allowed() -> None:
    node, edge = torch.zeros(2, 2, 2, requires_grad=True), torch.full((2, 2), -torch.inf)
    value = functional.chain_loss(
        node, edge, allowed=torch.full((2, 2, 2), 0.5), reduction="sum", check=False
    )
    assert value == torch.inf
    assert (torch.autograd.grad(value, node)[0] == 0).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "token", "none"])
def test_a_weight_of_zero_leaves_a_sequence_out(reduction: Any) -> None:
    node = torch.zeros(2, 2, 2, device=DEVICE)
    edge = torch.tensor([[0.0, -torch.inf], [0.0, 0.0]], device=DEVICE)
    labels = torch.tensor([[0, 1], [1, 0]], device=DEVICE)  # the first cannot be
    weight = torch.tensor([0.0, 2.0], device=DEVICE)
    for learned in (False, True):
        weight.requires_grad_(learned)
        value = functional.chain_loss(node, edge, labels, weight=weight, reduction=reduction)
        assert value.isfinite().all()
        assert value.sum() > 0


def test_a_scaled_loss_of_half_scores_does_not_overflow() -> None:
    node = torch.zeros(2, 3, 4, dtype=torch.float16, device=DEVICE, requires_grad=True)
    edge = torch.zeros(4, 4, device=DEVICE)
    labels = torch.zeros(2, 3, dtype=torch.int64, device=DEVICE)
    (65536.0 * functional.chain_loss(node, edge, labels)).backward()  # what a GradScaler starts with
    assert node.grad is not None
    torch.testing.assert_close(node.grad[0, 0].tolist(), [-24576.0, 8192.0, 8192.0, 8192.0])


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 2), (0, 0, 2), (1, 1, 1)])
def test_empty_batches_and_sequences(shape: tuple[int, int, int]) -> None:
    node, edge = (
        torch.zeros(shape, device=DEVICE, requires_grad=True),
        torch.zeros(shape[2], shape[2]).to(DEVICE),
    )
    labels = torch.zeros(shape[:2], dtype=torch.int64, device=DEVICE)
    functional.chain_loss(node, edge, labels).backward()
    assert node.grad is not None
    assert node.grad.shape == shape
    assert functional.chain_best(node, edge).labels.shape == shape[:2]
    assert functional.chain_marginals(node, edge).shape == shape
    assert functional.chain_entropy(node, edge).shape == shape[:1]
    assert functional.chain_kbest(node, edge, 2).labels.shape == (shape[0], 2, shape[1])
    assert functional.chain_sample(node, edge, 2).shape == (shape[0], 2, shape[1])
    between = edge.expand(shape[0], max(shape[1] - 1, 0), *edge.shape)
    assert functional.chain_marginals(node, between, edges=True)[1].shape == between.shape
    assert functional.chain_best(node, between).labels.shape == shape[:2]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of torch's own import
def test_transforms_of_functions_are_refused() -> None:
    node, edge = torch.zeros(2, 3, 2), torch.zeros(2, 2)
    labels = torch.zeros(2, 3, dtype=torch.long)
    transforms: Any = torch.func
    queries: list[Callable[[], Any]] = [
        lambda: transforms.grad(lambda x: functional.chain_loss(x, edge, labels))(node),
        lambda: transforms.vmap(lambda x: functional.chain_best(x[None], edge).labels)(node),
        lambda: transforms.jvp(lambda x: functional.chain_log_partition(node, x), (edge,), (edge,)),
    ]
    for query in queries:
        with pytest.raises(RuntimeError, match=r"does not take the transforms of torch.func"):
            query()
    forward: Any = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(node, node)
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            functional.chain_loss(dual, edge, labels)
