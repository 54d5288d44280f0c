"""Trees and alignments against all structures; native charts and the reference in plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from crfkit import _native
from crfkit.torch import Alignments, ConstituencyTrees, DependencyTrees
from crfkit.torch.trees import operators, reference
from crfkit.torch.trees.operators import SHAPES, Parts
from crfkit.torch.trees.structures import Structures
from tests.cases.interrupts import seconds_until_heard
from tests.cases.torch.devices import DEVICE
from tests.cases.torch.trees import distribution, events, every, random_scores, totals

LENGTHS = [4, 1, 0, 3, 2]
COLUMNS = [5, 2, 0, 2, 4]
LABELED = [(shape, 0) for shape in SHAPES] + [(shape, 2) for shape in SHAPES if shape != "alignment"]


def batch(shape: str, labels: int, **how: Any) -> tuple[Structures, Tensor]:
    """A distribution over structures of several sizes, and its scores: NaN where nothing is."""
    words = [min(n, 3) for n in LENGTHS] if labels else LENGTHS
    scores = random_scores(shape, len(words), max(words), labels, **how)
    if torch.is_floating_point(scores):
        for b, n in enumerate(words):
            scores[b, n:] = torch.nan
            scores[b, :, (COLUMNS[b] if shape == "alignment" else n) :] = torch.nan
    made = distribution(shape, scores, words, COLUMNS if shape == "alignment" else None)
    return made, scores


def support(made: Structures, b: int) -> list[Any]:
    labels = made.scores.shape[-1] if made.labeled else 0
    rows, columns = made._parts(made.scores).sizes
    return every(made.shape, int(rows[b]), int(columns[b]), labels)


def forbid(scores: Tensor, share: float) -> None:
    generator = torch.Generator().manual_seed(1)
    scores[torch.rand(scores.shape, generator=generator) < share] = -torch.inf


def event_of(made: Structures, chosen: Tensor) -> Tensor:
    """Chosen parts [N, M] as 0 and 1, shaped as scores."""
    if made.labeled or made.shape == "alignment":
        return (chosen.unsqueeze(-1) == torch.arange(made.scores.shape[-1])).double()
    return (chosen >= 0).double()


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize(("shape", "labels"), LABELED)
def test_everything_against_all_structures(shape: str, labels: int, share: float) -> None:
    made, scores = batch(shape, labels)
    forbid(scores, share)
    other = distribution(
        shape, random_scores(shape, scores.shape[0], scores.shape[1], labels, seed=5), made._rows.tolist()
    )
    other._columns = made._columns
    several = 12
    chosen, best = made._chosen("best")
    ranked, ranks = made._chosen("kbest", several)
    for b in range(len(scores)):
        structures = support(made, b)
        total, flags = totals(scores[b], structures), events(scores[b].nan_to_num(), structures)
        assert_close(made.log_partition()[b], total.logsumexp(0))
        if total.max() == -torch.inf:
            assert made.marginals()[b].abs().max() == 0
            assert best[b, 0] == -torch.inf
            assert (chosen[b] == -1).all()
            assert (ranks[b] == -torch.inf).all()
            continue
        p = (total - total.logsumexp(0)).exp()
        assert_close(made.marginals()[b], torch.einsum("s,s...->...", p, flags), atol=1e-10, rtol=1e-9)
        assert_close(made.entropy()[b], -torch.where(p > 0, p * p.log(), 0.0).sum(), atol=1e-9, rtol=1e-9)
        q = totals(other.scores[b], structures)
        q = q - q.logsumexp(0)
        assert_close(made.cross_entropy(other)[b], -(p * q).sum())
        assert_close(
            made.kl(other)[b], torch.where(p > 0, p * (p.log() - q), 0.0).sum(), atol=1e-9, rtol=1e-9
        )
        assert_close(best[b, 0], total.max())
        assert_close(event_of(made, chosen[b, 0]), flags[total.argmax()])
        top = total.sort(descending=True).values
        top = torch.cat([top, top.new_full((several,), -torch.inf)])[:several]
        assert_close(ranks[b], top)
        kept = [event_of(made, ranked[b, k]) for k in range(several) if top[k] > -torch.inf]
        each = [torch.where(event > 0, scores[b], 0.0).sum() for event in kept]
        assert_close(torch.stack(each), top[: len(kept)])
        assert len({tuple(event.flatten().tolist()) for event in kept}) == len(kept)
        assert (ranked[b, len(kept) :] == -1).all()


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize(("shape", "labels"), LABELED)
def test_the_reference_says_the_same(shape: str, labels: int, share: float) -> None:
    made, scores = batch(shape, labels)
    forbid(scores, share)
    parts = made._parts(scores)
    logz, marginals = operators._sum_elsewhere(parts, True)
    assert_close(logz, made.log_partition())
    assert_close(marginals, made.marginals())
    if shape.startswith("spanning"):
        with pytest.raises(NotImplementedError, match="found on the CPU alone"):
            operators._find_elsewhere(parts, 0, 1, torch.zeros(1))
        return
    assert_close(operators._find_elsewhere(parts, 0, 1, torch.zeros(1)), made._chosen("best"))
    assert_close(operators._find_elsewhere(parts, 1, 4, torch.zeros(1)), made._chosen("kbest", 4))
    drawn = operators._find_elsewhere(parts, 2, 3, torch.zeros(1, dtype=torch.int64))[0]
    for b in range(len(scores)):
        allowed = [event.flatten().tolist() for event in events(scores[b].nan_to_num(), support(made, b))]
        for k in range(3):
            if logz[b] > -torch.inf:
                assert event_of(made, drawn[b, k]).flatten().tolist() in allowed
            else:
                assert (drawn[b, k] == -1).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_long_sentences_agree_with_the_reference(shape: str) -> None:
    scores = random_scores(shape, 3, 19, seed=3) * 3
    made = distribution(shape, scores, [19, 7, 18])
    logz, marginals = operators._sum_elsewhere(made._parts(scores), True)
    assert_close(made.log_partition(), logz, rtol=1e-12, atol=1e-12)
    assert_close(made.marginals(), marginals, rtol=1e-9, atol=1e-11)
    single = distribution(shape, scores.float(), [19, 7, 18])
    assert_close(single.log_partition(), logz, rtol=1e-6, atol=1e-5)
    assert single.marginals().dtype == torch.float32
    assert_close(single.marginals(), marginals.float(), rtol=1e-4, atol=1e-5)
    half = distribution(shape, scores.half(), [19, 7, 18])
    assert_close(half.log_partition(), logz, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("shape", "labels"), LABELED)
def test_draws_follow_the_distribution(shape: str, labels: int) -> None:
    made, _ = batch(shape, labels)
    drawn = made._chosen("sample", 4000, torch.Generator().manual_seed(0))[0]
    again = made._chosen("sample", 4000, torch.Generator().manual_seed(0))[0]
    assert torch.equal(drawn, again)
    for b, p in enumerate(made.marginals()):
        mean = torch.stack([event_of(made, x) for x in drawn[b]]).mean(0)
        assert_close(mean, p, atol=0.04, rtol=0)
    words = support(made, 3)
    seen = {tuple(event_of(made, x).flatten().tolist()) for x in drawn[3]}
    assert seen <= {tuple(x.flatten().tolist()) for x in events(made.scores[3].nan_to_num(), words)}


@pytest.mark.parametrize("multiroot", [False, True])
def test_draws_where_walks_would_never_end(multiroot: bool) -> None:
    """Words that prefer each other, and hardly ever the root: loop-erased walks take 1e40 steps."""
    scores = torch.randn(1, 4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    scores[0, 0, 1] = scores[0, 1, 0] = scores[0, 2, 3] = scores[0, 3, 2] = 100.0
    made = DependencyTrees(scores, projective=False, multiroot=multiroot)
    drawn = made._chosen("sample", 2000, torch.Generator().manual_seed(0))[0]
    mean = torch.stack([event_of(made, x) for x in drawn[0]]).mean(0)
    assert_close(mean, made.marginals()[0], atol=0.05, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_log_prob_of_all_structures_and_of_none(shape: str) -> None:
    made, scores = batch(shape, 0)
    for b in range(len(scores)):
        one = distribution(shape, scores[b : b + 1], made._rows[b : b + 1].tolist())
        one._columns = None if made._columns is None else made._columns[b : b + 1]
        structures = support(made, b)
        total = totals(scores[b], structures)
        total = total - total.logsumexp(0)
        for parts, expected in list(zip(structures, total, strict=True))[:30]:
            chosen = torch.full(scores.shape[1:3], -1)
            for part in parts:
                chosen[part[:2]] = part[2] if shape == "alignment" else 0
            if isinstance(one, DependencyTrees):
                found = one.log_prob(one._heads(chosen[None, None], None).heads[:, 0])
            else:
                found = one.log_prob(chosen[None])  # type: ignore[attr-defined]
            assert_close(found[0], expected)
            if len(parts) > 1 and not isinstance(one, DependencyTrees):  # a hole is no structure
                chosen[parts[-1][:2]] = -1
                assert one.log_prob(chosen[None])[0] == -torch.inf  # type: ignore[attr-defined]


def test_log_prob_of_heads_and_labels() -> None:
    scores = random_scores("projective", 2, 3, 2)
    trees = DependencyTrees(scores)
    heads, labels = torch.tensor([[2, 0, 2], [0, 1, 2]]), torch.tensor([[0, 1, 1], [1, 0, 0]])
    each = scores.flatten(1, 2)
    at = torch.tensor([[1 * 3 + 0, 1 * 3 + 1, 1 * 3 + 2], [0 * 3 + 0, 0 * 3 + 1, 1 * 3 + 2]])
    total = each[torch.arange(2)[:, None], at, labels].sum(1)
    assert_close(trees.log_prob(heads, labels), total - trees.log_partition())
    summed = each[torch.arange(2)[:, None], at].logsumexp(-1).sum(1)
    assert_close(trees.log_prob(heads), summed - trees.log_partition())
    assert_close(trees.log_prob(torch.full((2, 3), -1)), torch.zeros(2, dtype=torch.float64))
    cycle = torch.tensor([[2, 1, 0], [0, 3, 2]])
    assert (trees.log_prob(cycle) == -torch.inf).all()
    crossing = torch.tensor([[3, 0, 2, 1]])
    four = random_scores("projective", 1, 4)
    assert DependencyTrees(four).log_prob(crossing).isinf().all()
    assert (
        DependencyTrees(four, projective=False, multiroot=True)
        .log_prob(torch.tensor([[3, 4, 0, 0]]))
        .isfinite()
    )


@pytest.mark.parametrize(("shape", "labels"), LABELED)
def test_derivatives(shape: str, labels: int) -> None:
    lengths = [3, 2]
    scores = random_scores(shape, 2, 3, labels).requires_grad_()
    check = torch.autograd.gradcheck
    assert check(lambda x: distribution(shape, x, lengths).log_partition(), scores)
    assert check(lambda x: distribution(shape, x, lengths).marginals(), scores, fast_mode=True)
    assert check(lambda x: distribution(shape, x, lengths).entropy(), scores, fast_mode=True)
    assert torch.autograd.gradgradcheck(
        lambda x: distribution(shape, x, lengths).marginals().square().sum(), scores, fast_mode=True
    )
    (made,) = torch.autograd.grad(distribution(shape, scores, lengths).log_partition().sum(), scores)
    assert_close(made, distribution(shape, scores, lengths).marginals())
    with torch.inference_mode():
        assert_close(distribution(shape, scores, lengths).marginals(), made)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_what_is_forbidden_are_zero(shape: str) -> None:
    scores = random_scores(shape, 2, 3)
    scores[0] = -torch.inf
    scores[1, 0, 1] = -torch.inf
    scores.requires_grad_()
    made = distribution(shape, scores)
    loss = made.log_partition()[1] + made.entropy()[1] + made.marginals().square().sum()
    (grad,) = torch.autograd.grad(loss, scores)
    assert grad.isfinite().all()
    assert (grad[0] == 0).all()
    assert made.log_partition()[0] == -torch.inf


@pytest.mark.parametrize("size", [1e4, 1e8, 1e15, 1e299])
@pytest.mark.parametrize("shape", SHAPES)
def test_huge_scores(shape: str, size: float) -> None:
    scores = random_scores(shape, 1, 4) * size
    made = distribution(shape, scores)
    total = totals(scores[0], every(shape, 4, 5 if shape == "alignment" else 4, 0))
    assert_close(made.log_partition()[0], total.logsumexp(0), rtol=1e-12, atol=0)
    assert_close(made._chosen("best")[1][0, 0], total.max(), rtol=1e-12, atol=0)
    p = (total - total.logsumexp(0)).exp()
    flags = events(scores[0], every(shape, 4, 5 if shape == "alignment" else 4, 0))
    assert_close(
        made.marginals()[0], torch.einsum("s,s...->...", p, flags), atol=1e-6 if size < 1e9 else 0.5, rtol=0
    )


@pytest.mark.parametrize("gap", [30.0, 300.0, 700.0, 3000.0])
@pytest.mark.parametrize("multiroot", [False, True])
def test_words_that_hardly_ever_depend_on_the_root(gap: float, multiroot: bool) -> None:
    """Determinants cancel here; the elimination does not."""
    scores = random_scores("spanning", 1, 5)
    scores[0].diagonal().sub_(gap)
    scores[0, :2, 2:] -= gap
    made = DependencyTrees(scores, projective=False, multiroot=multiroot)
    structures = every("spanning" if multiroot else "spanning_single_root", 5, 5, 0)
    total = totals(scores[0], structures)
    assert_close(made.log_partition()[0], total.logsumexp(0), rtol=1e-14, atol=1e-12)
    p = (total - total.logsumexp(0)).exp()
    expected = torch.einsum("s,s...->...", p, events(scores[0], structures))
    assert_close(made.marginals()[0], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_ties_are_broken_in_the_same_way(shape: str) -> None:
    scores = torch.zeros(2, 4, *((5, 3) if shape == "alignment" else (4,)), dtype=torch.float64)
    made = distribution(shape, scores)
    first, score = made._chosen("best")
    assert torch.equal(first[0], first[1])
    assert (score == 0).all()
    ranked, ranks = made._chosen("kbest", 500)
    structures = every(shape, 4, 5 if shape == "alignment" else 4, 0)
    assert (ranks == 0).sum(1).tolist() == [len(structures)] * 2
    kept = {tuple(x.flatten().tolist()) for x in ranked[0, : len(structures)]}
    assert len(kept) == len(structures)
    assert torch.equal(ranked[:, :1], first)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_strides_any_number_of_threads(shape: str) -> None:
    scores = random_scores(shape, 40, 9)
    turned = scores.transpose(0, 1).contiguous().transpose(0, 1)
    assert not turned.is_contiguous()
    before = torch.get_num_threads()
    found = []
    try:
        for threads, given in ((1, scores), (3, turned)):
            torch.set_num_threads(threads)
            made = distribution(shape, given)
            drawn = made._chosen("sample", 3, torch.Generator().manual_seed(0))[0]
            found.append([made.log_partition(), made.marginals(), *made._chosen("kbest", 3), drawn])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ["projective", "spanning"])
def test_signals_are_heard(shape: str, threads: int) -> None:
    made = distribution(shape, torch.randn(30, 400, 400))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert seconds_until_heard(made.marginals) < 20
    finally:
        torch.set_num_threads(before)
    assert distribution(shape, torch.zeros(1, 1, 1)).log_partition().item() == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_more_memory_than_there_is_is_refused_in_words(shape: str) -> None:
    made, most = distribution(shape, random_scores(shape, 1, 200)), _native.most_memory()
    try:
        _native.set_most_memory(1 << 19)
        with pytest.raises(MemoryError, match=r"there is not enough memory: the .* of a sentence would take"):
            made.log_partition()
    finally:
        _native.set_most_memory(most)
    assert made.log_partition().isfinite().all()


@pytest.mark.parametrize("shape", SHAPES)
def test_wrong_scores_are_refused_by_name(shape: str) -> None:
    scores = random_scores(shape, 2, 3)
    at = (1, 0, 2, 0) if shape == "alignment" else (1, 0, 2)
    text = ", ".join(map(str, at))
    for wrong, said in ((torch.nan, "is nan"), (torch.inf, "is inf"), (1e305, "too large to be added up")):
        scores[at] = wrong
        made = distribution(shape, scores)
        for ask in (made.log_partition, made.marginals, lambda made=made: made._chosen("kbest", 2)):
            with pytest.raises(ValueError, match=rf"scores\[{text}\].* {said}|scores\[{text}\] {said}"):
                ask()
    scores[at] = torch.nan
    parts: Any = distribution(shape, scores)._parts(scores)
    value = operators._sum_elsewhere(parts, False)[0]
    assert value.isnan().tolist() == [False, True]


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4\), expected \[B, T, T\]"):
        DependencyTrees(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match=r"torch.int64, expected a tensor of floats"):
        ConstituencyTrees(torch.zeros(2, 3, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"expected \[B, N, M, 3\]"):
        Alignments(torch.zeros(2, 3, 3, 2))
    with pytest.raises(ValueError, match="lengths go from 1 to 4, expected 0 to 3"):
        DependencyTrees(torch.zeros(2, 3, 3), [1, 4])
    with pytest.raises(ValueError, match=r"columns have shape \(1,\)"):
        Alignments(torch.zeros(2, 3, 3, 3), None, [1])
    trees = DependencyTrees(torch.zeros(2, 3, 3))
    with pytest.raises(ValueError, match="k is 0"):
        trees.kbest(0)
    with pytest.raises(ValueError, match=r"heads have shape \(2, 2\)"):
        trees.log_prob(torch.zeros(2, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="scores have no labels"):
        trees.log_prob(torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64))


@pytest.mark.parametrize("shape", SHAPES)
def test_operators_keep_their_promises(shape: str) -> None:
    made, scores = batch(shape, 0)
    parts = made._parts(scores.requires_grad_())
    utils = ("test_schema", "test_faketensor", "test_autograd_registration")
    names: dict[str, tuple[Any, ...]] = {
        "trees_sum": (True,),
        "trees_find": (0, 1, torch.zeros(1, dtype=torch.int64)),
        "trees_hvp": (torch.ones(len(scores), dtype=torch.float64), torch.ones_like(scores)),
    }
    for name, more in names.items():
        operator = getattr(torch.ops.crfkit, name).default
        detached = [x.detach() if isinstance(x, Tensor) else x for x in (*parts, *more)]
        torch.library.opcheck(operator, tuple(detached), test_utils=utils)


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@pytest.mark.parametrize("shape", SHAPES)
def test_another_device(shape: str) -> None:
    scores = random_scores(shape, 3, 5)
    here, there = distribution(shape, scores, [5, 2, 0]), distribution(shape, scores.to(DEVICE), [5, 2, 0])
    assert_close(there.log_partition().cpu(), here.log_partition())
    assert_close(there.marginals().cpu(), here.marginals())
    assert_close(there.entropy().cpu(), here.entropy())
    if not shape.startswith("spanning"):
        assert_close(there._chosen("kbest", 3)[1].cpu(), here._chosen("kbest", 3)[1])
        assert there._chosen("sample", 2)[0].shape == here._chosen("sample", 2)[0].shape


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("shape", ["projective_single_root", "spanning", "binary", "alignment"])
def test_compiled(shape: str) -> None:
    def loss(scores: Tensor) -> Tensor:
        made = distribution(shape, scores)
        return made.log_partition().sum() + made.marginals().square().sum() + made.entropy().sum()

    torch._dynamo.reset()
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True, dynamic=True)
    for n in (3, 5):
        scores = random_scores(shape, 2, n).requires_grad_()
        expected, found = loss(scores), compiled(scores)
        assert_close(found, expected)
        (gradient,) = torch.autograd.grad(expected, scores)
        assert_close(torch.autograd.grad(found, scores)[0], gradient)


def test_a_tree_of_each_kind_of_span_is_told() -> None:
    """Names of results: heads of CoNLL-U, spans with their ends excluded, pairs of an alignment."""
    scores = torch.zeros(1, 3, 3)
    scores[0, 1, 1] = 3.0
    scores[0, 1, 0] = scores[0, 1, 2] = 1.0
    found = DependencyTrees(scores).best()
    assert found.heads.tolist() == [[2, 0, 2]]
    assert found.labels is None
    assert found.score is not None
    assert found.score.tolist() == [5.0]
    labeled = DependencyTrees(scores[..., None] - torch.tensor([1.0, 0.0])).best()
    assert labeled.labels is not None
    assert labeled.labels.tolist() == [[1, 1, 1]]
    assert DependencyTrees(scores).sample(2).heads.shape == (1, 2, 3)
    assert DependencyTrees(scores).kbest(2).heads.shape == (1, 2, 3)
    assert reference.log_partition(scores, torch.tensor([3]), torch.tensor([3]), "binary").shape == (1,)
    assert isinstance(DependencyTrees(scores)._parts(scores), Parts)
