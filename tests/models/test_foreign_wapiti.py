"""Models of Wapiti: the answers of the original, and what cannot be read."""

from __future__ import annotations

import gzip
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import inference
from crfkit.data.batch import Batch
from crfkit.models import SequenceModel
from crfkit.models.files import about, read_model, read_model_bytes, write_model
from crfkit.structures.chains.local import LocalChain
from tests.cases.foreign_answers import ROWS, blocks, scores
from tests.cases.foreign_models import WAPITI_NAMES, wapiti_text, wapiti_weights
from tests.cases.real_data import GOLDEN, needs_golden


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
