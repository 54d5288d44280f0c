"""Words and the tokens that they are cut into."""

from __future__ import annotations

from typing import Any

import pytest

from crfkit.torch.words import token_labels, word_mask


def test_masks_of_words() -> None:
    class Encoding(dict[str, Any]):
        def word_ids(self, b: int = 0) -> list[int | None]:
            return [[None, 0, 1, 1], [0, None]][b]

    first = [False, True, True, False]
    assert word_mask(Encoding(input_ids=[[0] * 4, [0] * 2])).tolist() == [first, [True] + [False] * 3]
    assert word_mask(Encoding(input_ids=[0] * 4)).tolist() == [first]  # of one text
    assert word_mask([[0, 1]], 3).tolist() == [[True, True, False]]
    with pytest.raises(ValueError, match="length is 1, but a sequence has 2 tokens"):
        word_mask([[0, 1]], 1)


def test_labels_of_words_at_their_tokens() -> None:
    words = [[None, 0, 1, 1], [0, None]]
    assert token_labels(words, [["B", "O"], ["B", "O"]], ["O", "B"]) == [[-100, 1, 0, -100], [1, -100]]
    for labels, message in [
        ([["B"]], "labels are of 1 sequences, but the encoding has 2"),
        ([["B"], ["B"]], "sequence 0 has more words than its 1 labels"),
        ([["B", "O"], ["I"]], "sequence 1: the alphabet does not have the label 'I'"),
    ]:
        with pytest.raises(ValueError, match=message):
            token_labels(words, labels, ["O", "B"])
