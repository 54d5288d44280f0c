"""The face of python-crfsuite: tagger, items, dumps and model files."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest

import crfkit.compat.pycrfsuite as pycrfsuite
from crfkit.compat.pycrfsuite._dumpparser import CRFsuiteDumpParser
from tests.cases.real_data import DATA

X = [[["a"], ["b"]], [["a"], ["a"], ["b"]]] * 3
Y = [["A", "B"], ["A", "A", "B"]] * 3


@pytest.fixture
def model(tmp_path: Path) -> str:
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "m"))
    return str(tmp_path / "m")


def test_tagger(model: str) -> None:
    tagger = pycrfsuite.Tagger()
    for call in (tagger.labels, tagger.tag, lambda: tagger.set([]), lambda: tagger.marginal("A", 0)):
        with pytest.raises(ValueError, match="The tagger is not opened"):
            call()
    with pytest.raises(RuntimeError, match="Tagger is closed"):
        tagger.info()
    tagger.open(model.encode())
    assert tagger.tag() == []
    assert tagger.probability([]) == 0.0
    assert tagger.tag(tuple(X[0])) == tagger.tag(iter(X[0])) == ["A", "B"]
    assert tagger.tag(pycrfsuite.ItemSequence(X[0])) == ["A", "B"]
    total = sum(tagger.probability((a, b)) for a in "AB" for b in "AB")
    assert total == pytest.approx(1.0)
    assert tagger.marginal(b"A", 0) + tagger.marginal("B", 0) == pytest.approx(1.0)
    assert tagger.probability("AB") == pytest.approx(0.65853958, abs=1e-4)  # of CRFsuite
    with pytest.raises(ValueError, match=r"The position, 2is out of range of 2"):
        tagger.marginal("A", 2)
    with pytest.raises(RuntimeError, match="Failed to convert into label identifier: Z"):
        tagger.probability(["A", "Z"])
    with pytest.raises(ValueError, match=r"\|x\| = 2, \|y\| = 1"):
        tagger.probability(["A"])
    assert tagger.tag([["a", "a"]]) == ["A"]
    assert tagger.tag([]) == []
    tagger.close()
    tagger.close()


def test_bad_models(tmp_path: Path, model: str) -> None:
    tagger, bad = pycrfsuite.Tagger(), tmp_path / "bad"
    with pytest.raises(FileNotFoundError):
        tagger.open(str(tmp_path / "none"))
    whole = Path(model).read_bytes()
    for data, message in [
        (b"foo" * 30, "Invalid model file"),
        (b"lCRFxx", "doesn't have a complete header"),
        (b"lCRFfoo" * 100, "Error opening model file"),
        (whole[:-9], "cut off"),
    ]:
        bad.write_bytes(data)
        with pytest.raises(ValueError, match=message):
            tagger.open(str(bad))
    with pytest.raises(ValueError, match=r"^Invalid model$"):
        tagger.open_inmemory(b"")
    with pytest.raises(ValueError, match=r"^Invalid model: incomplete header$"):
        tagger.open_inmemory(b"lCRF")
    with pytest.raises(TypeError):
        tagger.open_inmemory("x")  # type: ignore[arg-type]
    tagger.open_inmemory(whole)
    assert tagger.labels() == ["A", "B"]


def test_dump_and_info(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a --> b"], ["c:\r\nd"]], ["x --> y", "z"])
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    info = tagger.info()
    assert set(info.attributes) == {"a --> b", "c:\r\nd"}
    assert ("x --> y", "z") in info.transitions
    (tmp_path / "dump").write_bytes(b"x" * 9999)  # longer than the dump, which must replace all of it
    tagger.dump(str(tmp_path / "dump"))
    parser = CRFsuiteDumpParser()
    text = (tmp_path / "dump").read_bytes().decode().replace("c:\r\nd", "c")
    for line in text.splitlines():
        parser.feed(line)
    assert parser.result.header == info.header
    assert parser.result.transitions == info.transitions
    assert parser.result.state_features[("a --> b", "x --> y")] == info.state_features["a --> b", "x --> y"]
    parser.state = "TRANSITIONS"
    with pytest.raises(ValueError, match="is not a feature"):
        parser.feed("(1) nothing")


def test_item_sequences() -> None:
    sequence = pycrfsuite.ItemSequence([["a", "a"], {"x": {"y": "z", "q": 2}, "k": True, "b": b"v"}])
    expected = [{"a": 1.0}, {"x:y:z": 1.0, "x:q": 2.0, "k": 1.0, "b:v": 1.0}]
    assert sequence.items() == expected == pycrfsuite.ItemSequence(sequence).items()
    assert copy.copy(sequence).items() == expected
    assert len(sequence) == 2
    for bad in ("foo", ["foo"], [[{"foo": 1.0}]], [{"a": float("nan")}]):
        with pytest.raises((ValueError, TypeError)):
            pycrfsuite.ItemSequence(bad)


def test_errors_can_be_made() -> None:
    error = pycrfsuite.CRFSuiteError(-2147483643)
    assert error.code == -2147483643
    assert str(error) == "Overflow (code -2147483643)"
    assert pycrfsuite.CRFSUITE_VERSION == "0.12.2"


def test_files_go_both_ways(tmp_path: Path) -> None:
    peer = pytest.importorskip("pycrfsuite")
    if peer.__name__ != "pycrfsuite":
        pytest.skip("the name is taken by crfkit's own face")
    rng = random.Random(0)
    data = [
        [{"w": str(rng.randrange(9)), "v": rng.random()} for _ in range(rng.randint(1, 6))] for _ in range(40)
    ]
    gold = [["ABC"[int(str(item["w"])) % 3] for item in x] for x in data]
    for package in (peer, pycrfsuite):
        trainer = package.Trainer("lbfgs", {"c1": 0.1}, verbose=False)
        for x, y in zip(data, gold, strict=True):
            trainer.append(x, y)
        trainer.train(str(tmp_path / "m"))
        one, two = peer.Tagger(), pycrfsuite.Tagger()
        one.open(str(tmp_path / "m"))
        two.open(str(tmp_path / "m"))
        assert one.labels() == two.labels()
        assert vars(one.info()) == vars(two.info())
        for x in data:
            assert one.tag(x) == two.tag(x)
            y = two.tag(x)
            assert one.probability(y) == pytest.approx(two.probability(y), abs=1e-9)


@pytest.mark.parametrize("name", ["usaddress", "mytokenize_wordseg"])
def test_real_models(name: str) -> None:
    path = DATA.parent / "models" / f"{name}.crfsuite"
    if not path.exists():
        pytest.skip("the models are not here")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    for line in path.with_suffix(".jsonl").read_text().splitlines():
        case = json.loads(line)
        if not case["tie"]:
            assert tagger.tag(case["xseq"]) == case["labels"]
        tagger.set(case["xseq"])
        assert tagger.probability(case["labels"]) == pytest.approx(case["probability"], abs=1e-6)
    assert np.isfinite(list(tagger.info().state_features.values())).all()
