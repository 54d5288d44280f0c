"""The native operators on the CPU against the reference in plain torch, in every form of input."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import cpu, derivatives, general, ops, reference
from crfkit.torch.batches import Chain
from crfkit.torch.tensors import threads_for
from tests.cases.torch.chains import Chains, labelings, random_chains, random_labels, rows_of

FORMS = ["padded", "time-first", "holes", "packed"]
EDGES = ["shared", "each", "between"]
CASES = [(form, edges) for form in FORMS for edges in EDGES if (form, edges) != ("packed", "between")]


def exact(found: Any, expected: Any, tolerance: float = 1e-11) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("form", "edges"), CASES)
@pytest.mark.parametrize("forbidden", [0.0, 0.15])
def test_sums_and_gradients(form: str, edges: str, forbidden: float) -> None:
    chains = random_chains(9, 6, 5, form=form, edges=edges, forbidden=forbidden, dtype=torch.float64)
    labels = random_labels(chains, unknown=0.2)
    weight = torch.linspace(-1.0, 2.0, 9, dtype=torch.float64)
    exact(cpu.log_partition(chains.args)[:1], general.log_partition(chains.args)[:1])
    exact(cpu.marginals(chains.args, weight)[:-1], general.marginals(chains.args, weight)[:-1])
    expected = general.loss(chains.args, labels, weight.abs(), 0.5, True)
    exact(cpu.loss(chains.args, labels, weight.abs(), 0.5, True)[:-1], expected[:-1])
    value, each, *_ = cpu.loss(chains.args, labels, None, 1.0, False)
    exact([value, each], general.loss(chains.args, labels, None, 1.0, False)[:2])


@pytest.mark.parametrize(("form", "edges"), CASES)
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_second_derivatives(form: str, edges: str, scale: float) -> None:
    chains = random_chains(5, 6, 5, form=form, edges=edges, forbidden=0.1, scale=scale, dtype=torch.float64)
    along = [torch.arange(x.numel(), dtype=torch.float64).mul(1.7).cos().view(x.shape) for x in chains.scores]
    weight = torch.linspace(-1.0, 2.0, 5, dtype=torch.float64)
    exact(cpu.hvp(chains.args, weight, *along), general.hvp(chains.args, weight, *along))


def test_second_derivatives_of_a_long_sequence_keep_their_digits() -> None:
    chains = random_chains(1, 3000, 4, dtype=torch.float64)
    ones = torch.ones(1, dtype=torch.float64)
    along = [torch.full_like(x, 1e6) for x in chains.scores]  # every labeling gains the same
    *made, dot, logz = cpu.hvp(chains.args, ones, *along)
    assert all(float(x.abs().max()) < 1e-6 for x in made)
    assert float(dot) == pytest.approx(1e6 * (2 * 3000 + 1), rel=1e-14)
    exact([logz], [cpu.log_partition(chains.args)[0]])


@pytest.mark.parametrize(("form", "edges"), CASES)
def test_labelings(form: str, edges: str) -> None:
    chains = random_chains(6, 4, 3, form=form, edges=edges, forbidden=0.2, dtype=torch.float64)
    exact(cpu.best(chains.args), reference.best(chains.args))
    exact(cpu.kbest(chains.args, 5), reference.kbest(chains.args, 5))
    draws = cpu.sample(chains.args, 4, torch.tensor([3]))
    for b in range(6):
        possible = {y for s, y in labelings(chains, b) if s > -torch.inf}
        rows = rows_of(chains, b)
        for i in range(4):
            path = draws[i] if form == "packed" else draws[:, i]
            drawn = tuple(int(path[row]) for row in rows)
            assert drawn in possible or (not possible and set(drawn) == {-1})


def test_draws_have_their_probabilities_and_are_independent() -> None:
    chains = random_chains(2, 2, 2, dtype=torch.float64)
    chains = replace(chains, length=torch.full((2,), 2, dtype=torch.int32))
    draws = cpu.sample(chains.args, 4000, torch.tensor([7]))  # [2, n, 2]
    marginal = cpu.marginals(chains.args, torch.ones(2))[0]
    share = (draws == 1).double().mean(1)
    torch.testing.assert_close(share, marginal[..., 1], atol=0.03, rtol=0)
    both = (draws[0, :, 0] * draws[1, :, 0]).double().mean()
    assert both == pytest.approx(float(share[0, 0] * share[1, 0]), abs=0.03)
    assert torch.equal(draws, cpu.sample(chains.args, 4000, torch.tensor([7])))
    assert not torch.equal(draws, cpu.sample(chains.args, 4000, torch.tensor([8])))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("form", FORMS)
def test_smaller_types_are_summed_in_double(dtype: torch.dtype, form: str) -> None:
    chains = random_chains(5, 7, 9, form=form, dtype=dtype, forbidden=0.1)
    labels = random_labels(chains)
    step = torch.finfo(dtype).eps
    expected = general.loss(chains.double().args, labels, None, 1.0, True)
    total, each, *made, _ = cpu.loss(chains.args, labels, None, 1.0, True)
    assert total.dtype == torch.float32
    assert made[0].dtype == dtype
    assert made[2].dtype == torch.float32
    torch.testing.assert_close(each, expected[1], rtol=1e-12, atol=1e-12)
    for a, b, tolerance in zip(made, expected[2:6], [step, 1e-6, 1e-6, 1e-6], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scale", [300.0, 1e4])
def test_large_scores_need_logarithms(scale: float) -> None:
    chains = random_chains(4, 9, 6, scale=scale, forbidden=0.1, dtype=torch.float64)
    logz, in_logs = cpu.log_partition(chains.args)
    exact([logz], [reference.log_partition(chains.args)])
    assert in_logs[0] == 1
    weight = torch.ones(4, dtype=torch.float64)
    exact(cpu.marginals(chains.args, weight)[:-1], general.marginals(chains.args, weight)[:-1])


def test_only_sequences_that_need_logarithms_take_them() -> None:
    chains = random_chains(6, 9, 6, dtype=torch.float64)
    node = chains.node.clone()
    node[2] *= 1e3
    args = replace(chains, node=node).args
    assert cpu.log_partition(args)[1].tolist() == [0, 0, 1, 0, 0, 0]
    ones = torch.ones(6, dtype=torch.float64)
    exact(cpu.marginals(args, ones)[:-1], general.marginals(args, ones)[:-1])


def test_the_loss_of_a_long_sequence_keeps_its_digits() -> None:
    T = 50_000
    node = torch.full((1, T, 2), 1e4, dtype=torch.float64)
    node[0, :, 1] -= 20.0
    zeros = torch.zeros(2, dtype=torch.float64)
    args = Chain(node, torch.tensor([T], dtype=torch.int32), None, None, zeros, torch.zeros(2, 2), zeros)
    total, *_ = cpu.loss(args, torch.zeros(1, T, dtype=torch.int64), None, 1.0, True)
    assert float(total) == pytest.approx(T * math.log1p(math.exp(-20.0)), rel=1e-6)  # log Z is 5e8


def test_a_sequence_that_is_no_number_leaves_the_others_alone() -> None:
    chains = random_chains(6, 5, 4, forbidden=0.1, dtype=torch.float64)
    labels = random_labels(chains, unknown=0.1)
    for bad in (torch.nan, torch.inf):
        node = chains.node.clone()
        node[0, 1, 2] = bad
        args = replace(chains, node=node).args
        _, each, *_ = cpu.loss(args, labels, None, 1.0, True)
        _, expected, made, *_ = cpu.loss(chains.args, labels, None, 1.0, True)
        assert each[0].isnan()
        assert torch.equal(each[1:], expected[1:])
        assert torch.equal(cpu.loss(args, labels, None, 1.0, True)[2][1:], made[1:])
        path, score = cpu.best(args)
        assert score[0].isnan()
        assert set(path[0].tolist()) == {-1}
        assert torch.equal(path[1:], cpu.best(chains.args)[0][1:])
        table = replace(chains, edge=torch.full_like(chains.edge, bad))
        assert torch.equal(cpu.log_partition(table.args)[0].isnan(), chains.length > 0)


def test_forbidden_labels_and_nothing_allowed() -> None:
    chains = random_chains(3, 4, 3, dtype=torch.float64)
    node = chains.node.clone()
    node[0, 2] = -torch.inf
    node[1, 0, 0] = -torch.inf
    chains = replace(chains, node=node)
    labels = torch.zeros(3, 4, dtype=torch.int64)
    total, each, *made, _ = cpu.loss(chains.args, labels, None, 1.0, True)
    assert each.tolist() == [torch.inf, torch.inf, 0.0]
    assert total == torch.inf
    assert all(not x.any() for x in made)
    unknown = torch.full_like(labels, -100)
    assert cpu.loss(chains.args, unknown, None, 1.0, False)[1].tolist() == [torch.inf, 0.0, 0.0]


@pytest.mark.parametrize("edges", ["shared", "each"])
def test_same_bits_for_any_number_of_threads(edges: str) -> None:
    chains = random_chains(70, 60, 12, edges=edges, form="time-first")
    labels = random_labels(chains, unknown=0.01)
    before = torch.get_num_threads()
    runs: list[list[Tensor]] = []
    try:
        for threads in (1, 2, 3, 1):
            torch.set_num_threads(threads)
            runs.append(
                [
                    *cpu.loss(chains.args, labels, None, 1.0, True),
                    *cpu.best(chains.args),
                    cpu.sample(chains.args, 2, torch.tensor([1])),
                ]
            )
    finally:
        torch.set_num_threads(before)
    for run in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], run, strict=True))


def test_little_work_stays_on_one_thread() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        assert threads_for(torch.empty(2, 20, 5)) == 1
        assert threads_for(torch.empty(32, 64, 9)) == 3
        assert threads_for(torch.empty(256, 128, 23)) == 4
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("form", ["padded", "packed"])
def test_operators_are_what_torch_expects(form: str) -> None:
    chains = random_chains(3, 4, 3, form=form)
    labels = random_labels(chains)
    weight = torch.ones(3)
    more: dict[str, tuple[Any, ...]] = {
        "log_partition": (),
        "marginals": (weight,),
        "loss": (labels, weight, 1.0, True),
        "best": (),
        "kbest": (2,),
        "sample": (2, torch.tensor([0])),
        "hvp": (weight, *chains.scores),
    }
    for name, rest in more.items():
        torch.library.opcheck(getattr(ops.chain, name), (*chains.args, *rest))


@pytest.mark.parametrize(
    ("form", "edges"), [("time-first", "shared"), ("holes", "each"), ("packed", "shared")]
)
def test_derivatives_against_differences(form: str, edges: str) -> None:
    chains = random_chains(2, 3, 2, form=form, edges=edges, dtype=torch.float64)
    labels = random_labels(chains, unknown=0.3)
    _, length, first, index, *_ = chains.args
    scores = tuple(x.detach().clone().requires_grad_() for x in chains.scores)

    def run(function: Any, *more: Any) -> Any:
        return lambda n, s, e, p: function.apply("chain", *more, n, length, first, index, s, e, p)

    assert torch.autograd.gradcheck(run(derivatives.LogPartition), scores)
    assert torch.autograd.gradgradcheck(run(derivatives.LogPartition), scores, fast_mode=True)
    assert torch.autograd.gradcheck(run(derivatives.Losses, labels, None), scores)
    assert torch.autograd.gradgradcheck(run(derivatives.Losses, labels, None), scores, fast_mode=True)


def integers(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)


def changed(chains: Chains, name: str, value: Any) -> Chain:
    return replace(chains, **{name: value}).args


def test_bad_input_is_refused() -> None:
    chains, packed = random_chains(3, 4, 3), random_chains(3, 4, 3, form="packed")
    holes = random_chains(3, 4, 3, form="holes", edges="between")
    assert holes.index is not None
    assert packed.first is not None
    for args, message in [
        (changed(chains, "node", chains.node[0]), r"node has shape \(4, 3\)"),
        (changed(chains, "node", chains.node.long()), "node has type int64"),
        (changed(chains, "node", chains.node[..., :0]), "no labels"),
        (changed(chains, "length", chains.length.long()), "length has type int64, expected int32"),
        (changed(chains, "length", chains.length[:2]), "length has shape"),
        (
            changed(chains, "length", integers(5, 1, 1)),
            r"length\[0\] is 5, expected 0 to 4",
        ),
        (changed(chains, "length", integers(1, -1, 1)), r"length\[1\] is -1"),
        (changed(chains, "start", chains.start[:2]), r"start has shape \(2,\), expected \(3,\)"),
        (changed(chains, "edge", chains.edge[:2]), "edge has shape"),
        (changed(chains, "edge", torch.zeros(3, 2, 3, 3)), "edge has shape"),
        (changed(packed, "first", packed.first + 1), r"first\[1\] is 5 with 4 positions"),
        (changed(packed, "index", integers(0, 0, 0)[:, None].expand(3, 4)), "packed rows"),
        (changed(holes, "index", holes.index + 4), r"index\[0\]\[0\] is .*, expected 0 to 3"),
        (changed(holes, "index", holes.index * 0), r"index\[0\]\[1\] is 0, expected 1 to 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            cpu.log_partition(args)
    for label in (3, -2, -101):
        with pytest.raises(
            ValueError, match=f"sequence 0, position 0: the label is {label}, expected 0 to 2"
        ):
            cpu.loss(chains.args, torch.full((3, 4), label), None, 1.0, True)
    with pytest.raises(ValueError, match="labels has shape"):
        cpu.loss(chains.args, torch.zeros(3, 3, dtype=torch.int64), None, 1.0, True)
    with pytest.raises(ValueError, match="weight has shape"):
        cpu.marginals(chains.args, torch.ones(2))
    with pytest.raises(ValueError, match="along_edge has shape"):
        cpu.hvp(chains.args, torch.ones(3), chains.node, chains.start, chains.start, chains.stop)
    with pytest.raises(ValueError, match="share row 0"):
        cpu.marginals(changed(packed, "first", packed.first * 0), torch.ones(3))
    with pytest.raises(ValueError, match="k is 0, expected 1 or more"):
        cpu.kbest(chains.args, 0)
