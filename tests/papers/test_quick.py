"""Experiments from end to end on generated data: their numbers are plausible, and every claim is decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.cli import run


def quick(name: str, folder: Path) -> tuple[dict[str, float], str]:
    """Return the numbers of an experiment, and its report."""
    run("reproduce", name, "--quick", "-o", folder, "--jobs", "1")
    rows = json.loads((folder / "results.json").read_text())
    text = (folder / "report.md").read_text()
    assert "not decided yet" not in text
    return {row["quantity"]: row["ours"] for row in rows}, text


def test_amn(tmp_path: Path) -> None:
    found, text = quick("amn", tmp_path)
    assert len(found) == 18
    for case in ("2 labels", "4 labels"):
        alone = found[f"{case}, independent pixels: right pixels"]
        assert found[f"{case}, max-margin: right pixels"] > alone
        assert found[f"{case}, decoding: of the bound, scores from 0 on"] >= 0.5
    assert found["2 labels, decoding: images proved optimal"] == 100.0
    assert found["4 labels, decoding: score below the upper bound"] < 1.0
    assert "a minimum cut is exact for two labels" in text


def test_boosting(tmp_path: Path) -> None:
    found, text = quick("boosting", tmp_path)
    assert found["parity, trees, 20 rounds"] < 5.0 < 30.0 < found["parity, linear"]
    assert "**holds**: parity: sums of trees" in text


def test_collective(tmp_path: Path) -> None:
    found, text = quick("collective", tmp_path)
    for task in ("30 % labeled", "60 % labeled"):
        words = found[f"generated, {task}; words alone: accuracy"]
        for learner in ("neighbors' labels", "links, same label, BP", "links, free, pseudo"):
            assert found[f"generated, {task}; {learner}: accuracy"] > words + 5.0
    assert found["generated, 60 % labeled; links, free, BP: seconds"] > 0.0
    assert (
        "**holds**: the gain is significant" in text or "**does not hold**: the gain is significant" in text
    )


def test_constraints(tmp_path: Path) -> None:
    found, text = quick("constraints", tmp_path)
    assert len(found) == 30
    case = "generated, 60 sequences"
    assert found[f"{case}, Viterbi: sequences that break a constraint"] > 0.0
    assert found[f"{case}, global constraints: sequences that break a constraint"] == 0.0
    assert found[f"{case}, global constraints: answers by a memory"] == 100.0
    assert found[f"{case}, global constraints: programs that agree"] == 100.0
    free, kept = (found[f"{case}, {one}: F1 of spans"] for one in ("Viterbi", "global constraints"))
    assert free < kept < 100.0
    assert "programs over the trellis give the best labeling" in text


def test_dcrf(tmp_path: Path) -> None:
    found, _ = quick("dcrf", tmp_path)
    assert len(found) == 2 * (6 * 4 + 2)
    for size in (60, 240):
        joint, apart = (found[f"{size} sentences: {one}, both"] for one in ("factorial CRF", "two chains"))
        assert joint > apart


def test_ecoc(tmp_path: Path) -> None:
    found, text = quick("ecoc", tmp_path)
    assert len(found) == 10
    assert found["generated, 20 columns: product"] < found["generated, 5 columns: product"]
    assert found["generated, 20 columns: product"] < found["generated, 20 columns: nearest to best bits"]
    assert found["generated, one chain: error"] < 50.0
    assert found["generated, 20 columns: processor seconds"] > 0.0
    assert "more columns lower the error of the product" in text


def test_grid(tmp_path: Path) -> None:
    found, text = quick("grid", tmp_path)
    assert len(found) == 8
    assert all(75.0 < value < 100.0 for name, value in found.items() if name.endswith("pixels"))
    assert (tmp_path / "areas-images.png").exists() == ("areas-images.png" in text)


def test_induction(tmp_path: Path) -> None:
    found, text = quick("induction", tmp_path)
    assert len(found) == 13
    # The label of a generated word is a conjunction that nobody wrote down.
    assert found["induced, 16 features"] > 90.0
    assert found["fixed, atoms only, 32 features"] < 80.0
    assert "induced features are better than as many fixed ones" in text


def test_multilabel(tmp_path: Path) -> None:
    found, _ = quick("multilabel", tmp_path)
    assert len(found) == 21
    for learner in ("likelihood", "max-margin"):
        pairs = found[f"{learner}, all pairs: subset accuracy"]
        assert pairs > found[f"{learner}, independent: subset accuracy"] + 5.0
    independent = found["likelihood, independent: subset accuracy"]
    # The same model by another program; its penalty of two weights a label is half of that of one.
    regressions = found["logistic regressions, independent: subset accuracy"]
    assert independent == pytest.approx(regressions, abs=6.0)


def test_pools(tmp_path: Path) -> None:
    found, text = quick("pools", tmp_path)
    assert len(found) == 10
    assert 20.0 < found["generated, one chain, no penalty, 60 sentences"] < 100.0
    assert found["generated, pool, random, 60 sentences"] > found["generated, pool, random, 20 sentences"]
    assert "pools are better than the unregularized chain" in text


def test_rules(tmp_path: Path) -> None:
    found, text = quick("rules", tmp_path)
    words = found["generated; words: accuracy"]
    assert found["generated; words, citations: accuracy"] > words + 5.0
    assert found["generated; words, citations: weight of the rule of citations"] > 0.1
    assert (
        abs(found["generated; cliques by hand: accuracy"] - found["generated; words, citations: accuracy"])
        < 6.0
    )
    assert found["seconds to ground clauses of shared citations, by their number: 10,000"] > 0.0
    assert "the rules give what cliques by hand give" in text


def test_skip_chain(tmp_path: Path) -> None:
    found, text = quick("skip-chain", tmp_path)
    assert len(found) == 29
    for one in ("skip-chain", "skip-chain, weights of the chain kept"):
        assert found[f"Table 1.2: {one}, speaker"] > found["Table 1.2: linear chain, speaker"] + 10.0
        assert found[f"Table 1.3: {one}, speaker"] < found["Table 1.3: linear chain, speaker"]
    assert (tmp_path / "folds.png").exists() == ("folds.png" in text)
