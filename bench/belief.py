"""Belief propagation: a grid, an RBM and a citation graph; pgmax beside it where it can be imported.

    python -m bench.belief [--quick] [--threads N]

Grid: 500 x 500 variables of 21 labels, a dense table for the rows and one for the columns, until messages
move by 1e-3 at most. RBM: 100 + 100 binary units, 200 sweeps of max-product. Citations: 20,000 nodes, 44,000
edges between random nodes, 3 labels. Sweeps are timed as the difference of two runs, so that plans and tables
do not count; "first call" has them. Beside the clock there is the time of the processor, of all threads.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from bench.measure import write
from crfkit import Graph, inference
from crfkit.arrays import Floats
from crfkit.graphs import scopes
from crfkit.inference.methods import BeliefPropagation
from crfkit.native import threads_or_all
from crfkit.structures.graphs.potentials import GraphPotentials

Seconds = Floats  # [2]: by the clock, and of the processor


def least(call: Callable[[], object], repetitions: int) -> Seconds:
    """Return the shortest of some runs: by the clock, and of the processor."""
    times = []
    for _ in range(repetitions):
        start = np.array([time.perf_counter(), time.process_time()])
        call()
        times.append(np.array([time.perf_counter(), time.process_time()]) - start)
    return np.array([min(clock for clock, _ in times), min(spent for _, spent in times)])


def image(side: int, labels: int, *, potts: bool = False, strength: float = 0.3) -> GraphPotentials:
    """Return a grid with random scores of labels; its tables are dense, or know only "same"."""
    rng = np.random.default_rng(0)
    right, down = scopes.grid([(side, side)])
    graph = Graph({"pixel": labels}, look=["pixel"], right=["pixel"] * 2, down=["pixel"] * 2)
    batch = graph.batch(sizes={"pixel": side * side}, scopes={"right": right, "down": down})
    tables = {
        name: np.eye(labels) if potts else rng.normal(scale=strength, size=(labels, labels))
        for name in ("right", "down")
    }
    return batch.potentials(look=rng.normal(size=(side * side, labels)), **tables)


def machine(units: int) -> GraphPotentials:
    """Return a restricted Boltzmann machine of `units` + `units` binary units."""
    rng = np.random.default_rng(0)
    first, second = np.meshgrid(np.arange(units), units + np.arange(units), indexing="ij")
    scope = np.column_stack([first.ravel(), second.ravel()])
    graph = Graph({"unit": 2}, bias=["unit"], pair=["unit"] * 2)
    batch = graph.batch(sizes={"unit": 2 * units}, scopes={"pair": scope})
    pair = np.zeros((len(scope), 2, 2))
    pair[:, 1, 1] = rng.logistic(size=len(scope))
    bias = np.zeros((2 * units, 2))
    bias[:, 1] = rng.logistic(size=2 * units)
    return batch.potentials(bias=bias, pair=pair)


def citations(nodes: int, edges: int) -> GraphPotentials:
    """Return a random graph of three labels whose neighbors are alike."""
    rng = np.random.default_rng(0)
    graph = Graph({"paper": 3}, text=["paper"], cites=["paper"] * 2)
    scope = scopes.simple(rng.integers(nodes, size=(edges, 2)))
    batch = graph.batch(sizes={"paper": nodes}, scopes={"cites": scope})
    return batch.potentials(text=rng.normal(size=(nodes, 3)), cites=0.5 * np.eye(3))


def per_sweep(call: Callable[[int], object], few: int, many: int, repetitions: int) -> Seconds:
    """Return the seconds of a sweep: what many sweeps take more than a few."""
    return (least(lambda: call(many), repetitions) - least(lambda: call(few), repetitions)) / (many - few)


def pgmax_rbm(potentials: GraphPotentials, sweeps: int) -> Seconds | None:
    """Return the seconds of pgmax for the same model, or None where it cannot be imported."""
    try:
        jax = import_module("jax")
        fgraph, fgroup, infer, vgroup = (
            import_module(f"pgmax.{name}") for name in ("fgraph", "fgroup", "infer", "vgroup")
        )
    except ImportError:
        return None
    units = potentials.batch.variables // 2
    hidden = vgroup.NDVarArray(num_states=2, shape=(units,))
    visible = vgroup.NDVarArray(num_states=2, shape=(units,))
    made = fgraph.FactorGraph(variable_groups=[hidden, visible])
    pair = fgroup.PairwiseFactorGroup(
        variables_for_factors=[[hidden[i], visible[j]] for i in range(units) for j in range(units)],
        log_potential_matrix=potentials.tables["pair"].scores,
    )
    made.add_factors(pair)
    runner = infer.build_inferer(made.bp_state, backend="bp")
    bias = potentials.tables["bias"].scores
    start = runner.init(evidence_updates={hidden: bias[:units], visible: bias[units:]})
    run = jax.jit(lambda arrays: runner.run(arrays, num_iters=sweeps, damping=0.5, temperature=0.0))
    return least(lambda: jax.block_until_ready(run(start)), 4)


class Rows:
    """Figures, printed as a table and kept as JSON."""

    def __init__(self) -> None:
        """Begin without any."""
        self.table = Printed("model", "what", "clock, s", "processor, s", "remark")
        self.kept: list[dict[str, Any]] = []

    def add(self, model: str, what: str, seconds: Seconds | None, remark: str = "") -> None:
        """Add a figure."""
        clock, processor = (None, None) if seconds is None else (float(seconds[0]), float(seconds[1]))
        shown = ["-" if s is None else f"{s:.3g}" for s in (clock, processor)]
        self.table.add_row(model, what, *shown, remark)
        self.kept.append(
            {"model": model, "what": what, "clock": clock, "processor": processor, "remark": remark}
        )


def grids(rows: Rows, side: int, repetitions: int, threads: int) -> None:
    """Measure grids with dense tables, and with tables of "same or not"."""
    method = BeliefPropagation(tol=1e-3)
    for potts in (False, True):
        name = f"grid {side} x {side}, 21 labels, {'same or not' if potts else 'dense'}"
        grid = image(side, 21, potts=potts)

        def whole(g: GraphPotentials = grid) -> object:
            return inference.marginals(g, method=method, cliques=False, threads=threads)

        def sweeps(n: int, g: GraphPotentials = grid) -> object:
            return BeliefPropagation(tol=0.0, sweeps=n).run(g, threads)

        first = least(whole, 1)
        how = str(inference.marginals(grid, method=method, cliques=False, threads=threads).info)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.add(name, "marginals, first call", first, f"{how}; peak {memory:.0f} MB")
        rows.add(name, "marginals, again", least(whole, repetitions))
        rows.add(name, "a sweep", per_sweep(sweeps, 1, 4, repetitions))


def rbm(rows: Rows, units: int, repetitions: int, threads: int) -> None:
    """Measure max-product on a restricted Boltzmann machine."""
    potentials = machine(units)
    name = f"RBM, {len(potentials.batch.scopes['pair'])} pairs"
    method = BeliefPropagation("sequential", tol=0.0, sweeps=200, damping=0.0)
    method.run(potentials, threads, maxima=True)
    spent = least(lambda: method.run(potentials, threads, maxima=True), repetitions)
    rows.add(name, "200 sweeps of max-product", spent)
    other = pgmax_rbm(potentials, 200)
    rows.add(name, "pgmax, 200 iterations", other, "pgmax cannot be imported" if other is None else "")


def papers(rows: Rows, nodes: int, edges: int, repetitions: int, threads: int) -> None:
    """Measure a citation graph."""
    potentials = citations(nodes, edges)
    name = f"citations, {len(potentials.batch.scopes['cites'])} edges"
    for schedule in ("paths", "sequential"):
        method = BeliefPropagation(schedule)

        def sweeps(n: int, s: str = schedule) -> object:
            return BeliefPropagation(s, tol=0.0, sweeps=n).run(potentials, threads)

        def whole(m: BeliefPropagation = method) -> object:
            return inference.marginals(potentials, method=m, cliques=False, threads=threads)

        rows.add(name, f"a sweep, {schedule}", per_sweep(sweeps, 1, 11, repetitions))
        how = str(inference.marginals(potentials, method=method, cliques=False, threads=threads).info)
        rows.add(name, f"marginals, {schedule}", least(whole, repetitions), how)


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description="Belief propagation on a grid, an RBM and a citation graph.")
    parser.add_argument("--quick", action="store_true", help="small models, to see that all works")
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    threads, repetitions = threads_or_all(given.threads), 1 if given.quick else 5
    rows = Rows()
    grids(rows, 40 if given.quick else 500, repetitions, threads)
    rbm(rows, 20 if given.quick else 100, repetitions, threads)
    papers(rows, 500 if given.quick else 20_000, 1_100 if given.quick else 44_000, repetitions, threads)
    Console().print(rows.table)
    if not given.quick:
        write("belief", rows.kept)


if __name__ == "__main__":
    main()
