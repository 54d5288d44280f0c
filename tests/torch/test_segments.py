"""`SegmentCRF` and `segment_functional`: crfkit's own inference on the same scores, forms, bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from crfkit import SemiMarkov, inference
from crfkit.constraints import Forbid
from crfkit.torch import SegmentCRF, ops
from crfkit.torch import segment_functional as queries
from tests.cases.torch.segments import random_gold, random_segments


def layer(**more: Any) -> SegmentCRF:
    crf = SegmentCRF(["O", "A", "B"], **({"max_length": 3} | more))
    random = torch.Generator().manual_seed(0)
    for p in crf.parameters():
        p.data.normal_(generator=random)
    return crf


def test_answers_are_those_of_crfkit() -> None:
    structure = SemiMarkov(
        ["O", "A", "B"], max_length=[1, 3, 2], min_length=[1, 1, 2], constraints=[Forbid("A", "B")]
    )
    crf = SegmentCRF(structure)
    random = torch.Generator().manual_seed(0)
    for p in crf.parameters():
        p.data.normal_(generator=random)
    node = torch.randn(9, 3, generator=random)
    segment = torch.randn(9, 3, 3, generator=random)
    ends = [0, 4, 9]
    potentials = structure.potentials(
        (segment + crf.length.detach()).double().numpy(),
        crf.edge.detach().double().numpy(),
        node=node.double().numpy(),
        start=crf.start.detach().double().numpy(),
        stop=crf.stop.detach().double().numpy(),
        seq_ptr=ends,
    )
    given: Any = {"segment": segment, "offsets": ends}
    found: Any = inference.marginals(potentials)
    np.testing.assert_allclose(crf.log_partition(node, **given).detach(), found.log_partition, rtol=1e-6)
    cover, whole = crf.marginals(node, segments=True, **given)
    np.testing.assert_allclose(cover.detach(), found.node, atol=1e-6)
    np.testing.assert_allclose(whole.detach(), found.segment, atol=1e-6)
    np.testing.assert_allclose(crf.entropy(node, **given).detach(), inference.entropy(potentials), rtol=1e-5)
    best = inference.decode(potentials)
    decoded: Any = crf.decode(node, **given)
    assert decoded.segments() == [y.segments for y in best]
    np.testing.assert_allclose(decoded.score, [y.score for y in best], rtol=1e-6)
    several = crf.kbest(node, 3, **given).segments()
    assert several == [[y.segments for y in ys] for ys in inference.kbest(potentials, 3)]
    prob = crf.log_prob(node, decoded.labels, decoded.begins, **given)
    expected = [inference.log_prob(potentials.sequence(b), best[b]) for b in (0, 1)]
    np.testing.assert_allclose(prob.detach(), expected, rtol=1e-5)
    drawn = crf.sample(node, 4, generator=torch.Generator().manual_seed(1), **given).segments()
    assert all(inference.score(potentials.sequence(b), y) > -np.inf for b in (0, 1) for y in drawn[b])


def test_draws_follow_the_distribution() -> None:
    crf = layer()
    node = torch.randn(1, 4, 3, generator=torch.Generator().manual_seed(2))
    draws = crf.sample(node, 4000, generator=torch.Generator().manual_seed(3))
    cover = torch.nn.functional.one_hot(draws.labels[0], 3).double().mean(0)
    torch.testing.assert_close(cover, crf.marginals(node)[0].detach().double(), atol=0.04, rtol=0)


def test_every_form_gives_the_same_loss() -> None:
    crf = layer()
    lengths = [4, 2, 0]
    padded = torch.randn(3, 4, 3, generator=torch.Generator().manual_seed(1))
    labels, begins = crf.gold([["A", "A", "B", "O"], ["O", "B"], []])
    mask = torch.arange(4) < torch.tensor(lengths)[:, None]
    one = crf.loss(padded, labels, begins, mask, reduction="sum")
    rows = [mask]
    packed = padded[rows[0]]
    flat: Any = (packed, labels[rows[0]], begins[rows[0]])
    torch.testing.assert_close(crf.loss(*flat, lengths=lengths, reduction="sum"), one)
    holes = torch.zeros(3, 6, 3)
    spread, cuts = torch.full((3, 6), -1), torch.zeros(3, 6, dtype=torch.bool)
    wide = torch.zeros(3, 6, dtype=torch.bool)
    for b, n in enumerate(lengths):
        at = torch.tensor([0, 2, 3, 5])[:n]
        holes[b, at], spread[b, at], cuts[b, at], wide[b, at] = (
            padded[b, :n],
            labels[b, :n],
            begins[b, :n],
            True,
        )
    torch.testing.assert_close(crf.loss(holes, spread, cuts, wide, reduction="sum"), one)
    nested = torch.nested.nested_tensor_from_jagged(packed, torch.tensor([0, *np.cumsum(lengths).tolist()]))
    assert crf.decode(nested).segments() == crf.decode(padded, mask).segments()
    each = crf.loss(padded, labels, begins, mask, reduction="none")
    torch.testing.assert_close(each.sum().float(), one)
    torch.testing.assert_close(crf.loss(padded, labels, begins, mask), one / 3)
    torch.testing.assert_close(crf.loss(padded, labels, begins, mask, reduction="token"), one / 6)
    weight = torch.tensor([2.0, 1.0, 5.0])
    weighted = crf.loss(padded, labels, begins, mask, weight=weight, reduction="sum")
    torch.testing.assert_close(weighted, (each * weight).sum().float())


def test_tags_of_any_scheme_are_the_same_gold() -> None:
    crf = layer()
    expected = [[0, 1, 1, 1, 2]], [[True, True, False, True, True]]
    for tags in (
        ["O", "B-A", "I-A", "B-A", "B-B"],
        ["O", "B-A", "L-A", "U-A", "U-B"],
        ["O", "B-A", "E-A", "S-A", "S-B"],
    ):
        labels, begins = crf.gold([tags])
        assert (labels.tolist(), begins.tolist()) == expected
    labels, begins = crf.gold([[(1, 3, "A"), (3, 4, "A"), (4, 5, "B")]], width=5)
    assert (labels.tolist(), begins.tolist()) == expected
    assert (
        queries.segment_best(
            torch.nn.functional.one_hot(labels, 3).float() * 50, torch.zeros(3, 3), length=torch.zeros(2, 3)
        ).labels.tolist()
        == expected[0]
    )
    with pytest.raises(ValueError, match="'C' is not a label"):
        crf.gold([["B-C"]])
    with pytest.raises(ValueError, match="sequence 1, position 0: the gold segment 'A' of 9 pos"):
        crf.gold([["O"], ["B-A"] + ["I-A"] * 8])
    with pytest.raises(ValueError, match="give width="):
        crf.gold([[(0, 1, "A")]])
    with pytest.raises(ValueError, match="width is 1, but a sequence has 2"):
        crf.gold([["O", "O"]], width=1)


def test_gold_that_cannot_be_has_an_infinite_loss_and_no_gradient() -> None:
    crf = layer(max_length=2, constraints=[Forbid("A", "B")])
    node = torch.randn(4, 3, 3, requires_grad=True)
    long, within, forbidden, fine = [1, 1, 1], [1, 2, 2], [1, 2, 0], [0, 0, 0]
    labels = torch.tensor([long, within, forbidden, fine])
    begins = torch.tensor([[1, 0, 0], [1, 0, 1], [1, 1, 1], [1, 1, 1]])
    each = crf.loss(node, labels, begins, reduction="none", check=False)
    assert each.isinf().tolist() == [True, True, True, False]
    total = crf.loss(node, labels, begins, check=False)
    total.backward()
    assert node.grad is not None
    assert not node.grad[:3].any()
    assert node.grad[3].any()
    with pytest.raises(ValueError, match="sequence 0: the gold segments are forbidden, longer than 2"):
        crf.loss(node, labels, begins, check=True)
    never = torch.full((2, 3), -torch.inf)
    with pytest.raises(ValueError, match="sequence 0: the scores and constraints allow no segmentation"):
        queries.segment_loss(node, torch.zeros(3, 3), labels, begins, length=never, check=True)
    assert queries.segment_log_partition(node, torch.zeros(3, 3), length=never).tolist() == [-torch.inf] * 4


def test_nan_stays_in_its_sequence() -> None:
    segments = random_segments(3, 5, 2, 3, parts="both", dtype=torch.float64)
    length = torch.tensor([5, 4, 3], dtype=torch.int32)
    args = [*segments.args[:2], length, *segments.args[3:]]
    labels, begins = torch.zeros(3, 5, dtype=torch.int64), torch.ones(3, 5, dtype=torch.bool)
    clean = ops.segment.loss(*args, labels, begins, None, 1.0, True)
    args[0] = args[0].clone()
    args[0][1, 2, 0] = torch.nan
    args[1] = args[1].clone()
    args[1][2, 2, 1] = torch.nan  # runs past the end: not read
    found = ops.segment.loss(*args, labels, begins, None, 1.0, True)
    assert found[1].isnan().tolist() == [False, True, False]
    for made, before in zip(found[2:4], clean[2:4], strict=True):
        torch.testing.assert_close(made[[0, 2]], before[[0, 2]])
    assert ops.segment.log_partition(*args)[0].isnan().tolist() == [False, True, False]
    assert ops.segment.best(*args)[0][1].tolist() == [-1] * 5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types(dtype: torch.dtype) -> None:
    crf = layer()
    node = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    wide = node.detach().double().requires_grad_()
    labels, begins = crf.gold([["A", "A", "O", "B", "B"], ["O"] * 5])
    for x in (node, wide):
        crf.loss(x, labels, begins).backward()
    assert node.grad is not None
    assert node.grad.dtype == dtype
    torch.testing.assert_close(node.grad.double(), wide.grad, atol=2e-3, rtol=1e-2)
    assert crf.marginals(node).dtype == torch.float32


def test_scores_of_ten_thousand_and_long_segments() -> None:
    segments = random_segments(2, 40, 60, 3, parts="node", scale=1e4, dtype=torch.float64)
    wide = segments.args
    value = ops.segment.loss(*wide, *random_gold(segments), None, 1.0, True)
    assert value[1].isfinite().all()
    assert (value[1] >= 0).all()
    cover = ops.segment.marginals(*wide, torch.ones(2, dtype=torch.float64))[0]
    torch.testing.assert_close(cover[0].sum(-1), torch.ones(40, dtype=torch.float64))


@pytest.mark.parametrize("reduction", ["mean", "sum", "token", "none"])
def test_weights_are_learned_and_zero_leaves_a_sequence_out(reduction: Any) -> None:
    crf, node = layer(), torch.zeros(2, 4, 3)
    labels, begins = torch.tensor([[0, 1, 0, 0], [0, 0, 0, 0]]), torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1]])
    weight = torch.tensor([0.0, 2.0])
    given = crf.loss(node, labels, begins, weight=weight, reduction=reduction)
    learned = crf.loss(node, labels, begins, weight=weight.requires_grad_(), reduction=reduction)
    assert given.isfinite().all()  # the first label changes within its segment: a loss of +inf
    torch.testing.assert_close(given, learned)
    (gradient,) = torch.autograd.grad(learned.sum(), weight)
    torch.testing.assert_close(gradient[1] * 2, given.sum().to(gradient.dtype))


def test_the_loss_has_one_derivative() -> None:
    crf, node = layer(), torch.randn(1, 2, 3, requires_grad=True)
    value = crf.loss(node, torch.tensor([[0, 1]]), torch.tensor([[1, 1]]))
    with pytest.raises(RuntimeError, match="has one derivative"):
        torch.autograd.grad(value, node, create_graph=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_operators_are_sound_for_the_compiler() -> None:
    weight = torch.ones(3, dtype=torch.float64)
    for parts in ("both", "node", "segment"):
        segments = random_segments(3, 4, 2, 3, parts=parts, dtype=torch.float64)
        gold = random_gold(segments)
        names: dict[str, tuple[Any, ...]] = {
            "log_partition": (),
            "loss": (*gold, None, 1.0, True),
            "marginals": (weight,),
            "hvp": (weight, *segments.scores),
            "best": (),
            "kbest": (2,),
            "sample": (2, torch.tensor([1])),
        }
        for name, more in names.items():
            op = getattr(torch.ops.crfkit, f"segment_{name}").default
            torch.library.opcheck(op, (*segments.args, *more), test_utils=("test_schema", "test_faketensor"))


def test_entropy_where_operators_are_counted() -> None:
    crf, node = layer(), torch.randn(1, 3, 3)
    with FlopCounterMode(display=False):
        found = crf.entropy(node)
    torch.testing.assert_close(found, crf.entropy(node))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it traces
def test_one_graph_for_all_sizes() -> None:
    crf = layer()
    compiled = torch.compile(crf.loss, fullgraph=True, dynamic=True, backend="aot_eager")
    random = torch.Generator().manual_seed(0)
    for B, T in ((2, 5), (3, 7), (4, 6)):
        node = torch.randn(B, T, 3, generator=random, requires_grad=True)
        labels = torch.randint(3, (B, T), generator=random)
        rest = (labels, torch.ones(B, T, dtype=torch.bool), torch.rand(B, T, generator=random) > 0.3)
        with torch.compiler.set_stance("fail_on_recompile" if B == 4 else "default"):
            (found,) = torch.autograd.grad(compiled(node, *rest), node)
        (expected,) = torch.autograd.grad(crf.loss(node, *rest), node)
        torch.testing.assert_close(found, expected)


def test_bad_input() -> None:
    node, edge, length = torch.zeros(2, 3, 4), torch.zeros(4, 4), torch.zeros(2, 4)
    labels, begins = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool)
    wrong: Any = "all"
    cases: list[tuple[str, Any]] = [
        ("node and segment are both omitted", lambda: queries.segment_best(None, edge)),
        ("length is omitted", lambda: queries.segment_best(node, edge)),
        (
            r"length has shape \(4, 2\), expected \(D, 4\)",
            lambda: queries.segment_best(node, edge, length=length.T),
        ),
        (r"length has shape \(0, 4\)", lambda: queries.segment_best(node, edge, length=length[:0])),
        ("length has type torch.int64", lambda: queries.segment_best(node, edge, length=length.long())),
        (r"edge has shape \(4,\)", lambda: queries.segment_best(node, edge[0], length=length)),
        (
            "edge has more than two axes",
            lambda: queries.segment_best(node, edge.expand(2, 3, 4, 4), length=length),
        ),
        (
            r"segment has shape \(2, 3, 3, 4\), expected \(2, 3, 2, 4\)",
            lambda: queries.segment_best(node, edge, segment=torch.zeros(2, 3, 3, 4), length=length),
        ),
        (r"segment is \(3, 4\)", lambda: queries.segment_best(None, edge, segment=torch.zeros(3, 4))),
        (
            r"labels has shape \(2, 2\)",
            lambda: queries.segment_loss(node, edge, labels[:, 1:], begins, length=length),
        ),
        (
            r"begins has shape \(2, 2\)",
            lambda: queries.segment_loss(node, edge, labels, begins[:, 1:], length=length),
        ),
        (
            "begins has type torch.float32",
            lambda: queries.segment_loss(node, edge, labels, begins.float(), length=length),
        ),
        (
            "sequence 0, position 0: the label is 4, expected 0 to 3",
            lambda: queries.segment_loss(node, edge, labels + 4, begins, length=length),
        ),
        (
            "weight has shape",
            lambda: queries.segment_loss(node, edge, labels, begins, length=length, weight=torch.ones(3)),
        ),
        (
            "reduction is 'all'",
            lambda: queries.segment_loss(node, edge, labels, begins, length=length, reduction=wrong),
        ),
        ("k is 0", lambda: queries.segment_kbest(node, edge, 0, length=length)),
        ("n is 0", lambda: queries.segment_sample(node, edge, 0, length=length)),
        ("max_length is omitted", lambda: SegmentCRF(3)),
        ("has its own lengths", lambda: SegmentCRF(SemiMarkov(3, max_length=2), max_length=2)),
        ("no max_length yet", lambda: SegmentCRF(SemiMarkov(["a"]))),
        ("these labels have no names", lambda: queries.segment_best(node, edge, length=length).names()),
    ]
    for message, call in cases:
        with pytest.raises(ValueError, match=message):
            call()


def integers(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)


def test_operators_refuse_what_does_not_fit() -> None:
    segments = random_segments(2, 4, 2, 3, parts="both")
    packed = random_segments(2, 4, 2, 3, form="packed")
    labels, begins = random_gold(segments)

    def scores(**other: Any) -> tuple[Any, ...]:
        return replace(segments, **other).args

    ones = torch.ones(1)
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("length does not fit", lambda: ops.segment.best(*scores(length=integers(5, 1)))),
        ("length does not fit", lambda: ops.segment.best(*scores(length=integers(-1, 1)))),
        ("length has type int64", lambda: ops.segment.best(*scores(length=torch.tensor([1, 1])))),
        ("length has shape", lambda: ops.segment.best(*scores(length=integers(1)))),
        (
            "index names a row",
            lambda: ops.segment.best(*scores(index=torch.full((2, 4), 4, dtype=torch.int32))),
        ),
        (
            "length does not fit",
            lambda: ops.segment.best(*replace(packed, first=torch.tensor([2**62, 2**62])).args),
        ),
        (
            "first is negative",
            lambda: ops.segment.best(*replace(packed, first=torch.tensor([-1, 0])).args),
        ),
        ("duration has shape", lambda: ops.segment.best(*scores(duration=torch.zeros(2, 1)))),
        ("edge has shape", lambda: ops.segment.best(*scores(edge=torch.zeros(2, 3)))),
        ("weight has shape", lambda: ops.segment.marginals(*scores(), ones)),
        ("weight has shape", lambda: ops.segment.loss(*scores(), labels, begins, ones, 1.0, True)),
        (
            "labels has shape",
            lambda: ops.segment.loss(*scores(), labels[:, :2], begins, None, 1.0, True),
        ),
        ("n is -1", lambda: ops.segment.sample(*scores(), -1, torch.tensor([1]))),
    ]
    for message, call in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_empty_batches() -> None:
    crf = layer()
    assert crf.loss(torch.zeros(0, 3, 3), torch.zeros(0, 3).long(), torch.zeros(0, 3).long()) == 0
    assert crf.decode(torch.zeros(2, 0, 3)).segments() == [[], []]
    assert crf.log_partition(torch.zeros(2, 0, 3)).tolist() == [0.0, 0.0]
