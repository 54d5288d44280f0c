"""Programs decide by types and values, never by the words of messages or the names of classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import crfkit

PACKAGE = Path(crfkit.__file__).parent
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
# Words that people read: of errors, of ends of training.
WORDS = {"stopped", "why", "reason", "strerror"}
SEARCHES = {"startswith", "endswith", "find", "index", "partition", "split", "lower", "upper", "strip"}
# What still decides so: the file, and why.
EXCEPTIONS = {"cli/commands.py": "words of the system are told from ours, to add a remedy to them alone"}


def caught(tree: ast.AST) -> set[str]:
    """The names of exceptions that are caught."""
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}


def decisions(text: str) -> Iterator[str]:
    """The places where words decide."""
    tree = ast.parse(text)
    errors = caught(tree)

    def is_words(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in WORDS or (node.attr == "__name__" and isinstance(node.value, ast.Call))
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
        return named and any(isinstance(a, ast.Name) and a.id in errors for a in node.args)  # type: ignore[attr-defined]

    for node in ast.walk(tree):
        found = False
        if isinstance(node, ast.Compare):
            found = any(is_words(side) for side in (node.left, *node.comparators))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found = is_words(node.func.value) and node.func.attr in SEARCHES
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                found = any(is_words(argument) for argument in node.args)
        elif isinstance(node, ast.Attribute):
            found = node.attr in ("tb_frame", "tb_next")
        if found:
            yield f"line {node.lineno}: {ast.unparse(node)}"  # type: ignore[attr-defined]


def test_words_do_not_decide() -> None:
    found = {file: list(decisions((PACKAGE / file).read_text())) for file in {*FILES} - EXCEPTIONS.keys()}
    assert {file: lines for file, lines in found.items() if lines} == {}, "raise a type, or use an Enum"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("try:\n    f()\nexcept ValueError as e:\n    if 'finite' in str(e):\n        pass", 1),
        ("try:\n    f()\nexcept ValueError as e:\n    raise OSError(str(e)) from None", 0),
        ("try:\n    f()\nexcept ValueError as e:\n    re.sub('1', '2', str(e))", 1),
        ("if step.stopped.startswith('converged'): pass", 1),
        ("if step.stopped: pass", 0),
        ("if outcome.reason == 'patience': pass", 1),
        ("if outcome.end is End.PATIENCE: pass", 0),
        ("if type(x).__name__ == 'Dual': pass", 1),
        ("if __name__ == '__main__': pass", 0),
        ("trace.tb_frame", 1),
    ],
)
def test_the_rule_can_fail(text: str, wrong: int) -> None:
    assert len(list(decisions(text))) == wrong
