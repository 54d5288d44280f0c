"""What pages show is what the model says: labels that are fixed, reasons, scores, comparisons."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pytest

from crfkit import metrics
from crfkit.web.inspector.create import create_inspector
from crfkit.web.inspector.judging import judged
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.numbers import numbers_of, reason, spans_of, unseen
from crfkit.web.inspector.reading import Typing, given_batch
from crfkit.web.inspector.weights import Weights
from tests.cases.inspector import Client, addresses, alert, model, named

WORDS = ["Ana", "went", "to", "York"]


@pytest.mark.parametrize("fixed", [{}, {1: "B-LOC"}, {0: "O", 3: "I-PER"}])
def test_fixed_labels_are_enumerated(fixed: dict[int, str]) -> None:
    """All labelings that have the fixed labels, one by one."""
    one = named()[0]
    labels = list(one.structure.labels)
    given: list[str | None] = [fixed.get(t) for t in range(len(WORDS))]
    batch, allowed = given_batch(one, [WORDS], [given])
    found = numbers_of(one, batch, allowed, k=3)
    scores = one.potentials(batch)
    every = [
        path
        for path in product(range(len(labels)), repeat=4)
        if all(labels[path[t]] == y for t, y in fixed.items())
    ]
    score = np.array([float(scores.path_score(np.array(path, dtype=np.int32))[0]) for path in every])
    share = np.exp(score - score.max())
    share /= share.sum()
    node = np.zeros((4, len(labels)))
    for path, p in zip(every, share, strict=True):
        node[np.arange(4), path] += p
    np.testing.assert_allclose(found.node, node, atol=1e-9)
    order = np.argsort(-share)[:3]
    assert [tuple(each.ids) for each in found.kbest] == [every[i] for i in order]
    np.testing.assert_allclose([each.probability for each in found.kbest], share[order], atol=1e-9)
    assert tuple(found.best) == every[order[0]]
    np.testing.assert_allclose(found.entropy, -(share * np.log(share)).sum(), atol=1e-9)


def test_reasons_keep_to_fixed_labels() -> None:
    one = named()[0]
    batch, allowed = given_batch(one, [WORDS], [[None, "B-LOC", None, None]])
    held = reason(one, batch, WORDS, 1, allowed)
    assert (held.label, held.runner_up) == ("B-LOC", None)
    near = reason(one, batch, WORDS, 2, allowed)
    assert near.alternative[1] == "B-LOC"
    free = reason(one, *given_batch(one, [WORDS], [[None] * 4])[:1], WORDS, 1)
    assert free.label == "O"
    assert free.difference == pytest.approx(sum(each.amount for each in free.contributions))


def test_spans_are_those_of_the_model() -> None:
    one, (X, _) = named()
    batch, _ = given_batch(one, X, [[None] * len(x) for x in X])
    made = spans_of(one, batch)
    for mine, theirs in zip(made, one.predict_spans(X), strict=True):
        assert [span[:3] for span in mine] == [tuple(span[:3]) for span in theirs]
        assert [span[3] for span in mine] == pytest.approx([span[3] for span in theirs], abs=1e-12)


def test_attributes_that_training_did_not_have() -> None:
    one = named()[0]
    found = unseen(one, [["Zzyzx", "lives"]], 0)
    assert "w[0]=Zzyzx" in found
    assert not {*found} & {*one.attributes.strings()}
    assert unseen(one, [["Ana", "Ruiz", "lives"]], 1) == []


def test_a_fixed_label_stays_only_with_its_word() -> None:
    client = Client(create_inspector(named()[0]))
    held = client.get("/sentence", text="Ana went to York", fixed="3:O:York", at=3)
    assert re.search(r"York = O: 1\.000, fixed", held.text)
    assert (
        "fixed=3%3AO%3AYork" not in re.findall(r'<a href="([^"]*)" aria-label="Release York"', held.text)[0]
    )
    moved = client.get("/sentence", text="Ana went to Oslo", fixed="3:O:York")
    assert "Fixed by you" not in moved.text
    odd = client.get("/sentence", text="a:b went", fixed="0:O:a:b")
    assert "a:b = O: 1.000, fixed" in odd.text


def test_labels_that_allow_nothing_are_said() -> None:
    from crfkit import Chain, ChainCRF
    from crfkit.structures.constraints import Scheme

    X, y = named()[1]
    strict = ChainCRF(features="w[0]", structure=Chain(constraints=[Scheme("BIO")])).fit(X, y).model_
    client = Client(create_inspector(strict))
    answer = client.get("/sentence", text="Ana went", fixed="0:I-PER:Ana")
    assert answer.status_code == 400
    assert alert(answer)


def test_a_tokenizer_cuts_and_rows_are_rows() -> None:
    typed = Typing(named()[0], "words")("Ana, York.\nLeo")
    assert typed.words == ["Ana", ",", "York", ".", "Leo"]
    assert typed.text[slice(*typed.offsets[2])] == "York"


def test_scores_are_those_of_evaluate() -> None:
    _, (X, y) = addresses()
    one = model(1000)
    found = judged(one, Material("dev", X, X, y))
    report = one.evaluate(X, y)
    assert found.report.score == report.score
    assert found.report.confusion.matrix.tolist() == report.confusion.matrix.tolist()
    assert found.interval[0] < report.score < found.interval[1]
    assert len(found.claims) == sum(map(len, y))
    right = sum(ok for _, ok in found.claims) / len(found.claims)
    posterior = one.predict(X, method="posterior")
    assert right == pytest.approx(
        np.mean([a == b for u, v in zip(y, posterior, strict=True) for a, b in zip(u, v, strict=True)])
    )
    page = Client(create_inspector(one, data=(X, y))).get("/errors").text
    assert f"<dd>{100 * report.score:.1f}</dd>" in page


def test_a_cell_lists_its_mistakes() -> None:
    _, (X, y) = addresses()
    one = model(1000)
    client = Client(create_inspector(one, data=(X, y)))
    matrix, names = one.evaluate(X, y).confusion.matrix, one.evaluate(X, y).confusion.labels
    i, j = map(int, np.unravel_index(np.argmax(matrix - np.diag(np.diag(matrix))), matrix.shape))
    page = client.get("/errors", gold=names[i], predicted=names[j], sort="shortest").text
    runs = 0
    for gold, made in zip(y, one.predict(X), strict=True):
        pairs = [*zip(gold, made, strict=True)]
        runs += sum(
            pair == (names[i], names[j]) and (t == 0 or pairs[t - 1] != pair) for t, pair in enumerate(pairs)
        )
    assert f'<p class="num">{runs:,} in ' in page
    assert 'aria-current="true"' in page
    empty = client.get("/errors", gold="none", predicted="such").text
    assert "None here." in empty


def test_doubtful_gold_is_improbable_gold() -> None:
    _, (X, y) = addresses()
    rows = Client(create_inspector(model(1000), data=(X, y))).get("/errors/suspects.jsonl").text.splitlines()
    made = [json.loads(row) for row in rows]
    assert made
    shares = model(1000).predict_proba(X).to_dicts()
    for row in made:
        n, gold = row["sentence"] - 1, row["gold"]
        least = min(shares[n][t].get(gold["label"], 1.0) for t in range(gold["start"], gold["end"]))
        assert row["probability"] == pytest.approx(least)
        assert least < 0.01


def test_the_comparison_is_that_of_the_metrics() -> None:
    _, (X, y) = addresses()
    a, b = model(1000), model(300)
    page = Client(create_inspector(a, b, data=(X, y))).get("/compare").text
    predicted = a.predict(X), b.predict(X)
    drawn = metrics.paired_bootstrap(y, predicted[1], predicted[0], "accuracy")
    test = metrics.mcnemar(y, *predicted)
    assert f"A is better by {100 * drawn.difference:.1f} points of accuracy" in page
    assert f"p = {drawn.p_value:.2g} (paired bootstrap, 1,000 samples)" in page
    assert f"McNemar on tokens: {test.only_a} against {test.only_b}" in page
    rows = [
        json.loads(row)
        for row in Client(create_inspector(a, b, data=(X, y)))
        .get("/compare/disagreements.jsonl")
        .text.splitlines()
    ]
    only = [n for n in range(len(X)) if predicted[0][n] == y[n] != predicted[1][n]]
    assert [row["sentence"] - 1 for row in rows if row["right"] == "a"] == only


def test_weights_are_those_of_the_model() -> None:
    from crfkit.models.explain import state_weights

    one = model(300)
    every = state_weights(one)
    found = Weights(one)
    label = found.labels.index("StreetName")
    best = sorted(((w, name) for (name, y), w in every.items() if y == "StreetName"), reverse=True)
    assert [w for _, w in found.strongest(label, 5)[0]] == [w for w, _ in best[:5]]
    names, table, many = found.find("MAIN", 3)
    assert many == len([name for name in one.attributes.strings() if "main" in name.casefold()])
    for name, row in zip(names, table, strict=True):
        assert {y: w for y, w in zip(found.labels, row, strict=True) if w} == {
            y: w for (each, y), w in every.items() if each == name
        }
    shares = found.templates(99)
    assert sum(share for *_, share in shares) == pytest.approx(1.0)
    assert sum(count for _, count, _ in shares) == len(every)
