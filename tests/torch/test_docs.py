"""The programs of docs/torch.md run and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/torch.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


# Warnings are those of other libraries; the Trainer of transformers prints its log, lines of dicts.
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::UserWarning",
    "error:The given NumPy array is not writable",
)
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_program_prints_what_it_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "from transformers" in block:
        pytest.importorskip("transformers")
    exec(compile(block, "docs/torch.md", "exec"), {})
    promised = re.findall(r"^# (.+)$", block, re.MULTILINE)
    assert promised
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if not line.startswith("{'train_runtime")] == promised
