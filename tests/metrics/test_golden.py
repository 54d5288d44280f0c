"""Scores of segments against the scripts of the field.

Reports were printed by a copy of conlleval.pl (2004-01-26, without its LaTeX part) under Perl, or published;
numbers of strict and lenient readings come from seqeval 1.2.2. Nothing here needs either.
"""

import gzip
import random
from collections import Counter, defaultdict

import pytest

from crfkit.metrics import span_scores
from crfkit.metrics.counts import Average, Score
from crfkit.metrics.spanwise import SpanScores
from tests.cases.real_data import DATA


def split(text: str) -> list[list[str]]:
    return [sequence.split() for sequence in text.split(" | ")]


# ---- conlleval ---------------------------------------------------------------------------------

PRINTED = {
    "IOB": """
I-B I-B B-A I-A I-B | I-B O I-B O B-B I-A I-B | B-A B-B I-B I-B B-B
I-B B-A B-A I-B I-B | I-B O I-B O B-B I-A B-B | B-A B-B I-B B-B B-B
processed 17 tokens with 11 phrases; found: 13 phrases; correct: 7.
accuracy:  76.47%; precision:  53.85%; recall:  63.64%; FB1:  58.33
                A: precision:  50.00%; recall:  66.67%; FB1:  57.14  4
                B: precision:  55.56%; recall:  62.50%; FB1:  58.82  9""",
    "IOE": """
E-B E-A I-A O O E-A E-B E-A | E-B I-A E-B I-B E-B I-B | I-B I-B E-B I-B E-A I-A
E-B I-A E-A O O E-A E-B E-A | E-B I-A I-A I-B E-B E-B | I-B E-B O I-B E-A O
processed 20 tokens with 15 phrases; found: 12 phrases; correct: 9.
accuracy:  65.00%; precision:  75.00%; recall:  60.00%; FB1:  66.67
                A: precision:  60.00%; recall:  42.86%; FB1:  50.00  5
                B: precision:  85.71%; recall:  75.00%; FB1:  80.00  7""",
    "brackets": """
]-A [-B ]-A ]-A ]-A [-B O O O | ]-A [-B ]-A ]-A [-A ]-A | ]-A ]-A ]-A ]-A [-B
]-A [-A ]-A ]-A [-A [-B O O O | ]-A [-A ]-A [-A [-A ]-A | ]-A ]-A ]-A ]-A [-B
processed 20 tokens with 17 phrases; found: 17 phrases; correct: 15.
accuracy:  80.00%; precision:  88.24%; recall:  88.24%; FB1:  88.24
                A: precision:  86.67%; recall: 100.00%; FB1:  92.86  15
                B: precision: 100.00%; recall:  50.00%; FB1:  66.67  2""",
    "BIOES": """
O E-B E-A S-B I-B S-B I-A O | O B-A B-A S-B O I-A | I-B I-B B-B O E-A E-A E-A
E-B E-B E-B S-B I-B S-B I-A S-B | O B-A B-A E-B S-B I-A | I-B I-B E-A O E-A E-A E-A
processed 21 tokens with 13 phrases; found: 14 phrases; correct: 9.
accuracy:  71.43%; precision:  64.29%; recall:  69.23%; FB1:  66.67
                A: precision:  87.50%; recall:  87.50%; FB1:  87.50  8
                B: precision:  33.33%; recall:  40.00%; FB1:  36.36  6""",
}


@pytest.mark.parametrize("name", PRINTED)
def test_reports_are_what_conlleval_prints(name: str) -> None:
    true, pred, printed = PRINTED[name].lstrip("\n").split("\n", 2)
    assert str(span_scores(split(true), split(pred), scheme="conlleval")) == printed
    if name != "BIOES":  # which the script does not understand
        assert str(span_scores(split(true), split(pred))) == printed


def test_the_example_in_conllevals_documentation() -> None:
    """https://www.clips.uantwerpen.be/conll2000/chunking/output.html, from the counts that it implies."""
    counts = {
        "ADJP": Score(0, 1, 6),
        "ADVP": Score(5, 11, 8),
        "NP": Score(206, 317, 262),
        "PP": Score(89, 107, 90),
        "SBAR": Score(2, 3, 6),
        "VP": Score(69, 100, 87),
    }
    none = Average(0.0, 0.0, 0.0)
    assert SpanScores(Score(371, 539, 459), counts, none, none, 961, 838).report().split("\n") == [
        "processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.",
        "accuracy:  87.20%; precision:  68.83%; recall:  80.83%; FB1:  74.35",
        "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
        "             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11",
        "               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317",
        "               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107",
        "             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3",
        "               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100",
    ]


