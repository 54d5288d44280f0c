"""Sums of crfkit.compat.torch_struct in every semiring, against all structures."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.compat import torch_struct
from crfkit.compat.torch_struct import (
    CheckpointSemiring,
    CheckpointShardSemiring,
    CrossEntropySemiring,
    EntropySemiring,
    KLDivergenceSemiring,
    KMaxSemiring,
    LinearChain,
    LogSemiring,
    MaxSemiring,
    MultiSampledSemiring,
    SampledSemiring,
    SemiMarkov,
    SparseMaxSemiring,
    StdSemiring,
)
from tests.cases.torch.distributions import make, support

STRUCTS = {"chain": LinearChain, "segments": SemiMarkov}
close = torch.testing.assert_close


def found(kind: str, seed: int = 0, forbidden: bool = False) -> tuple[Any, Tensor, Tensor, list[Tensor]]:
    """A struct, scores, lengths, and the events of each batch element."""
    dist = make(kind, seed, forbidden)
    assert dist.lengths is not None
    return STRUCTS[kind], dist.log_potentials, dist.lengths, [support(dist, b) for b in range(3)]


def scores_of(events: Tensor, potentials: Tensor) -> Tensor:
    """The score of each event of one batch element."""
    return torch.where(events.flatten(1) != 0, potentials.flatten(), 0.0).sum(1)


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("kind", STRUCTS)
def test_sums_and_their_gradients(kind: str, forbidden: bool) -> None:
    struct, vals, lengths, events = found(kind, 0, forbidden)
    _, other, _, _ = found(kind, 1)
    log, top, k_top = struct(LogSemiring), struct(MaxSemiring), struct(KMaxSemiring(3))
    for b in range(3):
        score, theirs = scores_of(events[b], vals[b]), scores_of(events[b], other[b])
        logp, logq = score.log_softmax(0), theirs.log_softmax(0)
        p = logp.exp()
        close(log.sum(vals, lengths)[b], score.logsumexp(0))
        close(log.marginals(vals, lengths)[b], torch.einsum("s,s...->...", p, events[b]))
        close(struct(StdSemiring).sum(vals.exp(), lengths)[b], score.exp().sum())
        best = score.topk(3)
        close(top.sum(vals, lengths)[b], best.values[0])
        assert torch.equal(top.marginals(vals, lengths)[b], events[b][best.indices[0]])
        close(k_top.sum(vals, lengths, _raw=True)[:, b], best.values)
        assert torch.equal(k_top.marginals(vals, lengths, _raw=True)[:, b], events[b][best.indices])
        close(struct(EntropySemiring).sum(vals, lengths)[b], -torch.where(p > 0, p * logp, 0.0).sum())
        close(struct(CrossEntropySemiring).sum([vals, other], lengths)[b], -(p * logq).sum())
        kl = torch.where(p > 0, p * (logp - logq), 0.0).sum()
        close(struct(KLDivergenceSemiring).sum([vals, other], lengths)[b], kl)


@pytest.mark.parametrize("kind", STRUCTS)
def test_what_one_forbids_and_the_other_allows(kind: str) -> None:
    struct, vals, lengths, _ = found(kind)
    _, none, _, _ = found(kind, 0, True)
    assert struct(CrossEntropySemiring).sum([vals, none], lengths)[0] == torch.inf
    assert struct(KLDivergenceSemiring).sum([none, vals], lengths).isfinite().all()
    nothing = torch.full_like(vals, -torch.inf)
    assert struct(LogSemiring).sum(nothing, lengths).eq(-torch.inf).all()
    assert struct(EntropySemiring).sum(nothing, lengths).isnan().sum() == 0


@pytest.mark.parametrize("kind", STRUCTS)
def test_draws(kind: str) -> None:
    struct, vals, lengths, _ = found(kind, 0, True)
    torch.manual_seed(0)
    mean = struct().marginals(vals, lengths)
    one = torch.stack([struct(SampledSemiring).marginals(vals, lengths) for _ in range(200)])
    many = []
    for _ in range(20):
        bits = struct(MultiSampledSemiring).marginals(vals, lengths)
        many += [MultiSampledSemiring.to_discrete(bits, j) for j in range(1, 17)]
    for drawn in (one, torch.stack(many)):
        assert ((drawn.mean(0) - mean).abs() < 0.17).all()
        assert set(drawn.unique().tolist()) <= {0.0, 1.0}
        for event in drawn[:40]:  # whole structures, which are allowed
            assert (struct().score(vals, event) > -torch.inf).all()
            back = struct.to_parts(*struct.from_parts(event), lengths=lengths)
            assert torch.equal(back.double(), event)
    assert len({tuple(x.flatten().tolist()) for x in many[:16]}) > 1


@pytest.mark.parametrize("kind", STRUCTS)
@pytest.mark.parametrize(
    "semiring", [CheckpointSemiring(LogSemiring), CheckpointShardSemiring(LogSemiring, 2)]
)
def test_steps_that_are_computed_again(kind: str, semiring: Any) -> None:
    struct, vals, lengths, _ = found(kind)
    grads = []
    for each in (LogSemiring, semiring):
        leaf = vals.clone().requires_grad_()
        struct(each).sum(leaf, lengths).sum().backward()
        grads.append(leaf.grad)
    close(*grads)
    close(struct(semiring).marginals(vals, lengths), grads[0])


@pytest.mark.parametrize("kind", STRUCTS)
@pytest.mark.parametrize("semiring", [LogSemiring, EntropySemiring])
def test_gradients(kind: str, semiring: Any) -> None:
    struct, vals, lengths, _ = found(kind)
    leaf = vals[..., :2, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: struct(semiring).sum(x, lengths), leaf, fast_mode=True)
    assert torch.autograd.gradcheck(lambda x: struct(LogSemiring).marginals(x, lengths), leaf, fast_mode=True)


def smoothed(x: list[float]) -> float:
    """max_w <w, x> - (|w|^2 - 1) / 2 by all sets of values that have a share."""
    best = -math.inf
    for size in range(1, len(x) + 1):
        for some in itertools.combinations([v for v in x if v > -math.inf], size):
            given = torch.tensor(some, dtype=torch.float64)
            w = given - (sum(some) - 1.0) / size
            if (w >= -1e-12).all():
                best = max(best, float(w @ given - w @ w / 2) + 0.5)
    return best


@pytest.mark.parametrize("dim", [1, 2, -1])
def test_smoothed_maxima(dim: int) -> None:
    torch.manual_seed(0)
    x = 2.0 * torch.randn(1, 4, 3, 5, dtype=torch.float64)
    x[0, 0, 0, 1] = x[0, 1, 2] = x[0, 2, 1, :4] = x[0, :3, 1, 3] = -torch.inf
    x[0, 3] = x[0, 3].round()  # ties
    x.requires_grad_()
    found = SparseMaxSemiring.sum(x, dim)
    rows = x.detach().movedim(dim, -1)
    expected = [smoothed(row) for row in rows.reshape(-1, rows.shape[-1]).tolist()]
    close(found.detach().flatten(), torch.tensor(expected, dtype=torch.float64))
    (share,) = torch.autograd.grad(torch.where(found.isinf(), 0.0, found).sum(), x)
    close(share.sum(dim), (~found.isinf()).double())
    assert (share >= 0).all()
    assert (share[x == -torch.inf] == 0).all()


@pytest.mark.parametrize("kind", STRUCTS)
def test_shares_of_smoothed_sums_are_sparse_and_have_derivatives(kind: str) -> None:
    struct, vals, lengths, _ = found(kind)
    share = struct(SparseMaxSemiring).marginals(vals, lengths)
    assert (share == 0).float().mean() > (struct(LogSemiring).marginals(vals, lengths) == 0).float().mean()
    leaf = vals[..., :2, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: struct(SparseMaxSemiring).marginals(x, lengths), leaf)


def test_operations_of_semirings() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    close(StdSemiring.matmul(a, b), a @ b)
    close(StdSemiring.dot(a[0, 0], b[0, :, 0]), a[0, 0] @ b[0, :, 0])
    close(LogSemiring.matmul(a, b), (a.exp() @ b.exp()).log())
    close(MaxSemiring.matmul(a, b), (a[:, :, None] + b.transpose(1, 2)[:, None]).amax(-1))
    two: Any = KMaxSemiring(2)
    close(two.dot(two.convert(a[0, 0]), two.convert(b[0, :, 0])), (a[0, 0] + b[0, :, 0]).topk(2).values)
    close(two.sparse_sum(torch.tensor([[1, 2, 5], [3, 4, 6]]))[0], torch.tensor([6, 5]))
    close(LogSemiring.plus(a, a + 1.0), torch.logaddexp(a, a + 1.0))
    values = torch.empty(2, 3)
    assert EntropySemiring.zero_(values).tolist() == [[-torch.inf] * 3, [0.0] * 3]
    assert EntropySemiring.one_(values).eq(0).all()
    EntropySemiring.zero_mask_(values, torch.tensor([True, False, False]))
    assert values[0].tolist() == [-torch.inf, 0.0, 0.0]
    filled = EntropySemiring.fill(torch.ones(2, 3), torch.tensor([True, False, True]), EntropySemiring.zero)
    assert filled.tolist() == [[-torch.inf, 1.0, -torch.inf], [0.0, 1.0, 0.0]]


def test_hidden_semi_markov_models() -> None:
    torch.manual_seed(0)
    C, K, N = 2, 3, 3
    init, to, length = (torch.randn(*s).log_softmax(-1) for s in ((C,), (C, C), (C, K)))
    shown = torch.randn(1, N, K, C)
    edge = SemiMarkov.hsmm(init, to, length, shown)
    total = []
    for cuts in itertools.product([False, True], repeat=N - 1):
        ends = [0, *(t + 1 for t, on in enumerate(cuts) if on), N]
        if max(b - a for a, b in itertools.pairwise(ends)) >= K:
            continue
        for labels in itertools.product(range(C), repeat=len(ends)):
            score = init[labels[0]]
            for (a, b), y, z in zip(itertools.pairwise(ends), labels, labels[1:], strict=False):
                score = score + to[y, z] + length[z, b - a] + shown[0, a, b - a, z]
            total.append(score)
    close(SemiMarkov().sum(edge)[0], torch.stack(total).logsumexp(0))
    close(torch_struct.SemiMarkovCRF(edge).partition[0], torch.stack(total).logsumexp(0))


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"scores have shape \(2, 3\), expected \[batch, N - 1, C, C\]"):
        LinearChain().sum(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"lengths are \[9\], expected 1 of 1 to 3"):
        LinearChain().sum(torch.zeros(1, 2, 2, 2), torch.tensor([9]))
