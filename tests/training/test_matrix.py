"""The training matrix: structure x objective x gold x optimizer family, by enumeration and differences.

A member of the registries (structures that train, objectives, kinds of gold, optimizers) that is not entered
here fails `test_every_member_is_here`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import optimize
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.errors import NotCoveredError
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import Likelihood
from crfkit.objectives.registry import OBJECTIVES
from crfkit.structures import Chain, SemiMarkov
from crfkit.structures.constraints import Scheme, SegmentLength
from crfkit.structures.kinds import STRUCTURES as KINDS
from crfkit.training.choose import NAMES, by_name, check_suits
from tests.cases.matrix import (
    EDGES,
    GOLDS,
    STRUCTURES,
    D,
    L,
    data,
    loss_of,
    penalty_of,
)


def covered(structure: str, objective: str, gold: str) -> str:
    """Return why a combination is refused; empty where it trains."""
    made = STRUCTURES[structure]
    if "semi" in structure and gold == "soft":
        return "not soft labels"
    if objective == "local" and ("semi" in structure or made.order != 1):
        return "is for chains of order 1"
    if objective in CHAINS and ("semi" in structure or structure == "local"):
        return "is for chains, not for"
    if objective in OPEN and gold == "soft":
        return "takes one gold label at each position or partial labels"
    if objective not in ("likelihood", *OPEN) and gold != "path":
        return "takes one gold label at each position"
    if structure == "local" and objective != "local":
        return "is trained by the objective local"
    return ""


#: Objectives that are for chains of any order.
OPEN = ("entropy", "posterior")  # these learn from sequences without labels
CHAINS = ("pseudo-likelihood", "piecewise", "piecewise-pseudo-likelihood", "marginal-likelihood", *OPEN)
CASES = list(product(STRUCTURES, OBJECTIVES, GOLDS))


@pytest.mark.parametrize(("structure", "objective", "gold"), CASES)
def test_a_combination_trains_or_is_refused_in_one_sentence(
    structure: str, objective: str, gold: str
) -> None:
    why = covered(structure, objective, gold)
    if not why:
        assert np.isfinite(
            loss_of(structure, objective, gold).value_and_grad(*start(structure, objective, gold))
        )
        return
    with pytest.raises(ValueError, match=why) as found:
        loss_of(structure, objective, gold)
    assert "\n" not in str(found.value)


def start(structure: str, objective: str, gold: str) -> tuple[Floats, Floats]:
    size = loss_of(structure, objective, gold).size
    return np.random.default_rng(1).normal(size=size), np.empty(size)


@pytest.mark.parametrize(
    ("structure", "objective", "gold", "edges"),
    [(*case, e) for case in CASES if not covered(*case) for e in (False, True) if not e or case[0] in EDGES],
)
def test_gradients_are_differences(structure: str, objective: str, gold: str, edges: bool) -> None:
    loss = loss_of(structure, objective, gold, edges=edges)
    rng = np.random.default_rng(2)
    w, gradient, scratch = rng.normal(size=loss.size), np.empty(loss.size), np.empty(loss.size)
    for evaluate in (loss.value_and_grad, loss.general_value_and_grad):
        evaluate(w, gradient)
        for _ in range(5):
            direction = rng.normal(size=loss.size)
            up, down = evaluate(w + 1e-6 * direction, scratch), evaluate(w - 1e-6 * direction, scratch)
            assert (up - down) / 2e-6 == pytest.approx(gradient @ direction, rel=2e-6, abs=2e-6)


def feature_vector(loss: LinearLoss, n: int, label: tuple[int, ...], begin: tuple[int, ...]) -> Floats:
    """Features of one labeling, counted one by one from the batch: no code of the linear layer."""
    batch, layout = loss.batch, loss.layout
    a = int(batch.seq_ptr[n])
    index = {tuple(layout.describe(i)[:2]) + layout.describe(i).ngram: i for i in range(layout.weights)}
    out = np.zeros(layout.weights)

    def add(key: tuple[Any, ...], value: float = 1.0) -> None:
        if key in index:
            out[index[key]] += value

    def ragged(by: str, place: int) -> list[tuple[int, float]]:
        items = batch.occurrences(by)
        if items is None:
            return []
        here = range(int(items.ptr[place]), int(items.ptr[place + 1]))
        return [(int(items.id[i]), 1.0 if items.value is None else float(items.value[i])) for i in here]

    T = len(label)
    semi = isinstance(loss.structure, SemiMarkov)
    for t, y in enumerate(label):
        for attribute, value in ragged("node", a + t):
            add(("node", attribute, y), value)
    first = [0, *(t + 1 for t, b in enumerate(begin) if b)] if semi and T else list(range(T))
    ends = [*first[1:], T][: len(first)]
    for j, (p, end) in enumerate(zip(first, ends, strict=True)):
        if semi and end - p <= D:
            for attribute, value in ragged("segment", (a + p) * D + end - p - 1):
                add(("segment", attribute, label[p]), value)
            for kind, place in (("begin", a + p), ("end", a + end - 1)):
                for attribute, value in ragged(kind, place):
                    add((kind, attribute, label[p]), value)
            cell = (end - p - 1) * L + label[p]
            out[layout.parts["length"].start + cell] += 1.0
        barred = getattr(loss.structure, "constraints", ()) and label[p - 1] == 0 == label[p]
        if j == 0 or barred:  # distributions of positions may take forbidden steps, which do not count
            continue
        for attribute, value in ragged("edge", a + p):
            add(("edge", attribute, label[p - 1], label[p]), value)
        order = getattr(loss.structure, "order", 1)
        for h in range(1, min(order, p if not semi else 1) + 1):
            add(("transition", None, *label[p - h : p + 1]))
    if T:
        add(("start", None, label[0]))
        add(("stop", None, label[-1]))
    return out


@pytest.mark.parametrize(
    ("structure", "gold", "edges"),
    [
        (s, g, e)
        for s in STRUCTURES
        for g in GOLDS
        for e in (False, True)
        if not covered(s, "likelihood", g) and (not e or s in EDGES)
    ],
)
def test_likelihood_is_enumeration(structure: str, gold: str, edges: bool) -> None:
    loss = loss_of(structure, "likelihood", gold, edges=edges)
    w = np.random.default_rng(3).normal(size=loss.size)
    batch, expected = loss.batch, 0.0
    for n in range(batch.sequences):
        expected += float(loss.weight[n]) * enumerated(loss, n, w)
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(expected, abs=1e-9)


def enumerated(loss: LinearLoss, n: int, w: Floats) -> float:
    """log of the sum over all labelings minus that of the gold, by brute force."""
    batch, structure = loss.batch, loss.structure
    a, b = int(batch.seq_ptr[n]), int(batch.seq_ptr[n + 1])
    semi = isinstance(structure, SemiMarkov)
    total, gold, mean = -np.inf, -np.inf, 0.0
    for label in product(range(L), repeat=b - a):
        for begin in product((False, True), repeat=max(b - a - 1, 0) if semi else 0):
            can = possible(structure, label, begin)
            if not can and batch.soft is None:
                continue
            s = float(feature_vector(loss, n, label, begin) @ w)
            if batch.soft is not None:
                mean += float(np.prod([batch.soft[a + t, y] for t, y in enumerate(label)])) * s
            if not can:
                continue
            total = np.logaddexp(total, s)
            if batch.soft is not None:
                continue
            if batch.allowed is not None:
                if all(batch.allowed[a + t, y] for t, y in enumerate(label)):
                    gold = np.logaddexp(gold, s)
            else:
                assert batch.label is not None
                same = label == tuple(batch.label[a:b].tolist())
                if semi and same:
                    assert batch.begin is not None
                    same = begin == tuple(batch.begin[a + 1 : b].tolist())
                gold = np.logaddexp(gold, s) if same else gold
    return float(total - (mean if batch.soft is not None else gold))


def possible(structure: Any, label: tuple[int, ...], begin: tuple[bool, ...]) -> bool:
    """Tell whether lengths and the constraint "no 0 after 0" allow a labeling."""
    T, semi = len(label), isinstance(structure, SemiMarkov)
    first = [0, *(t + 1 for t, b in enumerate(begin) if b)] if semi and T else list(range(T))
    for p, end in zip(first, [*first[1:], T][: len(first)], strict=True):
        if semi and (len(set(label[p:end])) > 1 or end - p > structure.max_length[label[p]]):
            return False
        if structure.constraints and p and label[p - 1] == 0 == label[p]:
            return False
    return True


FAMILIES = {
    "batch": ("lbfgs", "cg", "steepest", "newton", "rprop", "rprop-minus", "owlqn"),
    "preconditioned": ("plbfgs", "pcg", "mixed-cg"),
    "kinks": ("subgradient", "one-slack"),
    "hidden": ("em",),
    "margins": ("bcfw", "n-slack"),
    "counts": ("gis", "iis-s", "iis-t"),
    "factored": ("smo", "exponentiated-margin", "exponentiated-margin-batch"),
    "signs": ("parallel",),
    "sequences": ("dual", "exponentiated", "sgd", "sgd-l1", "adagrad", "bcd"),
    "mistakes": ("perceptron", "perceptron-plain", "pa", "arow", "mira", "mira-kbest", "mira-crfpp"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("structure", "objective", "gold"),
    [
        *(
            case
            for case in CASES
            if not covered(*case) and case[0] in ("order 1", "order 2", "order 3", "local", "semi")
        ),
        *(("edges", objective, "path") for objective in ("likelihood", "perceptron", "max-margin")),
    ],
)
def test_optimizers_go_down_or_are_refused(structure: str, objective: str, gold: str, name: str) -> None:
    edges = structure == "edges"  # order 1, with edge attributes
    loss = loss_of("order 1" if edges else structure, objective, gold, weights=False, edges=edges)
    optimizer = by_name(name)
    if any(loss.lacks(kind) for kind in optimizer.needs) or loss.minimizes == (name in FAMILIES["mistakes"]):
        assert (name, structure, objective, gold) not in MUST
        with pytest.raises(NotCoveredError, match=r"^[^\n]+$"):
            check_suits(loss, optimizer)
        return
    penalty = penalty_of(objective, name, loss)
    scratch = np.empty(loss.size)
    zero = np.zeros(loss.size)
    begin = loss.value_and_grad(zero, scratch)
    run, state, later = optimizer.start(loss, penalty, zero), None, list[str]()
    for i in range(12):
        if i == 3:
            state = deepcopy(run.state()) if name in ("bcfw", "one-slack") else run.state()
        step = run.step()
        assert np.isfinite(step.objective)
        later.append(repr(step))
        if step.stopped:
            break
    if state is not None:  # a copy, but for those two; a run goes on from it with the same bits
        again = optimizer.start(loss, penalty, zero, state=state)
        assert [repr(again.step()) for _ in later[3:]] == later[3:]
        assert again.w.tobytes() == run.w.tobytes()
    if loss.minimizes:
        assert loss.value_and_grad(run.w, scratch) + penalty.value(run.w) < begin


MUST = {
    *(
        (name, "order 1", "likelihood", "path")
        for family in FAMILIES
        if family not in ("mistakes", "hidden", "margins", "factored", "signs")
        for name in FAMILIES[family]
    ),
    *((name, "semi", "likelihood", "path") for name in (*FAMILIES["batch"], *FAMILIES["counts"])),
    *(
        (name, s, "likelihood", gold)
        for name in (*FAMILIES["batch"], *FAMILIES["counts"])
        for s in ("order 2", "order 3")
        for gold in ("path", "soft")
    ),
    *(
        (name, s, "likelihood", "set")
        for name in (*FAMILIES["batch"], "em")
        for s in ("semi", "order 1", "order 2")
    ),
    *(
        (name, s, "perceptron", "path")
        for name in FAMILIES["mistakes"]
        for s in ("order 1", "order 2", "semi")
    ),
    *(
        (name, s, "max-margin", "path")
        for name in ("lbfgs", *FAMILIES["kinks"], *FAMILIES["margins"])
        for s in ("order 1", "order 2", "semi")
    ),
    *((name, s, "likelihood", "path") for name in ("sgd", "sgd-l1", "adagrad") for s in ("order 2", "edges")),
    *((name, s, "likelihood", "path") for name in ("dual", "exponentiated") for s in ("order 2", "semi")),
    *((name, "edges", "perceptron", "path") for name in FAMILIES["mistakes"]),
    ("bcfw", "edges", "max-margin", "path"),
    ("smo", "order 1", "max-margin", "path"),
    *(
        (f"exponentiated-margin{way}", s, "max-margin", "path")
        for way in ("", "-batch")
        for s in ("order 1", "order 2", "semi")
    ),
    *(("parallel", s, "exponential", "path") for s in ("order 1", "order 2", "semi")),
    *((name, "local", "local", "path") for name in FAMILIES["batch"]),
    *((name, "semi", o, "path") for name in FAMILIES["batch"] for o in ("softmax-margin", "exponential")),
    *((name, "order 2", objective, "path") for name in FAMILIES["batch"] for objective in CHAINS),
    *((name, "order 1", objective, "set") for name in FAMILIES["batch"] for objective in OPEN),
}


def test_every_member_is_here() -> None:
    named = {name for family in FAMILIES.values() for name in family}
    assert named == {*NAMES}, "an optimizer is missing from FAMILIES"
    kinds = {type(made).kind for made in STRUCTURES.values()}
    assert kinds == {*KINDS}, "a structure that can be trained is missing from STRUCTURES"


def test_one_position_is_logistic_regression() -> None:
    """A chain of one position is scikit-learn's LogisticRegression, through the same code."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(4)
    N, K = 60, 4
    X = rng.normal(size=(N, K))
    y = np.argmax(X @ rng.normal(size=(K, L)) + rng.gumbel(size=(N, L)), axis=1)
    batch = Batch(
        seq_ptr=np.arange(N + 1),
        attr_ptr=np.arange(N + 1) * K,
        attr=np.tile(np.arange(K, dtype=np.int32), N),
        value=X.ravel(),
        label=y.astype(np.int32),
    )
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y).coef_
    for structure in (Chain(L), Chain(L, order=0), SemiMarkov(L, max_length=1)):
        layout = Layout.all_pairs(batch, structure, transitions="none")
        loss = Likelihood(l2=1.0).bind(layout, structure, batch)
        free = np.ones(loss.size)
        free[layout.parts["length"]] = 1e12  # segments also have weights of lengths: held at 0
        run = by_name("lbfgs").start(loss, optimize.Penalty(l2=free), np.zeros(loss.size))
        while not run.step().stopped:
            pass
        ours = run.w[layout.parts["node"]].reshape(K, L).T
        np.testing.assert_allclose(ours, theirs, atol=2e-4)


