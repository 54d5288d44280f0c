"""Objectives that learn from sequences without labels: by enumeration, projections, use, refusals."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from sklearn.exceptions import ConvergenceWarning

import crfkit
from crfkit import ChainCRF, Likelihood, Stop, train
from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.features import ItemExtractor
from crfkit.linear.feature_counts import feature_counts
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.objectives import EntropyRegularized, PosteriorRegularized
from crfkit.structures import Chain, LocalChain
from crfkit.structures.constraints import Forbid
from crfkit.training import BlockedData
from tests.cases.batches import random_batch
from tests.cases.cli import run

L = 3
NAMES = ["0", "1", "2"]


def data(*, edges: bool = False) -> Batch:
    """Labeled, partially labeled and unlabeled sequences, with weights."""
    rng = np.random.default_rng(0)
    made = random_batch(rng, [3, 0, 2, 1, 3], 4, L, values=True, edges=edges, least=1)
    label = np.array([0, 1, 2, -1, -1, -1, 1, -1, -1], dtype=np.int32)
    return replace(made, label=label, weight=np.array([1.0, 1.0, 2.0, 0.5, 1.0]))


def bound(objective: Any, chain: Chain, batch: Batch) -> LinearLoss:
    layout = Layout.all_pairs(batch, chain, start=True, stop=True)
    made: LinearLoss = objective.bind(layout, chain, batch, threads=1)
    return made


def enumerated(loss: LinearLoss, n: int, w: Floats) -> tuple[list[tuple[int, ...]], Floats]:
    """The labelings of a sequence that agree with what is known, and their scores."""
    batch = loss.batch
    first, last = int(batch.seq_ptr[n]), int(batch.seq_ptr[n + 1])
    assert batch.label is not None
    known = batch.label[first:last]
    every = [
        y
        for y in product(range(L), repeat=last - first)
        if all(k in (-1, a) for k, a in zip(known, y, strict=True))
        and not (loss.structure.constraints and (0, 0) in pairwise(y))
    ]
    part = replace(batch.select(slice(n, n + 1)), weight=None)

    def scored(y: tuple[int, ...]) -> float:
        given = replace(part, label=np.array(y, dtype=np.int32))
        return float(feature_counts(Likelihood().bind(loss.layout, loss.structure, given)) @ w)

    return every, np.array([scored(y) if y else 0.0 for y in every])


def shares(scores: Floats) -> Floats:
    made: Floats = np.exp(scores - np.logaddexp.reduce(scores))
    return made


CHAINS = [Chain(L), Chain(L, order=2), Chain(L, order=0), Chain(L, constraints=[Forbid("0", "0")])]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("edges", [False, True])
def test_entropy_is_enumeration(chain: Chain, edges: bool) -> None:
    if edges and chain.order != 1:
        return
    loss = bound(EntropyRegularized(gamma=0.7), chain, data(edges=edges))
    w = np.random.default_rng(1).normal(size=loss.size)
    expected = bound(Likelihood(), chain, data(edges=edges)).value_and_grad(w, np.empty(loss.size))
    for n in range(loss.batch.sequences):
        p = shares(enumerated(loss, n, w)[1])
        expected -= 0.7 * float(loss.weight[n]) * float(p @ np.log(p))
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(expected, abs=1e-9)


def test_entropy_of_long_sequences_with_high_scores() -> None:
    """Constants that make scores positive leave no trace, and nothing overflows."""
    rng = np.random.default_rng(5)
    batch = replace(random_batch(rng, [300, 40], 6, L, values=True, least=1), label=None)
    loss = bound(EntropyRegularized(), Chain(L), batch)
    w, scratch = 8.0 * rng.normal(size=loss.size), np.empty(loss.size)
    gradient = np.empty(loss.size)
    loss.value_and_grad(w, gradient)
    direction = rng.normal(size=loss.size)
    up, down = (loss.value_and_grad(w + h * direction, scratch) for h in (1e-6, -1e-6))
    assert (up - down) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-5, abs=1e-5)


def nearest(p: Floats, phi: Floats, b: Floats) -> float:
    """The least KL(q || p) with phi q <= b, by a general solver."""
    found = minimize(
        lambda q: float(np.sum(q * (np.log(np.maximum(q, 1e-300)) - np.log(p)))),
        np.full(len(p), 1.0 / len(p)),
        bounds=[(1e-12, 1.0)] * len(p),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "ineq", "fun": lambda q: b - phi @ q},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return float(found.fun)


@pytest.mark.parametrize("chain", CHAINS)
def test_the_projection_is_the_nearest_distribution_in_the_bounds(chain: Chain) -> None:
    objective = PosteriorRegularized(at_most={"2": 0.3}, at_least={"1": 0.6}, gamma=0.5, slack=1000.0)
    batch = data()
    loss = bound(objective, chain, batch)
    w = 0.5 * np.random.default_rng(1).normal(size=loss.size)
    expected = bound(Likelihood(), chain, batch).value_and_grad(w, np.empty(loss.size))
    bounds = np.array([0.3, -0.6])
    for n in (2, 3, 4):  # with labels that are not known
        every, scores = enumerated(loss, n, w)
        count = np.array([[y.count(2), -y.count(1)] for y in every], dtype=np.float64).T  # [2, labelings]
        expected += 0.5 * float(loss.weight[n]) * nearest(shares(scores), count, bounds)
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(expected, abs=1e-5)


def test_shares_of_all_positions() -> None:
    """Sequences that are drawn independently: one projection of their product."""
    batch = replace(data(), weight=None)
    objective = PosteriorRegularized(at_most={"2": 0.2}, per="position", slack=1000.0)
    loss = bound(objective, Chain(L), batch)
    w, scratch = np.random.default_rng(1).normal(size=loss.size), np.empty(loss.size)
    expected = bound(Likelihood(), Chain(L), batch).value_and_grad(w, scratch)
    joint, count, T = np.ones(1), np.zeros(1), 0
    for n in (2, 3, 4):
        every, scores = enumerated(loss, n, w)
        joint = np.outer(joint, shares(scores)).ravel()
        count = (count[:, None] + np.array([y.count(2) for y in every])).ravel()
        T += len(every[0])

    def tilted(theta: float) -> Floats:
        return shares(np.log(joint) - theta * count)

    q = tilted(brentq(lambda theta: float(tilted(theta) @ count) - 0.2 * T, 0.0, 50.0, xtol=1e-13))
    expected += float(q @ (np.log(q) - np.log(joint)))
    assert loss.value_and_grad(w, scratch) == pytest.approx(expected, abs=1e-9)


def test_shares_have_differences_for_gradients() -> None:
    for edges in (False, True):
        objective = PosteriorRegularized(at_most={"2": 0.2}, at_least={"0": 0.5}, per="position")
        loss = bound(objective, Chain(L), data(edges=edges))
        rng = np.random.default_rng(2)
        w, gradient, scratch = rng.normal(size=loss.size), np.empty(loss.size), np.empty(loss.size)
        loss.value_and_grad(w, gradient)
        direction = rng.normal(size=loss.size)
        up, down = (loss.value_and_grad(w + h * direction, scratch) for h in (1e-6, -1e-6))
        assert (up - down) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-6, abs=1e-6)


def test_bounds_that_nothing_can_keep_cost_slack() -> None:
    """One position cannot have two labels: p with the label as certain as the slack makes it."""
    one = np.zeros(1, dtype=np.int32)
    batch = Batch(seq_ptr=np.array([0, 1]), attr_ptr=np.array([0, 1]), attr=one, label=one - 1)
    loss = bound(PosteriorRegularized(at_least={"1": 2.0}, slack=3.0), Chain(L), batch)
    value = loss.value_and_grad(np.zeros(loss.size), np.empty(loss.size))
    assert value == pytest.approx(2.0 * 3.0 + np.log(3.0) - np.log(2.0 + np.exp(3.0)), rel=1e-12)


# ---- that it helps ------------------------------------------------------------------------------


def views(n: int, seed: int, most: int = 8) -> tuple[list[Any], list[list[str]]]:
    """Sequences of eight positions with three words each, of which every one mostly tells the label A or B.

    There are 30 words of each kind and label, so that few sequences show few of them. Sequences have at most
    so many labels B.
    """
    rng, X, Y = np.random.default_rng(seed), list[Any](), list[list[str]]()
    while len(X) < n:
        label = rng.integers(0, 2, 8)
        if label.sum() > most:
            continue
        told = np.where(rng.random((8, 3)) < 0.1, 1 - label[:, None], label[:, None])
        word = 30 * told + rng.integers(0, 30, (8, 3))
        X.append([[f"{kind}{w}" for kind, w in zip("abc", row, strict=True)] for row in word.tolist()])
        Y.append(["AB"[y] for y in label.tolist()])
    return X, Y


def trained(few: Any, many: Any, objective: Any, init: Any = None) -> Any:
    options: dict[str, Any] = {"selection": "all", "stop": Stop(max_iterations=100), "init": init}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(few, unlabeled=many, objective=objective, optimizer="lbfgs", **options)


@pytest.mark.parametrize("seed", [0, 10])
def test_sequences_without_labels_help(seed: int) -> None:
    """Entropy: 0.89 to 0.95; shares of labels where few sequences show B: 0.67 to 0.84 and more."""
    test = ItemExtractor()(*views(200, seed + 2))
    for few, goal, gain in (
        (views(15, seed), EntropyRegularized(l2=0.3, gamma=0.05), 0.03),
        (
            views(10, seed, most=2),
            PosteriorRegularized(l2=0.3, at_least={"A": 0.45, "B": 0.45}, per="position"),
            0.08,
        ),
    ):
        extract = ItemExtractor()
        labeled, more = extract(*few), extract(views(200, seed + 1)[0])
        plain = trained(labeled, None, Likelihood(l2=0.3))
        found = trained(labeled, more, goal, plain)
        assert found.score(test) > plain.score(test) + gain


def test_estimators_take_none_for_a_sequence() -> None:
    X, Y = views(6, 0)
    more, _ = views(5, 1)
    extract = ItemExtractor()
    objective = EntropyRegularized(gamma=0.1)
    options: dict[str, Any] = {"selection": "all", "objective": objective}
    crf = ChainCRF(**options).fit(X + more, [*Y, *[None] * 5])
    model = train(extract(X, Y), unlabeled=ItemExtractor()(more), **options)
    np.testing.assert_allclose(crf.model_.w, model.w, atol=1e-8)


def test_what_is_refused(tmp_path: Any) -> None:
    X, Y = views(3, 0)
    data = ItemExtractor()(X, Y)
    with pytest.raises(ValueError, match="objective likelihood learns nothing from sequences without labels"):
        train(data, unlabeled=data)
    with pytest.raises(ValueError, match="bound on the label 'C', which the data lack; their labels are"):
        train(data, objective=PosteriorRegularized(at_most={"C": 1.0}))
    with pytest.raises(ValueError, match="objective entropy is for chains, not for"):
        train(data, structure=LocalChain(), objective="entropy")
    blocks = BlockedData.write(tmp_path, [data])
    with pytest.raises(ValueError, match="unlabeled is for data in memory"):
        train(blocks, unlabeled=data, objective="entropy")
    with pytest.raises(ValueError, match='not on blocks on disk; read the data as a whole, or give per="seq'):
        train(blocks, objective=PosteriorRegularized(at_most={"A": 0.5}, per="position"))
    for make, message in (
        (lambda: EntropyRegularized(gamma=-1.0), "gamma is -1.0"),
        (lambda: PosteriorRegularized(slack=-1.0), "slack is -1.0"),
        (lambda: PosteriorRegularized(at_most={"A": -1.0}), r"at_most\['A'\] is -1.0"),
        (lambda: PosteriorRegularized(per="word"), "per is 'word'"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="at_most is 3, expected numbers by label"):
        PosteriorRegularized(at_most=3)  # type: ignore[arg-type]


def test_the_command_line(tmp_path: Path) -> None:
    X, Y = views(6, 0)
    more, _ = views(5, 1)
    pairs = [list(zip(x, tags, strict=True)) for x, tags in zip(X, Y, strict=True)]
    lines = ["".join(f"{' '.join(row)} {y}\n" for row, y in one) for one in pairs]
    (tmp_path / "few.txt").write_text("\n".join(lines))
    (tmp_path / "more.txt").write_text("\n".join("".join(f"{' '.join(row)}\n" for row in x) for x in more))
    (tmp_path / "t.txt").write_text("U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[0,2]\nB\n")
    options: list[Any] = ["train", tmp_path / "few.txt", "-t", tmp_path / "t.txt", "--selection", "all", "-q"]
    given: list[Any] = [
        "--objective",
        "entropy",
        "--set",
        "objective.gamma=0.05",
        "--unlabeled",
        tmp_path / "more.txt",
    ]
    run(*options, *given, "-o", tmp_path / "m.crf")
    found = crfkit.load(tmp_path / "m.crf")
    data = [[[f"U{i}:{w}" for i, w in enumerate(row)] for row in x] for x in X + more]
    crf = ChainCRF(objective=EntropyRegularized(gamma=0.05), selection="all")
    same = crf.fit(data, [*Y, *[None] * 5]).model_
    assert len(found.attributes) == len(same.attributes)
    assert found.training is not None
    assert same.training is not None
    assert found.training.loss == pytest.approx(same.training.loss, rel=1e-6)
    for wrong, message in (
        (["--unlabeled", tmp_path / "more.txt"], "--unlabeled is for --objective entropy, posterior"),
        (["--set", "objective.gamma=1"], "--set objective.gamma: the objective likelihood does not have it"),
    ):
        assert message in run(*options, *wrong, "-o", tmp_path / "n.crf", status=2).output
