"""Trees and alignments of crfkit.compat.torch_struct against all structures, and torch-struct itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from crfkit.compat import torch_struct
from crfkit.compat.torch_struct import (
    CKY_CRF,
    Alignment,
    AlignmentCRF,
    DependencyCRF,
    DepTree,
    EntropySemiring,
    KMaxSemiring,
    LogSemiring,
    MaxSemiring,
    MultiSampledSemiring,
    NonProjectiveDependencyCRF,
    SampledSemiring,
    StdSemiring,
    TreeCRF,
)
from tests.cases.torch.trees import events, every, random_scores, totals

LENGTHS = torch.tensor([3, 1, 2])
KINDS: dict[str, tuple[Any, str, int, dict[str, Any]]] = {
    "dependency": (DependencyCRF, "projective", 0, {}),
    "labeled": (DependencyCRF, "projective", 2, {}),
    "single root": (DependencyCRF, "projective_single_root", 0, {"multiroot": False}),
    "crossing": (NonProjectiveDependencyCRF, "spanning_single_root", 0, {}),
    "crossing, many roots": (NonProjectiveDependencyCRF, "spanning", 0, {"multiroot": True}),
    "tree": (TreeCRF, "binary", 2, {}),
    "alignment": (AlignmentCRF, "alignment", 0, {}),
}


def make(kind: str, seed: int = 0, **more: Any) -> Any:
    cls, shape, labels, how = KINDS[kind]
    return cls(random_scores(shape, 3, 3, labels, seed, **more), lengths=LENGTHS, **how)


def support(kind: str, b: int) -> list[Any]:
    _, shape, labels, _ = KINDS[kind]
    return every(shape, int(LENGTHS[b]), 4 if shape == "alignment" else int(LENGTHS[b]), labels)


@pytest.mark.parametrize("kind", KINDS)
def test_distributions_against_all_structures(kind: str) -> None:
    dist, other = make(kind), make(kind, 1)
    draws = dist.sample((1000,))
    assert draws.shape == (1000, *dist.log_potentials.shape)
    for b in range(3):
        structures = support(kind, b)
        flags = events(dist.log_potentials[b], structures)
        score, theirs = (totals(x.log_potentials[b], structures) for x in (dist, other))
        logp, logq = score - score.logsumexp(0), theirs - theirs.logsumexp(0)
        p = logp.exp()
        assert_close(dist.partition[b], score.logsumexp(0))
        assert_close(dist.marginals[b], torch.einsum("s,s...->...", p, flags), atol=1e-10, rtol=1e-9)
        assert_close(dist.entropy[b], -(p * logp).sum(), atol=1e-9, rtol=1e-9)
        assert_close(dist.cross_entropy(other)[b], -(p * logq).sum())
        assert_close(dist.kl(other)[b], (p * (logp - logq)).sum(), atol=1e-9, rtol=1e-9)
        assert dist.count[b] == len(structures)
        k = min(3, len(structures))
        top = score.topk(k)
        assert_close(dist.kmax(3)[:k, b], top.values)
        assert_close(dist.topk(3)[:k, b], flags[top.indices])
        assert (dist.kmax(3)[k:, b] == -torch.inf).all()
        assert_close(dist.argmax[b], flags[top.indices[0]])
        assert_close(dist.mode[b], flags[top.indices[0]])
        assert_close(dist.max[b], top.values[0])
        assert_close(dist.log_prob(dist.argmax)[b], logp.max())
        assert ((draws[:, b].mean(0) - dist.marginals[b]).abs() < 0.08).all()
        assert (dist.log_prob(draws)[:, b] <= logp.max() + 1e-9).all()


@pytest.mark.parametrize("kind", ["dependency", "labeled", "tree", "alignment"])
def test_sums_in_every_semiring(kind: str) -> None:
    dist = make(kind)
    scores, struct = dist.log_potentials, dist.struct
    for b in range(3):
        structures = support(kind, b)
        flags, total = events(scores[b], structures), totals(scores[b], structures)
        one, length = scores[b : b + 1], LENGTHS[b : b + 1]
        p = total.softmax(0)
        assert_close(struct(LogSemiring).sum(one, length)[0], total.logsumexp(0))
        assert_close(struct(LogSemiring).marginals(one, length)[0], torch.einsum("s,s...->...", p, flags))
        assert_close(struct(StdSemiring).sum(one.exp(), length)[0], total.exp().sum())
        assert_close(struct(MaxSemiring).sum(one, length)[0], total.max())
        assert_close(struct(MaxSemiring).marginals(one, length)[0], flags[total.argmax()])
        assert_close(struct(EntropySemiring).sum(one, length)[0], -(p * p.log()).sum(), atol=1e-9, rtol=1e-9)
        k = min(2, len(structures))
        ranked = struct(KMaxSemiring(2)).sum(one, length, _raw=True)[:k, 0]
        assert_close(ranked, total.topk(k).values)
        allowed = [flag.flatten().tolist() for flag in flags]
        drawn = struct(SampledSemiring).marginals(one, length)[0]
        assert drawn.flatten().tolist() in allowed
        several = struct(MultiSampledSemiring).marginals(one, length)
        assert MultiSampledSemiring.to_discrete(several, 3)[0].flatten().tolist() in allowed


def test_single_roots_in_a_semiring() -> None:
    dist = make("single root")
    assert_close(dist.struct(LogSemiring).sum(dist.log_potentials, LENGTHS), dist.partition)
    assert_close(make("dependency").struct().multiroot, True)


@pytest.mark.parametrize("kind", KINDS)
def test_events_and_their_short_forms(kind: str) -> None:
    dist = make(kind, 4)
    sequence, extra = dist.from_event(dist.argmax)
    made = dist.to_event(sequence, extra, dist.lengths)
    event = dist.argmax.any(-1) if kind == "labeled" else dist.argmax
    assert torch.equal(made.double(), event.double())


def test_functions_of_arcs() -> None:
    scores = random_scores("projective", 2, 4)
    with_root = torch_struct.convert(scores)
    assert with_root.shape == (2, 5, 5)
    assert (with_root[:, :, 0] == -torch.inf).all()
    assert torch.equal(torch_struct.unconvert(with_root), scores)
    dist = NonProjectiveDependencyCRF(scores, multiroot=True)
    assert_close(torch_struct.deptree_part(scores, True), dist.partition)
    assert_close(torch_struct.deptree_nonproj(scores, True), dist.marginals)


def test_gaps_have_an_end() -> None:
    scores = random_scores("alignment", 1, 4)
    structures = [path for path in every("alignment", 4, 5, 0) if all(abs(i - j) <= 1 for i, j, _ in path)]
    total = totals(scores[0], structures).logsumexp(0)
    assert_close(AlignmentCRF(scores, max_gap=1).partition[0], total)
    assert_close(Alignment(max_gap=1).sum(scores)[0], total)
    for local in (lambda: AlignmentCRF(scores, local=True), lambda: Alignment(local=True)):
        with pytest.raises(NotImplementedError, match="local=True"):
            local()


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"expected \[batch, N, N, NT\]"):
        TreeCRF(torch.zeros(1, 3, 3))
    with pytest.raises(ValueError, match=r"expected \[batch, N, M, 3\]"):
        AlignmentCRF(torch.zeros(1, 3, 3))
    with pytest.raises(ValueError, match=r"expected \[batch, N, N\]"):
        DepTree().sum(torch.zeros(1, 3, 4))
    with pytest.raises(ValueError, match="expected 1 of 0 to 3"):
        CKY_CRF().sum(torch.zeros(1, 3, 3, 2), torch.tensor([4]))
    with pytest.raises(ValueError, match="lengths go from 4 to 4, expected 0 to 3"):
        DependencyCRF(torch.zeros(1, 3, 3), torch.tensor([4]))


ASKED = ["partition", "marginals", "entropy", "max", "argmax", "topk"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "alignment"])  # needs genbmm, for CUDA
def test_the_same_as_torch_struct(kind: str) -> None:
    original = pytest.importorskip("torch_struct")
    ours = make(kind, 2, dtype=torch.float32)
    how = KINDS[kind][3]

    def theirs() -> Any:
        scores = ours.log_potentials.clone().requires_grad_()  # else its own views are in its way
        return getattr(original, type(ours).__name__)(scores, lengths=LENGTHS, **how)

    for name in ASKED[:2] if kind.startswith("crossing") else ASKED:
        expected, found = (getattr(x, name) for x in (theirs(), ours))
        if name == "topk":
            expected, found = expected(1), found(1)
        tolerance = 2e-3 if kind.startswith("crossing") else 1e-4  # it adds 1e-5 to all weights
        assert_close(found, expected.detach(), atol=tolerance, rtol=tolerance)
