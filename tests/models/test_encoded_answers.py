"""Chains that learned another encoding answer every query with labels as the data have them, exactly.

All label sequences of the chain are listed: a sequence of tags has those that spell it.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, ChainCRF, load
from crfkit.models import Tagger
from crfkit.models.encoding import ENCODINGS, Recoding
from crfkit.models.tags import Spelling
from crfkit.structures.constraints import Scheme, SegmentLength
from crfkit.structures.gold import Path
from crfkit.tags import spans as segments
from tests.cases.cli import run
from tests.cases.spans import bare

SCHEMES = ["BIO", "IOB1", "BIOES", "BILOU", "IOE2", "IOE1"]
RANDOM = np.random.default_rng(3)
SPANS: list[tuple[list[str | None], list[int]]] = [
    (["a", "a", "a", None], [1, 1, 0, 1]),
    (["a", "b", "b", "a"], [1, 1, 0, 1]),
    ([None, "b", "b", "b"], [1, 1, 0, 0]),
    (["b", None, "a"], [1, 1, 1]),
    (["a", "a"], [1, 1]),
]
X = [[[f"w{RANDOM.integers(4)}", f"v{RANDOM.integers(3)}"] for _ in labels] for labels, _ in SPANS] * 2
X_TEST = [[[f"w{RANDOM.integers(4)}", f"v{RANDOM.integers(3)}"] for _ in range(n)] for n in (1, 2, 3, 3)]


def gold(scheme: str) -> list[list[str]]:
    """Return the segments as tags of a scheme; there are neighbors of one type."""
    ptr = np.cumsum([0, *(len(labels) for labels, _ in SPANS)])
    flat = np.array([{"a": 0, "b": 1, None: 2}[y] for labels, _ in SPANS for y in labels], np.int32)
    begin = np.array([b for _, begins in SPANS for b in begins], bool)
    return Spelling(("a", "b", "O"), scheme).tags(Path(ptr, flat, begin)) * 2


def fitted(encoding: str, scheme: str, structure: Chain | None = None) -> ChainCRF:
    return ChainCRF(structure=structure or Chain(), train_scheme=encoding, n_jobs=1).fit(X, gold(scheme))


def enumerated(crf: ChainCRF, x: Any) -> dict[tuple[str, ...], list[float]]:
    """Return the log probabilities of all label sequences of the chain, by the tags that they spell."""
    model = crf.model_
    L, T = len(model.structure.labels), len(x)
    potentials = model.potentials(model.batch_of([x]))
    paths = np.array(list(product(range(L), repeat=T)), dtype=np.int32)
    scores = np.array([float(potentials.path_score(path)[0]) for path in paths])
    if (rules := model.structure.resolved) is not None:
        allowed = rules.start[paths[:, 0]] & rules.stop[paths[:, -1]]
        for t in range(1, T):
            allowed &= rules.transition[paths[:, t - 1], paths[:, t]]
        paths, scores = paths[allowed], scores[allowed]
    scores -= np.logaddexp.reduce(scores)
    spelled = model.spelling.tags(Path(np.arange(len(paths) + 1) * T, paths.ravel()))
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for tags, score in zip(spelled, scores.tolist(), strict=True):
        found[tuple(tags)].append(score)
    return found


def check(crf: ChainCRF, scheme: str) -> None:
    names = crf.classes_.tolist()
    assert set(names) <= {*Spelling(("a", "b", "O"), scheme).alphabet.strings()}
    shares = crf.predict_proba(X_TEST)
    best = crf.kbest(X_TEST, 5)
    for x, share, several in zip(X_TEST, shares, best, strict=True):
        found = enumerated(crf, x)
        exact = np.zeros(share.shape)
        for tags, scores in found.items():
            for t, tag in enumerate(tags):
                exact[t, names.index(tag)] += np.exp(scores).sum()
        np.testing.assert_allclose(share, exact, atol=1e-9)
        np.testing.assert_allclose(share.sum(axis=1), 1.0, atol=1e-9)
        ranked = sorted(((max(scores), tags) for tags, scores in found.items()), reverse=True)[:5]
        assert [one.log_prob for one in several] == pytest.approx([p for p, _ in ranked], abs=1e-9)
        assert len({tuple(one.labels) for one in several}) == len(several) == len(ranked)
        for candidate, p, *_ in several:
            assert max(found[tuple(candidate)]) == pytest.approx(p, abs=1e-9)
    assert [several[0][0] for several in best] == crf.predict(X_TEST)
    assert {tag for several in crf.sample(X_TEST, 20) for tags in several for tag in tags} <= set(names)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_probabilities_and_the_best_are_those_of_all_that_spell_them(encoding: str, scheme: str) -> None:
    check(fitted(encoding, scheme), scheme)


@pytest.mark.parametrize(
    "structure",
    [Chain(order=0), Chain(constraints=[Scheme("BIOES")]), Chain(order=2, constraints=[Scheme("BIOES")])],
    ids=["order 0", "constrained", "order 2, constrained"],
)
@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_other_chains(structure: Chain, scheme: str) -> None:
    check(fitted("BIOES", scheme, structure), scheme)


def test_where_constraints_say_all_the_sums_need_no_pairs() -> None:
    assert fitted("BIOES", "BIO", Chain(constraints=[Scheme("BIOES")])).model_.share_cells == 1
    assert fitted("BIOES", "BIO").model_.share_cells > 1


def test_higher_orders_without_constraints_say_what_to_do() -> None:
    crf = fitted("BIOES", "BIO", Chain(order=2))
    assert {tag for tags in crf.predict(X) for tag in tags} <= set(crf.classes_)
    assert crf.kbest(X_TEST, 3)
    with pytest.raises(ValueError, match=r"need order 1, or the constraint Scheme\('BIOES'\)"):
        crf.predict_proba(X_TEST)


def test_limits_of_lengths() -> None:
    crf = fitted("BIOES", "BIO", Chain(constraints=[Scheme("BIOES"), SegmentLength(None, maximum=3)]))
    for share in crf.predict_proba(X_TEST):
        assert share.shape[1] == len(crf.classes_)
        np.testing.assert_allclose(share.sum(axis=1), 1.0, atol=1e-9)


def test_every_door_gives_the_labels_of_the_data(tmp_path: File) -> None:
    crf = fitted("BIOES", "BIO")
    crf.model_.save(tmp_path / "m.crf")
    model, tagger = load(tmp_path / "m.crf"), Tagger(crf.model_)
    assert model.answers == tagger.labels == tuple(crf.classes_)
    assert set(crf.classes_) <= {"B-a", "I-a", "B-b", "I-b", "O"}
    assert [tagger.tag(x) for x in X_TEST] == crf.predict(X_TEST) == model.predict(X_TEST)
    shares = crf.predict_proba(X_TEST)
    for x, share in zip(X_TEST, shares, strict=True):
        np.testing.assert_array_equal(tagger.predict_proba(x), share)
    tags = gold("BIO")
    p = crf.log_prob(X[:3], tags[:3])
    assert np.isfinite(p).all()
    assert [tagger.log_prob(x, y) for x, y in zip(X[:3], tags[:3], strict=True)] == pytest.approx(p)
    assert tagger.log_prob(X[0], ["B-?"] * len(X[0])) == -np.inf
    assert bare(crf.predict_spans(X)) == [segments(one) for one in crf.predict(X)]
    calibrated = crf.model_.calibrated(X, tags, "isotonic")
    assert calibrated.predict_proba(X_TEST)[0].shape == shares[0].shape
    for method in ("token-entropy", "margin", "nbest-entropy", "least-confidence"):
        assert np.isfinite(crf.uncertainty(X_TEST, method)).all()
    again = crf.partial_fit(X, tags)
    assert set(again.classes_) == set(model.answers)


def test_the_command_line_has_the_same_probabilities(tmp_path: File) -> None:
    lines = [
        "\n".join(f"{item[0]} {item[1]} {tag}" for item, tag in zip(x, y, strict=True)) + "\n"
        for x, y in zip(X, gold("BIO"), strict=True)
    ]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    run("train", tmp_path / "t.txt", "-o", tmp_path / "m.crf", "--train-scheme", "bioes", "-q")
    out = run("tag", tmp_path / "m.crf", tmp_path / "t.txt", "--print", "proba").stdout
    rows = [line.split("\t")[4:] for line in out.splitlines() if line]
    assert {cell.partition("/")[0] for row in rows for cell in row} <= {"B-a", "I-a", "B-b", "I-b", "O"}
    for row in rows:
        assert sum(float(cell.partition("/")[2]) for cell in row) == pytest.approx(1.0, abs=1e-4)


def test_what_goes_on_is_told_by_two_labels() -> None:
    """All sequences of three and four labels, valid or not, are read as pairs say."""
    for encoding, scheme in product(ENCODINGS, SCHEMES):
        names = tuple(fitted(encoding, scheme).model_.structure.labels)
        spelling = Recoding(names, scheme)
        for T in (3, 4):
            if len(names) ** T > 10_000:
                continue
            paths = np.array(list(product(range(len(names)), repeat=T)), dtype=np.int32)
            read = spelling._read(Path(np.arange(len(paths) + 1) * T, paths.ravel()))
            assert read.begin is not None
            begin = read.begin.reshape(-1, T)
            np.testing.assert_array_equal(~begin[:, 1:], spelling.goes_on[paths[:, :-1], paths[:, 1:]])
