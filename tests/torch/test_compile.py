"""The layer in compiled graphs: no breaks, no recompilation over sizes, the same answers; operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from crfkit.constraints import Scheme
from crfkit.torch import CRF, ops
from tests.cases.torch.chains import random_chains, random_labels
from tests.cases.torch.devices import DEVICE

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what torch.compile itself does

VALUES: dict[str, Callable[[CRF, Tensor, Tensor, Tensor], Any]] = {
    "mean": lambda crf, node, labels, mask: crf.loss(node, labels, mask),
    "token": lambda crf, node, labels, mask: crf.loss(node, labels, mask, reduction="token"),
    "entropy": lambda crf, node, labels, mask: crf.entropy(node, mask).sum(),
    "marginals": lambda crf, node, labels, mask: crf.marginals(node, mask).square().sum(),
    "log_partition": lambda crf, node, labels, mask: crf.log_partition(node, mask).sum(),
    "none": lambda crf, node, labels, mask: crf.loss(node, labels, mask, reduction="none").sum(),
    "sets": lambda crf, node, labels, mask: crf.loss(node, mask=mask, allowed=node.isfinite()),
    "decode": lambda crf, node, labels, mask: crf.decode(node, mask)[:2],
    "kbest": lambda crf, node, labels, mask: crf.kbest(node, 2, mask)[:2],
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", VALUES)
def test_one_graph_for_all_sizes(name: str, order: int) -> None:
    _one_graph(name, "aot_eager", order)


def test_inductor() -> None:
    """The least graph: code for the CPU is slow to compile."""
    crf = CRF(3).to(DEVICE)
    compiled = torch.compile(crf, backend="inductor", fullgraph=True, dynamic=True)
    for shape in ((2, 4), (3, 5)):
        node = torch.randn(*shape, 3, device=DEVICE, requires_grad=True)
        labels = torch.zeros(shape, dtype=torch.int64, device=DEVICE)
        compiled(node, labels).backward()
        found, node.grad = node.grad, None
        crf(node, labels).backward()
        torch.testing.assert_close(found, node.grad)


def _one_graph(name: str, backend: str, order: int) -> None:
    torch.manual_seed(0)
    crf = CRF(["O", "B", "I"], order, constraints=[Scheme("BIO")]).to(DEVICE)
    edge = crf.edge if order == 1 else crf.edges[-1]
    torch.nn.init.normal_(edge)
    query = VALUES[name]
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(query, backend=counter, fullgraph=True, dynamic=True)
    for B, T in ((2, 5), (3, 7), (4, 6)):
        node = torch.randn(B, T, 3, device=DEVICE, requires_grad=True)
        labels = torch.zeros(B, T, dtype=torch.int64, device=DEVICE)
        mask = torch.rand(B, T, device=DEVICE) < 0.7
        expected, found = query(crf, node, labels, mask), compiled(crf, node, labels, mask)
        torch.testing.assert_close(found, expected)
        if isinstance(expected, Tensor):
            leaves = [node, edge]
            gradient = torch.autograd.grad(expected, leaves)
            torch.testing.assert_close(torch.autograd.grad(found, leaves), gradient)
    assert counter.frame_count == 1


@pytest.mark.parametrize("form", ["padded", "holes", "packed"])
@pytest.mark.parametrize("name", ["log_partition", "loss", "marginals", "hvp", "best", "kbest", "sample"])
def test_operators_keep_their_promises(name: str, form: str) -> None:
    """Their schemas, and what they return without values (`torch.library.opcheck`)."""
    chains = random_chains(3, 4, 3, form=form, device=DEVICE)
    weight = torch.rand(3, dtype=torch.float64, device=DEVICE)
    more: dict[str, tuple[Any, ...]] = {
        "loss": (random_labels(chains), weight, 0.5, True),
        "marginals": (weight,),
        "hvp": (weight, *(torch.randn_like(x) for x in chains.scores)),
        "kbest": (2,),
        "sample": (2, torch.tensor([1], device=DEVICE)),
    }
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(getattr(ops.chain, name), (*chains.args, *more.get(name, ())), test_utils=tests)


@pytest.mark.parametrize("form", ["padded", "holes", "packed"])
@pytest.mark.parametrize("name", ["log_partition", "loss", "marginals", "hvp", "best", "kbest", "sample"])
def test_operators_of_higher_orders_keep_their_promises(name: str, form: str) -> None:
    chains = random_chains(3, 4, 3, form=form, device=DEVICE)
    tables = [chains.edge, torch.randn(3, 3, 3, device=DEVICE)]
    weight = torch.rand(3, dtype=torch.float64, device=DEVICE)
    scores = (chains.node, chains.start, *tables, chains.stop)
    more: dict[str, tuple[Any, ...]] = {
        "loss": (random_labels(chains), weight, 0.5, True),
        "marginals": (weight,),
        "hvp": (weight, [torch.randn_like(x) for x in scores]),
        "kbest": (2,),
        "sample": (2, torch.tensor([1], device=DEVICE)),
    }
    args = (*chains.args[:5], tables, chains.stop, *more.get(name, ()))
    torch.library.opcheck(getattr(ops.order, name), args, test_utils=("test_schema", "test_faketensor"))
