"""Models of CRF++: the answers of the original, what cannot be read; and what all kinds share."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import inference
from crfkit.features.crfpp import parse_crfpp
from crfkit.models import SequenceModel
from crfkit.models.files import guess_kind, read_model, read_model_bytes
from crfkit.models.files.crfpp import UNIT, strings_of
from crfkit.models.files.plain import edge_strings
from tests.cases.foreign_answers import ROWS, blocks, scores
from tests.cases.foreign_models import (
    LABELS,
    MALLET,
    STRINGS,
    crfpp_binary,
    crfpp_text,
    crfpp_weights,
    double_array,
    wapiti_text,
)
from tests.cases.real_data import GOLDEN, needs_golden

# ---- CRF++


@needs_golden
@pytest.mark.parametrize(
    ("file", "answers"),
    [
        ("model", "test.v2.txt"),
        ("model.txt.gz", "test.v2.txt"),
        ("model_l1.txt.gz", "test_l1.v1.txt"),
        ("model_mira.txt.gz", "test_mira.v1.txt"),
    ],
)
def test_crfpp_tags_and_marginals(file: str, answers: str) -> None:
    model = read_model(GOLDEN / "crfpp" / file)
    potentials = scores(model, crfkit.read(GOLDEN / "crfpp" / "test.txt", format="crfpp"))  # type: ignore[arg-type]
    names, ptr = model.names.labels.strings(), potentials.seq_ptr
    best, total = inference.decode(potentials), inference.log_partition(potentials)
    p = inference.marginals(potentials).node
    for n, (head, *rows) in enumerate(blocks(GOLDEN / "crfpp" / answers)):
        assert np.exp(best[n].score - total[n]) == pytest.approx(float(head.split()[-1]), abs=1e-6)
        for t, row in enumerate(rows):
            for k, field in enumerate(row.split("\t")[3:]):
                tag, probability = field.rsplit("/", 1)
                assert k > 0 or tag == names[best[n].labels[t]]
                assert p[ptr[n] + t, names.index(tag)] == pytest.approx(float(probability), abs=1e-6)


@needs_golden
def test_crfpp_best_labelings() -> None:
    model = read_model(GOLDEN / "crfpp" / "model")
    potentials = scores(model, crfkit.read(GOLDEN / "crfpp" / "test.txt", format="crfpp"))  # type: ignore[arg-type]
    names, total = model.names.labels.strings(), inference.log_partition(potentials)
    expected = list(blocks(GOLDEN / "crfpp" / "test.n5.txt"))
    found = [(y, total[n]) for n, ys in enumerate(inference.kbest(potentials, 5)) for y in ys]
    assert len(found) == len(expected)
    for (labeling, log_z), (head, *rows) in zip(found, expected, strict=True):
        assert np.exp(labeling.score - log_z) == pytest.approx(float(head.split()[-1]), abs=1e-6)
        assert [names[y] for y in labeling.labels] == [row.split("\t")[3].rsplit("/", 1)[0] for row in rows]


@pytest.mark.parametrize("cost", [1.0, 0.25])
def test_crfpp_text_and_binary_by_hand(cost: float) -> None:
    ids, weights = crfpp_weights()
    for file in (crfpp_text(str(cost)), crfpp_binary(cost), gzip.compress(crfpp_text(str(cost)))):
        model = read_model_bytes(file)
        potentials = scores(model, ROWS)

        def block(name: str, size: int) -> np.ndarray:
            return cost * weights[ids[name] : ids[name] + size]

        node = [block("U00:x", 3) + block("U01:_B-1/x", 3), block("U00:y", 3) + block("U01:x/y", 3)]
        np.testing.assert_allclose(potentials.node, [*node, np.zeros(3), block("U00:y", 3)], rtol=1e-12)
        plain = block("B", 9).reshape(3, 3)
        edge = potentials.edge[0]
        np.testing.assert_allclose(edge[1], plain + block("B01:Q", 9).reshape(3, 3), rtol=1e-12)
        np.testing.assert_allclose(edge[2], plain + block("B01:P", 9).reshape(3, 3), rtol=1e-12)
        assert model.names.labels.strings() == LABELS


def test_crfpp_plain_transitions_need_no_edge_attributes() -> None:
    text = crfpp_text().replace(b"\nB01:%x[0,1]", b"")
    model = read_model_bytes(text)
    assert len(model.edge_attributes) == 0
    twice = read_model_bytes(text.replace(b"]\nB\n", b"]\nB\nB\n"))
    one, two = scores(model, ROWS).edge[0], scores(twice, ROWS).edge[0]
    np.testing.assert_allclose(two, 2 * one)


def test_strings_of_plain_transitions_that_fields_make_too() -> None:
    """B01:P stands for every step, and once more where the column holds P."""
    text = crfpp_text().replace(b"]\nB\nB01", b"]\nB01:P\nB01")
    ids, weights = crfpp_weights()
    steps = [
        weights[ids[name] : ids[name] + 9].reshape(3, 3) for name in ("B01:P", "B01:Q")
    ]  # of every step, of Q
    edge = scores(read_model_bytes(text), ROWS).edge[0]
    np.testing.assert_allclose(edge[1], steps[0] + steps[1], rtol=1e-12)
    np.testing.assert_allclose(edge[2], 2 * steps[0], rtol=1e-12)


# ---- as many weights as the original has


def test_weights_are_counted_as_in_the_file() -> None:
    for file in (crfpp_text(), crfpp_binary()):
        assert read_model_bytes(file).layout.weights == 39
    for kind in (1, 2):
        count = int(wapiti_text(kind).split(b"\n")[0].split(b"#")[-1])
        assert read_model_bytes(wapiti_text(kind)).layout.weights == count


@needs_golden
@pytest.mark.parametrize(
    ("file", "count"),
    [
        ("crfpp/model", 90020),
        ("crfpp/model.txt.gz", 90020),
        ("crfpp/model_l1.txt.gz", 2654),
        ("wapiti/model_lbfgs.txt.gz", 2245),
        ("wapiti/model_sgd.txt.gz", 1294),
        ("wapiti/model_memm.txt.gz", 75838),
        ("wapiti/model_maxent.txt.gz", 69888),
    ],
)
def test_weights_are_counted_as_in_the_logs(file: str, count: int) -> None:
    assert read_model(GOLDEN / file).layout.weights == count


def test_double_arrays() -> None:
    strings = {name.encode(): i for i, name in enumerate(STRINGS)}
    strings |= {"é".encode(): 77, b"\xff\x01": 5, b"U": 3}
    found, ids = strings_of(double_array(strings), 10_000)
    assert dict(zip(found, ids.tolist(), strict=True)) == strings
    assert strings_of(np.zeros(0, dtype=UNIT), 10)[0] == []
    with pytest.raises(ValueError, match="strings without end"):
        strings_of(double_array(strings), 20)
    loop = double_array({b"ab": 1})
    loop[0]["base"] = 0
    assert strings_of(loop, 100)[0] == []


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (crfpp_text()[:-40], "weights, but maxid is 39: the file is cut off"),
        (crfpp_text()[:60], "a section is missing"),
        (crfpp_text().replace(b"100", b"101"), "its version is 101"),
        (crfpp_text().replace(b"xsize", b"zsize"), "first four lines"),
        (crfpp_text().replace(b"0.", b"z.", 1), "is not a number"),
        (crfpp_text().replace(b" U00:x", b" X00:x"), "neither U nor B"),
        (crfpp_text().replace(b"\n0 U00:x", b"\n38 U00:x"), "own more than the 39 weights"),
        (crfpp_text("nan"), "is not finite"),
        (crfpp_text().replace(b"U00:%x[0,0]", b"U00:%q[0,0]"), "is not a macro"),
        (crfpp_text().replace(b"\nC\n", b"\nA\n"), "the label 'A' occurs twice"),
        (crfpp_binary()[:-4], "cut off"),
        (crfpp_binary()[:20], "too short"),
        (crfpp_binary() + b"\0", "cut off or damaged"),
    ],
)
def test_crfpp_damage(damaged: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"m.bin cannot be read as a model of CRF.*{message}"):
        read_model_bytes(damaged, "crfpp", source="m.bin")


# ---- any


def test_kinds_are_guessed(tmp_path: Path) -> None:
    kinds = {"crfpp": [crfpp_text(), crfpp_binary()], "wapiti": [wapiti_text()], "mallet": [MALLET.encode()]}
    for kind, files in kinds.items():
        for file in files:
            assert guess_kind(file) == kind
            (tmp_path / "m").write_bytes(file)
            assert isinstance(read_model(tmp_path / "m"), SequenceModel)
    (tmp_path / "m").write_bytes(b"word tag\n" * 100)
    with pytest.raises(ValueError, match="m is not a model that crfkit knows; give one of"):
        read_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("template", "name", "made"),
    [
        ("B%x[0,0]", "B", False),
        ("B%x[0,0]", "Bx", True),
        ("B:%x[0,0]/%x[1,0]", "B:a/b/c", True),
        ("B:%x[0,0]/%x[1,0]", "B://", False),
        ("B:%x[0,0]/%x[1,0]", "B:///", True),
        ("B:%x[0,0]%x[1,0]e", "B:ae", False),
        ("B:%x[0,0]%x[1,0]e", "B:eee", True),
        ("B:a%x[0,0]ab", "B:ab", False),
        ("B:%x[0,0]" + "%x[0,0]" * 60 + "!", "B:" + "a" * 5000, False),
    ],
)
def test_which_strings_fields_can_make(template: str, name: str, made: bool) -> None:
    recipe = parse_crfpp(f"{template}\n{name}")
    assert edge_strings(recipe, [name, "B!"]).tolist() == [made, True]


def test_too_many_templates_are_refused() -> None:
    lines = b"".join(b"B%d\nB%d:%%x[0,0]\n" % (i, i) for i in range(1500))
    with pytest.raises(ValueError, match="has 3,002 templates, which are too many"):
        read_model_bytes(crfpp_text().replace(b"\nB\nB01:%x[0,1]", b"\n" + lines.rstrip()))
