"""Wrong input is a ValueError that names the argument and the offending place, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, SemiMarkov, inference
from crfkit.inference import Potentials
from crfkit.native import kernels
from crfkit.structures import Tree

INF, NAN = float("inf"), float("nan")


def put(shape: tuple[int, ...], index: tuple[int, ...], value: float) -> np.ndarray[Any, Any]:
    array = np.zeros(shape)
    array[index] = value
    return array


def chain(order: int = 1, **arrays: Any) -> Potentials:
    given = {"node": np.zeros((5, 3)), "seq_ptr": [0, 2, 5], **arrays}
    return Chain(["a", "b", "c"], order=order).potentials(**given)


def segments(**arrays: Any) -> Potentials:
    given = {"segment": np.zeros((5, 2, 3)), "seq_ptr": [0, 2, 5], **arrays}
    return SemiMarkov(["a", "b", "c"], 2).potentials(**given)


def tree(parent: Any = (-1, 0, 0), width: Any = (2, 3, 2), **arrays: Any) -> Potentials:
    seq_ptr = arrays.pop("seq_ptr", None)
    given = {"node": [np.zeros(n) for n in (2, 3, 2)], **arrays}
    return Tree(parent, width, seq_ptr).potentials(**given)


# What is wrong: how to make it, and what the message must say.
BAD: dict[str, tuple[Callable[[], Potentials], str]] = {
    # shapes
    "chain node of 2 labels": (lambda: chain(node=np.zeros((5, 2))), r"node has shape \(5, 2\)"),
    "chain node of 1 axis": (lambda: chain(node=np.zeros(5)), r"node has shape \(5,\)"),
    "chain node of 3 axes": (lambda: chain(node=np.zeros((5, 3, 1))), "node has shape"),
    "chain edge": (lambda: chain(edge=np.zeros((3, 2))), r"edge has shape \(3, 2\)"),
    "chain edge of 1 axis": (lambda: chain(edge=np.zeros(3)), r"edge has shape \(3,\)"),
    "chain edge of 4 axes": (lambda: chain(edge=np.zeros((5, 3, 3, 1))), "edge has shape"),
    "chain edge of too few positions": (
        lambda: chain(edge=np.zeros((4, 3, 3))),
        r"edge has shape \(4, 3, 3\), expected \(5, 3, 3\)",
    ),
    "chain edge of order 0": (lambda: chain(order=0, edge=np.zeros((3, 3))), "edge is given"),
    "chain start": (lambda: chain(start=[0.0, 0.0]), r"start has shape \(2,\), expected \(3,\)"),
    "chain stop": (lambda: chain(stop=np.zeros((3, 1))), r"stop has shape \(3, 1\)"),
    "order 2 edge": (
        lambda: chain(order=2, edge=np.zeros((3, 3))),
        r"edge of order 2 has shape \(3, 3\), expected \(3, 3, 3\)",
    ),
    "order 2 list": (lambda: chain(order=2, edge=[None]), "edge lists 1 tables"),
    "order 2 first": (
        lambda: chain(order=2, edge=[np.zeros((3, 2)), None]),
        r"edge of order 1 has shape \(3, 2\)",
    ),
    "segment labels": (
        lambda: segments(segment=np.zeros((5, 2, 2))),
        r"segment has shape \(5, 2, 2\), expected",
    ),
    "segment lengths": (lambda: segments(segment=np.zeros((5, 3, 3))), "segment has shape"),
    "segment axes": (lambda: segments(segment=np.zeros((5, 3))), "segment has shape"),
    "segment none": (lambda: segments(segment=None), "neither segment nor node is given"),
    "segment node": (lambda: segments(node=np.zeros((4, 3))), "node has 4 positions"),
    "segment node labels": (lambda: segments(node=np.zeros((5, 2))), r"node has shape \(5, 2\)"),
    "segment edge": (lambda: segments(edge=np.zeros((2, 3))), r"edge has shape \(2, 3\)"),
    "segment start": (lambda: segments(start=np.zeros(4)), r"start has shape \(4,\)"),
    "segment stop": (lambda: segments(stop=np.zeros((3, 3))), r"stop has shape \(3, 3\)"),
    "tree node": (
        lambda: tree(node=[np.zeros(2), np.zeros(2), np.zeros(2)]),
        r"node\[1\] has shape \(2,\), expected \(3,\)",
    ),
    "tree too few nodes": (lambda: tree(node=[np.zeros(2)]), "node has 1"),
    "tree edge": (
        lambda: tree(edge=[None, np.zeros((2, 3)), None]),
        r"edge\[1\] has shape \(2, 3\), expected \(3, 2\)",
    ),
    "tree too few edges": (lambda: tree(edge=[None]), "edge 1 entries"),
    "tree edge of a root": (lambda: tree(edge=[np.zeros((2, 2)), None, None]), r"edge\[0\].*root"),
    # numbers
    "chain node nan": (lambda: chain(node=put((5, 3), (3, 1), NAN)), r"node\[3, 1\] is nan"),
    "chain node inf": (lambda: chain(node=put((5, 3), (4, 2), INF)), r"node\[4, 2\] is inf"),
    "chain edge nan": (lambda: chain(edge=put((3, 3), (2, 1), NAN)), r"edge\[2, 1\] is nan"),
    "chain edge inf": (
        lambda: chain(edge=put((5, 3, 3), (4, 0, 2), INF)),
        r"edge\[4, 0, 2\] is inf",
    ),
    "chain start nan": (lambda: chain(start=[0.0, NAN, 0.0]), r"start\[1\] is nan"),
    "chain stop inf": (lambda: chain(stop=[0.0, 0.0, INF]), r"stop\[2\] is inf"),
    "order 2 nan": (
        lambda: chain(order=2, edge=put((3, 3, 3), (1, 2, 0), NAN)),
        r"edge of order 2\[1, 2, 0\] is nan",
    ),
    "order 2 inf in the lower table": (
        lambda: chain(order=2, edge=[put((3, 3), (1, 2), INF), None]),
        r"edge of order 1\[1, 2\] is inf",
    ),
    "segment nan": (
        lambda: segments(segment=put((5, 2, 3), (3, 1, 2), NAN)),
        r"segment\[3, 1, 2\] is nan",
    ),
    "segment inf": (
        lambda: segments(segment=put((5, 2, 3), (0, 0, 2), INF)),
        r"segment\[0, 0, 2\] is inf",
    ),
    "segment node nan": (lambda: segments(node=put((5, 3), (2, 1), NAN)), r"node\[2, 1\] is nan"),
    "segment edge nan": (lambda: segments(edge=put((3, 3), (0, 1), NAN)), r"edge\[0, 1\] is nan"),
    "segment start inf": (lambda: segments(start=[INF, 0.0, 0.0]), r"start\[0\] is inf"),
    "segment stop nan": (lambda: segments(stop=[0.0, NAN, 0.0]), r"stop\[1\] is nan"),
    "tree node nan": (
        lambda: tree(node=[np.zeros(2), [0.0, NAN, 0.0], np.zeros(2)]),
        r"node\[1\]\[1\] is nan",
    ),
    "tree edge inf": (
        lambda: tree(edge=[None, None, put((2, 2), (1, 0), INF)]),
        r"edge\[2\]\[1, 0\] is inf",
    ),
    # dtypes
    "complex": (lambda: chain(node=np.zeros((5, 3), complex)), "node has dtype complex"),
    "object": (lambda: chain(node=np.zeros((5, 3), object)), "node has dtype object"),
    "strings": (lambda: chain(edge=[["a"] * 3] * 3), "edge has dtype <U1"),
    "segment object": (lambda: segments(segment=np.zeros((5, 2, 3), object)), "segment has dtype"),
    "tree complex": (
        lambda: tree(node=[[0.0, 1j], np.zeros(3), np.zeros(2)]),
        r"node\[0\] has dtype complex",
    ),
    "times": (lambda: chain(start=np.zeros(3, "datetime64[s]")), "start has dtype datetime64"),
    "ragged": (lambda: chain(node=[[0.0, 1.0, 2.0], [0.0]]), "node"),
    # pointers
    "first pointer": (lambda: chain(seq_ptr=[1, 5]), r"seq_ptr\[0\] is 1, expected 0"),
    "last pointer": (lambda: chain(seq_ptr=[0, 4]), "seq_ptr ends at 4, expected 5"),
    "last pointer beyond": (lambda: chain(seq_ptr=[0, 6]), "seq_ptr ends at 6, expected 5"),
    "falling pointers": (lambda: chain(seq_ptr=[0, 4, 2, 5]), r"seq_ptr\[2\] is 2, below"),
    "negative pointers": (lambda: chain(seq_ptr=[0, -1, 5]), r"seq_ptr\[1\] is -1"),
    "no pointers": (lambda: chain(seq_ptr=np.zeros(0, int)), "seq_ptr is empty"),
    "float pointers": (lambda: chain(seq_ptr=[0.0, 5.0]), "seq_ptr has dtype float64"),
    "pointers of 2 axes": (lambda: chain(seq_ptr=[[0, 5]]), "seq_ptr has dtype .* 2 axes"),
    "segment pointers": (lambda: segments(seq_ptr=[0, 9]), "seq_ptr ends at 9, expected 5"),
    "segment falling": (lambda: segments(seq_ptr=[0, 5, 3, 5]), r"seq_ptr\[2\] is 3, below"),
    "tree pointers": (lambda: tree(seq_ptr=[0, 2]), "seq_ptr ends at 2, expected 3"),
    "tree pointers beyond": (lambda: tree(seq_ptr=[0, 4]), "seq_ptr ends at 4, expected 3"),
    "tree falling": (lambda: tree(seq_ptr=[0, 3, 1, 3]), r"seq_ptr\[2\] is 1, below"),
    "tree first": (lambda: tree(seq_ptr=[1, 3]), r"seq_ptr\[0\] is 1, expected 0"),
    "tree no pointers": (lambda: tree(seq_ptr=np.zeros(0, int)), "seq_ptr is empty"),
    # trees
    "cycle": (lambda: tree(parent=[1, 0, -1], edge=None), "parent.* cycle"),
    "own parent": (lambda: tree(parent=[-1, 1, 0], edge=None), r"parent\[1\] closes a cycle"),
    "parent too large": (lambda: tree(parent=[-1, 3, 0]), r"parent\[1\] is 3, expected -1"),
    "parent too small": (lambda: tree(parent=[-1, -2, 0]), r"parent\[1\] is -2, expected -1"),
    "parent in the next tree": (
        lambda: tree(parent=[-1, 2, -1], seq_ptr=[0, 2, 3]),
        r"parent\[1\] is 2, expected -1",
    ),
    "parents as numbers": (lambda: tree(parent=[-1.0, 0.0, 0.0]), "parent must be"),
    "parents beyond 32 bits": (lambda: tree(parent=[-1, 2**40, 0]), "parent must be"),
    "width 0": (
        lambda: tree(width=[2, 0, 2], node=[[0.0] * 2, [], [0.0] * 2]),
        r"width\[1\] is 0",
    ),
    "too few widths": (lambda: tree(width=[2, 3]), "width"),
    "width as text": (lambda: tree(width=["2", "3", "2"]), "width must be"),
    # allowed labels
    "allowed name": (
        lambda: chain(allowed=[None, "x", None, None, None]),
        r"allowed\[1\].* is 'x', which is not a label",
    ),
    "allowed id": (lambda: chain(allowed=[None, None, 3, None, None]), r"allowed\[2\].* is 3"),
    "allowed negative": (lambda: chain(allowed=[-1] * 5), r"allowed\[0\].* is -1"),
    "allowed nothing": (lambda: chain(allowed=[[]] * 5), r"allowed\[0\] is empty"),
    "allowed too few": (lambda: chain(allowed=[None]), "allowed has 1 entries"),
    "allowed mask": (lambda: chain(allowed=np.ones((5, 2), bool)), r"allowed has shape \(5, 2\)"),
    "segment allowed": (lambda: segments(allowed=["a", "q", 0, 1, 2]), r"allowed\[1\].* is 'q'"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_potentials(name: str) -> None:
    """At once, or at the first query."""
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        inference.log_partition(make())


@pytest.mark.parametrize(
    "query",
    [
        inference.marginals,
        inference.entropy,
        inference.decode,
        inference.reachable,
        inference.count,
        inference.sample,
        lambda p: inference.decode(p, "posterior"),
        lambda p: inference.kbest(p, 2),
        lambda p: inference.score(p, [0] * 5),
        lambda p: inference.log_prob(p, [0] * 5),
        lambda p: inference.span_probability(p, 1, 2, [0], sequence=1),
    ],
)
def test_every_query_checks(query: Callable[[Potentials], Any]) -> None:
    with pytest.raises(ValueError, match=r"node\[\d, 1\] is nan"):
        query(chain(node=put((5, 3), (3, 1), NAN)))


STRUCTURES: dict[str, tuple[Callable[[], object], str]] = {
    "no labels": (lambda: Chain(0), "labels is empty"),
    "no names": (lambda: Chain([]), "labels is empty"),
    "negative number": (lambda: Chain(-1), "labels is"),
    "a string": (lambda: Chain("abc"), "labels is the string 'abc'"),
    "twice": (lambda: Chain(["a", "b", "a"]), "labels holds 'a' twice"),
    "not strings": (lambda: Chain([1, 2]), "labels holds 1"),  # type: ignore[list-item]
    "order": (lambda: Chain(2, order=-1), "order is -1"),
    "order too high": (lambda: Chain(2, order=9), "order is 9"),
    "no length": (lambda: SemiMarkov(2, 0), "max_length of '0' is 0, expected 1 or more"),
    "a length too large": (lambda: SemiMarkov(["a"], {"a": 10**20}), "max_length of 'a' is above 2,147"),
    "a length without labels": (lambda: SemiMarkov(max_length=10**20), "max_length has a number above"),
    "no minimum": (lambda: SemiMarkov(2, 2, 0), "min_length of '0' is 0"),
    "minimum above maximum": (
        lambda: SemiMarkov(["a", "b"], [2, 2], [1, 3]),
        "min_length of 'b' is 3, above its max_length 2",
    ),
    "lengths of unknown labels": (lambda: SemiMarkov(["a"], {"b": 2}), "max_length names 'b'"),
    "too few lengths": (lambda: SemiMarkov(3, [2, 2]), "max_length has 2 entries, expected 3"),
    "lengths as numbers": (lambda: SemiMarkov(2, 1.5), "max_length is 1.5"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", list(STRUCTURES))
def test_structures(name: str) -> None:
    make, message = STRUCTURES[name]
    with pytest.raises(ValueError, match=message):
        make()


ONE = Chain(["a", "b", "c"]).potentials(np.zeros((4, 3)))
BATCH = Chain(["a", "b", "c"]).potentials(np.zeros((4, 3)), seq_ptr=[0, 1, 4])
CUT = SemiMarkov(["a", "b", "c"], 2).potentials(np.zeros((4, 2, 3)))
CUTS = SemiMarkov(["a", "b"], 3).potentials(np.zeros((4, 3, 2)), seq_ptr=[0, 2, 4])
WOOD = Tree([-1, 0], [2, 3]).potentials([np.zeros(2), np.zeros(3)])
ARGUMENTS: dict[str, tuple[Callable[[], object], str]] = {
    "k": (lambda: inference.kbest(ONE, 0), "k is 0, expected 1 or more"),
    "k negative": (lambda: inference.kbest(ONE, -3), "k is -3"),
    "k too large": (lambda: inference.kbest(ONE, 2**31), "k is 2,147,483,648, expected 2,147"),
    "k huge": (lambda: inference.kbest(ONE, 10**400), r"k is 1000.*0, expected less than 2\*\*64"),
    "n too large": (lambda: inference.sample(ONE, 10**12), "n is 1,000,000,000,000, expected 2,147,483,647"),
    "n": (lambda: inference.sample(ONE, 0), "n is 0, expected 1 or more"),
    "seed": (lambda: inference.sample(ONE, 1, -1), "seed is -1"),
    "seed too large": (lambda: inference.sample(ONE, 1, 2**64), f"seed is {2**64}"),
    "space": (lambda: inference.log_partition(ONE, space="exp"), "space is 'exp'"),  # type: ignore[call-overload]
    "method": (lambda: inference.decode(ONE, "best"), "method is 'best'"),
    "edges of order 2": (
        lambda: inference.marginals(
            Chain(2, order=2).potentials([[0.0, 0.0]]), edges_by_position=True
        ),
        "order 1",
    ),
    "unknown label": (
        lambda: inference.score(ONE, ["a", "b", "q", "a"]),
        r"labels\[2\] is 'q', which is not a label",
    ),
    "negative label": (lambda: inference.score(ONE, [0, -1, 0, 0]), r"labels\[1\] is -1"),
    "label too large": (lambda: inference.score(ONE, [0, 0, 0, 3]), r"labels\[3\] is 3"),
    "labels as an array": (lambda: inference.score(ONE, np.array([0, 9, 0, 0])), r"labels\[1\]"),
    "labels of 2 axes": (lambda: inference.score(ONE, np.zeros((4, 1), int)), "labels has 2 axes"),
    "label as a number": (lambda: inference.score(ONE, [0, 0.5, 0, 0]), r"labels\[1\] is 0.5"),
    "label true": (lambda: inference.score(ONE, [True, 0, 0, 0]), r"labels\[0\] is True"),
    "labels as floats": (lambda: inference.score(ONE, np.zeros(4)), r"labels\[0\]"),
    "too few labels": (lambda: inference.log_prob(ONE, [0, 0, 0]), "labels has 3 entries"),
    "too many labels": (lambda: inference.log_prob(BATCH, [0] * 5), "labels has 5 entries"),
    "tree labels": (lambda: inference.score(WOOD, [0, 3]), r"labels\[1\] is 3, expected 0 to 2"),
    "tree label negative": (lambda: inference.score(WOOD, [-1, 0]), r"labels\[0\] is -1"),
    "tree too few": (lambda: inference.score(WOOD, [0]), "labels must be one label id"),
    "tree floats": (lambda: inference.score(WOOD, [0.0, 0.0]), "labels must be one label id"),
    "gap": (lambda: inference.score(CUT, [(0, 1, 0), (2, 4, 0)]), r"segments\[1\] is \(2, 4, 0\)"),
    "overlap": (lambda: inference.score(CUT, [(0, 2, 0), (1, 4, 0)]), r"segments\[1\] is"),
    "segment of no length": (lambda: inference.score(CUT, [(0, 0, 0)]), r"segments\[0\] is"),
    "segment past the end": (
        lambda: inference.score(CUT, [(0, 2, 0), (2, 5, 0)]),
        r"segments\[1\] is \(2, 5, 0\)",
    ),
    "segments end early": (lambda: inference.score(CUT, [(0, 2, 0)]), "segments end at 2"),
    "segment label": (lambda: inference.score(CUT, [(0, 4, "q")]), r"segments\[0\].* is 'q'"),
    "segment across sequences": (
        lambda: inference.score(CUTS, [(0, 1, 0), (1, 3, 1), (3, 4, 0)]),
        r"segments\[1\]",
    ),
    "span beyond": (
        lambda: inference.span_probability(ONE, 2, 5, [0, 0, 0]),
        "span 2 to 5 does not lie in a sequence of 4 positions",
    ),
    "span before": (lambda: inference.span_probability(ONE, -1, 1, [0, 0]), "span -1 to 1"),
    "span backwards": (lambda: inference.span_probability(ONE, 2, 1, []), "span 2 to 1"),
    "span labels": (lambda: inference.span_probability(ONE, 0, 2, [0]), "labels has 1 entries"),
    "span label": (lambda: inference.span_probability(ONE, 0, 1, ["q"]), r"labels\[0\] is 'q'"),
    "span sequence": (
        lambda: inference.span_probability(BATCH, 0, 1, [0], sequence=2),
        "sequence is 2, expected 0 to 1",
    ),
    "span negative sequence": (
        lambda: inference.span_probability(BATCH, 0, 1, [0], sequence=-1),
        "sequence is -1",
    ),
    "span of the next sequence": (
        lambda: inference.span_probability(BATCH, 0, 2, [0, 0], sequence=0),
        "span 0 to 2 does not lie in a sequence of 1 positions",
    ),
    "span tree label": (
        lambda: inference.span_probability(WOOD, 1, 2, [3]),
        r"labels\[0\] is 3, expected 0 to 2",
    ),
    "kernels prime": (lambda: kernels.count(ONE.problem, 1, 1), "prime must lie between"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_arguments(name: str) -> None:
    call, message = ARGUMENTS[name]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("threads", [0, -1])
@pytest.mark.parametrize(
    "query",
    [
        inference.log_partition,
        inference.marginals,
        inference.entropy,
        inference.decode,
        inference.reachable,
        inference.count,
        inference.sample,
        lambda p, **o: inference.kbest(p, 2, **o),
        lambda p, **o: inference.log_prob(p, [0] * 4, **o),
    ],
)
def test_threads(query: Callable[..., Any], threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads is {threads}, expected 1 or more"):
        query(ONE, threads=threads)


def test_callers_arrays_are_not_changed() -> None:
    node, edge = np.zeros((4, 3)), np.zeros((3, 3))
    kept = node.copy(), edge.copy()
    one = Chain(3).potentials(node, edge, allowed=[0, None, {1, 2}, None])
    inference.marginals(one)
    inference.decode(one, "posterior")
    inference.span_probability(one, 1, 2, [0])
    assert np.array_equal(node, kept[0])
    assert np.array_equal(edge, kept[1])


def test_any_layout_of_memory() -> None:
    rng = np.random.default_rng(0)
    node, edge = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    wanted = inference.log_partition(Chain(3).potentials(node, edge))
    wide = np.zeros((12, 6))
    wide[::2, ::2] = node
    same = Chain(3).potentials(wide[::2, ::2], np.asfortranarray(edge))
    assert inference.log_partition(same) == wanted
    assert inference.log_partition(
        Chain(3).potentials(node.astype(">f8"), edge.astype(">f8"))
    ) == pytest.approx(wanted, rel=1e-15)
    assert inference.log_partition(
        Chain(3).potentials(node.astype(np.float32), edge.astype(np.float32))
    ) == pytest.approx(wanted, rel=1e-6)
    assert inference.log_partition(Chain(3).potentials(np.ones((2, 3), dtype=np.int8))) > 4.0


def test_span_of_a_batch_checks_every_sequence() -> None:
    node = np.zeros((5, 3))
    node[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"node\[4, 0\] is nan"):
        inference.span_probability(Chain(3).potentials(node, seq_ptr=[0, 2, 5]), 0, 1, [0])
