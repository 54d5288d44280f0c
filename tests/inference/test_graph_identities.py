"""Chains, trees and graphs of one model give one answer; and what else must hold between graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Graph, inference
from crfkit.arrays import pointers
from crfkit.graphs import scopes
from crfkit.structures import Tree
from crfkit.structures.graphs.parts import components
from tests.cases.graphs import chain_graph, labeling, random_graph, scores

LENGTHS = (5, 0, 1, 4)


def close(left: Any, right: Any) -> None:
    np.testing.assert_allclose(np.asarray(left), np.asarray(right), atol=1e-9, rtol=1e-9)


def assert_same(graph: Any, sequences: Any, kind: str) -> None:
    """Compare the answers that a graph and a batch of sequences both have."""
    close(inference.log_partition(graph), inference.log_partition(sequences))
    close(inference.entropy(graph), inference.entropy(sequences))
    assert inference.count(graph) == inference.count(sequences)
    best = inference.decode(sequences)
    found = inference.decode(graph)
    close(found.score, [one.score for one in best])
    assert found[kind].tolist() == [label for one in best for label in one.labels.tolist()]
    k = 4
    lists, several = inference.kbest(sequences, k), inference.kbest(graph, k)
    for n, one in enumerate(lists):
        assert len(one) == int((several.score[:, n] > -np.inf).sum())
        close(several.score[: len(one), n], [labels.score for labels in one])
    close(inference.score(graph, found), found.score)
    close(inference.log_prob(graph, found), inference.log_prob(sequences, found[kind]))


@pytest.mark.parametrize("forbidden", [0.0, 0.2])
@pytest.mark.parametrize("per_position", [False, True])
def test_a_chain_is_a_graph(per_position: bool, forbidden: float) -> None:
    rng = np.random.default_rng(3)
    L, ptr, P = 3, pointers(LENGTHS), sum(LENGTHS)
    node, start = scores(rng, (P, L), forbidden), scores(rng, (L,))
    edge = scores(rng, (P, L, L) if per_position else (L, L), forbidden)
    node[:, 0], edge[..., 0, 0] = 0.0, 0.0  # at least one labeling
    chain = Chain(L).potentials(node, edge, start=start, seq_ptr=ptr)
    graph = Graph({"token": L}, word=["token"], first=["token"], step=["token", "token"])
    step = scopes.chain(ptr)
    first = ptr[:-1][np.diff(ptr) > 0]
    batch = graph.batch(graph_ptr=ptr, scopes={"step": step, "first": first})
    same = batch.potentials(word=node, first=start, step=edge[step[:, 1]] if per_position else edge)
    assert_same(same, chain, "token")
    one, two = inference.marginals(same), inference.marginals(chain, edges_by_position=True)
    close(one["token"], two.node)
    close(one.clique["step"], two.edge[step[:, 1]])
    close(one.clique["first"].sum(axis=0), two.start)
    assert inference.decode(same, "posterior")["token"].tolist() == [
        label for each in inference.decode(chain, "posterior") for label in each.labels.tolist()
    ]


def test_a_chain_of_order_2_is_a_graph() -> None:
    rng = np.random.default_rng(5)
    L, T = 3, 5
    node, pair, triple = rng.normal(size=(T, L)), rng.normal(size=(L, L)), rng.normal(size=(L, L, L))
    chain = Chain(L, order=2).potentials(node, [pair, triple], seq_ptr=[0, T])
    graph = Graph({"token": L}, word=["token"], two=["token"] * 2, three=["token"] * 3)
    first = np.arange(T - 2)
    batch = graph.batch(
        graph_ptr=[0, T],
        scopes={"two": scopes.chain([0, T]), "three": np.column_stack([first, first + 1, first + 2])},
    )
    for used in ({"two": pair, "three": triple}, {"three": triple}):
        same = batch.potentials(word=node, **used)
        if "two" not in used:
            chain = Chain(L, order=2).potentials(node, [np.zeros((L, L)), triple], seq_ptr=[0, T])
        assert_same(same, chain, "token")
        close(inference.marginals(same)["token"], inference.marginals(chain).node)


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_is_a_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    V = 6
    width = rng.integers(2, 4, size=V)
    parent = np.array([-1, *(int(rng.integers(0, v)) for v in range(1, V))])
    node = [rng.normal(size=n) for n in width]
    edge = [None if up < 0 else rng.normal(size=(width[v], width[up])) for v, up in enumerate(parent)]
    tree = Tree(parent, width).potentials(node, edge)
    factors: list[Any] = [([v], node[v]) for v in range(V)]
    factors += [([v, int(parent[v])], table) for v, table in enumerate(edge) if table is not None]
    same = Graph.from_factors(width, factors)
    one, two = inference.marginals(same), inference.marginals(tree)
    close(one.log_partition, two.log_partition)
    for p, q in zip(one["variable"], two.node, strict=True):
        close(p, q)
    best = inference.decode(tree)
    assert inference.decode(same)["variable"].tolist() == best.labels.tolist()
    close(inference.kbest(same, 3).score, [each.score for each in inference.kbest(tree, 3)])
    close(inference.entropy(same), inference.entropy(tree))
    assert inference.count(same) == inference.count(tree) == int(np.prod(width))


@pytest.mark.parametrize("seed", range(10))
def test_clamped_sums_are_pieces_of_the_pseudo_likelihood(seed: int) -> None:
    """log p(y_v | y of all others) = score(y) - log Z given all others."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, graphs=2, variables=4, forbidden=0.0)
    gold = labeling(rng, graph)
    whole = inference.score(graph, gold)
    for kind, labels in gold.items():
        for v in range(len(labels)):
            others = {name: each.copy() for name, each in gold.items()}
            others[kind][v] = -1
            first, _ = graph.batch.kind_ptr[kind]
            n = int(graph.batch.graph_of[first + v])
            terms = []
            for label in range(graph.structure.width(kind)):
                changed = {name: each.copy() for name, each in gold.items()}
                changed[kind][v] = label
                terms.append(inference.score(graph, changed)[n])
            piece = whole[n] - np.logaddexp.reduce(terms)
            given = graph.given(others)
            close(inference.log_prob(given, gold)[n], piece)
            close(inference.marginals(given)[kind][v], np.exp(terms - np.logaddexp.reduce(terms)))


