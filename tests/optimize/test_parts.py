"""What optimizers are made of: vector kernels, the memory of L-BFGS, line searches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crfkit.optimize import LBFGS, Penalty
from crfkit.optimize.batch.descent import Trial, Wolfe
from crfkit.optimize.batch.vectors import KeptPairs, Pairs, Vectors
from crfkit.optimize.problem import End
from tests.cases.losses import Quadratic

# ---- vectors


@pytest.mark.parametrize("F", [1, 7, 8, 8191, 300_007])
def test_vector_kernels_equal_numpy_for_any_number_of_threads(F: int) -> None:
    rng = np.random.default_rng(F)
    x, y, z, v = rng.normal(size=(4, F))
    w = np.where(rng.random(F) < 0.4, 0.0, rng.normal(size=F))
    results = []
    for threads in (1, 2, 5):
        vectors, out, gradient, direction = Vectors(F, threads), np.empty(F), y.copy(), z.copy()
        found: list[Any] = [
            vectors.dots([x, y, z], [v, w]),
            vectors.combine(np.arange(5.0), [x, y, z, v, w], out),
        ]
        found += [vectors.add_l2(np.array([0.5]), w, gradient, z), gradient]
        pseudo, moved = np.empty(F), np.empty(F)
        found += [vectors.pseudo_gradient(np.array([0.7]), w, y, pseudo), pseudo]
        found += [
            vectors.downhill_within([], [], np.zeros(0), np.array([0.7]), w, pseudo, direction),
            direction,
        ]
        found += [vectors.move_in_orthant(np.array([0.7]), w, pseudo, direction, 0.3, moved), moved]
        results.append(found)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)

    def close(actual: Any, desired: Any) -> None:
        np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-10)

    dots, combined, l2, gradient, ps, pseudo, slope, down, sums, moved = results[0]
    close(dots, np.array([x, y, z]) @ np.array([v, w]).T)
    close(combined, y + 2 * z + 3 * v + 4 * w)
    g = y + 0.5 * w
    close(gradient, g)
    close(l2, [0.5 * w @ w, w @ w, g @ g, g @ z])
    expected = np.where(w > 0, y + 0.7, np.where(w < 0, y - 0.7, np.sign(y) * np.maximum(abs(y) - 0.7, 0)))
    close(pseudo, expected)
    close(ps, [expected @ expected, 0.7 * abs(w).sum()])
    d = -expected
    close(down, d)
    assert slope == pytest.approx(float(d @ expected), rel=1e-12)
    there = w + 0.3 * d
    there = np.where(there * np.where(w != 0, w, -expected) > 0, there, 0.0)
    close(moved, there)
    close(sums, [expected @ (there - w), 0.7 * abs(there).sum(), there @ there])


def test_strengths_may_differ_by_weight() -> None:
    rng = np.random.default_rng(0)
    F = 1001
    w, y, strength = rng.normal(size=F), rng.normal(size=F), rng.random(F) * (rng.random(F) < 0.5)
    vectors, gradient, pseudo = Vectors(F), y.copy(), np.empty(F)
    assert vectors.add_l2(strength, w, gradient, None)[0] == pytest.approx(float(strength @ w**2))
    np.testing.assert_allclose(gradient, y + strength * w)
    vectors.pseudo_gradient(strength, w, y, pseudo)
    np.testing.assert_allclose(pseudo, y + strength * np.sign(w))
    with pytest.raises(ValueError, match="l2 has 3 entries, expected 1001"):
        vectors.add_l2(np.ones(3), w, gradient, None)


def test_a_run_gives_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    problem = Quadratic(rng.random(200_000) + 0.1, rng.normal(size=200_000))
    for penalty in (Penalty(l2=0.1), Penalty(l1=0.1)):
        runs = [LBFGS(threads=n).start(problem, penalty, np.zeros(200_000)) for n in (1, 2)]
        for _ in range(8):
            one, two = (run.step() for run in runs)
            assert one == two
        np.testing.assert_array_equal(runs[0].w, runs[1].w)


# ---- pairs


@pytest.mark.parametrize("F", [37, 1 << 16])  # doubles, and numbers of 16 bits
def test_under_l1_the_recursion_is_on_the_weights_that_may_move(F: int) -> None:
    rng = np.random.default_rng(F)
    w = np.where(rng.random(F) < 0.5, 0.0, rng.normal(size=F))
    pseudo = np.where((w == 0.0) & (rng.random(F) < 0.6), 0.0, rng.normal(size=F))
    l1 = np.where(rng.random(F) < 0.1, 0.0, 0.3)  # weights without L1 have no orthant
    free = (w != 0.0) | (pseudo != 0.0)
    pairs = KeptPairs(4, Vectors(F))
    kept: list[tuple[Any, Any]] = []
    for length in (0.5, 1.0, 2.0, 1.0, 0.25, 1.0):
        d = rng.normal(size=F)
        y = d * length * 3.0 + 0.3 * rng.normal(size=F)
        if length == 2.0:  # curves upwards in all, but not where weights may move: it is left out there
            y = np.where(free, -y, 40.0 * y)
        assert pairs.add(d.copy(), length, y.copy(), pseudo)
        exact = [pairs.vectors.combine([1.0], [], np.empty(F), kept=[x]) for x in (pairs.s[-1], pairs.y[-1])]
        kept = [*kept, (length * exact[0][free], exact[1][free])][-4:]
    upward = [(s, y) for s, y in kept if s @ y > 0.0]
    assert len(upward) == 3
    q, alphas = pseudo[free], []
    for s, y in reversed(upward):
        alphas.append((s @ q) / (s @ y))
        q = q - alphas[-1] * y
    q = q * (upward[-1][0] @ upward[-1][1]) / (upward[-1][1] @ upward[-1][1])
    for (s, y), alpha in zip(upward, reversed(alphas), strict=True):
        q = q + (alpha - (y @ q) / (s @ y)) * s
    expected = np.zeros(F)
    expected[free] = -q
    expected[(w == 0.0) & (l1 > 0.0) & (expected * pseudo >= 0.0)] = 0.0
    found = np.full(F, 9.0)
    slope = pairs.downhill_within(l1, w, pseudo, found)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert slope == pytest.approx(float(expected @ pseudo))


def test_under_l1_few_iterations_reach_the_optimum() -> None:
    rng, K, l1 = np.random.default_rng(1), 300, 5.0
    rows = (rng.random((600, K)) < 0.9 / np.arange(1, K + 1) ** 0.7).astype(float)  # as words occur
    problem = Quadratic(rows.T @ rows + 0.1 * np.eye(K), rng.normal(size=K))
    run = LBFGS(tolerance=1e-6, memory=20).start(problem, Penalty(l1=l1), np.zeros(K))
    while not (step := run.step()).stopped:
        pass
    gradient, moves = np.empty(K), run.w != 0.0
    problem.value_and_grad(run.w, gradient)
    assert 0 < np.count_nonzero(moves) < K
    np.testing.assert_allclose(gradient[moves], -l1 * np.sign(run.w[moves]), atol=1e-4)
    assert (abs(gradient[~moves]) <= l1).all()
    assert step.evaluations < 100  # 85; with H of all weights 116


def test_pairs_equal_the_two_loop_recursion() -> None:
    rng = np.random.default_rng(3)
    F, memory = 37, 4
    pairs = Pairs(memory, Vectors(F))
    kept: list[tuple[Any, Any]] = []
    for length in (0.5, 1.0, 2.0, 1.0, 0.25, 1.0):
        d, g = rng.normal(size=F), rng.normal(size=F)
        y = d * length * 3.0 + 0.3 * rng.normal(size=F)
        kept = [*kept, (length * d, y)][-memory:]
        assert pairs.add(d.copy(), length, y.copy(), g)
        q, alphas = g.copy(), []
        for s, y in reversed(kept):
            alphas.append((s @ q) / (s @ y))
            q = q - alphas[-1] * y
        q = q * (kept[-1][0] @ kept[-1][1]) / (kept[-1][1] @ kept[-1][1])
        for (s, y), alpha in zip(kept, reversed(alphas), strict=True):
            q = q + (alpha - (y @ q) / (s @ y)) * s
        out = np.empty(F)
        slope = pairs.downhill(g, float(g @ g), out)
        np.testing.assert_allclose(out, -q, rtol=1e-11, atol=1e-13)
        assert slope == pytest.approx(-float(g @ q), rel=1e-11)
    assert not pairs.add(np.ones(F), 1.0, -np.ones(F), g), "no pair where the function curves down"
    assert len(pairs) == memory


def brief(x: Any) -> Any:
    """Return x as it is kept in 16 bits: the upper halves of floats, rounded to the nearest even one."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32)
    bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


