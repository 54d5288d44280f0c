"""What every kernel may rely on, whichever of them is chosen."""

from __future__ import annotations

import pytest
import torch

from crfkit.torch import general
from crfkit.torch.cuda import choose
from tests.cases.torch.chains import random_chains
from tests.cases.torch.devices import DEVICE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")


@pytest.mark.parametrize("edges", ["shared", "each"])
def test_vectors_of_any_stride(edges: str) -> None:
    chains = random_chains(3, 2, 2, edges=edges, device=DEVICE)
    node, length, first, index, start, edge, stop = chains.args
    weight = torch.full((), 2.0, dtype=torch.float64, device=DEVICE).expand(
        3
    )  # as backward of a sum makes it
    both = torch.stack([start, stop], 1)
    found = choose.run("marginals", node, length, first, index, both[:, 0], edge, both[:, 1], weight)
    for a, b in zip(found[:5], general.marginals(*chains.double().args, weight)[:5], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-5, atol=1e-5)
