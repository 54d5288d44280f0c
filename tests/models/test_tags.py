"""Tags to segments and back, for every scheme, against an independent reading."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.features import ItemExtractor
from crfkit.models.tags import Spelling, as_segments, scheme_of, segmented
from crfkit.structures.gold import Path
from crfkit.tags.segments import segments_of, to_tags

SCHEMES = ["BIO", "IOB1", "IOE2", "IOE1", "BIOES", "BILOU", "BMES", "BCEU"]
LETTERS = {"BIO": "BIIB", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES", "BCEU": "BCEU"}


def random_segments(seed: int, N: int = 40) -> tuple[list[int], list[list[tuple[int, int, str]]]]:
    random = np.random.default_rng(seed)
    lengths, found = [], []
    for _ in range(N):
        at, segments = 0, []
        while at < 12 and random.random() < 0.9:
            d = int(random.integers(1, 4))
            if random.random() < 0.6:
                segments.append((at, at + d, str(random.choice(["PER", "LOC", "X-Y"]))))
            at += d
        lengths.append(at)
        found.append(segments)
    return lengths, found


def spelled(segments: list[tuple[int, int, str]], T: int, scheme: str) -> list[str]:
    """Spell segments one by one, after the definitions of the schemes."""
    tags = ["O"] * T
    before = (-1, -1, "")
    for n, (a, b, label) in enumerate(segments):
        if scheme.startswith("IOE"):
            touches = segments[n + 1 : n + 2] and segments[n + 1][::2] == (b, label)
            last = "E" if scheme == "IOE2" or touches else "I"
            tags[a:b] = [f"I-{label}"] * (b - a - 1) + [f"{last}-{label}"]
        elif scheme == "IOB1":
            first = "B" if before[1:] == (a, label) else "I"
            tags[a:b] = [f"{first}-{label}"] + [f"I-{label}"] * (b - a - 1)
        else:
            begin, inside, end, single = list(LETTERS[scheme])
            letters = single if b - a == 1 else begin + inside * (b - a - 2) + end
            tags[a:b] = [f"{letter}-{label}" for letter in letters]
        before = (a, b, label)
    return tags


def bare(lengths: list[int]) -> Dataset:
    return ItemExtractor()([[["x"]] * T for T in lengths])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(3))
def test_tags_become_segments_and_tags_again(scheme: str, seed: int) -> None:
    lengths, segments = random_segments(seed)
    y = [spelled(each, T, scheme) for each, T in zip(segments, lengths, strict=True)]
    data = labeled(bare(lengths), y, Alphabet())
    assert scheme_of(data) == scheme
    made = as_segments(data)
    assert made.extractor is not None
    assert made.extractor.scheme == scheme
    batch, names = made.batch, made.labels.strings()
    assert batch.label is not None
    assert batch.begin is not None
    cuts = [slice(a, b) for a, b in zip(batch.seq_ptr[:-1], batch.seq_ptr[1:], strict=True)]
    for cut, expected in zip(cuts, segments, strict=True):
        assert segments_of([names[i] for i in batch.label[cut]], batch.begin[cut].tolist()) == expected
    assert batch.begin[batch.label == names.index("O")].all()
    path = Path(batch.seq_ptr, batch.label, batch.begin)
    assert Spelling(tuple(names), scheme).tags(path) == y
    triples = segmented(bare(lengths), segments, labels=names)
    np.testing.assert_array_equal(triples.batch.label, batch.label)
    np.testing.assert_array_equal(triples.batch.begin, batch.begin)


def test_stretches_outside_are_one_segment_where_asked_for() -> None:
    made = segmented(bare([5]), [["O", "O", "B-N", "O", "O"]], outside="long")
    assert made.batch.begin is not None
    assert made.batch.begin.tolist() == [True, False, True, True, False]


def test_broken_tags_are_read_as_conlleval_reads_them() -> None:
    made = segmented(bare([4]), [["B-A", "O", "I-A", "I-B"]])
    assert made.batch.begin is not None
    assert made.batch.begin.all()
    assert made.extractor is not None
    assert made.extractor.scheme == "BIO"


@pytest.mark.parametrize(
    ("y", "label", "begin"),
    [
        (["B-A", None, "I-A", "O"], [0, -1, 0, 1], [True, False, False, True]),
        (["B-A", None, "B-A", None], [0, -1, 0, -1], [True, False, True, False]),
        ([None, None, "I-A", "I-A"], [-1, -1, 0, 0], [True, False, False, False]),
        ([(0, 1, "A"), (1, 3, None)], [0, -1, -1, 1], [True, True, False, True]),
    ],
)
def test_what_is_not_known_stays_open(y: Any, label: list[int], begin: list[bool]) -> None:
    made = segmented(bare([4]), [y], labels=["A", "O"])
    assert made.batch.label is not None
    assert made.batch.begin is not None
    assert (made.batch.label.tolist(), made.batch.begin.tolist()) == (label, begin)


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([(0, 2, "A"), (1, 3, "A")], "(1, 3, 'A') begins before position 2"),
        ([(0, 5, "A")], "does not lie within the 4 positions"),
        ([(2, 2, "A")], "does not lie within"),
        ([(0, 1, "")], "has the label ''; expected a string"),
        ([(True, 2, "A")], "is not a segment"),
        ([(0, 1)], "is not a segment"),
    ],
)
def test_wrong_segments_are_named(segments: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        to_tags(segments, 4)
