"""CRFsuite's models: read with the answers of the original, written as it writes them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Stop, train
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel
from crfkit.models.files import guess_kind, read_model, read_model_bytes, write_model
from crfkit.models.files.cqdb import lookup3, read_strings, write_strings
from crfkit.models.files.crfsuite import read_crfsuite
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from crfkit.structures import Chain
from crfkit.structures.constraints import Forbid
from tests.cases.real_data import MODELS

needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="no models of CRFsuite here")
NAMES = ["usaddress", "mytokenize_wordseg"]

X: list[list[Any]] = [
    [["w=the", "first"], {"w": "dog", "length": 0.75}, ["w=barks", "\u4e2d\n"]],
    [["w=a", "first"], ["w=dog"], ["w=runs", "w=runs"]],
]
Y = [["D", "N", "V"], ["D", "N", "V"]]


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    return train(
        ItemExtractor()(X, Y),
        stop=Stop(max_iterations=10),
        selection=FeatureSelection(transitions="observed"),
    )


# ---- strings


def test_hashes_of_the_notes() -> None:
    known = {
        b"B": 0xCB6D5CB5,
        b"I": 0xCAE4BCB3,
        b"O": 0xC87780E6,
        b"w=a:b": 0xBCCA27BB,
        b"a-string-longer-than-twelve-bytes": 0x1B16A214,
    }
    text = np.frombuffer(b"".join(key + b"\0" for key in known), dtype=np.uint8)
    begin = np.cumsum([0, *(len(key) + 1 for key in known)])
    assert lookup3(text, begin).tolist() == list(known.values())


@pytest.mark.parametrize("n", [0, 1, 2, 255, 3000])
def test_string_databases(n: int) -> None:
    strings = [b"\xc3\xa9%d" % (i * i) * (i % 7 + 1) for i in range(n)]
    data = write_strings(strings)
    assert read_strings(b"xyz" + data, 3, n, "strings") == strings
    refs = np.frombuffer(data[24 : 24 + 2048], dtype="<u4").reshape(256, 2)
    text = np.frombuffer(b"".join(s + b"\0" for s in strings), dtype=np.uint8)
    hashes = lookup3(text, np.cumsum([0, *(len(s) + 1 for s in strings)])).tolist()
    for i, h in enumerate(hashes):  # found as CRFsuite looks
        offset, slots = refs[h % 256].tolist()
        table = np.frombuffer(data[offset : offset + 8 * slots], dtype="<u4").reshape(slots, 2)
        at = (h >> 8) % slots
        while table[at, 1]:
            record = int(table[at, 1])
            length = int.from_bytes(data[record + 4 : record + 8], "little")
            if table[at, 0] == h and data[record + 8 : record + 7 + length] == strings[i]:
                assert int.from_bytes(data[record : record + 4], "little") == i
                break
            at = (at + 1) % slots
        else:
            pytest.fail(f"string {i} is not found")


# ---- models of the original


@needs_models
@pytest.mark.parametrize("name", NAMES)
def test_answers_of_the_original(name: str) -> None:
    model = read_model(MODELS / f"{name}.crfsuite")
    info = json.loads((MODELS / f"{name}.info.json").read_text())
    assert model.names.labels.strings() == info["labels"]
    assert len(model.attributes) == info["num_attributes"]
    lines = [json.loads(line) for line in (MODELS / f"{name}.jsonl").read_text().splitlines()]
    extract = ItemExtractor(attributes=model.attributes, labels=model.names.labels)
    sequences = [line["xseq"] for line in lines]
    place = {label: i for i, label in enumerate(model.names.labels)}
    marginals = model.predict_proba(extract(sequences))
    for line, found in zip(lines, model.predict(extract(sequences)), strict=True):
        assert found == line["labels"]  # ties too: both take the lowest label
    for labels, probability, by_position in (
        ("labels", "probability", "marginals"),
        ("alt_labels", "alt_probability", "alt_marginals"),
    ):
        given = [line[labels] for line in lines]
        found_p = np.exp(model.log_prob(extract(sequences, given)))
        np.testing.assert_allclose(found_p, [line[probability] for line in lines], atol=1e-6)
        for line, p in zip(lines, marginals, strict=True):
            ours = [p[t, place[y]] for t, y in enumerate(line[labels])]
            np.testing.assert_allclose(ours, line[by_position], atol=1e-6)


@needs_models
@pytest.mark.parametrize("name", NAMES)
def test_written_again_byte_by_byte(name: str, tmp_path: Path) -> None:
    original = MODELS / f"{name}.crfsuite"
    model = read_model(original)
    write_model(model, tmp_path / "m", "crfsuite")
    assert (tmp_path / "m").read_bytes() == original.read_bytes()
    model.save(tmp_path / "ours", compact=True)
    write_model(SequenceModel.load(tmp_path / "ours"), tmp_path / "again", "crfsuite")
    assert (tmp_path / "again").read_bytes() == original.read_bytes()


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("lbfgs", {"c1": 0.2, "max_iterations": 20}),
        ("lbfgs", {"feature.possible_transitions": 1, "feature.possible_states": 1, "max_iterations": 9}),
        ("ap", {"max_iterations": 5}),
    ],
)
def test_against_the_program(algorithm: str, options: dict[str, Any], tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm, options, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    trainer.train(str(theirs))
    same_answers(pycrfsuite, theirs, read_model(theirs))
    assert crfsuite_bytes(read_model(theirs)) == theirs.read_bytes()
    trained = train(ItemExtractor()(X, Y), stop=Stop(max_iterations=10))
    write_model(trained, ours, "crfsuite")
    same_answers(pycrfsuite, ours, trained)


def same_answers(pycrfsuite: Any, path: Path, model: SequenceModel) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    assert tagger.labels() == model.names.labels.strings()
    extract = ItemExtractor(attributes=model.attributes, labels=model.names.labels)
    found, marginals = model.predict(extract(X)), model.predict_proba(extract(X))
    likelihood = model.log_prob(extract(X, found))
    for n, x in enumerate(X):
        assert tagger.tag(x) == found[n]
        assert math.exp(likelihood[n]) == pytest.approx(tagger.probability(found[n]), abs=1e-9)
        for t in range(len(x)):
            for y, label in enumerate(model.names.labels):
                assert marginals[n][t, y] == pytest.approx(tagger.marginal(label, t), abs=1e-9)


# ---- reading and writing without it


def test_round_trip(model: SequenceModel) -> None:
    data = crfsuite_bytes(model)
    assert guess_kind(data) == "crfsuite"
    again = read_model_bytes(data)
    assert again.attributes.strings() == model.attributes.strings()
    np.testing.assert_array_equal(again.layout.node_label, model.layout.node_label)
    np.testing.assert_array_equal(again.layout.transition_cell, model.layout.transition_cell)
    assert again.w.tobytes() == model.w.tobytes()
    assert crfsuite_bytes(again) == data


def test_zeros_are_left_out(model: SequenceModel) -> None:
    w = model.w.copy()
    w[model.layout.node_ptr[0] : model.layout.node_ptr[1]] = 0.0
    again = read_crfsuite(crfsuite_bytes(replace(model, w=w)))
    assert again.attributes.strings() == model.attributes.strings()[1:]
    assert (again.w != 0.0).all()


def test_what_has_no_place_is_refused(model: SequenceModel) -> None:
    data = ItemExtractor()(X, Y)
    two = train(
        data, stop=Stop(max_iterations=2), structure=Chain(order=2), selection=FeatureSelection(start=True)
    )
    with pytest.raises(ValueError, match="order 2 and start weights, which CRFsuite's format"):
        crfsuite_bytes(two)
    bound = replace(model, structure=Chain(model.structure.labels, constraints=[Forbid("D", "V")]))
    with pytest.raises(ValueError, match="the model has constraints"):
        crfsuite_bytes(bound)
    hashed = train(ItemExtractor(hashed=32)(X, Y), stop=Stop(max_iterations=2))
    with pytest.raises(ValueError, match="have no names"):
        crfsuite_bytes(hashed)
    zero = train(ItemExtractor()([[["a\0b"], ["c"]]], [["P", "Q"]]), stop=Stop(max_iterations=2))
    with pytest.raises(ValueError, match="holds a NUL"):
        crfsuite_bytes(zero)
    still = replace(two, w=np.where(np.arange(len(two.w)) < two.layout.parts["start"].start, two.w, 0.0))
    with pytest.raises(ValueError, match="order 2, which"):  # weights of zero are no loss
        crfsuite_bytes(still)


def word(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + value.to_bytes(4, "little") + data[at + 4 :]


def test_quirks_and_damage(model: SequenceModel) -> None:
    data = crfsuite_bytes(model)
    read_crfsuite(word(data, 16, 77))  # the header's number of features means nothing
    read_crfsuite(data + b"behind the end")
    head = np.frombuffer(data[:48], dtype="<u4").tolist()
    bad = {
        "this is not a model of CRFsuite": b"XCRF" + data[4:],
        "expected FOMC": data[:8] + b"FOMX" + data[12:],
        "its version is 99": word(data, 12, 99),
        "the file is cut off": data[:-1],
        "there are 0 labels": word(data, 20, 0),
        "no list of 4 strings": word(data, 20, 4),
        "there is no FEAT chunk": word(data, 28, 49),
        "claims 268,435,455 features": word(data, 56, (1 << 28) - 1),
        "there is no database of labels": word(data, 32, 3),
        "has the byte order": word(data, head[8] + 12, 1),
        "lies outside it": word(data, head[10] + 12, 60),
        "lies between words": word(data, head[11] + 12, head[11] + 14 + 4 * head[6]),
        "does not belong to": word(data, 60, 1),
        "weight of feature 0 is nan": data[:72] + np.array([np.nan]).tobytes() + data[80:],
    }
    for message, damaged in bad.items():
        with pytest.raises(ValueError, match=message):
            read_crfsuite(damaged)
        with pytest.raises(ValueError, match=r"m\.bin cannot be read as a model of CRFsuite"):
            read_model_bytes(damaged, "crfsuite", source="m.bin")


def test_other_encodings(model: SequenceModel) -> None:
    data = crfsuite_bytes(model).replace("\u4e2d\n".encode(), b"\xe9\xe8\xff\n")
    with pytest.raises(ValueError, match=r'is not valid utf-8: .* encoding="latin-1"'):
        read_model_bytes(data)
    assert "éèÿ\n" in read_model_bytes(data, encoding="latin-1").attributes
    with pytest.raises(ValueError, match="which Python does not know"):
        read_model_bytes(data, encoding="latin-77")
    with pytest.raises(ValueError, match="kind is 'crf', expected one of"):
        read_model_bytes(data, "crf")


def test_a_hundred_thousand_attributes_are_quick() -> None:
    many = [[[f"attribute {i}", f"other {i}"]] for i in range(50_000)]
    large = train(ItemExtractor()(many, [["P"], ["Q"]] * 25_000), stop=Stop(max_iterations=1))
    data = crfsuite_bytes(large)
    assert crfsuite_bytes(read_crfsuite(data)) == data
