"""Writes tests/view/structures.json anew: `python -m tests.view.structures`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from tests.cases.pictures import small


def main() -> None:
    path = Path(__file__).parent
    spec = importlib.util.spec_from_file_location("pictures", path / "test_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    (path / "structures.json").touch()
    if not (path / "structures.json").read_text():
        (path / "structures.json").write_text("{}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {name: module.structure(make()) for name, make in sorted(small().items())}
    (path / "structures.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
