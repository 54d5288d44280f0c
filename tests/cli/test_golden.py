"""The command line beside the programs that it replaces, and on real data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cases.cli import run
from tests.cases.real_data import DATA, GOLDEN, needs_golden


def sequences(text: str) -> list[list[str]]:
    return [part.split("\n") for part in text.strip().split("\n\n")]


@needs_golden
def test_kbest_as_crf_test() -> None:
    ours = sequences(run("tag", GOLDEN / "crfpp/model", GOLDEN / "crfpp/test.txt", "--kbest", 5).stdout)
    theirs = sequences((GOLDEN / "crfpp/test.n5.txt").read_text())
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        (_, rank, p), (_, their_rank, their_p) = mine[0].split(), other[0].split()
        assert int(rank) == int(their_rank) + 1  # CRF++ counts from 0
        assert float(p) == pytest.approx(float(their_p), abs=2e-6)
        assert mine[1:] == [line.rpartition("/")[0] for line in other[1:]]


@needs_golden
def test_marginals_as_crf_test() -> None:
    ours = sequences(run("tag", GOLDEN / "crfpp/model", GOLDEN / "crfpp/test.txt", "--print", "proba").stdout)
    theirs = sequences((GOLDEN / "crfpp/test.v2.txt").read_text())
    for mine, other in zip(ours, theirs, strict=True):
        for line, their_line in zip(mine, other[1:], strict=True):
            found, expected = (
                {name: float(p) for name, _, p in (field.rpartition("/") for field in row.split("\t")[4:])}
                for row in (line, their_line)
            )
            assert found == pytest.approx(expected, abs=2e-6)


@needs_golden
def test_labels_as_wapiti() -> None:
    model, test = GOLDEN / "wapiti/model_lbfgs.txt.gz", GOLDEN / "wapiti/test.txt"
    ours = sequences(run("tag", model, test, "-k", 4, "--print", "labels").stdout)
    theirs = sequences((GOLDEN / "wapiti/out_lbfgs.n4.txt").read_text())
    expected = [[line.split("\t")[1] for line in other[1:]] for other in theirs]
    assert [mine[1:] for mine in ours] == expected


@pytest.mark.skipif(not (DATA / "conll2000").is_dir(), reason="no CoNLL-2000")
def test_chunks(tmp_path: Path) -> None:
    for name, count in (("train", 300), ("test", 100)):
        text = gzip.decompress((DATA / "conll2000" / f"{name}.txt.gz").read_bytes()).decode()
        (tmp_path / f"{name}.txt").write_text("\n\n".join(text.split("\n\n")[:count]) + "\n")
    run("train", tmp_path / "train.txt", "-o", tmp_path / "m.crf", "-q", "--scheme", "bio", "-a", "lbfgs")
    made = json.loads(run("evaluate", tmp_path / "m.crf", tmp_path / "test.txt", "--json").stdout)
    assert made["micro"]["f1"] > 0.87
