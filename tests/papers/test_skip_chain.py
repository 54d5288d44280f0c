"""The experiment on skip-chains: the features of its mails."""

from __future__ import annotations

import numpy as np

from crfkit.papers.mails import Mails


def mails(text: str) -> Mails:
    words = text.split()
    ends = np.array([0, len(words)])
    return Mails("", words, np.zeros(len(words), dtype=np.int32), ends, {"honorific": frozenset(["dr"])})


def test_spans_of_several_tokens() -> None:
    made = mails("on May 3 , 3 : 30 - 5 : 00 p . m . by Dr Ng")
    spans = {"time", "time before a dash", "time after a dash", "date"}
    found = [sorted(spans & {*names}) for names in made._own()]
    assert found[:4] == [[], ["date"], ["date"], []]
    assert found[4:7] == [["time", "time before a dash"]] * 3
    assert found[7] == []
    assert found[8:15] == [["time", "time after a dash"]] * 7
    assert found[15:] == [[], [], []]
    assert "list=honorific" in made._own()[-2]


def test_features_of_neighbors_stay_within_the_mail() -> None:
    joined = mails("a b c d e f g h")
    apart = Mails("", joined.words, joined.label, np.array([0, 5, 8]), {})
    own = sum(len(names) for names in joined._own())
    assert own == 16  # a word and its end
    pairs = 2 * sum(max(0, n - abs(d)) for n in (5, 3) for d in range(-4, 5))
    assert apart.attributes.nnz == pairs
    assert joined.attributes.nnz == 2 * sum(8 - abs(d) for d in range(-4, 5))


def test_skips_join_identical_capitalized_words() -> None:
    assert mails("Ann met Bob and Ann and Bob").skips(np.array([0])).tolist() == [[0, 4], [2, 6]]