@pytest.mark.skipif(not (DATA / "conll2000").is_dir(), reason="no CoNLL-2000 here")
def test_the_baseline_of_conll_2000() -> None:
    """The commonest chunk tag of each part of speech.

    Tjong Kim Sang and Buchholz (2000) give 72.58, 82.14 and 77.07; the lines by type are those of a
    conlleval run that others published.
    """

    def read(name: str) -> list[list[list[str]]]:
        with gzip.open(DATA / "conll2000" / name, "rt") as file:
            return [
                [line.split() for line in block.split("\n")] for block in file.read().strip().split("\n\n")
            ]

    commonest: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in read("train.txt.gz"):
        for _, tag, chunk in sentence:
            commonest[tag][chunk] += 1
    test = read("test.txt.gz")
    y_true = [[chunk for _, _, chunk in sentence] for sentence in test]
    y_pred = [[commonest[tag].most_common(1)[0][0] for _, tag, _ in sentence] for sentence in test]
    assert str(span_scores(y_true, y_pred)).split("\n") == [
        "processed 47377 tokens with 23852 phrases; found: 26992 phrases; correct: 19592.",
        "accuracy:  77.29%; precision:  72.58%; recall:  82.14%; FB1:  77.07",
        "             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "             ADVP: precision:  44.33%; recall:  77.71%; FB1:  56.46  1518",
        "            CONJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "             INTJ: precision:  50.00%; recall:  50.00%; FB1:  50.00  2",
        "              LST: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "               NP: precision:  79.87%; recall:  86.80%; FB1:  83.19  13500",
        "               PP: precision:  74.73%; recall:  97.07%; FB1:  84.45  6249",
        "              PRT: precision:  75.00%; recall:   8.49%; FB1:  15.25  12",
        "             SBAR: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "               VP: precision:  60.53%; recall:  74.22%; FB1:  66.68  5711",
    ]


def test_one_line_for_segments_without_a_type_and_none_for_nothing() -> None:
    assert str(span_scores([["B", "I", "O"]], [["B", "I", "B"]])).split("\n") == [
        "processed 3 tokens with 1 phrases; found: 2 phrases; correct: 1.",
        "accuracy:  66.67%; precision:  50.00%; recall: 100.00%; FB1:  66.67",
        "                 : precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
    ]
    nothing = span_scores([], [])
    assert str(nothing) == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0."
    assert (nothing.f1, nothing.accuracy, nothing.macro.f1, nothing.weighted.f1) == (0, 0, 0, 0)


# ---- seqeval -----------------------------------------------------------------------------------

