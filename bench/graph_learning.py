"""Learning on graphs: what an evaluation costs, and what training on scenes with six labels takes.

    python -m bench.graph_learning [--quick] [--parts skip-chain,grid,scene,network,margin] [--data FOLDER]
                                   [--peer PYTHON] [--seconds 300]

- skip-chain: one loss and gradient of Bethe's likelihood on the seminar mails (five labels; the features of
  `crfkit reproduce skip-chain`) at random weights; the same with counts by way of the marginals of factors.
- grid: one loss and gradient on CamVid (11 labels), by pseudo-likelihood and by Bethe's likelihood.
- scene: all pairs of six labels, trained by the likelihood: seconds, and the Hamming loss of the test part.
- network: `GraphCRF` as it comes on Cora and CiteSeer, 20 known labels a class, with links and without; on
  4,057 generated documents also, with 100,000 links, two thirds of them within a class, 10 % known.
- margin: scenes by max-margin, to a gap of 1 %; beside PyStruct where --peer is a Python that has it. Both
  minimize the same function, whose value at the weights of each is given, over the lower bound of crfkit.

One thread; seconds are of the processor, so that other programs do not count. --quick makes small data of its
own. Writes bench/results/graph_learning.json. PyStruct 0.3.2 needs a NumPy below 1.24, its Cython
sources translated anew, and joblib in place of sklearn.externals.joblib.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Timing, interleaved, plain, write
from bench.runs import chosen
from crfkit import FeatureSelection, Graph, GraphCRF, Likelihood, inference
from crfkit.arrays import Floats, pointers
from crfkit.graphs import Clique, scopes
from crfkit.inference.methods import Auto, BeliefPropagation
from crfkit.inference.methods.method import Expected, Method
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.objective import Objective
from crfkit.objectives import MaxMargin, PseudoLikelihood
from crfkit.optimize import OneSlack
from crfkit.optimize.problem import Penalty
from crfkit.papers import Given, grid, multilabel, skip_chain
from crfkit.papers.linked import Linked, linked
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.potentials import GraphPotentials
from crfkit.training.graphs.networks import without_links


class ByMarginals(BeliefPropagation):
    """Belief propagation that makes the marginals of all factors, and adds them up then."""

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts."""
        return Method.expected(self, potentials, weight, threads)


def evaluation(batch: GraphBatch, objective: Objective, method: Method) -> Callable[[], float]:
    """Return a call that evaluates a loss and its gradient at small random weights."""
    loss = GraphLoss(objective, graph_layout(batch, FeatureSelection()), batch, method, threads=1)
    w = np.random.default_rng(0).normal(0.0, 0.1, loss.size)
    gradient = np.empty_like(w)
    loss.prepare()
    return lambda: loss.value_and_grad(w, gradient)


def timed(part: str, calls: Mapping[str, Callable[[], object]], data: str) -> list[dict[str, Any]]:
    """Return the rows of some calls, and print them."""
    rows = []
    found: dict[str, Timing] = interleaved(dict(calls), 5, clock=time.process_time)
    for name, timing in found.items():
        print(f"{part}, {name}: {1e3 * timing.median:.0f} ms +- {100 * timing.spread:.0f} % ({data})")
        rows.append({"part": part, "what": name, "data": data, **plain(timing)})
    return rows


def skips(given: Given) -> list[dict[str, Any]]:
    """Measure evaluations on mails."""
    made = skip_chain.make(given)
    batch = made.batch(np.arange(len(made.mails)))
    methods: dict[str, Method] = {
        "counts by table": BeliefPropagation(),
        "counts by marginals": ByMarginals(),
    }
    calls = {name: evaluation(batch, Likelihood(), method) for name, method in methods.items()}
    return timed("skip-chain", calls, made.mails.about)


def pixels(given: Given) -> list[dict[str, Any]]:
    """Measure evaluations on images."""
    images = grid.make(given).tasks[0]
    batch = images.batch(images.train, True)
    objectives: dict[str, Objective] = {
        "pseudo-likelihood": PseudoLikelihood(),
        "Bethe likelihood": Likelihood(),
    }
    calls = {name: evaluation(batch, each, BeliefPropagation(tol=1e-3)) for name, each in objectives.items()}
    return timed("grid", calls, images.about)


def scenes(given: Given) -> list[dict[str, Any]]:
    """Measure training on scenes."""
    made = multilabel.make(given)
    task = made.task
    begin = time.process_time()
    found = made.learned(multilabel.ALL, multilabel.LIKELIHOOD, 30.0, task.X, task.Y, task.X_test)[0]
    seconds = time.process_time() - begin
    wrong = float(np.mean(found != task.Y_test))
    print(f"scene, all pairs: {seconds:.2f} s, Hamming loss {wrong:.4f} ({task.about})")
    return [{"part": "scene", "what": "all pairs", "data": task.about, "seconds": seconds, "hamming": wrong}]


