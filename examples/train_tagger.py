"""Train a tagger on columns: choose the penalty on a dev file, report on a test file, save the model.

    python examples/train_tagger.py train.txt dev.txt test.txt -o tagger.crf --features ner

Files have one token a line, the label in the last column, and a blank line between sentences.
"""

from __future__ import annotations

import argparse

import crfkit
from crfkit import ChainCRF


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("test")
    parser.add_argument("-o", "--output", default="tagger.crf")
    parser.add_argument("--features", default="auto", help="a recipe, or ner, pos, chunk, address")
    given = parser.parse_args()
    train, dev, test = (crfkit.read(path) for path in (given.train, given.dev, given.test))

    scores = {}
    for l2 in (0.1, 0.3, 1.0, 3.0):
        crf = ChainCRF(features=given.features, l2=l2).fit(train)
        scores[l2] = crf.score(dev)
        print(f"l2 = {l2}: {scores[l2]:.4f} on {given.dev}")
    best = max(scores, key=scores.__getitem__)

    crf = ChainCRF(features=given.features, l2=best).fit(train)
    print(crf.training_)
    print(crf.evaluate(test))
    crf.save(given.output)
    print(f"saved {given.output}")


if __name__ == "__main__":
    main()
