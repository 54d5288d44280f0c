"""One tool, one query, one graphical model, in a process of its own: ``python -m bench.graph_peers ...``.

Prints a line of JSON: seconds of reading and of answering, and the answer. A tool that hangs, crashes or
takes all memory does not disturb the others. BENCH_PEERS names a folder that has the tools.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

Answer = dict[str, Any]

#: Instead of -inf, for PGMax alone: it clips scores at this itself, and its sums of -inf are NaN.
_LEAST = -1e6


def evidence_of(model: str) -> dict[int, int]:
    """Return the observed labels of a UAI model."""
    path = Path(f"{model}.evid")
    words = list(map(int, path.read_text().split())) if path.exists() else [0]
    return dict(zip(words[1::2], words[2::2], strict=True))


def crfkit(query: str, model: str, method: str) -> Answer:
    """Answer by crfkit."""
    from crfkit import Graph
    from crfkit.graphs import load as load_graph
    from crfkit.inference import graphs

    small = Graph.from_factors([2, 2], [([0, 1], np.zeros((2, 2)))])  # modules are loaded when they are used
    graphs.marginals(small, method=method) if query == "MAR" else graphs.decode(small, method)
    load_graph(io.BytesIO(b"MARKOV 0 0"))
    begin = time.perf_counter()
    evidence = f"{model}.evid"
    scores = load_graph(model, evidence=evidence if os.path.exists(evidence) else None)
    read = time.perf_counter()
    found: Any
    if query == "MAR":
        found = graphs.marginals(scores, cliques=False, method=method)
        answer: Answer = {"marginals": np.concatenate(found.node["variable"]).tolist()}
    else:
        found = graphs.decode(scores, method)
        answer = {"labels": found.labels["variable"].tolist()}
    return {"read": read - begin, "answer": time.perf_counter() - read, "how": str(found.info), **answer}


def tables_of(model: str) -> tuple[list[int], dict[tuple[int, ...], Any]]:
    """Return numbers of labels, and tables of probabilities by sorted scope."""
    from crfkit.data.graphs import read_factors

    given = read_factors(model)
    width = given.width.tolist()
    made: dict[tuple[int, ...], Any] = {}
    for m, (a, b) in enumerate(pairwise(given.scope_ptr.tolist())):
        scope = given.scope[a:b].tolist()
        table = np.exp(given.score[given.table_ptr[m] : given.table_ptr[m + 1]])
        key = tuple(sorted(scope))
        turned = table.reshape([width[v] for v in scope]).transpose(np.argsort(scope))
        made[key] = made.get(key, 1.0) * turned
    return width, made


def pyagrum(query: str, model: str, method: str) -> Answer:
    """Answer by pyAgrum's Shafer-Shenoy.

    It is handed arrays: its own reader of UAI files (3.3.1) takes no notice of the order of a scope.
    """
    gum: Any = importlib.import_module("pyagrum")
    begin = time.perf_counter()
    width, tables = tables_of(model)
    graph = gum.MarkovRandomField()
    for v, n in enumerate(width):
        graph.add(gum.LabelizedVariable(str(v), "", n))
    for scope, table in tables.items():
        factor = graph.addFactor(list(scope))
        order = [scope.index(int(one.name())) for one in factor.variablesSequence()]
        factor.fillWith(table.transpose(order).ravel(order="F").tolist())
    read = time.perf_counter()
    engine = gum.ShaferShenoyMRFInference(graph)
    engine.setEvidence(evidence_of(model))
    engine.makeInference()
    rows = [engine.posterior(v).toarray() for v in range(len(width))]
    return {
        "read": read - begin,
        "answer": time.perf_counter() - read,
        "marginals": np.concatenate(rows).tolist(),
    }


def pgmpy(query: str, model: str, method: str) -> Answer:
    """Answer by pgmpy's variable elimination, a query for each variable.

    It is handed arrays: its own reader of UAI files parses each table from the beginning of the file.
    """
    models: Any = importlib.import_module("pgmpy.models")
    factors: Any = importlib.import_module("pgmpy.factors.discrete")
    inference: Any = importlib.import_module("pgmpy.inference")
    begin = time.perf_counter()
    width, tables = tables_of(model)
    graph = models.DiscreteMarkovNetwork()
    graph.add_nodes_from(range(len(width)))
    made = []
    for scope, table in tables.items():
        made.append(factors.DiscreteFactor(list(scope), table.shape, table))
        graph.add_edges_from(combinations(scope, 2))
    graph.add_factors(*made)
    read = time.perf_counter()
    seen = evidence_of(model)
    engine = inference.VariableElimination(graph)
    rows = [
        np.eye(width[v])[seen[v]]
        if v in seen
        else engine.query([v], evidence=seen, show_progress=False).values
        for v in range(len(width))
    ]
    return {
        "read": read - begin,
        "answer": time.perf_counter() - read,
        "marginals": np.concatenate([row / row.sum() for row in rows]).tolist(),
    }


def pytoulbar2(query: str, model: str, method: str) -> Answer:
    """Answer by toulbar2's branch and bound, with its default options."""
    library: Any = importlib.import_module("pytoulbar2")
    begin = time.perf_counter()
    problem = library.CFN(verbose=-1)
    problem.Read(model)
    read = time.perf_counter()
    for v, label in evidence_of(model).items():
        problem.Assign(v, label)
    found = problem.Solve()
    return {"read": read - begin, "answer": time.perf_counter() - read, "labels": list(map(int, found[0]))}


