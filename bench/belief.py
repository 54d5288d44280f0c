"""Belief propagation: a grid, an RBM and a citation graph; pgmax beside it where it can be imported.

    python -m bench.belief [--quick] [--threads N]

Grid: 500 x 500 variables of 21 labels, a dense table for the rows and one for the columns, until messages move
by 1e-3 at most. RBM: 100 + 100 binary units, 200 sweeps of max-product. Citations: 20,000 nodes, 44,000 edges
between random nodes, 3 labels. Sweeps are timed as the difference of two runs, so that plans and tables do not
count; "first call" has them.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Printed

from bench.measure import plain, write
from crfkit import Graph, inference, scopes
from crfkit.methods import BeliefPropagation
from crfkit.native import threads_or_all
from crfkit.structures.graph_potentials import GraphPotentials


def least(call: Callable[[], object], repetitions: int) -> float:
    """Return the shortest of some runs, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


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
    scope = np.stack(np.meshgrid(np.arange(units), units + np.arange(units), indexing="ij"), -1).reshape(-1, 2)
    graph = Graph({"unit": 2}, bias=["unit"], pair=["unit"] * 2)
    batch = graph.batch(sizes={"unit": 2 * units}, scopes={"pair": scope})
    pair = np.zeros((len(scope), 2, 2))
    pair[:, 1, 1] = rng.logistic(size=len(scope))
    bias = np.zeros((2 * units, 2))
    bias[:, 1] = rng.logistic(size=2 * units)
    return batch.potentials(bias=bias, pair=pair)


def citations(nodes: int, edges: int) -> GraphPotentials:
    """Return a random graph of three labels whose neighbours are alike."""
    rng = np.random.default_rng(0)
    graph = Graph({"paper": 3}, text=["paper"], cites=["paper"] * 2)
    scope = scopes.simple(rng.integers(nodes, size=(edges, 2)))
    batch = graph.batch(sizes={"paper": nodes}, scopes={"cites": scope})
    return batch.potentials(text=rng.normal(size=(nodes, 3)), cites=0.5 * np.eye(3))


def per_sweep(call: Callable[[int], object], few: int, many: int, repetitions: int) -> float:
    """Return the seconds of a sweep: what many sweeps take more than a few."""
    return (least(lambda: call(many), repetitions) - least(lambda: call(few), repetitions)) / (many - few)


def pgmax_rbm(potentials: GraphPotentials, sweeps: int) -> float | None:
    """Return the seconds of pgmax for the same model, or None where it cannot be imported."""
    try:
        import jax
        from pgmax import factor, fgraph, fgroup, infer, vgroup
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
    del factor
    runner = infer.build_inferer(made.bp_state, backend="bp")
    bias = potentials.tables["bias"].scores
    start = runner.init(evidence_updates={hidden: bias[:units], visible: bias[units:]})
    run = jax.jit(lambda arrays: runner.run(arrays, num_iters=sweeps, damping=0.5, temperature=0.0))
    return least(lambda: jax.block_until_ready(run(start)), 4)


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small models, for tests")
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    threads = threads_or_all(given.threads)
    repetitions = 1 if given.quick else 3
    console = Console()
    table = Printed("model", "what", "seconds", "remark")
    kept: list[dict[str, Any]] = []

    def row(model: str, what: str, seconds: float | None, remark: str = "") -> None:
        table.add_row(model, what, "-" if seconds is None else f"{seconds:.4g}", remark)
        kept.append({"model": model, "what": what, "seconds": seconds, "remark": remark})

    side = 40 if given.quick else 500
    for potts in (False, True):
        name = f"grid {side} x {side}, 21 labels, {'same or not' if potts else 'dense'}"
        grid = image(side, 21, potts=potts)
        coarse = BeliefPropagation(tol=1e-3)
        start = time.perf_counter()
        found = inference.marginals(grid, method=coarse, cliques=False, threads=threads)
        first = time.perf_counter() - start
        row(name, "marginals, first call", first, str(found.how))
        again = least(lambda g=grid: coarse.marginals(g, False, threads), repetitions)
        row(name, "marginals, again", again)
        def sweeps(n: int, g: GraphPotentials = grid) -> object:
            return BeliefPropagation(tol=0.0, sweeps=n).marginals(g, False, threads)

        row(name, "a sweep", per_sweep(sweeps, 2, 6, repetitions))
        if not potts:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            row(name, "peak memory, MB (not seconds)", memory)

    rbm = machine(20 if given.quick else 100)
    name = f"RBM, {rbm.batch.factors} factors"
    many = BeliefPropagation("sequential", tol=0.0, sweeps=200, damping=0.0)
    many.best(rbm, threads)
    row(name, "200 sweeps of max-product", least(lambda: many.best(rbm, threads), repetitions))
    other = pgmax_rbm(rbm, 200)
    row(name, "pgmax, 200 iterations", other, "cannot be imported" if other is None else "")

    papers = citations(500 if given.quick else 20_000, 1100 if given.quick else 44_000)
    name = f"citations, {len(papers.batch.scopes['cites'])} edges"
    for schedule in ("paths", "sequential"):

        def walk(n: int, s: str = schedule) -> object:
            return BeliefPropagation(s, tol=0.0, sweeps=n).marginals(papers, False, threads)

        row(name, f"a sweep, {schedule}", per_sweep(walk, 2, 42, repetitions))
        start = time.perf_counter()
        found = inference.marginals(papers, method=BeliefPropagation(schedule), cliques=False, threads=threads)
        row(name, f"marginals, {schedule}", time.perf_counter() - start, str(found.how))
    console.print(table)
    if not given.quick:
        write("belief", {"threads": threads, "rows": plain(kept)})


if __name__ == "__main__":
    main()
