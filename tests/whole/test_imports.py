"""Imports point one way, and stay cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import crfkit
from tests.cases.foreign_models import LABELS, crfpp_text

PACKAGE = Path(crfkit.__file__).parent

# A module may import modules of its own level or below (a lower number), never above.
LEVELS = {
    "crfkit": 0,
    "crfkit._native": 0,
    "crfkit.native": 1,
    "crfkit.counting": 1,
    "crfkit.alphabet": 1,
    "crfkit.once": 1,
    "crfkit.structures": 2,
    "crfkit.batch": 3,
    "crfkit.features": 5,
    "crfkit.formats": 4,
    "crfkit.layout": 4,
    "crfkit.layout_plan": 4,
    "crfkit.scoring": 4,
    "crfkit.reference": 3,
    "crfkit.results": 3,
    "crfkit.inference": 4,
    "crfkit.metrics": 3,
    "crfkit.data": 5,
    "crfkit.optimise": 3,
    "crfkit.objectives": 5,
    "crfkit.events": 4,
    "crfkit.model": 6,
    "crfkit.exchange": 6,
    "crfkit.explain": 7,
    "crfkit.tagger": 7,
    "crfkit.training": 7,
    "crfkit.compat": 8,
    "crfkit.estimators": 8,
    "crfkit.cli": 9,
    "crfkit.demo": 9,
}
HEAVY = {"sklearn", "torch", "dask", "matplotlib", "fastapi", "pandas", "pyarrow", "scipy"}


def level(module: str) -> int:
    """Level of a module, or of the package that it lies in."""
    while module not in LEVELS:
        assert "." in module, f"{module} has no level: enter it in LEVELS"
        module = module.rpartition(".")[0]
    assert module != "crfkit", "enter new modules in LEVELS"
    return LEVELS[module]


def module_name(path: Path) -> str:
    parts = ["crfkit", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module]
            names += [f"{node.module}.{alias.name}" for alias in node.names if node.module == "crfkit"]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


def test_imports_point_one_way() -> None:
    seen = 0
    for path in PACKAGE.rglob("*.py"):
        module = module_name(path)
        if module == "crfkit":
            continue
        for name in imported(path):
            if name.startswith("crfkit.") and name.split(".")[1] not in crfkit._HOMES:
                assert level(name) <= level(module), f"{module} imports {name}"
                seen += 1
    assert seen > 10


def test_a_wrong_import_would_be_noticed() -> None:
    assert level("crfkit.inference") > level("crfkit.structures.chain")


def test_importing_crfkit_is_quick() -> None:
    code = (
        "import sys, time; t = time.perf_counter(); import crfkit; "
        "print(time.perf_counter() - t, *sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert min(float(run.stdout.split()[0]) for run in runs) < 0.15
    loaded = set(runs[0].stdout.split()[1:])
    assert not loaded & HEAVY


def test_inference_loads_nothing_heavy() -> None:
    code = "import sys, crfkit; crfkit.inference; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & HEAVY


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    """Each in turn is the first to be used: none depends on another having been loaded before."""
    code = """
import sys
import crfkit
loaded = set(sys.modules)
for name in crfkit.__all__:
    for other in set(sys.modules) - loaded:
        if other.startswith("crfkit") and other != "crfkit._native":
            del sys.modules[other]
            vars(crfkit).pop(other.partition(".")[2], None)
    vars(crfkit).pop(name, None)
    assert getattr(crfkit, name) is not None, name
    assert name in dir(crfkit), name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lazy_names_have_types_too() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = [
        a.asname or a.name for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names
    ]
    assert sorted(typed) == sorted(crfkit.__all__)


def test_load_reads_models_of_any_kind(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(crfpp_text())
    assert crfkit.load(tmp_path / "m").labels.strings() == LABELS
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        crfkit.lode  # noqa: B018


def test_extras_are_what_modules_import() -> None:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = "".join(path.read_text() for part in ("src", "bench") for path in (root / part).rglob("*.py"))
    for name in {*extras} - {"dev"}:
        for requirement in extras[name]:
            package = re.split(r"[\[<>=]", requirement)[0]
            assert re.search(rf'import {package}|_need\("{package}', text), f"{name} asks for {requirement}"
