"""What every kernel may rely on, whichever of them is chosen."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from crfkit.torch import general
from crfkit.torch.batches import Chain
from crfkit.torch.cuda import choose
from tests.cases.torch.chains import random_chains
from tests.cases.torch.devices import DEVICE

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")


@pytest.mark.parametrize("edges", ["shared", "each"])
def test_vectors_of_any_stride(edges: str) -> None:
    chains = random_chains(3, 2, 2, edges=edges, device=DEVICE)
    weight = torch.full((), 2.0, dtype=torch.float64, device=DEVICE).expand(
        3
    )  # as backward of a sum makes it
    both = torch.stack([chains.start, chains.stop], 1)
    apart = chains.args._replace(start=both[:, 0], stop=both[:, 1])
    found = choose.run("marginals", apart, weight)
    for a, b in zip(found[:5], general.marginals(chains.double().args, weight)[:5], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edges", ["shared", "each"])
@pytest.mark.parametrize("name", ["log_partition", "best", "hvp", "sample"])
def test_tables_whose_places_32_bits_cannot_count(
    name: str, edges: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice of something large is copied, and what is too large by itself refused: for all kernels."""
    chains = random_chains(2, 3, 3, edges=edges, device=DEVICE)
    wide = torch.zeros(*chains.edge.shape, 4, device=DEVICE)
    wide[..., 0] = chains.edge
    apart = wide[..., 0]  # strides of 12 and 4
    more: dict[str, tuple[Any, ...]] = {
        "hvp": (torch.ones(2, dtype=torch.float64, device=DEVICE), *chains.scores[:2], apart, chains.stop),
        "sample": (1, torch.tensor([3], device=DEVICE)),
    }
    batch, after = chains.args._replace(edge=apart), more.get(name, ())
    expected = choose.run(name, batch, *after)
    given: list[Tensor] = []

    def seen(module: str, function: str) -> Any:
        def answer(chain: Chain, *rest: Any) -> Any:
            every = (chain.edge, *rest)
            given.extend(x for x in every if isinstance(x, Tensor) and x.shape == apart.shape)
            return real(module, function)(chain, *rest)

        return answer

    real = choose._function
    monkeypatch.setattr(choose, "_function", seen)
    monkeypatch.setattr(choose, "CELLS", 12)
    torch.testing.assert_close(choose.run(name, batch, *after), expected)
    assert all(x.is_contiguous() for x in given)
    assert len(given) == (2 if name == "hvp" else 1)
    monkeypatch.setattr(choose, "CELLS", 9)
    with pytest.raises(ValueError, match="node has 3 labels: a table of their steps has 9 cells"):
        choose.run(name, batch, *after)
