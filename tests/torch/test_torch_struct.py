"""crfkit.compat.torch_struct against all structures: distributions, events, lengths, errors."""

from __future__ import annotations

import pytest
import torch

from crfkit.compat import torch_struct
from crfkit.compat.torch_struct import HMM, LinearChain, LinearChainCRF, SemiMarkovCRF
from tests.cases.torch.distributions import make, support


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("kind", ["chain", "segments"])
def test_everything_against_all_structures(kind: str, forbidden: bool) -> None:
    dist, other = make(kind, 0, forbidden), make(kind, 1)
    draws = dist.sample((500,))
    for b in range(3):
        events = support(dist, b)
        flat = events.flatten(1) != 0
        score = torch.where(flat, dist.log_potentials[b].flatten(), 0.0).sum(1)
        theirs = torch.where(flat, other.log_potentials[b].flatten(), 0.0).sum(1)
        logp, logq = score - score.logsumexp(0), theirs - theirs.logsumexp(0)
        p = logp.exp()
        close = torch.testing.assert_close
        close(dist.partition[b], score.logsumexp(0))
        close(dist.marginals[b], torch.einsum("s,s...->...", p, events))
        close(dist.entropy[b], -torch.where(p > 0, p * logp, 0.0).sum())
        close(dist.cross_entropy(other)[b], -(p * logq).sum())
        close(dist.kl(other)[b], torch.where(p > 0, p * (logp - logq), 0.0).sum())
        assert dist.count[b] == (p > 0).sum()
        top = score.topk(3)
        close(dist.kmax(3)[:, b], top.values)
        assert torch.equal(dist.topk(3)[:, b], events[top.indices])
        assert torch.equal(dist.argmax[b], events[top.indices[0]])
        close(dist.max[b], top.values[0])
        close(dist.log_prob(dist.topk(2))[:, b], logp[top.indices[:2]])
        assert ((draws[:, b].mean(0) - dist.marginals[b]).abs() < 0.12).all()
        assert (dist.log_prob(draws)[:, b] > -torch.inf).all()


@pytest.mark.parametrize("kind", ["chain", "segments"])
def test_gradients(kind: str) -> None:
    made = make(kind, 0)
    cls, lengths = type(made), made.lengths
    scores = made.log_potentials[:, :, ..., :2, :2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: cls(x, lengths).partition, scores)
    assert torch.autograd.gradcheck(lambda x: cls(x, lengths).marginals, scores, fast_mode=True)
    assert torch.autograd.gradcheck(lambda x: cls(x, lengths).entropy, scores)


@pytest.mark.parametrize("kind", ["chain", "segments"])
def test_events_and_sequences_are_each_others_inverse(kind: str) -> None:
    dist = make(kind, 3)
    sequence, extra = dist.from_event(dist.argmax)
    assert torch.equal(dist.to_event(sequence, extra, dist.lengths).double(), dist.argmax)


def test_hidden_markov_models() -> None:
    torch.manual_seed(0)
    transition, emission, init = torch.rand(3, 3).log(), torch.rand(4, 3).log(), torch.rand(3).log()
    seen = torch.randint(4, (2, 5))
    dist = HMM(transition, emission, init, seen)
    for b in range(2):
        alpha = init + emission[seen[b, 0]]
        for x in seen[b, 1:]:
            alpha = (transition + alpha).logsumexp(1) + emission[x]
        torch.testing.assert_close(dist.partition[b], alpha.logsumexp(0))


def test_nan_is_seen_in_its_own_marginals() -> None:
    chains, segments = torch.zeros(2, 3, 2, 2), torch.zeros(2, 3, 2, 2, 2)
    chains[0, 1, 0, 0] = segments[0, 0, 1, 0, 0] = torch.nan
    for found in (LinearChainCRF(chains), SemiMarkovCRF(segments)):
        assert found.marginals.isnan().flatten(1).any(1).tolist() == [True, False]
        assert found.entropy.isnan().tolist() == [True, False]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\), expected \[batch, N - 1, C, C\]"):
        LinearChainCRF(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"expected \[batch, N - 1, K, C, C\]"):
        SemiMarkovCRF(torch.zeros(2, 3, 2, 2))
    with pytest.raises(ValueError, match="lengths go from 2 to 9, expected 1 to 4"):
        LinearChainCRF(torch.zeros(2, 3, 2, 2), torch.tensor([2, 9]))
    with pytest.raises(ValueError, match="lengths have shape"):
        LinearChainCRF(torch.zeros(2, 3, 2, 2), torch.tensor([2]))
    with pytest.raises(ValueError, match="expected one number"):
        LinearChainCRF(torch.zeros(2, 3, 2, 2)).sample((2, 3))
    with pytest.raises(AttributeError, match="alignments and their semirings, not SentCFG"):
        torch_struct.SentCFG  # noqa: B018
    nothing = LinearChainCRF(torch.full((1, 2, 2, 2), -torch.inf))
    assert nothing.partition.item() == -torch.inf
    assert nothing.count.item() == 0
    assert LinearChain.to_parts(torch.tensor([[0]]), 2).shape == (1, 0, 2, 2)