def test_segments_of_one_position_are_a_chain() -> None:
    batch = data("path", "order 1", edges=True)
    chain, semi = Chain(L), SemiMarkov(L, max_length=1)
    bound = [
        Likelihood().bind(Layout.all_pairs(batch, s, start=True, stop=True), s, batch) for s in (chain, semi)
    ]
    w = np.random.default_rng(5).normal(size=bound[0].size)
    wide = np.zeros(bound[1].size)
    wide[: bound[1].layout.parts["length"].start] = w
    gradients = [np.empty(loss.size) for loss in bound]
    values = [loss.value_and_grad(x, g) for loss, x, g in zip(bound, (w, wide), gradients, strict=True)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(gradients[0], gradients[1][: len(w)], atol=1e-12)


def test_limits_on_lengths_and_dense_columns_take_the_general_path() -> None:
    batch = replace(data("path", "order 1"), label=np.ones(10, dtype=np.int32))
    for structure, dense in (
        (Chain(["O", "B-x", "I-x"], constraints=[Scheme("BIO"), SegmentLength("x", 1, 2)]), None),
        (Chain(L), 2),
    ):
        given = batch if dense is None else replace(batch, dense=np.ones((batch.positions, dense)))
        loss = Likelihood().bind(Layout.all_pairs(given, structure), structure, given)
        assert loss.fast is None