@pytest.mark.parametrize("seed", range(20))
def test_evidence_is_conditioning(seed: int) -> None:
    """p(x | e) is p(x, e) / p(e), by enumeration of the labelings that agree with the evidence."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, variables=5, forbidden=0.05)
    best = inference.decode(graph)
    seen = {kind: np.where(rng.random(len(y)) < 0.4, y, -1) for kind, y in best.labels.items()}
    given = graph.given(seen)
    every = inference.kbest(graph, 5000)  # all labelings of each graph
    agree = np.ones(every.score.shape, dtype=np.bool_)
    for kind, (first, _) in graph.batch.kind_ptr.items():
        for v in np.flatnonzero(seen[kind] >= 0):
            agree[:, graph.batch.graph_of[first + v]] &= every[kind][:, v] == seen[kind][v]
    allowed = np.where(agree, every.score, -np.inf)
    assert len(allowed) == 5000
    assert (np.isneginf(allowed[-1])).all()
    close(inference.log_partition(given), np.logaddexp.reduce(allowed, axis=0))
    close(inference.decode(given).score, allowed.max(axis=0))
    counts = inference.count(given)
    assert counts == (allowed > -np.inf).sum(axis=0).tolist()
    close(inference.entropy(given), -_weighted(allowed))
    every_p, few_p = inference.marginals(given), inference.marginals(given, cliques=False)
    assert not few_p.clique
    for kind in seen:
        close(every_p[kind], few_p[kind])
    for kind, labels in inference.sample(given, 3, seed=1).labels.items():
        known = seen[kind] >= 0
        assert (labels[:, known] == seen[kind][known]).all()


def _weighted(allowed: Any) -> Any:
    log_p = allowed - np.logaddexp.reduce(allowed, axis=0)
    return np.where(np.isneginf(log_p), 0.0, np.exp(log_p) * np.where(np.isneginf(log_p), 0.0, log_p)).sum(
        axis=0
    )


@pytest.mark.parametrize("seed", range(10))
def test_components_are_independent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, graphs=3, forbidden=0.02)
    split = components(graph.batch)
    pieces = split.potentials(graph)
    close(inference.log_partition(graph), split.values(np.asarray(inference.log_partition(pieces)), graph))
    close(inference.entropy(graph), np.bincount(split.graph, inference.entropy(pieces), minlength=3))
    counts = np.ones(3, dtype=object)
    for n, count in zip(split.graph, inference.count(pieces), strict=True):
        counts[n] *= count
    assert inference.count(graph) == counts.tolist()
    one, two = inference.marginals(graph), inference.marginals(pieces)
    for kind in graph.batch.kind_ptr:
        close(one[kind], two[kind])
    close(split.values(np.asarray(inference.decode(pieces).score), graph), inference.decode(graph).score)


def test_a_comparison_that_fails() -> None:
    graph = chain_graph(np.random.default_rng(0), 4, 3)
    with pytest.raises(AssertionError):
        close(inference.log_partition(graph), float(inference.log_partition(graph)) + 1e-8)
