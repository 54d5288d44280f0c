"""The largest memory of whole trainings: `crfkit train`, and CRFsuite with many labels.

    python -m bench.memory [--threads 2]

- conll2000: `crfkit train` on the columns of CoNLL-2000 with CRF++'s chunking template.
- brown: `crfkit train --transitions observed` on CRFsuite's text of a part of the Brown corpus that has all
  its 472 labels, and python-crfsuite on the same attributes, for two iterations. Its process also loads the
  modules that make the attributes, NumPy among them: 67 MB where python-crfsuite alone took 40.

Each runs in a process of its own; the figure is its largest resident set, interpreter and libraries included.
Writes bench/results/memory.json. Needs the corpora (CRFKIT_DATA), for the peer `pip install python-crfsuite`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import measure
from bench.command import text_of
from bench.corpora import CORPORA, Corpus, first_of_labels, folder
from bench.features import CHUNKING

PEER = """
import sys
from bench.memory import part
from bench.peer import Log, trainer_of
trainer_of(part(), Log(), 2).train(sys.argv[1])
"""


def part() -> Corpus:
    """Return every 200th sentence of Brown, and the first of each label."""
    first = first_of_labels()
    return replace(CORPORA["brown472"], name="brown472part", chosen=lambda n: n % 200 == 0 or n in first)


def peak(command: list[str]) -> float:
    """Run a command; return the largest memory of its process, in MB."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:4])} failed: {said.decode(errors='replace')[-500:]}")
    return usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    threads = ["--jobs", str(parser.parse_args().threads)]
    crfkit = [sys.executable, "-m", "crfkit.cli", "train"]
    with tempfile.TemporaryDirectory() as made:
        template, model = Path(made) / "template", str(Path(made) / "model")
        template.write_text(str(CHUNKING))
        columns = str(folder() / CORPORA["conll2000"].train)
        rows = {
            "CoNLL-2000, crfkit train": peak([*crfkit, columns, "-t", str(template), "-o", model, *threads]),
            "472 labels, crfkit train": peak(
                [
                    *crfkit,
                    str(text_of(part())),
                    "-o",
                    model,
                    "--l2",
                    "2",
                    "--transitions",
                    "observed",
                    *threads,
                ]
            ),
        }
        if importlib.util.find_spec("pycrfsuite"):
            rows["472 labels, python-crfsuite"] = peak([sys.executable, "-c", PEER, model])
    for name, mb in rows.items():
        print(f"{name}: {mb:.0f} MB")
    print(measure.write("memory", [{"what": name, "mb": mb} for name, mb in rows.items()]))


if __name__ == "__main__":
    main()