@pytest.mark.parametrize("F", [1 << 11, 70_001])
def test_many_weights_are_kept_in_16_bits(F: int) -> None:
    rng = np.random.default_rng(4)
    x, y, g = rng.normal(size=(3, F)) * 10.0 ** rng.integers(-30, 30, size=(3, F))
    found = []
    for threads in (1, 3):
        vectors, rounded, out = Vectors(F, threads), x.copy(), np.empty(F)
        kept = vectors.keep(rounded)
        assert kept.nbytes < 2.1 * F, "16 bits for a weight"
        np.testing.assert_array_equal(rounded, brief(x))
        vectors.combine([2.0, -1.0], [g], out, kept=[kept])
        np.testing.assert_allclose(out, 2.0 * g - brief(x), rtol=1e-15)
        found.append((out, vectors.kept_dots([kept, vectors.keep(y.copy())], [g, x])))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][1][0], [brief(x) @ g, brief(x) @ x], rtol=1e-9)


def test_pairs_of_brief_vectors_are_exactly_those_that_are_kept() -> None:
    """H maps the last y to the last s, as both are kept: the secant equation."""
    rng, F = np.random.default_rng(5), 1 << 16
    pairs, out = Pairs(3, Vectors(F)), np.empty(F)
    for _ in range(5):
        s = rng.normal(size=F)
        y = 3.0 * s + 0.3 * rng.normal(size=F)
        assert pairs.add(s, 1.0, y, y)
    pairs.downhill(y, float(y @ y), out)
    np.testing.assert_allclose(out, -s, rtol=1e-9, atol=1e-12)


