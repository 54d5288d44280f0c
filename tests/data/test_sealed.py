"""What says where in memory to look is checked once, and nobody can change it afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Chain, Graph, _native, inference
from crfkit.arrays import sealed
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.native import kernels
from crfkit.structures import Table, Tree
from tests.cases.short_memory import memory_sweep

rng = np.random.default_rng(0)


def arrays() -> dict[str, Any]:
    positions = 40
    return {
        "seq_ptr": np.arange(0, positions + 1, 4, dtype=np.int64),
        "attr_ptr": np.arange(0, 2 * positions + 1, 2, dtype=np.int64),
        "attr": rng.integers(0, 5, 2 * positions).astype(np.int32),
        "label": rng.integers(0, 3, positions).astype(np.int32),
    }


def dataset(batch: Batch) -> Dataset:
    return Dataset(batch, Alphabet(["x", "y", "z"]), Alphabet(list("abcde")), Alphabet())


def read_only_view(array: Any) -> Any:
    made = array.view()
    made.setflags(write=False)
    return made


class Holder:
    """Not an array, but has one."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array


@pytest.mark.parametrize(
    "handed", [lambda a: a, read_only_view, lambda a: a[:], memoryview, Holder, lambda a: a.reshape(1, -1)[0]]
)
def test_a_batch_does_not_change_with_what_it_was_made_of(handed: Callable[[Any], Any]) -> None:
    given = arrays()
    before = {name: array.copy() for name, array in given.items()}
    batch = Batch(**{name: handed(array) for name, array in given.items()})
    for array in given.values():
        array[...] = 10**9
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(batch, name), array)


@pytest.mark.parametrize(
    "made",
    [
        lambda b: b,
        lambda b: b.select([1, 0]),
        lambda b: b.select(slice(1, 3)),
        lambda b: Batch.concat([b, b]),
        lambda b: b.renamed(attributes=np.arange(5)),
    ],
)
def test_the_arrays_of_a_batch_cannot_be_written_to(made: Callable[[Batch], Batch]) -> None:
    batch = made(Batch(**arrays()))
    for name in arrays():
        with pytest.raises(ValueError, match="read-only"):
            getattr(batch, name)[0] = 1


@pytest.mark.parametrize("optimizer", ["lbfgs", "sgd", "dual", "perceptron", "bcfw"])
def test_a_listener_cannot_change_the_data_of_a_training(optimizer: str) -> None:
    def trained(change: bool) -> Any:
        given: Any = {name: array.copy() for name, array in ours.items()}
        batch = Batch(**given)

        def listen(_: Any) -> None:
            if change:
                given["label"][...] = 0
                given["attr"][...] = 0

        objective = "max-margin" if optimizer == "bcfw" else None
        options: Any = {"stop": crfkit.Stop(max_iterations=4), "n_jobs": 1, "progress": False}
        return crfkit.train(
            dataset(batch), optimizer=optimizer, objective=objective, listeners=[listen], **options
        ).w

    ours = arrays()
    np.testing.assert_array_equal(trained(change=True), trained(change=False))


def test_a_batch_that_can_be_kept_is_not_copied() -> None:
    given = sealed(arrays()["attr"])
    assert Batch(**{**arrays(), "attr": given}).attr is given


