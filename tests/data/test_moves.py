"""Batches cut, joined and renamed: no field is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit.data import Columns, Dataset, assemble
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.training import BlockedData
from tests.cases.batches import FULL


def full(**changes: Any) -> Batch:
    return Batch(**{**FULL, **changes})


def arrays_of(batch: Batch) -> dict[str, Any]:
    """Return every field as lists, and refuse a batch that its own checks would refuse."""
    found = {f.name: getattr(batch, f.name) for f in fields(Batch)}
    Batch(**found)
    return {name: None if array is None else array.tolist() for name, array in found.items()}


def same_name(name: str, count: int) -> dict[str, Any]:
    return {name: np.arange(count, dtype=np.int32)}


@pytest.mark.parametrize(
    "operation",
    [
        lambda b: b,
        lambda b: b.select([0, 1, 2]),
        lambda b: b.select(slice(None)),
        lambda b: b.select([2, 1, 0]).select(slice(None, None, -1)),
        lambda b: Batch.concat([b]),
        lambda b: Batch.concat([b.select([0]), b.select(slice(1, 3))]),
        lambda b: Batch.concat([b.select([0]), b.select([1]), b.select([2])]),
        lambda b: b.renamed(
            **same_name("labels", 3),
            **same_name("attributes", 3),
            **same_name("edges", 5),
            **same_name("segments", 4),
            label_count=3,
        ),
        lambda b: b.renamed(labels=np.array([2, 0, 1]), label_count=3).renamed(
            labels=np.array([1, 2, 0]), label_count=3
        ),
        lambda b: b.renamed(attributes=np.array([7, 5, 0]), edges=np.array([0, 0, 0, 0, 1])).renamed(
            attributes=np.array([2, 0, 0, 0, 0, 1, 0, 0]), edges=np.array([-1, 4])
        ),
        lambda b: assembled([dataset(b.select([0])), dataset(b.select([1, 2]))]),
        lambda b: assembled(list(assemble.cut([dataset(b)], 1))),
        lambda b: dataset(b).renamed(dataset(b, Alphabet)).batch,
    ],
)
def test_every_field_comes_back_from_every_operation(operation: Any) -> None:
    expected = arrays_of(full())
    assert None not in expected.values(), "FULL lacks a field: give it to FULL, and an axis to Batch"
    assert arrays_of(operation(full())) == expected


def assembled(parts: Sequence[Columns | Dataset]) -> Batch:
    made = assemble.concatenate(parts)
    assert isinstance(made, Dataset)
    return made.batch


LABELS, ATTRIBUTES, EDGES, SEGMENTS = (
    Alphabet("xyz"),
    Alphabet("abc"),
    Alphabet("abcde"),
    Alphabet("abcd"),
)


def dataset(batch: Batch, made: Callable[[Alphabet], Alphabet] = lambda alphabet: alphabet) -> Dataset:
    return Dataset(batch, made(LABELS), made(ATTRIBUTES), made(EDGES), made(SEGMENTS))


def test_what_a_batch_lacks_is_filled_in() -> None:
    for name, filled in (
        ("value", [1.0] * 5),
        ("label", [-1] * 3),
        ("edge_value", [1.0]),
        ("weight", [1.0] * 3),
        ("allowed", [[True] * 3] * 3),
        ("segment_value", [1.0] * 4),
    ):
        both = arrays_of(Batch.concat([full(**{name: None}), full()]))
        assert both[name] == filled + FULL[name]
    for name in ("edge", "segment"):
        lacking = {f"{name}_{part}": None for part in ("ptr", "attr", "value")}
        both = arrays_of(Batch.concat([full(**lacking), full()]))
        assert both[f"{name}_attr"] == FULL[f"{name}_attr"]
        assert both[f"{name}_ptr"][-len(FULL[f"{name}_ptr"]) :] == FULL[f"{name}_ptr"]
    for name in ("dense", "soft", "begin"):
        with pytest.raises(ValueError, match=f"some batches have {name} and others do not"):
            Batch.concat([full(), full(**{name: None})])
        assert arrays_of(Batch.concat([full(), full(**{name: None}).select([1])]))[name]
    with pytest.raises(ValueError, match="dense has 1 columns in one batch and others"):
        Batch.concat([full(), full(dense=np.zeros((3, 2)))])
    with pytest.raises(ValueError, match=r"segments of up to \[1, 2\] positions"):
        Batch.concat([full(), full(segment_ptr=[0, 4, 4, 4])])
    with pytest.raises(ValueError, match="batches is empty"):
        Batch.concat([])


def test_new_ids() -> None:
    new = full(soft=None).renamed(
        labels=np.array([1, -1, 0]), attributes=np.array([3, -1, -1]), label_count=2
    )
    assert new.attr_ptr.tolist() == [0, 1, 2, 2]
    assert new.attr.tolist() == [3, 3]
    assert new.value is not None
    assert new.value.tolist() == [1.0, 0.5]
    assert new.label is not None
    assert new.label.tolist() == [1, -1, -1]
    assert new.allowed is not None
    assert new.allowed.tolist() == [[False, True], [True, True], [True, False]]
    nothing_left = full(soft=None, allowed=[[0, 1, 0]] * 3).renamed(
        labels=np.array([0, -1, 1]), label_count=2
    )
    assert nothing_left.allowed is not None
    assert nothing_left.allowed.all()
    one = full().renamed(labels=np.array([1, 1, 0]), label_count=2)
    assert one.soft is not None
    assert one.soft.tolist() == [[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]]
    with pytest.raises(ValueError, match="soft gives mass to label 1"):
        full(allowed=None).renamed(labels=np.array([0, -1, 1]), label_count=2)
    with pytest.raises(ValueError, match="give label_count"):
        full().renamed(labels=np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="attr has the id 2, but only 2 new ids are given"):
        full().renamed(attributes=np.array([0, 1]))


def test_attributes_by_place() -> None:
    batch = full()
    assert [batch.places(by) for by in ("node", "edge", "segment")] == [3, 3, 6]
    for by in ("node", "edge", "segment"):
        rows = batch.occurrences(by)
        assert rows is not None
        assert len(rows.ptr) == batch.places(by) + 1
    assert batch.longest == 2
    assert batch.weight_by_place("node").tolist() == [1.0, 1.0, 3.0]
    assert batch.weight_by_place("segment").tolist() == [1.0] * 4 + [3.0] * 2
    nothing = {name: None for name in FULL if name not in ("seq_ptr", "attr_ptr", "attr")}
    plain = full(**nothing).select([0])
    assert plain.occurrences("segment") is None
    assert (plain.longest, plain.places("segment"), plain.weight_by_place("edge").tolist()) == (0, 0, [1, 1])


def test_datasets_share_their_names() -> None:
    one = dataset(full())
    with pytest.raises(ValueError, match="part 1 has labels of its own; make all parts with one extractor"):
        Dataset.concat([one, dataset(full(), Alphabet)])
    with pytest.raises(ValueError, match="part 1 has edge_attributes of its own"):
        Dataset.concat([replace(one, edge_attributes=Alphabet()), one])
    with pytest.raises(ValueError, match="datasets is empty"):
        Dataset.concat([])
    assert len(Dataset.concat([one, one])) == 6
    frozen = one.freeze()
    assert frozen.labels.frozen
    assert frozen.segment_attributes.strings() == list("abcd")
    other = Dataset(full(), Alphabet("zqy"), Alphabet("cXY"), EDGES, SEGMENTS)
    with pytest.raises(ValueError, match="soft gives mass to label 1"):
        other.renamed(frozen)


def test_data_know_what_made_them(tmp_path: Path) -> None:
    columns = Columns.from_rows([[("the", "D"), ("dog", "N")]], names=["word", "tag"])
    recipe = Recipe.parse('word[0]; lookup(word, "birds")[0]', resources={"birds": {"dog": "no"}})
    made = Extractor(recipe, "tag", hashed=50)
    by_blocks = BlockedData.write(tmp_path, (made(columns) for _ in range(2)))
    for data in (made(columns), made(columns)[:0], Dataset.concat([made(columns)] * 2), by_blocks):
        assert data.extractor is not None
        assert data.extractor.recipe is not None
        assert str(data.extractor.recipe) == str(recipe)
        assert data.extractor.recipe.resources == recipe.resources
        assert (data.extractor.label_column, data.extractor.hashed) == ("tag", 50)
    items = ItemExtractor(hashed=9)([[["a"]]])
    assert items.extractor is not None
    assert (items.extractor.recipe, items.extractor.hashed) == (None, 9)


def test_zeros_are_left_out_of_every_kind_of_attributes() -> None:
    made = arrays_of(full(edge_value=[0.0], begin_value=[0.0, 1.0, 1.0], segment_value=[1.0] * 4).nonzero())
    assert made == arrays_of(
        full(
            attr_ptr=[0, 2, 3, 4],
            attr=[0, 1, 0, 2],
            value=[1.0, -2.0, 0.5, 1.0],
            edge_ptr=[0, 0, 0, 0],
            edge_attr=[],
            edge_value=None,
            begin_ptr=[0, 0, 0, 2],
            begin_attr=[0, 3],
            begin_value=None,
            segment_value=None,
        )
    )
    plain = full(value=None, edge_value=None, segment_value=None, begin_value=None, end_value=None)
    assert plain.nonzero() is plain
