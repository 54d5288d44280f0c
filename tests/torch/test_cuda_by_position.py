"""The kernels for edges per position against the reference, in every form of input."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from crfkit.torch import general
from crfkit.torch.cuda import by_position, choose
from tests.cases.torch.chains import Chains, random_chains, random_labels
from tests.cases.torch.devices import DEVICE

# The interpreter computes with NumPy, which warns of log 0 and 0 / 0 where a GPU does not.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

FORMS = [("padded", "each"), ("padded", "between"), ("time-first", "each"), ("holes", "each")]
FORMS += [("holes", "between"), ("packed", "each")]


def close(found: tuple[Tensor, ...], wanted: tuple[Tensor, ...], tolerance: float = 1e-5) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


def agree(chains: Chains, labels: Tensor, tolerance: float = 1e-5) -> Tensor:
    """Compare all operators; return the flags of the loss."""
    weight = torch.linspace(-1.0, 2.0, len(chains.length), dtype=torch.float64, device=chains.node.device)
    double = chains.double()
    found = by_position.loss(chains.args, labels, weight, 0.5, True)
    wanted = general.loss(double.args, labels, weight, 0.5, True)
    close(found[:6], wanted[:6], tolerance)
    assert [x.dtype for x in found[2:6]] == [x.dtype for x in chains.scores]
    marginals = by_position.marginals(chains.args, weight)
    close(marginals[:5], general.marginals(double.args, weight)[:5], tolerance)
    values = by_position.loss(chains.args, labels, None, 1.0, False)
    close(values[1:2], wanted[1:2], 1e-9)
    close(by_position.log_partition(chains.args)[:1], general.log_partition(double.args)[:1], 1e-9)
    return found[-1]


@pytest.mark.parametrize(("form", "edges"), FORMS)
def test_every_form_of_input(form: str, edges: str) -> None:
    chains = random_chains(3, 3, 3, form=form, edges=edges, forbidden=0.1, seed=3, device=DEVICE)
    agree(chains, random_labels(chains, unknown=0.2))


def test_views_of_edges() -> None:
    chains = random_chains(1, 3, 3, edges="each", device=DEVICE)
    labels = random_labels(chains)
    agree(replace(chains, edge=chains.edge.transpose(2, 3)), labels)
    agree(replace(chains, edge=chains.edge[0, 0].expand(1, 3, 3, 3)), labels)
    sparse = chains.edge.new_zeros(1, 3, 3, 6)[..., ::2].copy_(chains.edge)
    agree(replace(chains, edge=sparse), labels)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype: torch.dtype) -> None:
    chains = random_chains(3, 3, 4, edges="each", dtype=dtype, device=DEVICE)
    coarse = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-12}[dtype]
    agree(chains, random_labels(chains, unknown=0.2), coarse)


def test_tables_in_blocks() -> None:
    chains = random_chains(1, 3, 70, edges="each", forbidden=0.2, device=DEVICE)
    assert agree(chains, random_labels(chains)).tolist() == [0]
    far = replace(chains, node=chains.node * 1e4)
    assert agree(far, random_labels(chains, unknown=0.5)).tolist() == [1]


def test_large_scores_are_summed_in_log_space() -> None:
    chains = random_chains(3, 4, 3, edges="each", scale=1e4, forbidden=0.1, device=DEVICE)
    assert agree(chains, random_labels(chains, unknown=0.4)).tolist() == [1, 1, 0]


def test_confident_rows_need_no_logarithms() -> None:
    chains = random_chains(2, 4, 3, edges="each", scale=12.0, device=DEVICE)
    assert agree(chains, random_labels(chains)).tolist() == [0, 0]


def test_one_bad_sequence_leaves_the_others_alone() -> None:
    chains = random_chains(5, 3, 2, edges="each", seed=1, device=DEVICE)
    chains.length[:] = 3
    labels = random_labels(chains, unknown=0.3)
    labels[3] = 0
    weight = torch.ones(5, dtype=torch.float64, device=DEVICE)
    good = by_position.loss(chains.args, labels, weight, 1.0, True)
    node, edge = chains.node.clone(), chains.edge.clone()
    node[0, 1, 1] = torch.nan
    edge[1, 1, 0, 0] = torch.inf
    node[2, 1] = -torch.inf  # nothing is allowed
    edge[3, 2, 0, 0] = -torch.inf  # gold is forbidden
    bad = by_position.loss(chains.args._replace(node=node, edge=edge), labels, weight, 1.0, True)
    assert bad[1][:2].isnan().all()
    assert bad[1][2:4].tolist() == [torch.inf, torch.inf]
    assert (bad[2][2:4] == 0).all()
    assert (bad[4][2:4] == 0).all()
    for k in (1, 2, 4):
        assert torch.equal(bad[k][4], good[k][4])
    logz, _ = by_position.log_partition(chains.args._replace(node=node, edge=edge))
    assert logz[:2].isnan().all()
    assert logz[2] == -torch.inf


def test_the_same_bits_twice_and_in_another_batch() -> None:
    chains = random_chains(3, 4, 4, edges="each", device=DEVICE)
    labels = random_labels(chains, unknown=0.3)
    one, two = (by_position.loss(chains.args, labels, None, 1.0, True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    second = chains.args._replace(node=chains.node[1:2], length=chains.length[1:2], edge=chains.edge[1:2])
    alone = by_position.loss(second, labels[1:2], None, 1.0, True)
    assert torch.equal(alone[4][0], one[4][1])
    assert torch.equal(alone[1][0], one[1][1])


def test_no_sequences_and_the_table_of_kernels() -> None:
    chains = random_chains(1, 2, 3, edges="each", device=DEVICE)
    none = chains.args._replace(node=chains.node[:0], length=chains.length[:0], edge=chains.edge[:0])
    made = by_position.loss(none, random_labels(chains)[:0], None, 1.0, True)
    assert made[0] == 0
    assert made[3].tolist() == [0.0, 0.0, 0.0]
    names = [name for name, operators, covers in choose.TABLE if covers(choose.Sizes(1, 2, 3, True))]
    assert names[0] == "by_position"
