"""Every path, module and name that README and docs mention exists."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "SECURITY.md", "cpp/README.md"]
PAGES += sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
ROOMS = (ROOT, ROOT / "src", ROOT / "src/crfkit", ROOT / "cpp", ROOT / "tests")
FILE = re.compile(r"[\w./-]+\.(?:py|pyi|hpp|cpp|md|txt|toml)|[\w-]+(?:/[\w-]+)*/")


def spans_of(page: str) -> list[str]:
    """Return what stands in `backquotes`, outside programs and what is only planned."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if "*(planned)*" not in line]
    return re.findall(r"`([^`\n]+)`", "\n".join(lines))


@cache
def sources(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".hpp", ".cpp", ".md")
    ]


@cache
def words(*folders: str) -> frozenset[str]:
    return frozenset(word for path in sources(*folders) for word in re.findall(r"\w+", path.read_text()))


def has_file(name: str) -> bool:
    if any((room / name).exists() for room in ROOMS):
        return True
    paths = [path.as_posix() for path in sources("src", "cpp", "tests", "docs", "bench")]
    return any(f"/{name}" in path if name.endswith("/") else path.endswith(f"/{name}") for path in paths)


def has_name(dotted: str) -> bool:
    """Tell whether a dotted name is a module, or an attribute of one."""
    parts = dotted.split(".")
    if find_spec("torch") is None and dotted.startswith(
        ("crfkit.torch", "crfkit.compat.torch", "bench.torch")
    ):
        return {*parts} <= words("src", "bench")  # these modules cannot be imported here
    for i in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            if not hasattr(found, part):
                return part in getattr(found, "__dataclass_fields__", ())
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        if not link.startswith("http"):
            assert ((ROOT / page).parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_modules_exist(page: str) -> None:
    missing = []
    for span in spans_of(page):
        if FILE.fullmatch(span) and not re.search("[A-Z]{4}", span) and not has_file(span):
            missing.append(span)
        dotted = re.findall(r"\b(?:crfkit|bench|tests)(?:\.[A-Za-z_]\w*)+", span)
        missing += [name for name in dotted if not has_name(name)]
    assert not missing


def test_formulas_live_where_math_says() -> None:
    missing = []
    for row in (ROOT / "docs/reference/formulas.md").read_text().splitlines():
        if not row.startswith("| ") or row.startswith("| ---"):
            continue
        for span in re.findall(r"`([^`]+)`", row.split("|")[-2]):
            names = re.findall(r"[A-Za-z_]\w+", "" if FILE.fullmatch(span) else span)
            missing += [span for name in names if name not in words("src", "cpp")]
        missing += [name for name in re.findall(r"\w+\.hpp", row) if not has_file(name)]
    assert not missing
