"""Which metric "auto" is, and gold labels that a model does not have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest

from crfkit.errors import DataWarning
from crfkit.metrics.default_metric import check_known, metric_for
from crfkit.structures.constraints import Scheme
from crfkit.tags.detection import follow_scheme


@pytest.mark.parametrize(
    ("labels", "follow"),
    [
        (["O", "B-PER", "I-PER"], True),
        (["O", "B-PER"], True),  # entities of one word
        (["O", "I-PER"], True),  # IOB1
        (["B-NP", "I-NP", "B-VP"], True),  # every word is in a chunk
        (["O", "I-A", "E-A"], True),  # IOE
        (["O", "B-A", "I-A", "E-A", "S-A"], True),
        (["O", "B-A", "I-A", "L-A", "U-A"], True),
        (["B-A", "M-A", "E-A", "S-A"], True),
        (["B-52"], False),
        (["B-52", "B-1"], False),
        (["S-Bahn", "U-Bahn"], False),
        (["B-52", "F-16", "O"], False),
        (["O", "B-12", "C-3", "M-7"], False),  # letters of no one scheme
        (["I", "O"], False),
        (["B", "I", "O"], False),
        (["O"], False),
        (["O", "B-"], False),
        (["O", "B-PER", "NN"], False),
        (["NN", "VB"], False),
        ([], False),
    ],
)
def test_labels_follow_a_scheme_or_are_plain(labels: Sequence[str], follow: bool) -> None:
    assert follow_scheme(labels) == follow
    assert metric_for(labels) == ("span_f1" if follow else "accuracy")
    assert metric_for(labels, segments=True) == "span_f1"


BIO = ["O", "B-NP", "I-NP", "B-VP"]


def test_known_gold_is_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_known([["B-NP", "O"], ["O"], []], BIO)
        check_known([], BIO)
        check_known([["a"]], ["a", "b"])


def test_some_unknown_labels_are_named_and_counted() -> None:
    with pytest.warns(DataWarning, match=r"^y has labels that the model does not know: B-LOC \(2\), I-LOC "):
        check_known([["B-NP", "B-LOC", "I-LOC"], ["B-LOC", "O"]], BIO)
    with pytest.warns(DataWarning, match=r"Z \(1\); 1 of 4 positions \(25 %\), which count as errors"):
        check_known([["a", "Z", "b", "b"]], ["a", "b"])
    many = [f"x{i}" for i in range(9)]
    with pytest.warns(DataWarning, match="and 4 more"):
        check_known([["a", *many]], ["a", "b"])
    with pytest.warns(DataWarning, match=r"O \(2\)"):  # nothing but O
        check_known([["O", "O"]], ["a", "b"])


@pytest.mark.parametrize(
    ("gold", "known", "message"),
    [
        (["B-LOC", "O", "B-PER"], BIO, r"none of its entity types \(LOC, PER\) is one of the model"),
        (["LOC", "O"], ["NP", "O"], r"none of its labels \(LOC\) is one of the model \(NP\)"),
        (["the", "dog"], BIO, r"none of its labels \(dog, the\) is one of the model \(NP, VP\)"),
        (["3", "4"], ["1", "2"], r"none of its labels \(3, 4\)"),
    ],
)
def test_gold_of_which_nothing_that_matters_is_known_is_refused(
    gold: list[str], known: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_known([gold], known)


def test_another_scheme_with_the_same_types_is_not_refused() -> None:
    with pytest.warns(DataWarning, match="S-NP"):
        check_known([["S-NP", "O"]], BIO)
    with pytest.raises(ValueError, match=r"types \(LOC\)"):
        check_known([["B_LOC", "-"]], ["B_NP", "I_NP", "-"], scheme=Scheme("BIO", "-", "_"))
