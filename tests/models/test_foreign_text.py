"""Models of CRF++, Wapiti and MALLET: the answers of the originals, and what cannot be read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor
from crfkit.features.crfpp import parse_crfpp
from crfkit.models import SequenceModel
from crfkit.models.files import about, doubled, guess_kind, read_model, read_model_bytes, write_model
from crfkit.models.files.crfpp import UNIT, strings_of
from crfkit.models.files.plain import edge_strings
from crfkit.structures.chains.local import LocalChain
from tests.cases.foreign_models import (
    LABELS,
    MALLET,
    STRINGS,
    WAPITI_NAMES,
    crfpp_binary,
    crfpp_text,
    crfpp_weights,
    double_array,
    wapiti_text,
    wapiti_weights,
)

GOLDEN = Path(os.environ.get("CRFKIT_DATA", "../shared/data")).parent / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="no files of the original programs here")
ROWS = Columns.from_rows([[("x", "P"), ("y", "Q"), ("Z", "P")], [("y", "R")]])


def scores(model: SequenceModel, columns: Columns) -> Any:
    assert model.recipe is not None
    label = model.label_column if len(columns.names) > 2 else None
    return model.potentials(model.batch_of(Extractor(model.recipe, label=label)(columns)))


def blocks(path: Path) -> Iterator[list[str]]:
    for block in path.read_text().split("\n\n"):
        if block.strip():
            yield block.strip("\n").split("\n")


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


# ---- Wapiti


@needs_golden
@pytest.mark.parametrize("name", ["lbfgs", "sgd", "maxent"])
def test_wapiti_scores_and_marginals(name: str) -> None:
    folder = GOLDEN / "wapiti"
    model = read_model(folder / f"model_{name}.txt.gz")
    assert model.layout.order == (0 if name == "maxent" else 1)
    potentials = scores(model, crfkit.read(folder / "test.txt", format="wapiti"))  # type: ignore[arg-type]
    names, ptr = model.names.labels.strings(), potentials.seq_ptr
    best, p = inference.decode(potentials), inference.marginals(potentials).node
    likely = inference.decode(potentials, "posterior")
    for n, (head, *rows) in enumerate(blocks(folder / f"out_{name}.score.txt")):
        assert best[n].score == pytest.approx(float(head.split()[-1]), abs=1e-5)
        assert [names[y] for y in best[n].labels] == [row.split("\t")[1] for row in rows]
    for n, (_, *rows) in enumerate(blocks(folder / f"out_{name}.post.txt")):
        for t, row in enumerate(rows):
            _, tag, field = row.split("\t")
            assert tag == names[likely[n].labels[t]]
            probability = float(field.rsplit("/", 1)[1])
            assert p[ptr[n] + t, names.index(tag)] == pytest.approx(probability, abs=1e-6)


@needs_golden
def test_wapiti_memm() -> None:
    """Wapiti prints the probability of the labeling, and of each label after the one before."""
    folder = GOLDEN / "wapiti"
    model = read_model(folder / "model_memm.txt.gz")
    potentials = scores(model, crfkit.read(folder / "test.txt", format="wapiti"))  # type: ignore[arg-type]
    np.testing.assert_allclose(inference.log_partition(potentials), 0.0, atol=1e-9)
    names, best = model.names.labels.strings(), inference.decode(potentials)
    expected = list(blocks(folder / "out_memm.score.txt"))
    assert len(best) == len(expected) > 1
    for n, (head, *rows) in enumerate(expected):
        found, begin = best[n].labels.tolist(), int(potentials.seq_ptr[n])
        assert np.exp(best[n].score) == pytest.approx(float(head.split()[-1]), abs=1e-6)
        for t, row in enumerate(rows):
            _, tag, field = row.split("\t")
            assert tag == names[found[t]]
            step = (
                potentials.edge[0][begin + t, found[t - 1], found[t]]
                if t
                else potentials.node[begin, found[0]]
            )
            assert np.exp(step) == pytest.approx(float(field.rsplit("/", 1)[1]), abs=1e-6)


@needs_golden
def test_wapiti_best_labelings() -> None:
    folder = GOLDEN / "wapiti"
    model = read_model(folder / "model_lbfgs.txt.gz")
    potentials = scores(model, crfkit.read(folder / "test.txt", format="wapiti"))  # type: ignore[arg-type]
    names = model.names.labels.strings()
    expected = list(blocks(folder / "out_lbfgs.n4.txt"))
    found = [y for ys in inference.kbest(potentials, 4) for y in ys]
    assert len(found) == len(expected)
    for labeling, (head, *rows) in zip(found, expected, strict=True):
        assert labeling.score == pytest.approx(float(head.split()[-1]), abs=1e-5)
        assert [names[y] for y in labeling.labels] == [row.split("\t")[1] for row in rows]


@needs_golden
def test_wapiti_dump() -> None:
    model = read_model(GOLDEN / "wapiti" / "model_lbfgs.txt.gz")
    names = model.names.labels.strings()
    edges, table = model.layout.edge_ptr, model.layout.transition_tables(model.w)[0]
    seen = 0
    for line in gzip.decompress((GOLDEN / "wapiti" / "dump_lbfgs.txt.gz").read_bytes()).decode().split("\n"):
        if not line.strip():
            continue
        name, before, label, weight = line.split("\t")
        y = names.index(label)
        if before == "#":
            a = model.attributes.find(name)
            row = slice(*model.layout.node_ptr[a : a + 2].tolist())
            found = model.w[row][model.layout.node_label[row] == y]
        elif name == "*":
            found = table[names.index(before), y : y + 1]
        else:
            e = model.edge_attributes.find(name)
            row = slice(*edges[e : e + 2].tolist())
            cells = model.layout.edge_cell[row] == names.index(before) * len(names) + y
            found = model.w[model.layout.parts["edge"]][row][cells]
        assert found.tolist() == pytest.approx([float(weight)], abs=1e-7)
        seen += 1
    assert seen == 2245


def test_wapiti_by_hand() -> None:
    weights, L = wapiti_weights(), 3
    at, place = 0, {}
    for name in WAPITI_NAMES:
        place[name] = at
        at += {"u": L, "b": L * L, "*": L + L * L}[name[0]]

    def labels(name: str) -> np.ndarray:
        return weights[place[name] : place[name] + L]

    def steps(name: str) -> np.ndarray:
        first = place[name] + (L if name[0] == "*" else 0)
        return weights[first : first + L * L].reshape(L, L)

    potentials = scores(read_model_bytes(wapiti_text()), ROWS)
    node = [
        labels("*") + labels("u:x") + labels("*:p=_x-1"),
        labels("*") + labels("u:y") + labels("*:p=p"),
        labels("*"),
        labels("*") + labels("u:y") + labels("*:p=_x-1"),
    ]
    np.testing.assert_allclose(potentials.node, node, rtol=1e-12)
    edge = potentials.edge[0]
    np.testing.assert_allclose(edge[1], steps("*") + steps("*:p=p") + steps("b:false"), rtol=1e-12)
    np.testing.assert_allclose(edge[2], steps("*") + steps("b:true"), rtol=1e-12)
    independent = scores(read_model_bytes(wapiti_text(kind=0)), ROWS)
    assert independent.structure.order == 0
    np.testing.assert_allclose(independent.node, node, rtol=1e-12)


def test_wapiti_memm_by_hand(tmp_path: Path) -> None:
    """Probabilities are products of softmaxes, in every query and after the model was saved."""
    plain = scores(read_model_bytes(wapiti_text()), ROWS)
    model = read_model_bytes(wapiti_text(kind=1))
    assert model.structure.kind == "local-chain"
    model.save(tmp_path / "memm.crf", compact=True)
    assert about(tmp_path / "memm.crf").weights == len(model.w)
    labels = list(product(range(3), repeat=3))
    expected = []
    for path in labels:
        p = 1.0
        for t, y in enumerate(path):
            row = np.exp(plain.node[t] + (plain.edge[0][t, path[t - 1]] if t else 0.0))
            p *= row[y] / row.sum()
        expected.append(p)
    for made in (model, SequenceModel.load(tmp_path / "memm.crf")):
        potentials = scores(made, ROWS)
        for path, p in zip(labels, expected, strict=True):
            found = inference.log_prob(potentials, [*path, 0])[0]
            assert found == pytest.approx(np.log(p), rel=1e-12)
        by_label = np.zeros((3, 3))
        for path, p in zip(labels, expected, strict=True):
            by_label[np.arange(3), path] += p
        np.testing.assert_allclose(inference.marginals(potentials).node[:3], by_label, rtol=1e-12)
        best = labels[int(np.argmax(expected))]
        assert inference.decode(potentials)[0].labels.tolist() == list(best)
    with pytest.raises(ValueError, match="steps that are normalized by themselves"):
        write_model(model, tmp_path / "m.crfsuite", "crfsuite")
    with pytest.raises(ValueError, match="not sums of weights"):
        model.explain(Batch([0, 0], [0], []))  # type: ignore[arg-type]
    independent = read_model_bytes(wapiti_text(kind=0))
    with pytest.raises(ValueError, match="does not fit a local chain: its slots edge, transition differ"):
        replace(independent, structure=LocalChain(independent.labels))
    with pytest.raises(ValueError, match="has order 2 and 0 constraints"):
        LocalChain(["a", "b"], order=2)


def test_wapiti_without_patterns() -> None:
    model = read_model_bytes(wapiti_text(patterns=[]))
    assert model.recipe is None
    assert model.attributes.strings() == [name for name in WAPITI_NAMES if name[0] in "u*"]
    assert model.edge_attributes.strings() == [name for name in WAPITI_NAMES if name[0] in "b*"]
    old = wapiti_text().replace(b"#mdl#2#", b"#mdl#").replace(b"/1/0", b"/1")
    assert read_model_bytes(old).w.tobytes() == read_model_bytes(wapiti_text()).w.tobytes()


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (wapiti_text(kind=7), "its type is 7"),
        (wapiti_text()[:-30], "the file is cut off"),
        (wapiti_text()[:40], "the file is cut off"),
        (wapiti_text().replace(b"3:u:x,", b"4:u:x,"), "is not a netstring"),
        (wapiti_text().replace(b"3:u:x,", b"3:v:x,"), "begins with neither u, b nor"),
        (wapiti_text().replace(b"\n1=", b"\n1000=", 1), "outside 0 to"),
        (wapiti_text().replace(b"\n1=0x", b"\n1=zz", 1), "is not a place and weight"),
        (wapiti_text().replace(b"\n1=", b"\n1=0x1p+99999999#", 1), "is not a place and weight"),
        (wapiti_text().replace(b"#rdr#4", b"#rdr#x"), "is not a rdr line"),
        (wapiti_text(patterns=["q:%x[0,0]"]), "a Wapiti pattern begins with u, b or"),
    ],
)
def test_wapiti_damage(damaged: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"m.txt cannot be read as a model of Wapiti.*{message}"):
        read_model_bytes(damaged, source="m.txt")


# ---- MALLET


def mallet_score(path: tuple[str, ...], tokens: list[list[str]]) -> float:
    """Score a path as MALLET does, from the text above."""
    sets = {
        "O,O": (0.5, {"W=a": 1.5, "x = y": -0.25}),
        "O,B": (-0.5, {"W=a": 0.75, "W=b": 0.2}),
        "B,O": (0.125, {"W=b": -1.0}),
        "shared": (0.0625, {"W=a": 0.03125}),
    }
    total, before = 0.0, "O"
    for label, token in zip(path, tokens, strict=True):
        used = [f"{before},{label}"] + (["shared"] if before == "B" else [])
        for name in used:
            if name not in sets:
                return -np.inf
            default, weights = sets[name]
            total += default + sum(weights.get(f, 0.0) for f in token)
        before = label
    return total + (0.25 if before == "B" else 0.0)


def test_mallet_by_enumeration() -> None:
    model = read_model_bytes(MALLET.encode())
    assert model.names.labels.strings() == ["O", "B"]
    assert sorted(model.attributes.strings()) == ["W=a", "W=b", "x = y"]
    tokens = [["W=a", "new"], ["W=b", "x = y"], ["W=a", "W=a"], []]
    given = doubled(ItemExtractor()([tokens]))
    potentials = model.potentials(model.batch_of(given)).sequence(0)
    everything = {path: mallet_score(path, tokens) for path in product("OB", repeat=len(tokens))}
    for path, expected in everything.items():
        assert inference.score(potentials, list(path)) == pytest.approx(expected, abs=1e-12)
    total = np.logaddexp.reduce(list(everything.values()))
    assert inference.log_partition(potentials) == pytest.approx(total, abs=1e-12)
    assert model.predict(given) == [list(max(everything, key=lambda path: everything[tuple(path)]))]
    again = SequenceModel.from_bytes(model.to_bytes())
    assert again.predict(given) == model.predict(given)


def test_mallet_weights_by_label_alone_need_no_edges() -> None:
    text = MALLET.replace('WEIGHTS = "B,O"', 'WEIGHTS = "O,O"').replace('        WEIGHTS = "shared"\n', "")
    model = read_model_bytes(text.encode())
    assert len(model.edge_attributes) == 0
    assert model.predict(ItemExtractor()([[["W=a"], ["W=b"]]])) == [["O", "O"]]


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (MALLET.replace("-Infinity", "0.0"), "differ; crfkit has no such start"),
        (MALLET.replace("initialWeight = 0.0", "initialWeight = -Infinity"), "no state can come before"),
        (MALLET.replace("*** CRF WEIGHTS ***", ""), "does not belong to a state"),
        (MALLET[:187], "there is no"),
        (MALLET.replace("(1 outgoing", "(2 outgoing"), "has 1 steps, but claims 2"),
        (MALLET.replace('"shared"', '"lost"'), "has no such state or weights"),
        (MALLET.replace("0.75", "NaN"), "a weight is NaN"),
        (MALLET.replace("= 0.75", ""), "is not a feature and weight"),
    ],
)
def test_mallet_damage(damaged: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"m.txt cannot be read as a model of MALLET.*{message}"):
        read_model_bytes(damaged.encode(), "mallet", source="m.txt")


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