def margins(given: Given, peer: str, seconds: float) -> list[dict[str, Any]]:
    """Measure max-margin on scenes, and PyStruct on the same task."""
    made, l2 = multilabel.make(given), 10.0
    task = made.task
    graph, pairs = made.graph(multilabel.ALL, task.Y)
    # A label of PyStruct has one weight u, for scores -ux and ux: here two, penalized as much by sqrt(2) x.
    train, test = (
        multilabel.batch_of(graph, pairs, np.sqrt(2.0) * X, Y)
        for X, Y in ((task.X, task.Y), (task.X_test, task.Y_test))
    )
    layout, penalty = graph_layout(train, FeatureSelection("all")), Penalty(l2=l2)
    loss = GraphLoss(MaxMargin(l2=l2), layout, train, Auto(), threads=1)
    asked = GraphLoss(MaxMargin(l2=l2), layout, test, Auto(), threads=1)
    begin = time.process_time()
    run = OneSlack(gap=0.01).start(loss, penalty, np.zeros(loss.size))
    while not run.step().stopped:
        pass
    spent = time.process_time() - begin
    wrong = float(np.mean(inference.best(asked.potentials(run.w))[1].label != test.label))
    found = [("crfkit", spent, True, run.w, wrong)]
    if peer:
        answer = _pystruct(peer, seconds, X=task.X, Y=task.Y, X_test=task.X_test, pairs=pairs, l2=l2)
        unary, rest = np.split(np.array(answer["w"]), [task.X.shape[1] * task.Y.shape[1]])
        w = np.zeros(loss.size)
        for i, u in enumerate(unary.reshape(task.Y.shape[1], -1) / np.sqrt(2.0)):
            w[layout.parts[f"see{i}"]] = np.column_stack([-u, u]).ravel()
        for (a, b), table in zip(pairs, rest.reshape(-1, 4), strict=True):
            w[layout.parts[f"pair{a}_{b}"]] = table
        wrong = float(np.mean(np.array(answer["labels"]) != task.Y_test))
        found.append(("PyStruct", answer["seconds"], answer["ended"], w, wrong))
    rows = []
    for name, spent, ended, w, wrong in found:
        over = (loss.value_and_grad(w, np.empty_like(w)) + penalty.value(w)) / run.bound - 1.0
        end = "" if ended else " (stopped)"
        print(f"margin, {name}: {spent:.1f} s{end}, {100.0 * over:.2f} % over, Hamming loss {wrong:.4f}")
        row = {"part": "margin", "what": name, "data": task.about, "seconds": spent, "ended": ended}
        rows.append(row | {"over": over, "hamming": wrong})
    return rows


def _pystruct(peer: str, seconds: float, **task: Any) -> Any:
    """Return what PyStruct learns from a task."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(path, **task)
        child = Path(__file__).with_name("pystruct_child.py")
        done = subprocess.run(
            [peer, child, path, str(seconds)], stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def networks(given: Given) -> list[dict[str, Any]]:
    """Measure training on one network, 20 known labels a class, with and without links."""
    rows = []
    real = [] if given.quick else [linked(given, name) for name in ("cora", "citeseer")]
    for data in [*real, _dense(400, 4_000) if given.quick else _dense(4_057, 100_000)]:
        rng, known = np.random.default_rng(0), np.full(len(data.label), -1)
        share = 20 if data in real else len(known) // 10 // len(data.classes)
        for c in range(len(data.classes)):
            few = rng.permutation(np.flatnonzero(data.label == c))[:share]
            known[few] = c
        for cells in ("potts", "free"):
            pair = Clique("document", "document", cells=cells)
            graph = Graph({"document": data.classes}, word=["document"], prior=["document"], link=pair)
            batch = graph.batch(
                labels={"document": known},
                scopes={"link": data.links if cells == "free" else scopes.simple(data.links)},
                features={"word": data.words},
            )
            for name, each in (("links", batch), ("words alone", without_links(batch))):
                begin = time.process_time()
                crf = GraphCRF(graph, n_jobs=1).fit(each)
                seconds = time.process_time() - begin
                found = crf.predict_proba(each, given="labels")["document"].argmax(axis=1)
                right = float((found == data.label)[known < 0].mean())
                what = f"{name}, {cells}"
                print(f"network {data.name}, {what}: {seconds:.2f} s, {right:.3f} of the unknown right")
                rows.append(
                    {"part": "network", "what": what, "data": data.name, "seconds": seconds, "right": right}
                )
    return rows


def _dense(documents: int, links: int) -> Linked:
    """Return documents of four classes with many links, two thirds of them within a class."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, documents).astype(np.int32)
    order = np.argsort(label, kind="stable")
    ptr = pointers(np.bincount(label, minlength=4))
    ends = rng.integers(0, documents, (2 * links, 2))
    own = label[ends[:, 0]]
    within = order[ptr[own] + (rng.random(len(own)) * np.diff(ptr)[own]).astype(np.int64)]
    ends[:, 1] = np.where(rng.random(len(ends)) < 0.56, within, ends[:, 1])  # a quarter of the others too
    pairs = scopes.simple(ends.astype(np.int32))
    words = rng.random((documents, 100)) < np.where(np.arange(100) % 4 == label[:, None], 0.26, 0.2)
    names = tuple(f"class {c}" for c in range(4))
    return Linked("generated", names, label, words.astype(np.float64), rng.permutation(pairs)[:links])


PARTS = {"skip-chain": skips, "grid": pixels, "scene": scenes, "network": networks}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default=",".join([*PARTS, "margin"]))
    parser.add_argument("--data", default=os.environ.get("CRFKIT_DATA", "../shared/data"), metavar="FOLDER")
    parser.add_argument("--peer", default="", metavar="PYTHON", help="which has PyStruct")
    parser.add_argument("--seconds", type=float, default=300.0, help="the most that PyStruct may take")
    options = parser.parse_args(arguments)
    given = Given(Path(options.data), options.quick, 1)
    parts = PARTS | {"margin": lambda given: margins(given, options.peer, options.seconds)}
    rows = [row for part in chosen(options.parts, [*parts], "parts") for row in parts[part](given)]
    if not options.quick:
        print(write("graph_learning", rows))


if __name__ == "__main__":
    main()
