"""Gold segments of which only a part is known, against the sum over all segmentations that agree."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from crfkit import Likelihood, SemiCRF, SemiMarkov
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.models.tags import segmented
from tests.cases.spans import bare

LABELS = ("A", "B", "O")
D = 3
T = 5

# Gold, and whether a segmentation, a label and a begin for each position, agrees with it.
CASES: list[tuple[Any, Any]] = [
    (["B-A", None, "I-A", "O", None], lambda y, b: y[:4] == ("A", "A", "A", "O") and b[2:4] == (0, 1)),
    (["B-A", None, "B-A", None, None], lambda y, b: y[0] == "A" == y[2] and b[2]),
    ([None, None, "I-A", "I-A", "O"], lambda y, b: y[1:] == ("A", "A", "A", "O") and b[2:] == (0, 0, 1)),
    ([(0, 2, "A"), (2, 4, None)], lambda y, b: y[:2] == ("A", "A") and b[1:3] == (0, 1) and y[4] == "O"),
    (
        [{"B-A", "B-B"}, None, None, "O", "O"],
        lambda y, b: y[0] in "AB" and y[3:] == ("O", "O") and b[3:] == (1, 1),
    ),
    (
        [{"B-A", "I-A", "O"}, None, "B-B", "I-B", "O"],
        lambda y, b: y[0] in "AO" and y[2:] == ("B", "B", "O") and b[2:] == (1, 0, 1),
    ),
    (
        ["B-A", {"B-A", "B-B"}, None, None, "O"],
        lambda y, b: y[0] == "A" and y[1] in "AB" and b[1] and y[4] == "O",
    ),
]


def segmentations() -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    found = []
    for begin in product([0, 1], repeat=T - 1):
        cuts = [0, *(t + 1 for t, b in enumerate(begin) if b), T]
        spans = list(pairwise(cuts))
        for labels in product(LABELS, repeat=len(spans)):
            if all(b - a <= (1 if y == "O" else D) for (a, b), y in zip(spans, labels, strict=True)):
                y = tuple(label for (a, b), label in zip(spans, labels, strict=True) for _ in range(a, b))
                found.append((y, (1, *begin)))
    return found


@pytest.mark.parametrize(("y", "agrees"), CASES)
def test_the_loss_sums_over_what_agrees(y: Any, agrees: Any) -> None:
    random = np.random.default_rng(3)
    data = ItemExtractor()([[[f"a{t}", f"b{t % 2}"] for t in range(T)]])
    data = segmented(data, [y], labels=LABELS)
    structure = SemiMarkov(LABELS, max_length={"A": D, "B": D, "O": 1})
    layout = Layout.plan(structure, data.batch, all_pairs=True, pairs=None)
    loss = LinearLoss(Likelihood(), structure, layout, data.batch)
    w = random.normal(size=loss.size)
    gradient = np.empty(loss.size)
    value = loss.value_and_grad(w, gradient)
    potentials = loss.potentials(w).sequence(0)
    every = segmentations()
    scores = np.array(
        [
            potentials.path_score(np.array([LABELS.index(name) for name in names]), np.array(b, np.bool_))[0]
            for names, b in every
        ]
    )
    fits = np.array([bool(agrees(*one)) for one in every])
    assert 0 < fits.sum() < len(every)
    total = np.logaddexp.reduce(scores)
    assert value == pytest.approx(total - np.logaddexp.reduce(scores[fits]), rel=1e-9)
    for i in range(0, loss.size, 7):
        step = np.zeros(loss.size)
        step[i] = 1e-5
        slope = (loss.value_and_grad(w + step, gradient) - loss.value_and_grad(w - step, gradient)) / 2e-5
        loss.value_and_grad(w, gradient)
        assert gradient[i] == pytest.approx(slope, abs=1e-6)


def test_partly_known_data_teach() -> None:
    X = [["in", "New", "York", "it", "rains"], ["York", "is", "old"], ["New", "cars"]] * 3
    y: list[Any] = [["O", "B-C", "I-C", None, None], ["B-C", "O", None], ["O", "O"]] * 3
    fitted = SemiCRF(structure=SemiMarkov(max_length=2), features="w[-1..1]", n_jobs=1).fit(X, y)
    assert bare(fitted.predict_spans(X[:2])) == [[(1, 3, "C")], [(0, 1, "C")]]
    assert fitted.log_prob(X[:1], y[:1])[0] > fitted.log_prob(X[:1], [["O", "B-C", "I-C", "O", "O"]])[0]


def test_sets_that_cannot_be_said_are_refused() -> None:
    data = ItemExtractor()([[["a"], ["b"]]])
    with pytest.raises(ValueError, match="sequence 0, position 1: I-A, I-B say that a segment goes on"):
        segmented(data, [["B-A", {"I-A", "I-B"}]])
