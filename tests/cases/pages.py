"""Runs the programs of a page of the documentation and compares what they print with what the page shows.

The blocks ``python`` of a page are one program, in their order; a block ``output`` behind one is what it
prints. In blocks ``console`` a line that begins with ``$`` is a command, and what follows is what it prints;
a command without a line behind it may print anything. ``...`` stands for any text. Fractions and numbers
above 999 may differ a little, as the last digits of sums do between instruction sets; times, memory, numbers
of iterations and distances to an optimum are not compared.

    python -m tests.cases.pages docs/learn/addresses.md

writes into the page what its programs print, where that differs from what it shows.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WRITTEN = "docs/reference/commands.md"  #: by `make docs`
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page != WRITTEN]
#: Pages whose programs need torch: tests/torch/test_docs.py runs them.
TORCH = {page for page in PAGES if page.startswith(("docs/how-to/torch-", "docs/learn/bert"))}
#: Folders of pages whose programs are one, and print what is shown.
FOLDERS = ("learn", "how-to", "reference", "understand", "papers", "project")
BLOCK = re.compile(r"^```(python|output|console|\{picture\})\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
CRFKIT = f"{shlex.quote(sys.executable)} -m crfkit.cli"


def one_program(page: str) -> bool:
    """Tell whether the programs of a page are one, whose output the page shows."""
    if page in TORCH or not page.startswith(("README.md", "docs/index.md", *(f"docs/{f}/" for f in FOLDERS))):
        return False
    return bool(re.search(r"^```(python|console)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))


@dataclass(frozen=True)
class Shown:
    """What a program printed, and where the page shows what it prints."""

    program: str
    printed: str
    shown: str | None  # None: nothing is shown
    place: tuple[int, int]  # in the text of the page

    @property
    def holds(self) -> bool:
        """Tell whether the page shows what was printed."""
        if self.shown is None:
            return True
        shown = _steady(self.shown)
        pattern = "".join(
            "(?s:.*?)" if part == "..." else f"({NUMBER})" if re.fullmatch(NUMBER, part) else re.escape(part)
            for part in re.split(rf"({NUMBER}|\.\.\.)", shown)
        )
        found = re.fullmatch(pattern, _steady(self.printed))
        return found is not None and all(map(_close, re.findall(NUMBER, shown), found.groups()))


def run_page(text: str, name: str) -> Iterator[Shown]:
    """Run the programs of a page in the present folder."""
    space: dict[str, Any] = {"__name__": "page"}
    printed: str | None = ""
    for block in BLOCK.finditer(text):
        kind, body = block.groups()
        if kind == "python" and _torch_is_missing(body):
            printed = None
        elif kind == "python":
            start = "\n" * text[: block.start(2)].count("\n")  # so that errors name the line of the page
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(start + body, name, "exec"), space)
            printed = _stripped(out.getvalue())
        elif kind == "output" and printed is not None:
            yield Shown("python", printed, body, block.span(2))
        elif kind == "console":
            yield from _commands(body, block.start(2))
        elif kind == "{picture}":
            _check_picture(body, space)


def _torch_is_missing(program: str) -> bool:
    """Tell whether a program cannot run here; `tests/torch/test_docs.py` runs it where it can."""
    return "import torch\n" in program and find_spec("torch") is None


def _check_picture(body: str, space: dict[str, Any]) -> None:
    """Make a picture as `docs/pictures_in_pages.py` does."""
    *before, last = ast.parse(body).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module([*before], []), "picture", "exec"), space)
    value = eval(compile(ast.Expression(last.value), "picture", "eval"), space)
    html = value._repr_html_() if hasattr(value, "_repr_html_") else value
    assert re.search("^<.*<(svg|figure)|^<figure", html, re.DOTALL)


def _commands(body: str, start: int) -> Iterator[Shown]:
    for part in re.finditer(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
        command, shown = part.groups()
        done = subprocess.run(
            re.sub(r"(^|\| )crfkit\b", lambda found: f"{found[1]}{CRFKIT}", command),
            shell=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
        )
        expected = re.search(r"  # exit status (\d+)$", command)
        assert done.returncode == int(expected[1] if expected else 0), f"{command}: {done.stdout}"
        place = (start + part.start(2), start + part.end(2))
        yield Shown(command, _stripped(done.stdout), shown or None, place)


def _steady(text: str) -> str:
    """Return a text without the numbers that differ between machines."""
    return re.sub(r"[\d.,]+(?= (?:s|ms|MB|GB|iterations|passes|above it)\b)", "-", text)


def _close(one: str, other: str) -> bool:
    """Tell whether two numbers are alike: the same, or fractions and large numbers that are close."""
    a, b = (float(number.replace(",", "")) for number in (one, other))
    exact = not re.search("[.,]", one + other)
    return a == b if exact else abs(a - b) <= 0.02 + 0.05 * max(abs(a), abs(b))


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def rewritten(path: Path) -> str:
    """Return a page that shows what its programs print."""
    text = path.read_text(encoding="utf-8")
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = [*run_page(text, str(path))]
        os.chdir(here)
    for one in reversed(found):
        if not one.holds:
            text = text[: one.place[0]] + one.printed + text[one.place[1] :]
    return text


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(rewritten(page), encoding="utf-8")
