"""What ``crfkit tag`` says of a labeling: labels, segments, and their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit.arrays import Bools, Pointers
from crfkit.cli.tagging import Tagger
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.models.confidence import check_sure, segment_cells, segment_confidence, sure_of
from crfkit.models.model import SequenceModel
from crfkit.structures.gold import Path, Sets
from crfkit.structures.results import Labeling


class LabelAnswers:
    """Labelings as lists of labels, one for each position."""

    def __init__(self, model: SequenceModel) -> None:
        self.model = model

    def check_kbest(self) -> None:
        """Refuse models that have no k best labelings."""
        self.model.check_labelings("--kbest")

    def cells(self, marginals: bool) -> int:
        """Return how many numbers an answer needs for each position."""
        return self.model.share_cells if marginals else 1

    def one(self, found: Labeling) -> dict[str, Any]:
        """Return a labeling as plain data."""
        return {"predicted": self.model.spelling.tags(_path([found]))[0]}

    def marginals(
        self, potentials: Any, best: Sequence[Labeling], threads: int | None
    ) -> list[dict[str, Any]]:
        """Return the probability of each label at each position, for each sequence."""
        names = self.model.answers
        rows = self.model.label_shares(potentials, threads).tolist()
        return [
            {"marginals": [dict(zip(names, row, strict=True)) for row in rows[a:b]]}
            for a, b in pairwise(potentials.seq_ptr.tolist())
        ]


class SegmentAnswers(LabelAnswers):
    """Labelings as lists of segments, without those outside."""

    def cells(self, marginals: bool) -> int:
        """Return how many numbers an answer needs for each position."""
        if marginals:
            check_sure(self.model)
        return segment_cells(self.model) if marginals else 1

    def one(self, found: Labeling) -> dict[str, Any]:
        """Return a labeling as plain data."""
        return {"segments": [list(one) for one in self.model.segments_in(_path([found]))[0]]}

    def marginals(
        self, potentials: Any, best: Sequence[Labeling], threads: int | None
    ) -> list[dict[str, Any]]:
        """Return the segments again, each with its probability."""
        found = sure_of(self.model, potentials, _path(best), threads)
        return [{"segments": [list(one) for one in several]} for several in found]


def span_rows(
    tagger: Tagger, block: Columns | Dataset, forced: Bools | Sets | None, seen: int, *, confidence: bool
) -> Iterator[list[str]]:
    """Yield the segments of a block as sequence, start, end, label, text and, if asked for, probability.

    Sequences are counted from 1, positions from 0.
    """
    batch, model, threads = tagger.batch(block), tagger.model, tagger.threads
    found: Sequence[Sequence[Sequence[Any]]] = (
        segment_confidence(model, batch, allowed=forced, threads=threads)
        if confidence
        else model.segments_in(model._path(batch, allowed=forced, threads=threads))
    )
    words = block.strings()[0].tolist() if isinstance(block, Columns) else None
    for n, a in enumerate(batch.seq_ptr[:-1].tolist()):
        for start, end, label, *sure in found[n]:
            text = "" if words is None else " ".join(words[a + start : a + end])
            yield [str(seen + n + 1), str(start), str(end), label, text, *(f"{p:.6f}" for p in sure)]


def _path(found: Sequence[Labeling]) -> Path:
    ptr: Pointers = np.cumsum([0, *(len(one.labels) for one in found)])
    begin = [one.begin for one in found if one.begin is not None]
    label = np.concatenate([np.zeros(0, dtype=np.int32), *(one.labels for one in found)])
    return Path(ptr, label, np.concatenate(begin) if begin else None)


def sequence_lines(columns: list[list[str]], answer: dict[str, Any], positions: int) -> Iterator[str]:
    """Yield the lines of a sequence: its columns, labels and probabilities."""
    for rank, one in enumerate(answer.get("kbest", [answer]), 1):
        if "kbest" in answer:
            yield f"# {rank} {one['probability']:.6f}\n"
        further = [
            "".join(f"\t{name}/{p:.6f}" for name, p in here.items()) for here in one.get("marginals", ())
        ] or [""] * positions
        rows = list(map("\t".join, zip(*columns, one["predicted"], strict=True)))
        yield "".join(f"{row}{more}\n" for row, more in zip(rows, further, strict=True)) + "\n"