# ---- line searches


CURVES: dict[str, Callable[[float], tuple[float, float]]] = {
    "quartic": lambda t: ((t - 2.0) ** 4 - 16.0, 4.0 * (t - 2.0) ** 3),
    "far": lambda t: ((t - 1e4) ** 2 * 1e-4 - 1e4, 2e-4 * (t - 1e4)),
    "near": lambda t: (1e6 * (t - 1e-4) ** 2, 2e6 * (t - 1e-4)),
    "wavy": lambda t: (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0) ** 2),  # More & Thuente (1994)
    "steep": lambda t: ((t + 0.004) ** 5 - 2.0 * (t + 0.004) ** 4, (t + 0.004) ** 3 * (5.0 * t + 0.02 - 8.0)),
    "wall": lambda t: (math.inf, math.nan) if t > 0.3 else ((t - 0.2) ** 2, 2.0 * (t - 0.2)),
    "flat": lambda t: (1e6 + 1e-12 * (t - 1.0) ** 2, 2e-12 * (t - 1.0)),  # only slopes tell points apart
    "hole": lambda t: (math.nan, math.nan) if t > 3.0 else (-t + t**2 / 5.0, -1.0 + 0.4 * t),
}


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("c2", [0.1, 0.9])
@pytest.mark.parametrize("curve", CURVES)
def test_line_search_finds_wolfe_points(curve: str, c2: float, first: float) -> None:
    phi = CURVES[curve]
    rule, begin = Wolfe(1e-4, c2, 40), Trial(0.0, *phi(0.0))
    found = rule.search(phi, begin, first)
    assert rule.accepts(begin, found.best)
    assert found.best == found.last
    value, slope = phi(found.best.length)
    assert value <= begin.value + 1e-4 * found.best.length * begin.slope + 1e-12
    assert abs(slope) <= c2 * abs(begin.slope)


def test_line_search_gives_the_best_it_met_when_it_runs_out() -> None:
    found = Wolfe(1e-4, 0.1, 3).search(CURVES["far"], Trial(0.0, *CURVES["far"](0.0)), 1e-3)
    assert 0.0 < found.best.length < 1.0
    nowhere = Wolfe(1e-4, 0.1, 5).search(lambda t: (math.inf, math.nan), Trial(0.0, 1.0, -1.0), 1.0)
    assert nowhere.best.length == 0.0
    assert not nowhere.finite


def test_searches_say_that_their_evaluations_are_spent() -> None:
    far = CURVES["far"]
    begin = Trial(0.0, *far(0.0))
    assert Wolfe(1e-4, 0.1, 3).search(far, begin, 1e-3).spent
    assert not Wolfe(1e-4, 0.1, 40).search(far, begin, 1e-3).spent


class Walled:
    """A bowl behind a wall: the objective jumps wherever a search goes far."""

    size = 2

    def value_and_grad(self, w: Any, gradient: Any) -> float:
        gradient[:] = w - 3.0
        wall = 1e3 if w[0] > 0.3 else 0.0
        return 0.5 * float(gradient @ gradient) + wall


def test_a_run_ends_where_the_objective_jumps() -> None:
    """Without `jumps` it goes on, each search for next to nothing."""
    ended = {}
    for jumps in (False, True):
        run = LBFGS(max_evaluations=4, jumps=jumps).start(Walled(), Penalty(), np.zeros(2))
        step = run.step()
        while not step.stopped:
            step = run.step()
        ended[jumps] = step
        assert 0.0 < run.w[0] <= 0.3
    assert ended[True].evaluations < ended[False].evaluations
    assert ended[True].end is End.SETTLED
    assert ended[True].stopped == "the objective jumps: 4 evaluations of a search met no flat point"
