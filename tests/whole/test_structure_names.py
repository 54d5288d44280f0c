"""Only structures and native paths name a class of structures; whoever else does is listed with a reason.

What other rooms need to know of a structure is a member of `crfkit.structures.structure.Structure`: a new one
is then a file of structures/ and an entry of its table.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import crfkit
from crfkit.structures.kinds import STRUCTURES

PACKAGE = Path(crfkit.__file__).parent
NAMES = {*(one.__name__ for one in STRUCTURES.values()), "Tree", "Graph", "is_chain"}
# These make structures for users, or are their public home.
FREE = ("__init__.py", "structures/", "linear/fast/", "graphs/", "estimators/", "cli/", "papers/", "demo/")

_HOMES = (["crfkit"], ["crfkit", "structures"])

# Who asks by isinstance or issubclass which structure was given.
_GIVEN = "checks what a user gave to the constructor"
ASKS = {
    "estimators/boosting.py": _GIVEN,
    "estimators/graph.py": _GIVEN,
    "estimators/hidden.py": _GIVEN,
    "estimators/segments.py": _GIVEN,
    "estimators/classic/codes.py": _GIVEN,
    "torch/chain.py": _GIVEN,
    "torch/segment_module.py": _GIVEN,
}
# Who else imports one other than for annotations.
_FOREIGN = "makes the structure of another program's model"
IMPORTS = {
    "models/files/assembly.py": _FOREIGN,
    "models/files/graphs.py": "makes the graph that a file describes",
    "models/files/wapiti.py": _FOREIGN,
    "compat/pycrfsuite/_learning.py": _FOREIGN,
    "inference/methods/shrink.py": "makes the graph that is left",
    "inference/mixed.py": "makes the graph that is left",
    "linear/layout.py": "a number of labels stands for a chain",
    "objectives/marked.py": "makes a chain with its labels three times",
    "training/learners/induction/induce.py": "a chain where none is given",
    "torch/chain.py": "the layer of chains holds one",
    "torch/segment_cpu.py": "makes the potentials of tensors",
    "torch/segment_module.py": "the layer of segments holds one",
    "torch/pretrained.py": "reads the chain that a file describes",
}


def imported(tree: ast.AST) -> set[str]:
    """Return the structures that a program imports; other rooms may have classes of the same names."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[:2] in _HOMES
        for alias in node.names
        if alias.name in NAMES
    }


def asks(tree: ast.AST) -> bool:
    """Return whether a program asks which structure it has."""
    known = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            tested = node.args[1:] if node.func.id in ("isinstance", "issubclass") else []
            names = {one.id for each in tested for one in ast.walk(each) if isinstance(one, ast.Name)}
            if names & known or node.func.id == "is_chain":
                return True
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            fields = {one.attr for one in sides if isinstance(one, ast.Attribute)}
            words = {one.value for one in sides if isinstance(one, ast.Constant)}
            if "kind" in fields and words & {*STRUCTURES, "graph"}:
                return True
    return False


def imports(tree: ast.Module) -> bool:
    """Return whether a program imports a structure, and uses it other than in annotations."""
    hints = [getattr(node, part, None) for node in ast.walk(tree) for part in ("annotation", "returns")]
    typed = {id(one) for hint in hints if isinstance(hint, ast.AST) for one in ast.walk(hint)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in typed}
    return bool(imported(tree) & used)


@cache
def programs() -> dict[str, ast.Module]:
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")
    }


def test_other_rooms_do_not_ask_which_structure_they_have() -> None:
    inside = ("structures/", "linear/fast/")
    found = {name for name, tree in programs().items() if not name.startswith(inside) and asks(tree)}
    assert found - {*ASKS} == set(), "add what they ask to crfkit.structures.structure.Structure"
    assert {*ASKS} - found == set(), "exceptions that nothing needs any more"


def test_other_rooms_do_not_import_structures() -> None:
    found = {name for name, tree in programs().items() if not name.startswith(FREE) and imports(tree)}
    assert found - {*IMPORTS} == set(), "ask the structure instead, or give the reason here"
    assert {*IMPORTS} - found == set(), "exceptions that nothing needs any more"


@pytest.mark.parametrize(
    "text",
    [
        "from crfkit import Chain\nisinstance(model.structure, Chain)",
        "from crfkit.structures import SemiMarkov\nisinstance(a, int | SemiMarkov)",
        "is_chain(structure)",
        'structure.kind == "local-chain"',
    ],
)
def test_a_question_would_be_noticed(text: str) -> None:
    assert asks(ast.parse(text))
    assert not asks(ast.parse("from crfkit.torch.batches import Chain\nisinstance(batch, Chain)"))
    assert not asks(ast.parse("isinstance(gold, Path) and structure.segmental and one.kind == 'node'"))


def test_an_import_would_be_noticed() -> None:
    assert imports(ast.parse("from crfkit.structures import Chain, Potentials\nmade = Chain(2)"))
    assert imports(
        ast.parse("def f(s):\n    from crfkit.structures.chains.chain import is_chain\n    is_chain(s)")
    )
    assert not imports(
        ast.parse("from crfkit.structures import Chain\ndef f(chain: Chain | None) -> Chain: ...")
    )
    assert not imports(ast.parse("from crfkit.structures.structure import Structure\nx = Structure"))