def pgmax(query: str, model: str, method: str) -> Answer:
    """Answer by PGMax's parallel belief propagation: 200 rounds, damping 0.5; compiling is not counted."""
    fgraph: Any = importlib.import_module("pgmax.fgraph")
    fgroup: Any = importlib.import_module("pgmax.fgroup")
    infer: Any = importlib.import_module("pgmax.infer")
    vgroup: Any = importlib.import_module("pgmax.vgroup")
    jax: Any = importlib.import_module("jax")
    from crfkit.graphs import load as load_graph

    begin = time.perf_counter()
    scores = load_graph(model)
    width = scores.batch.width
    arities = {scope.shape[1] for scope in scores.batch.scopes.values()}
    if len(set(width.tolist())) > 1 or arities - {1, 2}:
        raise ValueError("the comparison gives PGMax only pairs of variables with one number of labels")
    L = int(width[0])
    variables = vgroup.NDVarArray(num_states=L, shape=(len(width),))
    graph = fgraph.FactorGraph(variable_groups=[variables])
    own = np.zeros((len(width), L))
    for name, table in scores.tables.items():
        scope = scores.batch.scopes[name]
        if scope.shape[1] == 1:
            np.add.at(own, scope[:, 0], np.maximum(table.scores, _LEAST))
        else:
            pairs = [[variables[int(a)], variables[int(b)]] for a, b in scope]
            matrices = np.maximum(table.scores, _LEAST)
            graph.add_factors(
                fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=matrices)
            )
    for v, label in evidence_of(model).items():
        own[v, np.arange(L) != label] = _LEAST
    inferer = infer.build_inferer(graph.bp_state, backend="bp")

    heat = 1.0 if query == "MAR" else 0.0
    rounds = jax.jit(lambda arrays: inferer.run(arrays, num_iters=200, damping=0.5, temperature=heat))
    start = inferer.init(evidence_updates={variables: own})

    def run() -> Any:
        return jax.block_until_ready(inferer.get_beliefs(rounds(start))[variables])

    run()
    read = time.perf_counter()
    beliefs = np.asarray(run(), dtype=np.float64)
    done = time.perf_counter()
    shares = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    answer = (
        {"marginals": shares.ravel().tolist()}
        if query == "MAR"
        else {"labels": beliefs.argmax(axis=1).tolist()}
    )
    return {"read": read - begin, "answer": done - read, **answer}


TOOLS: dict[str, Callable[[str, str, str], Answer]] = {
    "crfkit": crfkit,
    "pyagrum": pyagrum,
    "pgmpy": pgmpy,
    "pytoulbar2": pytoulbar2,
    "pgmax": pgmax,
}


def installed(tool: str) -> bool:
    """Return whether a tool can be imported."""
    if folder := os.environ.get("BENCH_PEERS"):
        sys.path.append(folder)
    return importlib.util.find_spec(tool) is not None


def main() -> None:
    tool, query, model, method = sys.argv[1:]
    warnings.simplefilter("ignore")
    if not installed(tool):
        print(json.dumps({"error": f"{tool} is not installed"}))
        return
    try:
        found = TOOLS[tool](query, model, method)
    except (Exception, SystemExit) as error:  # whatever a peer raises is what the table says of it
        found = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"}
    print("\n" + json.dumps({key: _plain(value) for key, value in found.items()}))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()
