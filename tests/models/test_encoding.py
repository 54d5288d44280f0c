"""Chains that learn other labels of segments than the data have, and write those of the data again."""

from __future__ import annotations

import json
from pathlib import Path as File

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import ChainCRF, load
from crfkit.features import ItemExtractor
from crfkit.models.encoding import ENCODINGS, Recoding, encoded
from crfkit.structures.gold import Path
from crfkit.tags import spans as segments
from crfkit.tags import to_tags
from tests.cases.cli import run, written
from tests.cases.spans import bare

X = [["in", "New", "York", "City", "now"], ["Paris", "is", "old"], ["to", "Rome", "Paris"]] * 4
Y = [["O", "B-L", "I-L", "I-L", "O"], ["B-L", "O", "O"], ["O", "B-L", "B-L"]] * 4
LABELS = {
    "IO": ["O", "I-L"],
    "BIO": ["O", "B-L", "I-L"],
    "BIOES": ["O", "B-L", "I-L", "E-L", "S-L"],
    "BCEU": ["O", "B-L", "C-L", "E-L", "U-L"],
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_chain_learns_the_encoding_and_predicts_as_the_data_were(encoding: str, tmp_path: File) -> None:
    crf = ChainCRF(features="w[-1..1]", train_scheme=encoding.lower(), n_jobs=1).fit(X, Y, dev=(X, Y))
    assert list(crf.model_.structure.labels) == LABELS[encoding]
    assert crf.classes_.tolist() == ["O", "B-L", "I-L"]
    expected = Y
    if encoding == "IO":  # two segments side by side are one
        expected = [[*Y[n][:2], "I-L"] if n % 3 == 2 else Y[n] for n in range(len(Y))]
    assert crf.predict(X) == expected
    assert crf.score(X, expected) == 1.0
    crf.model_.save(tmp_path / "m.crf")
    model = load(tmp_path / "m.crf")
    assert (model.encoding, model.scheme) == (encoding, "BIO")
    assert model.predict(X) == expected
    assert bare(model.predict_spans(X)) == [segments(tags) for tags in expected]
    likely = model.log_prob(X, expected)
    assert likely == pytest.approx(crf.model_.log_prob(X, expected))
    assert np.exp(likely).min() > 0.2


SPANS = st.lists(st.tuples(st.sampled_from(["A", "B", None]), st.integers(1, 4)), max_size=8)


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "IO"])
@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "IOB1"])
@given(found=SPANS)
def test_nothing_is_lost_on_the_way_there_and_back(
    scheme: str, encoding: str, found: list[tuple[str | None, int]]
) -> None:
    spans, T = [], 0
    for kind, length in found:
        spans += [(T, T + length, kind)] if kind else []
        T += length
    tags = [tag or "O" for tag in to_tags(spans, T)]
    data = ItemExtractor()([[["x"]] * T, [["x"]]], [tags, ["B-A"]])
    made = encoded(data, encoding)
    names, label = made.labels.strings(), made.batch.label
    assert label is not None
    spelled = [names[y] for y in label.tolist()]
    assert segments(spelled[:T], encoding) == spans
    path = Path(data.batch.seq_ptr, label, None)
    back = Recoding(tuple(names), scheme).tags(path)
    assert segments(back[0], scheme) == spans
    if scheme == "BIO":
        assert back == [tags, ["B-A"]]
    assert encoded(made, encoding) is made


@pytest.mark.parametrize("encoding", ["io", "bioes"])
def test_sequences_without_spans_are_scored(encoding: str) -> None:
    model = ChainCRF(train_scheme=encoding).fit(X, Y).model_
    alone, *_ = model.log_prob([["is", "old"]], [["O", "O"]])
    assert alone == pytest.approx(model.log_prob([["is", "old"], X[0]], [["O", "O"], Y[0]])[0])
    assert model.score([["is", "old"]], [["O", "O"]]) == 0.0  # no span to find, as F1 has it
    assert model.log_prob([[]], [[]]).tolist() == [0.0]
    with pytest.raises(ValueError, match="spell segments"):
        model.log_prob([["is"]], [["L"]])


def test_what_cannot_be_encoded_is_refused() -> None:
    extract = ItemExtractor()
    with pytest.raises(ValueError, match="spell segments, such as B-PER and I-PER; the data have D, N"):
        encoded(extract([[["a"], ["b"]]], [["D", "N"]]), "BCEU")
    with pytest.raises(ValueError, match="one gold label at each position; the data lack some"):
        encoded(extract([[["a"], ["b"]]]), "IO")
    with pytest.raises(ValueError, match="encoding"):
        ChainCRF(train_scheme="ABC").fit([[["a"]]], [["B-X"]])


@pytest.mark.parametrize("encoding", ["io", "bioes", "bceu"])
def test_the_command_line_writes_the_scheme_of_the_input(encoding: str, tmp_path: File) -> None:
    data, model = tmp_path / "train.txt", tmp_path / "m.crf"
    data.write_text(written())
    options = [
        "--train-scheme",
        encoding,
        "--dev",
        data,
        "-a",
        "lbfgs",
        "--max-iterations",
        "20",
        "-q",
        "--jobs",
        "1",
    ]
    run("train", data, "-o", model, *options)
    found = [line.split("\t") for line in run("tag", model, data).stdout.splitlines() if line]
    assert {row[-1] for row in found} <= {"O", "B-NP", "I-NP"}
    shown = json.loads(run("show", model, "--json").stdout)
    assert (shown["encoding"], shown["scheme"]) == (encoding.upper(), "BIO")
    report = json.loads(run("evaluate", model, data, "--json").stdout)
    assert report["kind"] == "spans"
    if encoding != "io":
        assert report["micro"]["f1"] > 0.9
    best = json.loads(run("tag", model, data, "--kbest", "2", "--json").stdout.splitlines()[0])
    assert {tag for one in best["kbest"] for tag in one["predicted"]} <= {"O", "B-NP", "I-NP"}
    assert "--given is for labels as they were learned" in run("tag", model, data, "--given", status=2).stderr


def test_the_command_line_refuses_what_does_not_fit(tmp_path: File) -> None:
    data = tmp_path / "train.txt"
    data.write_text(written())
    for options, told in [
        (["--train-scheme", "abc"], "--train-scheme"),
        (["--train-scheme", "bceu", "--structure", "semi"], "--train-scheme is for chains"),
        (["--train-scheme", "bceu", "--block-positions", "100", "-a", "adagrad"], "leave --train-scheme out"),
        (["--train-scheme", "bceu", "--label-column", "1"], "such as B-PER and I-PER; the data have"),
    ]:
        assert told in run("train", data, "-o", tmp_path / "m", *options, status=2).stderr
