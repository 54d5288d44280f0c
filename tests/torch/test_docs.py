"""The programs of docs/torch.md run and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/torch.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_prints_what_it_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "docs/torch.md", "exec"), {})
    promised = re.findall(r"^# (.+)$", block, re.MULTILINE)
    assert promised
    assert capsys.readouterr().out.splitlines() == promised
