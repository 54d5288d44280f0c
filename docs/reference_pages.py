"""Pages that are written from the package itself: the API from `__all__`, the commands from their help.

A Sphinx extension. It writes `reference/api/*.rst` and `reference/commands.md` before pages are read, so that
no list of names is kept by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Modules with an `__all__`, in the order of the pages.
PACKAGES = (
    "crfkit",
    "crfkit.data",
    "crfkit.text",
    "crfkit.datasets",
    "crfkit.features",
    "crfkit.tags",
    "crfkit.metrics",
    "crfkit.models",
    "crfkit.training",
    "crfkit.structures",
    "crfkit.constraints",
    "crfkit.inference",
    "crfkit.inference.methods",
    "crfkit.graphs",
    "crfkit.objectives",
    "crfkit.optimize",
    "crfkit.estimators.classic",
    "crfkit.objectives.classic",
    "crfkit.optimize.classic",
    "crfkit.errors",
)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def api_page(package: str) -> str:
    """Return the page of one module: what it is for, and tables of its names."""
    module = import_module(package)
    named = {name: getattr(module, name) for name in sorted(module.__all__, key=str.lower)}
    own: list[str] = []  # that have a page here
    other: list[str] = []  # whose page belongs to another module
    for name, value in named.items():
        if isinstance(value, type) or callable(value):
            home = next((p for p in PACKAGES if getattr(import_module(p), name, None) is value), package)
            (own if home == package else other).append(name if home == package else f"~{home}.{name}")
    constants = [
        name
        for name, value in named.items()
        if not callable(value) and not isinstance(value, type(sys)) and not name.startswith("__")
    ]
    first = (module.__doc__ or "").strip().splitlines()[0]
    parts = [_heading(package, "="), first, f".. currentmodule:: {package}"]
    if own:
        parts += [f".. autosummary::\n   :toctree: {package}\n   :nosignatures:\n\n" + _indented(own)]
    if other:
        parts += [
            "Also here, with a page elsewhere:",
            ".. autosummary::\n   :nosignatures:\n\n" + _indented(other),
        ]
    if constants:
        parts += ["Values: " + ", ".join(f"``{name}``" for name in constants) + "."]
    return "\n\n".join(parts) + "\n"


def _indented(names: list[str]) -> str:
    return "\n".join(f"   {name}" for name in names)


_HELP = """
import contextlib, io, json, sys
from crfkit.cli import main
from crfkit.cli.commands import COMMANDS
found = {}
for name in ("", *COMMANDS):
    sys.argv = ["crfkit", *([name] if name else []), "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    found[name] = out.getvalue()
print(json.dumps(found))
"""


def commands_page() -> str:
    """Return the help of every command as a page."""
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", _HELP], capture_output=True, text=True, check=True, env=environment
    )
    printed: dict[str, str] = json.loads(done.stdout)
    parts = ["# Commands\n\nThe help of each command, as `crfkit COMMAND --help` prints it.\n"]
    for name, text in printed.items():
        lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
        parts.append(f"## crfkit {name}\n\n```text\n{lines}\n```" if name else f"```text\n{lines}\n```")
    return "\n\n".join(parts) + "\n"


def _write(path: Path, text: str) -> None:
    """Write a page if it is not there as it should be, so that Sphinx reads only what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_pages(*_: Any) -> None:
    """Write all pages."""
    folder = HERE / "reference" / "api"
    for package in PACKAGES:
        _write(folder / f"{package}.rst", api_page(package))
    rows = "\n".join(f"   {package}" for package in PACKAGES)
    _write(
        folder / "index.rst",
        _heading("Python API", "=")
        + "\nWhat a user needs in the first week is in `crfkit`; sub-packages have the rest; `classic` ones "
        + f"have what papers compare with.\n\n.. toctree::\n   :maxdepth: 1\n\n{rows}\n",
    )
    _write(HERE / "reference" / "commands.md", commands_page())


def setup(app: Any) -> dict[str, bool]:
    """Have Sphinx write the pages before it reads them."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
