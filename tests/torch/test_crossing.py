"""Tensors in the native code: what does not fit is refused there, whoever calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import crfkit.torch
from crfkit import _native
from crfkit.native import kernels
from tests.cases.torch.chains import Chains, random_chains


def native(chains: Chains) -> _native.TensorChains:
    node, length, first, index, start, edge, stop = chains.args
    return _native.TensorChains(node, length, first, index, start, stop, [edge])


def answers(chains: Chains) -> dict[str, Any]:
    """What a sum fills, all of it as it must be."""
    B = len(chains.length)
    return {
        "labels": None,
        "weight": None,
        "gradient": [torch.zeros(x.shape) for x in chains.scores],
        "value": torch.zeros(B, dtype=torch.float64),
        "in_logs": torch.zeros(B, dtype=torch.uint8),
        "total": torch.zeros((), dtype=torch.float64),
    }


def summed(chains: Chains, **changed: Any) -> dict[str, Any]:
    made = answers(chains) | changed
    _native.sum_tensors(kernels, native(chains), scale=1.0, threads=1, **made)
    return made


def replaced(chains: Chains, place: int, by: Tensor) -> list[Tensor]:
    made: list[Tensor] = answers(chains)["gradient"]
    made[place] = by
    return made


def test_what_fits_is_filled_in_place() -> None:
    chains = random_chains(3, 4, 2)
    made = summed(chains)
    torch.testing.assert_close(made["gradient"][0].sum((1, 2)), chains.length.float())
    torch.testing.assert_close(made["total"], made["value"].sum())


def test_a_weight_of_zero_leaves_an_infinite_value_out_of_the_total() -> None:
    chains = random_chains(3, 4, 2)
    chains.node[1] = -torch.inf
    assert chains.length[1] > 0
    for factor in (0.0, 0.5):
        weight = torch.tensor([2.0, factor, -1.0], dtype=torch.float64)
        made = summed(chains, weight=weight, total=torch.zeros(()))
        finite = (2.0 * made["value"][0] - made["value"][2]).float()
        torch.testing.assert_close(made["total"], torch.full_like(finite, -torch.inf) if factor else finite)


def test_answers_that_do_not_fit_are_refused() -> None:
    chains = random_chains(3, 4, 2)
    spread = torch.zeros(1, dtype=torch.float64).expand(3)
    for changed, message in [
        ({"value": torch.zeros(2, dtype=torch.float64)}, r"value has shape \(2,\), expected \(3,\)"),
        ({"value": torch.zeros(3)}, "value has type float32, expected float64"),
        ({"value": spread}, "value is not contiguous"),
        ({"in_logs": torch.zeros(3, dtype=torch.bool)}, "in_logs has type bool8, expected uint8"),
        ({"total": torch.zeros(1)}, r"total has shape \(1,\), expected \(\)"),
        ({"total": torch.zeros((), dtype=torch.int64)}, "total has type int64"),
        ({"labels": torch.zeros(3, 4, dtype=torch.int32)}, "labels has type int32, expected int64"),
        ({"weight": torch.zeros(4)}, "weight has shape"),
        ({"gradient": []}, "a gradient has 4 tensors, not 0"),
        ({"gradient": replaced(chains, 0, torch.zeros(3, 3, 2))}, "the gradient of node has shape"),
        ({"gradient": replaced(chains, 0, torch.zeros(4, 3, 2).transpose(0, 1))}, "node is not contiguous"),
        ({"gradient": replaced(chains, 2, torch.zeros(2))}, "the gradient of edge has shape"),
        ({"gradient": replaced(chains, 3, torch.zeros(2, dtype=torch.int64))}, "stop has type int64"),
    ]:
        with pytest.raises(ValueError, match=message):
            summed(chains, **changed)


def test_numbers_are_not_tensors() -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        summed(random_chains(3, 4, 2), value=torch.zeros(3, dtype=torch.float64).data_ptr())


def test_paths_and_products_are_checked_too() -> None:
    chains = random_chains(3, 4, 2)
    other = replace(chains, length=chains.length.clamp(max=1))
    labels, score = torch.zeros(3, 1, 4, dtype=torch.int64), torch.zeros(3, 1, dtype=torch.float64)
    for wrong in [(labels[:, :, :3].contiguous(), score), (labels, score[:2]), (labels, score[:, :0])]:
        with pytest.raises(ValueError, match=r"(labels|score) has"):
            _native.best_of_tensors(kernels, native(chains), 0, *wrong, 1)
    each = torch.zeros(3, dtype=torch.float64)
    gradient = answers(chains)["gradient"]
    along: Any
    for along, message in [
        (random_chains(3, 3, 2), r"along_node has shape \(3, 3, 2\)"),
        (other, "a direction has the rows of its chains"),
    ]:
        more: tuple[Any, ...] = (native(along), each, gradient, each, each.clone(), 1)
        with pytest.raises(ValueError, match=message):
            _native.hessian_of_tensors(kernels, native(chains), *more)


def test_changes_of_lengths_after_the_check_change_nothing() -> None:
    chains = random_chains(3, 4, 2)
    held = native(chains)
    made = answers(chains)
    _native.sum_tensors(kernels, held, scale=1.0, threads=1, **made)
    expected = made["value"].clone()
    chains.length.fill_(1000)
    _native.sum_tensors(kernels, held, scale=1.0, threads=1, **made)
    assert torch.equal(made["value"], expected)


def test_addresses_are_taken_for_launches_alone() -> None:
    root = Path(crfkit.torch.__file__).parent
    found = [str(p.relative_to(root)) for p in root.rglob("*.py") if "data_ptr" in p.read_text()]
    assert found == [str(Path("cuda", "launch.py"))]
