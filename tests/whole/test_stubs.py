"""The types of the native module are those of the module."""

from __future__ import annotations

import pytest

from tests.whole.stubs import STUB, generated


def test_the_stub_is_the_one_that_the_module_gives() -> None:
    pytest.importorskip("nanobind", reason="the generator is part of the build requirements")
    assert STUB.read_text() == generated(), "run make stubs"
