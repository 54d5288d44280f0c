"""Launches that go around Triton's own, and their way back to it where Triton is not as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

from crfkit.torch.cuda import launch as launches
from crfkit.torch.cuda.launch import halves, launch, takes_all


class Source:
    def __init__(self, signature: Any) -> None:
        self.signature = signature


class Compiled:
    """A compiled kernel: what it is launched with goes to a list."""

    def __init__(self, calls: list[Any], signature: Any, fails: bool) -> None:
        self.calls, self.src, self.fails = calls, Source(signature), fails

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def run(*args: Any) -> None:
            if self.fails:
                raise TypeError("an address is not a pointer")
            self.calls.append(("direct", grid, args))

        return run


class Kernel:
    """A kernel ``f(x, n, W: tl.constexpr)`` of some Triton."""

    arg_names = ("x", "n", "W")

    def __init__(self, signature: Any, fails: bool = False) -> None:
        self.calls: list[Any] = []
        self.made = Compiled(self.calls, signature, fails)
        self.compilations = 0

    def warmup(self, *args: Any, num_warps: int, grid: Any) -> Any:
        self.compilations += 1
        return self.made

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, num_warps: self.calls.append(("documented", grid, args))


class Older(Kernel):
    def warmup(self, *args: Any, num_warps: int, grid: Any) -> Any:
        return None


class Newer(Kernel):
    def warmup(self, *args: Any, num_warps: int, grid: Any) -> Any:
        raise TypeError("warmup() got an unexpected keyword argument 'grid'")


class Without(Kernel):
    warmup = None  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def triton_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "_JITTED", Kernel)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


ALL = {"x": "*fp32", "n": "i32", "W": "constexpr"}
X = torch.zeros(2)


def ways(kernel: Kernel) -> list[str]:
    for blocks in (3, 4):
        launch(kernel, blocks, (X, 5), (16,), 4)
    return [way for way, *_ in kernel.calls]


def test_a_compiled_kernel_that_takes_all_arguments_gets_addresses() -> None:
    kernel = Kernel(ALL)
    assert ways(kernel) == ["direct", "direct"]
    assert kernel.calls[0] == ("direct", (3, 1, 1), (X.data_ptr(), 5, 16))
    assert kernel.compilations == 1


@pytest.mark.parametrize(
    "kernel",
    [
        Kernel({"x": "*fp32", "n": "i32"}),  # constants are not arguments
        Kernel({"n": "i32", "x": "*fp32", "W": "constexpr"}),  # another order
        Kernel(["*fp32", "i32", "constexpr"]),
        Kernel(None),
        Older(ALL),
        Newer(ALL),
        Without(ALL),
    ],
)
def test_another_triton_is_asked_in_the_documented_way(kernel: Kernel) -> None:
    assert ways(kernel) == ["documented", "documented"]
    assert kernel.calls[1] == ("documented", (4,), (X, 5, 16))


def test_a_kernel_that_refuses_addresses_is_not_asked_again() -> None:
    kernel = Kernel(ALL, fails=True)
    assert ways(kernel) == ["documented", "documented"]
    assert kernel.compilations == 1


def test_without_compiled_kernels_the_documented_way_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "_JITTED", None)
    assert ways(Kernel(ALL)) == ["documented", "documented"]


def test_what_a_compiled_kernel_takes_is_looked_at() -> None:
    kernel = Kernel(ALL)
    assert takes_all(kernel, kernel.made)
    assert not takes_all(kernel, None)
    assert not takes_all(kernel, object())


@pytest.mark.parametrize("number", [1 / 3, 0.5, 1e-30, 123456789.123])
def test_halves_hold_a_number_of_float64(number: float) -> None:
    high, low = halves(number)
    narrow = torch.tensor([high, low], dtype=torch.float32).double()
    assert float(narrow.sum()) == pytest.approx(number, rel=2.0**-47)
