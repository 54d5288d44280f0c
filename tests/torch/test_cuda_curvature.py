"""Hessian products by kernels against the reference, in every form of input."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import general
from crfkit.torch.cuda import choose, curvature
from tests.cases.torch.chains import Chains, random_chains
from tests.cases.torch.devices import DEVICE

# The interpreter computes with NumPy, which warns of 0 * inf where a GPU does not.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

FORMS = ["padded", "time-first", "holes", "packed"]
EDGES = ["shared", "each", "between"]
CASES = [(form, edges) for form in FORMS for edges in EDGES if (form, edges) != ("packed", "between")]


def directions(chains: Chains) -> list[Tensor]:
    random = torch.Generator().manual_seed(7)
    return [torch.randn(x.shape, generator=random).to(x) for x in chains.scores]


def agree(chains: Chains, along: list[Tensor], tolerance: float) -> None:
    weight = torch.linspace(-1.0, 2.0, len(chains.length), dtype=torch.float64, device=DEVICE)
    found = curvature.hvp(chains.args, weight, *along)
    wanted = general.hvp(chains.double().args, weight, *(v.double() for v in along))
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)
    assert [x.dtype for x in found[:4]] == [x.dtype for x in chains.scores]


@pytest.mark.parametrize(("form", "edges"), CASES)
def test_every_form_of_input(form: str, edges: str) -> None:
    chains = random_chains(3, 3, 3, form=form, edges=edges, forbidden=0.1, seed=2, device=DEVICE)
    agree(chains, directions(chains), 1e-6)


@pytest.mark.parametrize("edges", ["shared", "each"])
def test_large_scores_and_views(edges: str) -> None:
    chains = random_chains(3, 4, 3, edges=edges, dtype=torch.float64, scale=1e3, device=DEVICE)
    along = directions(chains)
    along[0] = along[0][..., :1].expand_as(along[0])
    along[2] = along[2].transpose(-1, -2)
    agree(chains, along, 1e-9)
    near = random_chains(3, 4, 3, edges=edges, dtype=torch.float64, device=DEVICE)
    agree(near, [x.clone() for x in near.scores], 1e-12)  # the gradient of the entropy


def test_half_precision_of_node() -> None:
    chains = random_chains(2, 3, 5, dtype=torch.bfloat16, device=DEVICE)
    agree(chains, directions(chains), 2e-2)


def test_one_bad_sequence_leaves_the_others_alone() -> None:
    chains = random_chains(4, 3, 3, edges="each", device=DEVICE)
    chains.length[:] = 3
    along, weight = directions(chains), torch.ones(4, device=DEVICE)
    good = curvature.hvp(chains.args, weight, *along)
    node = chains.node.clone()
    node[0, 1, 2] = torch.nan
    node[1, 1] = -torch.inf
    bad: Any = curvature.hvp(chains.args._replace(node=node), weight, *along)
    assert bad[5][0].isnan()
    assert bad[5][1] == -torch.inf
    assert bad[4][1] == 0
    assert not bad[0][1].any()
    assert not bad[2][1].any()
    for k in (0, 2, 4, 5):
        assert torch.equal(bad[k][2:], good[k][2:])


def test_same_bits_twice_and_the_table_of_kernels() -> None:
    chains = random_chains(3, 3, 3, device=DEVICE)
    along, weight = directions(chains), torch.ones(3, device=DEVICE)
    one, two = (curvature.hvp(chains.args, weight, *along) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    chosen = {
        L: [
            name for name, has, covers in choose.TABLE if "hvp" in has and covers(choose.Sizes(2, 9, L, True))
        ]
        for L in (64, 65)
    }
    assert chosen == {64: ["curvature"], 65: []}
