"""Conjunctions of attributes: made of ids, kept by models, the same for data of any kind."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, _native, train
from crfkit.data import Dataset
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.features import Conjunctions, Extractor, ItemExtractor, Recipe
from crfkit.features.conjunctions import conjoined
from crfkit.models import SequenceModel, Tagger
from crfkit.models.decoder import covers
from crfkit.models.files import write_model
from crfkit.models.files.recipes import conjunctions_of
from crfkit.training import BlockedData

PAIRS = [("a", "b"), ("b", "c"), ("a|b", "c"), ("d", "a"), ("a|b|c", "e"), ("a", "e")]


def rows(rng: np.random.Generator, count: int = 200, *, valued: bool = False) -> list[list[Any]]:
    """Return positions with some of the attributes a to f, some of them twice."""
    made: list[list[Any]] = []
    for _ in range(count):
        names = [str(name) for name in rng.choice(list("abcdef"), size=rng.integers(0, 8))]
        made.append([(name, float(rng.uniform(-2, 2))) for name in names] if valued else names)
    return made


def slowly(row: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the conjunctions of a row, by looking at all pairs of occurrences."""
    found, everything = [], list(row)
    for left, right in PAIRS:
        made = [
            (f"{left}|{right}", v * u)
            for (one, v), (two, u) in product(everything, row)
            if (one, two) == (left, right)
        ]
        everything += made
        found += made
    return found


@pytest.mark.parametrize("valued", [False, True])
def test_all_pairs_of_occurrences_become_conjunctions(valued: bool) -> None:
    rng = np.random.default_rng(3)
    given = rows(rng, valued=valued)
    items: Any = [dict.fromkeys([]) for _ in given]
    pairs = [row if valued else [(name, 1.0) for name in row] for row in given]
    names = ItemExtractor()([[list("abcdef")]]).attributes
    attr = [names.find(name) for row in pairs for name, _ in row]
    batch = ItemExtractor()([items]).batch
    batch = Batch(
        batch.seq_ptr,
        attr_ptr=np.cumsum([0, *map(len, pairs)]),
        attr=np.array(attr),
        value=np.array([v for row in pairs for _, v in row]) if valued else None,
    )
    made = Conjunctions(PAIRS)(Dataset(batch, names, names, names)).batch
    made_names = [*"abcdef", *Conjunctions(PAIRS).names]
    assert (made.value is None) == (not valued)
    for t, row in enumerate(pairs):
        at = slice(int(made.attr_ptr[t]), int(made.attr_ptr[t + 1]))
        found = [made_names[a] for a in made.attr[at].tolist()]
        values = [1.0] * len(found) if made.value is None else made.value[at].tolist()
        assert found[: len(row)] == [name for name, _ in row]
        wanted = sorted((name, round(v, 12)) for name, v in slowly(row))
        assert (
            sorted((n, round(v, 12)) for n, v in list(zip(found, values, strict=True))[len(row) :]) == wanted
        )