@pytest.mark.parametrize(
    ("field", "wrong", "error"),
    [
        ("attr", np.array([2**40]), ValueError),
        ("attr", np.array([2**32]), ValueError),
        ("attr", np.array([0.5]), ValueError),
        ("attr", np.array([np.nan]), ValueError),
        ("attr", [10**400], TypeError),
        ("attr", ["a"], TypeError),
        ("attr", [None], TypeError),
        ("attr", np.array([1j]), TypeError),
        ("attr_ptr", np.array([0, 2**63 + 1], dtype=np.uint64), ValueError),
        ("label", np.array([2**32]), ValueError),
        ("value", [b"x"], TypeError),
        ("value", [float("inf")], ValueError),
        ("attr", np.broadcast_to(np.int32(0), (10**12,)), MemoryError),
    ],
)
def test_numbers_that_do_not_fit_are_refused(field: str, wrong: Any, error: type[Exception]) -> None:
    given = {"seq_ptr": [0, 1], "attr_ptr": [0, 1], "attr": [0], field: wrong}
    with pytest.raises(error, match="Unable to allocate" if error is MemoryError else field):
        Batch(**given)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda a: a.astype(np.int64),
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        lambda a: a[::-1].copy()[::-1],
        lambda a: np.repeat(a, 2)[::2],
        lambda a: a.tolist(),
        lambda a: a.astype(float),
        lambda a: a.astype(np.uint16),
    ],
)
def test_every_spelling_of_the_same_numbers_is_taken(spelled: Callable[[Any], Any]) -> None:
    given = arrays()
    batch = Batch(**{name: spelled(array) for name, array in given.items()})
    for name, array in given.items():
        np.testing.assert_array_equal(getattr(batch, name), array)


# ---- potentials, and graphs --------------------------------------------------------------------------------


def queries(scores: Any) -> list[Any]:
    return [inference.log_partition(scores), inference.marginals(scores).log_partition]


def test_pointers_of_potentials_stay_as_they_were() -> None:
    ptr = np.array([0, 3, 6])
    scores = Chain(2).potentials(rng.normal(size=(6, 2)), rng.normal(size=(2, 2)), seq_ptr=ptr)
    before = queries(scores)
    ptr[1] = 1
    np.testing.assert_array_equal(before, queries(scores))


def test_a_native_object_copies_what_can_be_written_to() -> None:
    node, edge, ptr = rng.normal(size=(6, 2)), np.zeros((2, 2)), np.array([0, 3, 6])
    problem = _native.Problem.chain(node, [edge], None, None, ptr)
    before = kernels.log_partition(problem, False, 1)
    ptr[1] = 1
    np.testing.assert_array_equal(before, kernels.log_partition(problem, False, 1))


def test_the_parents_of_a_tree_stay_as_they_were() -> None:
    parent = np.array([-1, 0, 1, 2], dtype=np.int32)
    tree = Tree(parent, 2)
    tables = [np.zeros((2, 0)), *rng.normal(size=(3, 2, 2))]
    scores = tree.potentials(list(rng.normal(size=(4, 2))), tables)
    before = inference.log_partition(scores)
    parent[3] = 0
    assert inference.log_partition(scores) == before
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 3


def ring() -> tuple[Any, Any, Any]:
    which = np.arange(4, dtype=np.int32) % 2
    scope = np.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=np.int32)
    batch = Graph({"token": 2}, step=["token", "token"]).batch(sizes={"token": 4}, scopes={"step": scope})
    return batch, scope, which


def test_scopes_and_tables_of_graphs_stay_as_they_were() -> None:
    batch, scope, which = ring()
    scores = batch.potentials(step=Table(rng.normal(size=(2, 2, 2)), which=which))
    before = queries(scores)
    scope[...] = 0
    which[...] = 0
    np.testing.assert_array_equal(before, queries(scores))


@pytest.mark.parametrize("field", ["width", "graph_of", "scopes"])
def test_the_arrays_of_a_batch_of_graphs_cannot_be_written_to(field: str) -> None:
    batch, _, _ = ring()
    array = getattr(batch, field)
    with pytest.raises(ValueError, match="read-only"):
        (array["step"] if field == "scopes" else array)[0] = 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space")
@pytest.mark.parametrize("optional", [False, True])
def test_no_memory_for_the_copy_is_a_memory_error(optional: bool) -> None:
    many = 1 << 26
    cells = np.zeros(many, dtype=np.int32)
    ptr = np.array([0, many], dtype=np.int64)
    shares = np.zeros(2 * many)

    def call() -> object:
        if optional:
            return _native.GainSearch(shares, cells, None, 2, 1.0, ptr, cells, None)
        return _native.Rows(1, ptr, cells, 0)

    (short,) = memory_sweep(call, [8 << 20])
    assert "MemoryError" in short.said
    assert "a copy of an array" in short.said
