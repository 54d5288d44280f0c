"""``crfkit new``: a small project that trains a model, tests it, and ships it as a package."""

from __future__ import annotations

import keyword
import os
import re
import sys
from typing import Annotated

import typer

from crfkit.cli.groups.output import Quiet
from crfkit.cli.messages import say

_LINES = 400  #: made-up addresses, a fifth of them for dev

_FILES = {
    "README.md": """# NAME

A model that labels the words of addresses, trained by crfkit on data/train.txt. Put your own data there: a
word and its label to a line, a blank line between sequences.

    crfkit check data/train.txt data/dev.txt
    python train.py                  # writes src/PACKAGE/model.crf
    pip install .                    # or: pip wheel --no-deps .
    python -c "import PACKAGE; print(PACKAGE.tag('12 Main St, Houston TX 77002'))"
    python -m pytest
""",
    "pyproject.toml": """[build-system]
build-backend = "setuptools.build_meta"
requires = ["setuptools>=70.1"]

[project]
name = "NAME"
version = "0.1.0"
description = "Labels the words of addresses"
requires-python = ">=3.10"
dependencies = ["crfkit"]

[tool.setuptools.package-data]
PACKAGE = ["model.crf"]
""",
    "train.py": '''"""Train the model of the package and judge it on data that it has not seen."""

import crfkit

train, dev = (crfkit.read(f"data/{part}.txt") for part in ("train", "dev"))
crf = crfkit.ChainCRF(features="address").fit(train)
print(crf.evaluate(dev))
crf.save("src/PACKAGE/model.crf")
''',
    "src/PACKAGE/__init__.py": '''"""Labels for the words of addresses."""

from functools import cache
from importlib.resources import as_file, files

import crfkit

__all__ = ["model", "tag"]


@cache
def model() -> crfkit.Model:
    """Return the model that comes with the package."""
    with as_file(files(__name__) / "model.crf") as path:
        return crfkit.load(path)


def tag(text: str) -> list[tuple[str, str]]:
    """Return the words of a text with their labels."""
    words = text.split()
    return list(zip(words, model().predict([words])[0], strict=True)) if words else []
''',
    "tests/test_PACKAGE.py": '''"""What the shipped model must do."""

import PACKAGE


def test_a_plain_address() -> None:
    labels = dict(PACKAGE.tag("12 Main St, Houston TX 77002"))
    assert (labels["12"], labels["Main"], labels["Houston"]) == ("number", "street", "city")


def test_nothing() -> None:
    assert PACKAGE.tag("") == []
''',
    ".gitignore": "__pycache__/\n*.egg-info/\nbuild/\ndist/\n",
}


def new(
    name: Annotated[str, typer.Argument(help="The project: a folder of this name is made.")],
    quiet: Quiet = False,
) -> None:
    """Make a small project that trains and ships a model.

    It has data, a script that trains, a package with the model, and tests. The data are made-up addresses, to
    be replaced by your own. The package loads its model when it is first used; it installs as a wheel.

    For example:

      crfkit new house-numbers
    """
    folder = name.rstrip("/")
    project = os.path.basename(folder)
    package = project.lower().replace("-", "_")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*", project):
        raise ValueError(f"the name is {project!r:.60}, expected letters, digits, and - or _ between them")
    if keyword.iskeyword(package) or package in {*sys.stdlib_module_names, "crfkit", "tests", "data"}:
        raise ValueError(
            f"the name is {project!r}, but a module of Python is called {package}; choose another"
        )
    os.mkdir(folder)  # never into what is there
    for path, text in {**_FILES, **_data()}.items():
        place = os.path.join(folder, path.replace("PACKAGE", package))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(text.replace("PACKAGE", package).replace("NAME", project))
    say(f"crfkit: made {folder}; next: cd {folder}; python train.py; pip install .", quiet)


def _data() -> dict[str, str]:
    from crfkit.datasets import make_addresses

    made = make_addresses(_LINES)
    parts = {"train": made.train, "dev": made.test}
    return {
        f"data/{part}.txt": "\n".join(
            "".join(f"{word} {label}\n" for word, label in zip(doc.words(), doc.labels or (), strict=True))
            for doc in docs
        )
        for part, docs in parts.items()
    }
