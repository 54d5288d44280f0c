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

# A module may import its own package and packages of a level below (a lower number), nothing else.
LEVELS = {
    "_native": -3,
    "native": -2,
    "arrays": -2,
    "errors": 0,
    "_safe": -1,
    "checks": 0,
    "tags": 0,
    "data": 1,
    "view": 1,
    "structures": 2,
    "features": 2,
    "inference": 3,
    "metrics": 3,
    "text": 3,
    "optimize": 3,
    "graphs": 4,
    "datasets": 4,
    "constraints": 4,
    "linear": 4,
    "objectives": 5,
    "models": 6,
    "torch": 7,
    "training": 7,
    "compat": 8,
    "distributed": 8,
    "estimators": 8,
    "integrations": 8,
    "web": 9,
    "cli": 10,
    "demo": 10,
    "papers": 10,
    "__main__": 11,
}
# Imports that point the wrong way: the module, what it imports, and why.
EXCEPTIONS = {
    ("crfkit.data.dataset", "crfkit.features.conjunctions"): "the type of what a dataset only carries",
    ("crfkit.data.dataset", "crfkit.features.recipe"): "the type of what a dataset only carries",
    ("crfkit.data.dataset", "crfkit.text.spec"): "the type of what a dataset only carries",
    ("crfkit.structures.graphs.batch", "crfkit.inference.estimates"): "`batch.estimate()` asks the methods",
    ("crfkit.structures.graphs.potentials", "crfkit.inference.estimates"): "the same of potentials",
    ("crfkit.graphs.rules.rules", "crfkit.models.graph_model"): "`Rules.weights` reads those of a model",
    ("crfkit.models.base", "crfkit.training.record"): "a model keeps the TrainingRecord of its training",
    ("crfkit.models.model", "crfkit.training.record"): "the same of a model of sequences",
    ("crfkit.models.graph_model", "crfkit.training.record"): "the same of a model of graphs",
    ("crfkit.models.pictures", "crfkit.training.record"): "the same, to show it",
    ("crfkit.models.files.summary", "crfkit.training.record"): "the model file holds that TrainingRecord",
    ("crfkit.training.train", "crfkit.distributed.data"): "`train(..., cluster=)` reads with workers",
    ("crfkit.cli.demo", "crfkit.demo"): "`crfkit demo` runs the demonstrations",
    ("crfkit.cli.demo", "crfkit.demo.tour"): "`crfkit demo` runs the demonstrations",
    ("crfkit.cli.reproduce", "crfkit.papers"): "`crfkit reproduce` runs the experiments",
    (
        "crfkit.papers.label_bias",
        "crfkit.demo.label_bias",
    ): "words are drawn from the network of the demonstration",
    ("crfkit.demo.__main__", "crfkit.cli"): "`python -m crfkit.demo` is `crfkit demo`",
}
HEAVY = {"sklearn", "torch", "dask", "distributed", "matplotlib", "pandas", "pyarrow", "scipy"}
HEAVY |= {"starlette", "uvicorn", "msgspec", "prometheus_client", "asyncio"}


def package(module: str) -> str:
    """Return the package right below crfkit that a module is or lies in."""
    name = module.split(".")[1]
    assert name in LEVELS, f"{module} has no level: enter {name} in LEVELS"
    return name


def allowed(importer: str, name: str) -> bool:
    mine, other = package(importer), package(name)
    return mine == other or LEVELS[other] < LEVELS[mine] or other == "_native"


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
    seen, wrong = 0, set()
    for path in PACKAGE.rglob("*.py"):
        module = module_name(path)
        if module == "crfkit":
            continue
        for name in imported(path):
            if name.startswith("crfkit.") and name.split(".")[1] not in crfkit._HOMES:
                seen += 1
                if not allowed(module, name):
                    wrong.add((module, name))
    assert seen > 10
    assert wrong - {*EXCEPTIONS} == set(), "imports that point the wrong way"
    assert {*EXCEPTIONS} - wrong == set(), "exceptions that nothing needs any more"


def test_a_wrong_import_would_be_noticed() -> None:
    assert allowed("crfkit.inference.sums", "crfkit.structures.chains.chain")
    assert not allowed("crfkit.structures.chains.chain", "crfkit.inference.sums")
    assert not allowed("crfkit.features.items", "crfkit.structures.chains.chain")  # the same level


def modules_after(code: str) -> set[str]:
    """Return the modules of a new process that has run this."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def own(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] == "crfkit")


def test_importing_crfkit_is_cheap() -> None:
    loaded = modules_after("import crfkit")
    assert own(loaded) == ["crfkit"]
    assert not loaded & HEAVY


def test_a_chain_crf_loads_what_it_needs() -> None:
    """Modules are counted, not seconds: 226 took 0.21 s of processor time beside scikit-learn's base."""
    loaded = modules_after("import numpy, sklearn.base; from crfkit import ChainCRF")
    assert len(own(loaded)) <= 256
    rooms = {".".join(name.split(".")[:2]) for name in own(loaded)}
    assert not rooms & {"crfkit.cli", "crfkit.compat", "crfkit.demo", "crfkit.papers", "crfkit.torch"}
    graphs = ("inference.graphs", "models.graph_model", "models.files", "linear.graphs", "training.graphs")
    assert not {name for name in loaded if name.startswith(tuple(f"crfkit.{part}" for part in graphs))}
    already = modules_after("import numpy, sklearn.base")
    others = {name.partition(".")[0] for name in loaded - already} - {"crfkit"}
    assert not others & {"rich", "typer", "click", "torch", "pandas", "pyarrow", "matplotlib"}
    assert not {name for name in loaded - already if name.startswith("scipy.")}


def test_inference_loads_nothing_heavy() -> None:
    assert not modules_after("import crfkit; crfkit.inference") & HEAVY


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
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = [
        a.asname or a.name for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names
    ]
    assert sorted(typed) == sorted(crfkit.__all__)


def test_load_reads_models_of_any_kind(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(crfpp_text())
    assert crfkit.load(tmp_path / "m").labels == tuple(LABELS)
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        crfkit.lode  # type: ignore[attr-defined]  # noqa: B018


def test_extras_are_what_modules_import() -> None:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = "".join(path.read_text() for part in ("src", "bench") for path in (root / part).rglob("*.py"))
    for name in {*extras} - {"dev", "docs", "test", "torch-dev", "browser-dev", "engines-dev"}:
        for requirement in extras[name]:
            package = re.split(r"[\[<>=]", requirement)[0].removeprefix("dkpro-").replace("-", "_")
            named = rf'(import|from) {package}|"{package}"|_need\("{package}'  # uvicorn takes some by name
            assert re.search(named, text), f"{name} asks for {requirement}"
