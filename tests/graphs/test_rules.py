"""Ground rules agree with the formula, evaluated for all labelings; learned weights with plain graphs."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Graph, GraphCRF, Likelihood, inference
from crfkit.graphs import Clique, Rules
from crfkit.inference.methods import Elimination
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.graphs.score import GraphScores

N = 3  # objects
TOPICS = ("A", "B", "C")
KINDS: dict[str, Any] = {"smokes": bool, "topic": TOPICS}
CITES = [(0, 1), (1, 2), (1, 0), (2, 2), (0, 1)]  # with a loop, and a row that is there twice
WORD: dict[str, list[Any]] = {"paper": [0, 0, 1, 2], "word": ["x", "y", "x", "z"]}


def cites(a: int, b: int) -> bool:
    return (a, b) in CITES


def word(p: int, w: str) -> bool:
    return (p, w) in zip(WORD["paper"], WORD["word"], strict=True)


def implies(body: bool, head: bool) -> bool:
    return not body or head


Truth = Callable[[Any, Any, Any], bool]  # of smokes [N], topic [N] and the values of variables


#: Rule -> its variables' values, those that have weights each, and whether it is true of a labeling.
CASES: dict[str, tuple[list[Any], list[int], Truth]] = {
    "smokes(x) -> topic(x, 'A')": ([range(N)], [], lambda s, t, v: implies(s[v[0]] == 1, t[v[0]] == 0)),
    "cites(a, b) & topic(a, t) -> topic(b, t)": (
        [range(N), range(N), range(3)],
        [],
        lambda s, t, v: implies(cites(v[0], v[1]) and t[v[0]] == v[2], t[v[1]] == v[2]),
    ),
    "cites(a, b) & topic(a, +t) -> topic(b, +t)": (
        [range(N), range(N), range(3)],
        [2],
        lambda s, t, v: implies(cites(v[0], v[1]) and t[v[0]] == v[2], t[v[1]] == v[2]),
    ),
    "cites(a, b) & a != b -> (topic(a, t) <-> topic(b, t))": (
        [range(N), range(N), range(3)],
        [],
        lambda s, t, v: implies(cites(v[0], v[1]) and v[0] != v[1], (t[v[0]] == v[2]) == (t[v[1]] == v[2])),
    ),
    "cites(a, b) & a < b & topic(a, +t) -> topic(b, +u)": (
        [range(N), range(N), range(3), range(3)],
        [2, 3],
        lambda s, t, v: implies(cites(v[0], v[1]) and v[0] < v[1] and t[v[0]] == v[2], t[v[1]] == v[3]),
    ),
    "word(p, +w) -> topic(p, +t)": (
        [range(N), "xyz", range(3)],
        [1, 2],
        lambda s, t, v: implies(word(v[0], v[1]), t[v[0]] == v[2]),
    ),
    "cites(c, a) & cites(c, b) & a != b & smokes(a) -> smokes(b)": (
        [range(N), range(N), range(N)],
        [],
        lambda s, t, v: implies(
            cites(v[0], v[1]) and cites(v[0], v[2]) and v[1] != v[2] and s[v[1]] == 1, s[v[2]] == 1
        ),
    ),
    "smokes(a) & !cites(b, a) & topic(b, 'C') -> cites(a, b) | smokes(b) | a = b": (
        [range(N), range(N)],
        [],
        lambda s, t, v: implies(
            s[v[0]] == 1 and not cites(v[1], v[0]) and t[v[1]] == 2,
            cites(v[0], v[1]) or s[v[1]] == 1 or v[0] == v[1],
        ),
    ),
    "word(p, 'x') & smokes(p)": ([range(N)], [], lambda s, t, v: word(v[0], "x") and s[v[0]] == 1),
    "!(smokes(a) & smokes(1)) | a = 1": (
        [range(N)],
        [],
        lambda s, t, v: not (s[v[0]] == 1 and s[1] == 1) or v[0] == 1,
    ),
    "cites(a, b) & a != b -> topic(a, t) | topic(b, t)": (
        [range(N), range(N), range(3)],
        [],
        lambda s, t, v: implies(cites(v[0], v[1]) and v[0] != v[1], v[2] in (t[v[0]], t[v[1]])),
    ),
}


def grounded(text: str) -> tuple[Rules, Any]:
    rules = Rules(text, kinds=KINDS)
    used: dict[str, Any] = {"cites": np.array(CITES), "word": WORD}
    relations = {name: rows for name, rows in used.items() if f"{name}(" in text}
    return rules, rules.batch(relations, sizes={"smokes": N, "topic": N})


def counts(text: str, smokes: Any, topic: Any) -> dict[tuple[Any, ...], int]:
    values, weighted, true = CASES[text]
    found: dict[tuple[Any, ...], int] = {}
    for v in product(*values):
        key = tuple(v[i] for i in weighted)
        found[key] = found.get(key, 0) + true(smokes, topic, v)
    return found


@pytest.mark.parametrize("text", CASES)
def test_scores_are_numbers_of_true_groundings(text: str) -> None:
    _, batch = grounded(text)
    layout = graph_layout(batch, FeatureSelection("all"))
    w = np.random.default_rng(0).normal(size=layout.weights)
    scores = GraphScores(layout, batch).potentials(w)
    weighted = CASES[text][1]
    names = [list(values) for i, values in enumerate(CASES[text][0]) if i in weighted]
    assert layout.weights == int(np.prod([len(one) for one in names]))  # values first, labels last
    by_key = dict(zip(product(*names), w.tolist(), strict=True))
    gaps = []
    for s, t in product(product(range(2), repeat=N), product(range(3), repeat=N)):
        wanted = sum(by_key[key] * n for key, n in counts(text, s, t).items())
        gaps.append(wanted - inference.score(scores, {"smokes": np.array(s), "topic": np.array(t)}))
    assert np.ptp(gaps) < 1e-9


@pytest.mark.parametrize("text", ["cites(a, b) & topic(a, t) -> topic(b, t)", "smokes(x) -> topic(x, 'A')"])
def test_fixed_weights_and_hard_rules(text: str) -> None:
    _, learned = grounded(text)
    layout = graph_layout(learned, FeatureSelection("all"))
    _, fixed = grounded(f"-0.7 {text}")
    wanted = inference.marginals(GraphScores(layout, learned).potentials(np.array([-0.7])))["topic"]
    assert inference.marginals(fixed.potentials())["topic"] == pytest.approx(wanted)
    _, hard = grounded(f"{text}.")
    most = max(sum(counts(text, s, t).values()) for s, t in _all_labelings())
    allowed = sum(sum(counts(text, s, t).values()) == most for s, t in _all_labelings())
    assert inference.log_partition(hard.potentials()) == pytest.approx(np.log(allowed))


def _all_labelings() -> list[Any]:
    return [*product(product(range(2), repeat=N), product(range(3), repeat=N))]


def test_hidden_predicates_of_two_objects() -> None:
    pairs = np.array([(a, b) for a in range(N) for b in range(N) if a != b])
    rules = Rules(
        "friends(x, y) & smokes(x) -> smokes(y)",
        "friends(x, y) -> friends(y, x).",
        kinds={"smokes": bool, "friends": bool},
    )
    batch = rules.batch(objects={"friends": pairs}, sizes={"smokes": N})
    layout = graph_layout(batch, FeatureSelection("all"))
    scores = GraphScores(layout, batch).potentials(np.array([0.8]))
    found: dict[bool, list[float]] = {True: [], False: []}
    for s, f in product(product(range(2), repeat=N), product(range(2), repeat=len(pairs))):
        at = {tuple(pair): f[i] for i, pair in enumerate(pairs.tolist())}
        symmetric = all(at[b, a] >= at[a, b] for a, b in at)
        true = sum(implies(bool(at[a, b] and s[a]), s[b] == 1) for a, b in at)
        got = inference.score(scores, {"smokes": np.array(s), "friends": np.array(f)})
        found[symmetric].append(got - 0.8 * true)
    assert np.ptp(found[True]) < 1e-9
    assert set(found[False]) == {-np.inf}


def test_learned_weights_are_those_of_the_graph_with_the_same_cliques() -> None:
    rng = np.random.default_rng(3)
    V, L = 40, 3
    edges = rng.integers(0, V, (60, 2))
    edges = edges[edges[:, 0] < edges[:, 1]]
    edges = np.unique(edges, axis=0)
    bag = (rng.random((V, 6)) < 0.3).astype(float)
    label = rng.integers(0, L, V)
    row, column = np.nonzero(bag)
    rules = Rules(
        "words: word(p, +w) -> topic(p, +t)",
        "links: cites(a, b) & topic(a, t) -> topic(b, t)",
        kinds={"topic": TOPICS},
        cliques={"prior": ["topic"]},
    )
    relations = {"word": np.column_stack([row, column]), "cites": edges}
    data = rules.batch(relations, labels={"topic": label})
    plain = Graph(
        {"topic": TOPICS}, words=["topic"], links=Clique("topic", "topic", cells="potts"), prior=["topic"]
    )
    other = plain.batch(labels={"topic": label}, features={"words": bag}, scopes={"links": edges})
    options: dict[str, Any] = {"objective": Likelihood(l2=0.5), "method": Elimination(), "selection": "all"}
    ours, theirs = GraphCRF(rules.graph, **options).fit(data), GraphCRF(plain, **options).fit(other)
    for name in ("words", "links", "prior"):
        wanted = theirs.model_.tables()[name]
        assert ours.model_.tables()[name].reshape(wanted.shape) == pytest.approx(wanted, abs=1e-4)
    weights = rules.weights(ours.model_)
    assert weights["cites(a, b) & topic(a, t) -> topic(b, t)"] == ours.model_.tables()["links"][0, 0, 0]
    assert weights["word(p, +w) -> topic(p, +t)"]["2", "B"] == ours.model_.tables()["words"][2, 1]
    apart = rules.batch({**relations, "word": relations["word"][::-1][:40]}, sizes={"topic": V})
    bag[:] = 0.0
    bag[tuple(relations["word"][::-1][:40].T)] = 1.0  # other words: attributes go by their names
    there = plain.batch(sizes={"topic": V}, features={"words": bag}, scopes={"links": edges})
    wanted = theirs.predict_proba(there)["topic"]
    assert ours.predict_proba(apart)["topic"] == pytest.approx(wanted, abs=1e-4)


def test_a_rule_without_ground_clauses_is_named() -> None:
    rules = Rules("links: cites(a, b) & topic(a, t) -> topic(b, t)", kinds={"topic": TOPICS})
    with pytest.warns(UserWarning, match=r"rule 'links' \(cites.*\) has no ground clauses"):
        batch = rules.batch({"cites": []}, sizes={"topic": 2})
    assert batch.scopes["links"].shape == (0, 2)


def test_many_ground_clauses_in_little_time() -> None:
    rng = np.random.default_rng(0)
    rules = Rules("cites(c, a) & cites(c, b) & a < b & topic(a, t) -> topic(b, t)", kinds={"topic": 7})
    edges = np.column_stack([rng.integers(0, 20_000, 200_000), rng.integers(0, 100_000, 200_000)])
    begun = time.perf_counter()
    batch = rules.batch({"cites": edges}, sizes={"topic": 100_000})
    assert batch.factors > 900_000
    assert time.perf_counter() - begun < 5.0  # about 0.4 s on a quiet machine


def rules_of(*texts: str, **kinds: Any) -> Rules:
    return Rules(*texts, kinds=kinds or {"topic": TOPICS, "smokes": bool})


def batch_of(text: str, limit: int = 1000, **relations: Any) -> Any:
    rules = rules_of(text)
    return rules.batch(relations, sizes={"topic": 3, "smokes": 100_000}, limit=limit)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (rules_of, "there are no rules"),
        (lambda: Rules(3, kinds={"a": 2}), "a rule must be text"),  # type: ignore[arg-type]
        (lambda: rules_of("smokes(x) ->"), "expected a variable, a number or quoted text at column 13"),
        (lambda: rules_of("2.0 smokes(x)."), "a weight and a full stop"),
        (lambda: rules_of("a: smokes(x)", "a: topic(x, 'A')"), "two rules are called 'a'"),
        (lambda: rules_of("topic(x, 'D')"), "'D' is not a label of kind 'topic': 'A', 'B', 'C'"),
        (lambda: rules_of("a(x, 3)", a=3), "3 is not a label of kind 'a': 0 to 2"),
        (lambda: rules_of("topic(x)"), "topic.x. has no label; write topic.object, label."),
        (lambda: rules_of("cites(a, b) -> cites(b, a)"), "has no kind among its predicates: topic, smokes"),
        (lambda: rules_of("smokes(x) | !smokes(x)"), "says nothing"),
        (lambda: rules_of("old(x) <-> smokes(x)"), "where old.x. is true and where it is false"),
        (lambda: rules_of("old(x) & smokes(x)."), "is hard, and false for all labels where"),
        (lambda: rules_of("likely(p, t) -> topic(p, t)"), "variable 't' is a label and an object"),
        (lambda: rules_of("a(x, t) -> b(x, t)", a=2, b=3), "label 't' is of two kinds whose labels differ"),
        (lambda: rules_of("smokes(x)", "smokes(x, y)"), "smokes.x, y. has 2 terms, elsewhere .* has 1"),
        (
            lambda: rules_of(" & ".join(f"smokes({x})" for x in "abcdef")),
            "has 6 hidden variables, more than 5",
        ),
        (lambda: rules_of(" | ".join(f"a({x}, 0)" for x in "vwxyz"), a=50), "a truth table of 312,500,000"),
        (
            lambda: Rules("smokes(x)", kinds={"smokes": bool}, cliques={"rule1": ["smokes"]}),
            "both called 'rule1'",
        ),
        (
            lambda: batch_of("old(x) -> smokes(x)"),
            "predicate 'old' is not a kind, and relations does not have",
        ),
        (lambda: batch_of("smokes(x)", old=[[0]]), "relations: 'old' is in no rule"),
        (lambda: batch_of("old(x) -> smokes(x)", old=[[0, 1]]), "'old' has 2 columns, but 1 terms"),
        (
            lambda: batch_of("old(x) -> topic(x, 'A')", old=[[7]]),
            "about object 7; kind 'topic' has 3: 0 to 2",
        ),
        (lambda: batch_of("old(x) -> topic(x, 'A')", old={"x": ["a"]}), "needs the numbers of objects"),
        (
            lambda: batch_of("smokes(x) & old(c) -> old(x) | c < d", old=[[7]]),
            r"variable 'd' of rule 'rule1' .* occurs in no observed relation that must be true",
        ),
        (
            lambda: batch_of("smokes(x) & smokes(y) -> old(x) | old(y)", old=[[7]]),
            "would give 10,000,000,000 rows, more than the limit of 1,000",
        ),
        (
            lambda: batch_of("near(a, b) -> topic(a, 'A') | topic(b, 'B')", near=[[0, 1], [2, 2]]),
            "topic.a. and topic.b. are one variable in 1 ground clauses; add a != b to the rule",
        ),
        (
            lambda: rules_of("wed(x, y)", wed=bool).batch(sizes={"wed": 2}),
            "kind 'wed' is about 2 objects; say",
        ),
        (
            lambda: rules_of("wed(x, y)", wed=bool).batch(objects={"wed": [[0, 1], [0, 1]]}),
            "two variables of kind 'wed' are about the same objects",
        ),
        (lambda: rules_of("smokes(x)").batch(objects={"wed": [[0]]}), "objects: 'wed' is not a kind"),
        (
            lambda: rules_of("smokes(x)").batch(sizes={"topic": 1}),
            "variables of kind 'smokes' there are is not",
        ),
    ],
)
def test_bad_input(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
