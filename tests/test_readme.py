"""The README's own programs run and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    printed = capsys.readouterr().out
    for promised in ("['B', 'I', 'O'] 3.0", "4 18 ['B', 'I', 'O']"):
        assert promised in printed
        assert promised in README.read_text()
