"""Print the sentences that a person should label next: those that the model is most unsure of.

    python examples/label_next.py labeled.txt pool.txt -n 10

labeled.txt has a token and its label a line; pool.txt has raw text, a sentence a line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import crfkit
from crfkit import ChainCRF


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labeled")
    parser.add_argument("pool")
    parser.add_argument("-n", type=int, default=10)
    given = parser.parse_args()
    crf = ChainCRF().fit(crfkit.read(given.labeled))
    lines = [line for line in Path(given.pool).read_text(encoding="utf-8").splitlines() if line.strip()]
    unsure = crf.uncertainty([line.split() for line in lines], "token-entropy")
    for i in np.argsort(-unsure)[: given.n]:
        print(f"{unsure[i]:.3f}\t{lines[i]}\t{' '.join(crf.predict([lines[i].split()])[0])}")


if __name__ == "__main__":
    main()