def xor(rng: np.random.Generator, count: int = 60) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return sequences whose labels say whether the two bits of a position are equal."""
    X, y = [], []
    for _ in range(count):
        bits = rng.integers(0, 2, size=(5, 2)).tolist()
        X.append([[f"u={u}", f"v={v}"] for u, v in bits])
        y.append(["same" if u == v else "other" for u, v in bits])
    return X, y


BOTH = Conjunctions([(f"u={u}", f"v={v}") for u in (0, 1) for v in (0, 1)])


def learned(**options: Any) -> tuple[SequenceModel, list[list[list[str]]], list[list[str]]]:
    X, y = xor(np.random.default_rng(5))
    return train(BOTH(ItemExtractor()(X[:40], y[:40])), **options), X[40:], y[40:]


def test_doing_it_twice_and_on_threads_changes_nothing() -> None:
    X, y = xor(np.random.default_rng(2), 3000)
    data = ItemExtractor()(X, y)
    once = BOTH(data, threads=1)
    table = BOTH.table(once.attributes)
    for threads in (1, 3):
        again = conjoined(once.batch, table, threads)
        assert again.attr.tolist() == once.batch.attr.tolist()
        assert again.attr_ptr.tolist() == once.batch.attr_ptr.tolist()
    assert len(once.batch.attr) == 3 * data.batch.positions


def test_a_model_makes_them_of_data_of_every_kind(tmp_path: Path) -> None:
    model, X, y = learned()
    data = ItemExtractor()(X, y)
    path = tmp_path / "m.crf"
    model.save(path)
    loaded = SequenceModel.load(path)
    assert loaded.conjunctions == BOTH
    for one in (model, loaded, SequenceModel.from_bytes(model.to_bytes(compact=True))):
        assert one.predict(X) == one.predict(data) == y
        assert one.predict(one.dataset(X).batch) == y  # ids of the model
        assert one.predict(one.batch_of(X)) == y
        assert [Tagger(one).tag(sequence) for sequence in X] == y
        assert one.score(X, y=y) == 1.0
        np.testing.assert_allclose(
            one.log_prob(X, y), [Tagger(one).log_prob(*pair) for pair in zip(X, y, strict=True)]
        )
    assert covers(model) == "conjunctions of attributes"
    names = {part.name for part in loaded.explain(X[0])[0].contributions}
    assert names & set(BOTH.names)


def test_parts_without_weights_stay_in_the_file() -> None:
    model, X, y = learned()
    w = model.w.copy()
    parts = [name for name in model.attributes.strings() if "|" not in name]
    for a in model.attributes.ids(parts).tolist():
        w[model.layout.node_ptr[a] : model.layout.node_ptr[a + 1]] = 0.0
    silent = replace(model, w=w)
    for compact in (False, True):
        again = SequenceModel.from_bytes(silent.to_bytes(compact=compact))
        assert again.predict(X) == y
        assert set(parts) <= set(again.attributes.strings())
    for a in model.attributes.ids(["u=1|v=1", "u=0|v=1"]).tolist():
        w[model.layout.node_ptr[a] : model.layout.node_ptr[a + 1]] = 0.0
    fewer = SequenceModel.from_bytes(replace(model, w=w).to_bytes())
    assert set(fewer.attributes.strings()) == {"u=0", "v=0", "u=1", "u=0|v=0", "u=1|v=0"}
    assert fewer.conjunctions is not None
    assert set(fewer.conjunctions.names) == {"u=0|v=0", "u=1|v=0"}


def test_with_a_recipe_and_in_blocks(tmp_path: Path) -> None:
    X, y = xor(np.random.default_rng(8))
    tokens = [
        [(u, v, label) for (u, v), label in zip(s, labels, strict=True)]
        for s, labels in zip(X, y, strict=True)
    ]
    columns = Columns.from_rows(tokens, names=["u", "v", "tag"])
    data = Extractor(Recipe.parse("u[0]; v[0]"), label="tag")(columns)
    made = Conjunctions([(f"u[0]=u={u}", f"v[0]=v={v}") for u in (0, 1) for v in (0, 1)])(data)
    blocks = BlockedData.write(tmp_path / "blocks", [made])
    for model in (train(made), train(blocks)):
        assert model.predict(columns) == y
        assert SequenceModel.from_bytes(model.to_bytes()).predict(columns) == y


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    for pairs, why in [
        ([("a", "b"), ("a", "b")], "'a|b' is given twice"),
        ([("a", "b"), ("c", "a|b")], "the right part must be an attribute of the data"),
        ([("a|b", "c"), ("a", "b")], "an earlier conjunction"),
        ([("a", "a")], "another attribute"),
    ]:
        with pytest.raises(ValueError, match=why.replace("|", r"\|")):
            Conjunctions(pairs)
    name, deep = "a", []
    for n in range(64):
        deep.append((name, f"p{n}"))
        name += f"|p{n}"
    with pytest.raises(ValueError, match="has more than 64 parts"):
        Conjunctions(deep)
    data = ItemExtractor()([[["a", "b", "a|b"]]], [["X"]])
    with pytest.raises(ValueError, match=r"the data have an attribute 'a\|b' already"):
        Conjunctions([("a", "b")])(data)
    with pytest.raises(ValueError, match="hashed ids or ids without names"):
        Conjunctions([("a", "b")])(ItemExtractor(hashed=16)([[["a", "b"]]], [["X"]]))
    model, _, _ = learned()
    with pytest.raises(ValueError, match="conjunctions of attributes, which CRFsuite's format cannot hold"):
        write_model(model, tmp_path / "m.crfsuite", "crfsuite")


def test_damaged_conjunctions_of_files_are_refused() -> None:
    names = learned()[0].attributes
    whole = {name: names.find(name) for name in names}
    good = np.array([[whole["u=0"], whole["v=0"]]], dtype=np.int32)
    assert conjunctions_of(good, names) == Conjunctions([("u=0", "v=0")])
    cases: list[tuple[Any, str]] = [
        (good.astype(np.int64), "expected pairs"),
        (good.ravel(), "expected pairs"),
        (good + np.int32(len(names)), "not an attribute"),
        (-good - 1, "not an attribute"),
        (good[:, ::-1].copy(), "a conjunction is not an attribute of the model"),
    ]
    for wrong, why in cases:
        with pytest.raises(ValueError, match=why):
            conjunctions_of(wrong, names)


def test_native_tables_are_checked() -> None:
    def make(ptr: list[int], right: list[int], made: list[int]) -> _native.Conjunctions:
        return _native.Conjunctions(
            np.array(ptr, dtype=np.int64), np.array(right, dtype=np.int32), np.array(made, dtype=np.int32)
        )

    make([0, 1, 1, 1], [1], [2])
    for ptr, right, made, why in [
        ([0, 1, 1], [1], [2], "not below 2"),
        ([0, 1, 1, 1], [2], [2], "is a conjunction itself"),
        ([0, 2, 2, 2], [1, 1], [2, 2], "do not rise"),
        ([0, 1, 2, 2], [1, 0], [2, 2], "is made twice"),
        ([0, 0, 1, 1], [0], [1], "more than 64 parts"),
    ]:
        with pytest.raises(ValueError, match=why):
            make(ptr, right, made)


def test_features_of_conjunctions_follow_the_options() -> None:
    model, X, y = learned(selection=FeatureSelection(min_count=3))
    assert model.predict(X) == y
