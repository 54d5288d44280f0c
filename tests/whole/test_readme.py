"""The programs of the README and of docs run and print what they say."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))]
PROMISES: dict[str, list[str]] = {
    "README.md": ["[['number', 'street', 'street', 'city']]"],
    "docs/adding.md": [],  # its programs print nothing: tests/whole/test_adding.py uses them
    "docs/guide.md": [
        "['D', 'N']",
        "4 18 ['B', 'I', 'O']",
        "[['number', 'street', 'street', 'city']]",
        "(2, 4, 'CITY')",
        "segment:word[..]=New York",
        "[0, 4, 8, 12, 16, 20, 20]",
        "13 21 LBFGS",
    ],
    "docs/graphs.md": [
        "14 wrong pixels, 35 without neighbors",
        "['B', 'O', 'B', 'I']",
        "['B', 'I', 'B', 'I']",
        "[0.77 1.   0.86 1.   0.59 0.62 0.66 1.  ]",
        "('beach', 'sea')",
        "[1 1 1 1 0]",
        "[32, 32, 32]",
        "[0.45 0.51 0.78 0.77 0.45] (5, 6)",
        "0.86 right, 0.76 without neighbors",
        "0.92 right, edges: False",
        "1.00 right, edges: True",
        "60 graphs by elimination: 60 exact",
        "0.98 1.0",
        "0.91 of the unknown topics are right",
        "0.98 of the unknown topics are right",
        "0.86 0",
        "0.97 right",
        "0.87 by pseudo-likelihood",
        "0.97 by likelihood",
        "[['N', 'O', 'O', 'O', 'N', 'O']]",
        "0.89, pixels alone 0.77",
        "[[1, 4], [2, 4]]",
        "weight 1.5, 1.00 of the unknown are right",
    ],
    "docs/inference.md": ["['B', 'I', 'O'] 3.0"],
}
TORCH = "docs/torch.md"  # its programs need torch: tests/torch/test_docs.py


def test_all_programs_are_run() -> None:
    assert {page for page in PAGES if blocks_of(page, "python")} == {*PROMISES, TORCH}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def blocks_of(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if page in PROMISES])
def test_python_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks_of(page, "python"):
        exec(compile(block, page, "exec"), {})
    printed = capsys.readouterr().out
    for promised in PROMISES[page]:
        assert promised in printed
        assert promised in (ROOT / page).read_text()
    assert page != "docs/guide.md" or "accuracy 1.0000 of 12 labels" in printed


def test_the_first_program_is_short() -> None:
    first, *others = blocks_of("README.md", "python")
    assert not others
    assert len([line for line in first.splitlines() if line.strip()]) <= 9


@pytest.mark.parametrize("page", PAGES)
def test_headings_come_once(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (?:\d+\. )?(.+)$", text, re.MULTILINE)
    assert headings
    assert len(headings) == len(set(headings))
    firsts = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    assert page != "docs/design.md" or len(firsts) == len(set(firsts)), "a room is listed twice"
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)]
    assert numbers == [*range(1, len(numbers) + 1)]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / link).exists(), link


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "sh")])
def test_shell_blocks_run(page: str, tmp_path: Path) -> None:
    (tmp_path / "model.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 0.4 0.1 0.2 0.3")
    (tmp_path / "model.uai.evid").write_text("1 0 1")
    rng = random.Random(0)
    words = {"DT": ["the", "a"], "NN": ["dog", "tree", "Rex"], "VB": ["sees", "has"]}
    for name, lines in (("train.txt", 60), ("dev.txt", 15)):
        with (tmp_path / name).open("w") as file:
            for _ in range(lines):
                for tag, label in (
                    ("DT", "B-NP"),
                    ("NN", "I-NP"),
                    ("VB", "O"),
                    ("DT", "B-NP"),
                    ("NN", "I-NP"),
                ):
                    file.write(f"{rng.choice(words[tag])} {tag} {label}\n")
                file.write("\n")
    for text in blocks_of(page, "text"):  # a file whose name is in its first line
        (tmp_path / text.split()[1].rstrip(":")).write_text(text)
    crfkit = f"{shlex.quote(sys.executable)} -m crfkit.cli"
    for line in "".join(blocks_of(page, "sh")).splitlines():
        done = subprocess.run(line.replace("crfkit", crfkit, 1), shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    if page == "docs/graphs.md":
        return
    converted = tmp_path / "chunks.crfsuite"
    assert page == "README.md" or converted.read_bytes()[:4] == b"lCRF"
    assert (
        "span_f1 1.0000"
        in subprocess.run(
            f"{crfkit} evaluate chunks.crf dev.txt", shell=True, capture_output=True, text=True
        ).stdout
    )
