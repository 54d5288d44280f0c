"""Explanations: contributions add up to the difference of two scores, whatever the model has."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from crfkit import Chain, FeatureSelection, Stop, inference, train
from crfkit.cli import app
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.models.model import SequenceModel
from crfkit.structures.constraints import START, Forbid, Scheme

LABELS = ("B-X", "I-X", "O")


def sentences(count: int = 30, seed: int = 1) -> list[list[tuple[str, str]]]:
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        rows, inside = [], False
        for _ in range(draw.randint(1, 7)):
            label = draw.choice(LABELS if inside else ("B-X", "O"))
            inside = label != "O"
            rows.append((f"{label[0].lower()}{draw.randint(0, 3)}", label))
        made.append(rows)
    return made


def columns_model(recipe: str, **options: Any) -> tuple[SequenceModel, Dataset]:
    extract = Extractor(Recipe.parse(recipe), label=1)
    data = extract(Columns.from_rows(sentences()))
    return train(data, optimizer="lbfgs", stop=Stop(max_iterations=8), **options), data


def dense_model() -> tuple[SequenceModel, Dataset]:
    draw = np.random.default_rng(0)
    y = [[label for _, label in rows] for rows in sentences()]
    items = [[{"w": token, "size": draw.normal()} for token, _ in rows] for rows in sentences()]
    X = [(mine, draw.normal(size=(len(mine), 3))) for mine in items]
    data = ItemExtractor()(X, y)
    return train(
        data,
        optimizer="lbfgs",
        stop=Stop(max_iterations=8),
        selection=FeatureSelection(start=True, stop=True),
    ), data


MODELS = {
    "plain": lambda: columns_model("0[-1..1]"),
    "edges": lambda: columns_model("0[0]; edge: 0[0]; both: 0[-1]"),
    "order 2": lambda: columns_model("0[0]; 0[-1]", structure=Chain(order=2)),
    "order 0": lambda: columns_model("0[0]", structure=Chain(order=0)),
    "constraints": lambda: columns_model(
        "0[0]",
        structure=Chain(constraints=[Scheme("BIO")]),
        selection=FeatureSelection(start=True, stop=True),
    ),
    "dense": dense_model,
}


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up(name: str) -> None:
    model, data = MODELS[name]()
    batch = model.batch_of(data)
    predicted, marginals = model.predict(data), model.predict_proba(data)
    kinds = set()
    for n in range(len(data)):
        decisions = model.explain(data[n : n + 1])
        assert [one.label for one in decisions] == predicted[n]
        potentials = model.potentials(batch.select([n]))
        best = float(inference.score(potentials, predicted[n])[0])
        for t, one in enumerate(decisions):
            assert one.probability == pytest.approx(marginals[n][t, model.names.labels.find(one.label)])
            assert one.runner_up is not None
            assert one.alternative[t] == one.runner_up != one.label
            other = float(inference.score(potentials, list(one.alternative))[0])
            assert one.difference == pytest.approx(best - other, abs=1e-9)
            assert one.difference >= -1e-12
            assert math.isfinite(other)
            sizes = [abs(c.amount) for c in one.contributions]
            assert sizes == sorted(sizes, reverse=True)
            kinds |= {c.kind for c in one.contributions}
    expected = {
        "edges": {"attribute", "edge", "transition"},
        "order 0": {"attribute"},
        "constraints": {"attribute", "transition", "start", "stop"},
        "dense": {"attribute", "transition", "start", "stop", "dense"},
    }
    assert kinds == expected.get(name, {"attribute", "transition"})


def test_a_wrong_sum_would_be_noticed() -> None:
    model, data = MODELS["plain"]()
    one = model.explain(data[:1])[0]
    assert math.fsum(c.amount for c in one.contributions[1:]) != pytest.approx(one.difference, abs=1e-9)


def test_no_other_label_is_possible() -> None:
    data = ItemExtractor()([[["a"], ["b"]]], [["X", "Y"]])
    model = train(data, optimizer="lbfgs", structure=Chain(constraints=[Forbid(START, "Y")]))
    decisions = model.explain([["a"]])
    assert [(d.label, d.runner_up, d.contributions) for d in decisions] == [("X", None, ())]
    empty = Batch(seq_ptr=[0, 0], attr_ptr=[0], attr=[])  # type: ignore[arg-type]
    assert len(model.explain(empty)) == 0
    assert str(decisions) == "position 0 is X (p = 1.000); no other label is possible"


def test_one_position_is_explained_as_among_all() -> None:
    model, data = MODELS["plain"]()
    whole = model.explain(data[:1])
    for t, one in enumerate(whole):
        (alone,) = model.explain(data[:1], at=t)
        assert alone == one == whole.at(t)
        assert alone.at == t
    with pytest.raises(KeyError):
        whole.at(len(whole))


def test_it_prints_as_a_table_and_becomes_plain_data() -> None:
    data = ItemExtractor()([[["the"], ["old"], ["dog"]], [["a"], ["dog"]]], [["D", "A", "N"], ["D", "N"]])
    made = train(data, optimizer="lbfgs").explain([["the"], ["dog"]])
    head, *rows = str(made).splitlines()
    assert head.startswith("position 0 is D (p = 0.")
    assert any(row.split()[1:] == ["attribute", "the"] for row in rows)
    assert any(row.endswith("[+1]") for row in rows)  # a weight of the next position
    plain = json.loads(json.dumps(made.to_dict()))["decisions"]
    assert [one["label"] for one in plain] == ["D", "N"]
    assert plain[0]["difference"] == pytest.approx(sum(c["amount"] for c in plain[0]["contributions"]))


def test_several_sequences_and_wrong_places_are_refused() -> None:
    model, data = MODELS["plain"]()
    with pytest.raises(
        ValueError, match=r"x has 30 sequences; explain one at a time, as in explain\(X\[0\]\)"
    ):
        model.explain(data)
    with pytest.raises(ValueError, match="at is 99, and the sequence has"):
        model.explain(data[:1], at=99)
    with pytest.raises(TypeError, match="at is 'a', expected a position"):
        model.explain(data[:1], at="a")  # type: ignore[arg-type]


def test_command(tmp_path: Path) -> None:
    model, _ = MODELS["plain"]()
    path, data = tmp_path / "m.crf", tmp_path / "data.txt"
    model.save(path)
    data.write_text("b1 ?\ni0 ?\n\no2 ?\n")
    run = CliRunner()
    done = run.invoke(app, ["explain", str(path), str(data), "--top", "1"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("b1 ?\tB-X ")
    assert lines[1].startswith("    over ")
    assert any(line.endswith(" others") for line in lines)
    done = run.invoke(app, ["explain", str(path), "--json", "--sequence", "2"], input=data.read_text())
    (one,) = json.loads(done.stdout)
    assert one["token"] == "o2 ?"
    assert one["difference"] == pytest.approx(sum(c["amount"] for c in one["contributions"]))
    done = run.invoke(app, ["explain", str(path), str(data), "--sequence", "3"])
    assert done.exit_code == 2
    assert "has 2 sequences; there is no sequence 3" in done.stderr