# Scheme, truth, prediction; micro precision, recall and F1, macro F1, weighted F1.
SEQEVAL = """
BILOU; O I-X L-X I-Y U-X | L-Y B-Y O O U-X L-X I-X; O B-Y L-X B-X U-X | L-Y B-Y O O B-Y U-X L-X; 0.5 0.5 0.5 0.5 0.5
BILOU; O L-Y B-X L-X U-Y B-Y L-X | L-Y I-X U-X; L-Y L-Y B-Y L-X U-Y U-X L-X | L-Y I-X U-X; 0.666667 0.666667 0.666667 0.75 0.666667
BILOU; O O I-X B-Y | U-Y L-Y I-X U-Y I-X B-X L-X; B-X O B-X I-X | U-Y L-Y I-X U-Y U-Y B-X I-Y; 0.666667 0.666667 0.666667 0.4 0.533333
IOB1; B-Y B-Y I-Y O I-X B-X | O B-X O B-Y I-X B-X I-X; B-Y B-Y I-Y O I-X I-X | O B-X O B-Y I-X O I-X; 0.5 0.4 0.444444 0.642857 0.428571
IOB1; I-X I-Y I-Y O O B-X | B-Y I-Y B-Y I-Y; I-X I-Y I-Y O I-Y B-X | B-Y I-Y B-Y I-Y; 0.8 1.0 0.888889 0.928571 0.892857
IOB1; I-Y B-Y I-X I-X | B-Y B-Y I-X; B-Y B-Y I-X I-X | I-X B-Y I-X; 0.75 0.6 0.666667 0.65 0.62
IOB2; B-X B-X B-Y | B-X I-Y B-X B-X; B-X I-X B-Y | B-X I-Y B-X B-X; 0.8 0.666667 0.727273 0.833333 0.722222
IOB2; B-X B-X O | I-X B-Y O I-X I-X; B-X I-X O | I-X B-Y O I-X I-X; 0.5 0.333333 0.4 0.5 0.333333
IOB2; B-Y I-Y B-X I-Y | B-X B-Y I-X; B-Y I-Y B-X I-Y | B-X I-Y I-X; 1.0 0.75 0.857143 0.833333 0.833333
IOBES; B-X I-X E-X S-Y E-X | E-X I-Y S-Y; B-X I-X E-X B-Y I-Y | B-Y B-X S-Y; 1.0 0.666667 0.8 0.833333 0.777778
IOBES; B-X S-Y E-X O S-Y | I-Y B-X I-Y S-Y S-Y E-X; I-Y B-Y E-X S-Y S-Y | I-Y B-X I-Y B-Y S-Y E-X; 0.666667 0.5 0.571429 0.571429 0.571429
IOBES; O E-Y B-X | S-X S-X E-X E-X; B-Y E-Y B-X | S-X S-X S-Y E-X; 0.5 1.0 0.666667 0.5 1.0
IOE2; E-Y I-X O | E-X I-Y E-Y; E-Y I-X O | E-X I-Y O; 1.0 0.666667 0.8 0.833333 0.777778
IOE2; O I-Y I-X | I-X E-Y O E-X E-X; O I-Y I-X | I-X I-Y O E-X E-X; 1.0 0.666667 0.8 0.5 0.666667
lenient; I-X I-Y O B-Y E-Y | S-X S-Y; I-X I-Y O B-Y E-Y | I-Y S-Y; 0.8 0.8 0.8 0.761905 0.780952
lenient; I-Y I-Y S-X E-Y B-Y | E-Y S-Y; S-X B-Y S-X E-Y S-Y | E-Y E-X; 0.571429 0.666667 0.615385 0.583333 0.638889
lenient; O B-X B-X S-Y S-X I-X | S-X S-X E-X B-X S-Y; O O E-Y S-Y S-X I-X | S-X B-Y E-Y B-X S-Y; 0.75 0.6 0.666667 0.666667 0.666667
"""  # noqa: E501


@pytest.mark.parametrize("line", SEQEVAL.strip().split("\n"))
def test_scores_are_seqevals(line: str) -> None:
    scheme, true, pred, numbers = line.split("; ")
    scores = span_scores(split(true), split(pred), scheme=scheme)
    got = [scores.precision, scores.recall, scores.f1, scores.macro.f1, scores.weighted.f1]
    assert got == pytest.approx([float(number) for number in numbers.split()], abs=1e-6)


def test_seqeval_itself_where_it_is_installed() -> None:
    seqeval = pytest.importorskip("seqeval.metrics.v1")
    classes = pytest.importorskip("seqeval.scheme")
    draw = random.Random(0)
    for scheme, letters in {
        "IOB1": "BI",
        "IOB2": "BI",
        "IOE2": "IE",
        "IOBES": "BIES",
        "BILOU": "BILU",
    }.items():
        labels = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY")]
        y_true = [draw.choices(labels, k=draw.randint(1, 9)) for _ in range(200)]
        y_pred = [[draw.choice([label, *labels[:2]]) for label in row] for row in y_true]
        scores = span_scores(y_true, y_pred, scheme=scheme)
        for average, ours in (("micro", scores.overall), ("macro", scores.macro)):
            options = {"average": average, "scheme": getattr(classes, scheme), "zero_division": 0}
            theirs = seqeval.precision_recall_fscore_support(y_true, y_pred, **options)
            assert [ours.precision, ours.recall, ours.f1] == pytest.approx(list(theirs[:3]))
