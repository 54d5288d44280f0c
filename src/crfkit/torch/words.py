"""Words and the tokens that a tokenizer cuts them into: which tokens begin a word, and labels by token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["token_labels", "word_mask"]


def word_mask(encoding: Any, length: int | None = None) -> Tensor:
    """Return which tokens of a batch begin a word, [B, T] bool, from what a fast tokenizer returned.

    Parameters
    ----------
    encoding : BatchEncoding, or for each sequence a list with the word of each token (None: no word)
    length : int, optional
        T; default: that of the longest sequence.

    Examples
    --------
    >>> word_mask([[None, 0, 0, 1, None], [None, 0, None]]).int()
    tensor([[0, 1, 0, 1, 0],
            [0, 1, 0, 0, 0]], dtype=torch.int32)
    """
    rows = _words_of(encoding)
    longest = max(map(len, rows), default=0)
    if length is not None and length < longest:
        raise ValueError(f"length is {length}, but a sequence has {longest} tokens")
    mask = torch.zeros(len(rows), longest if length is None else length, dtype=torch.bool)
    for b, words in enumerate(rows):
        mask[b, : len(words)] = torch.tensor(_begins(words), dtype=torch.bool)
    return mask


def token_labels(encoding: Any, labels: Sequence[Sequence[str]], alphabet: Iterable[str]) -> list[list[int]]:
    """Return numbers of labels by token for a Trainer: that of a word at its first token, -100 elsewhere.

    Parameters
    ----------
    encoding
        As `word_mask` takes it; not padded, if a collator pads later. Of long texts it may hold several parts
        (``return_overflowing_tokens=True``); a word that is cut in two counts in both.
    labels : for each sequence a list with the label of each word
    alphabet : label names in the order of their numbers, ``crf.labels``

    Examples
    --------
    >>> token_labels([[None, 0, 0, 1, None], [None, 0, None]], [["B", "O"], ["B"]], ["O", "B"])
    [[-100, 1, -100, 0, -100], [-100, 1, -100]]
    """
    rows, number = _words_of(encoding), {name: i for i, name in enumerate(alphabet)}
    of_rows: Sequence[int] = range(len(rows))
    if not isinstance(encoding, Sequence) and "overflow_to_sample_mapping" in encoding:
        of_rows = [int(b) for b in encoding["overflow_to_sample_mapping"]]
    sequences = max(of_rows, default=-1) + 1
    if sequences != len(labels):
        raise ValueError(f"labels are of {len(labels)} sequences, but the encoding has {sequences}")
    for b, names in enumerate(labels):
        if isinstance(names, str):
            raise ValueError(
                f"labels[{b}] is the string {names!r}, expected a list with the label of each word"
            )
        for name in names:
            if name not in number:
                raise ValueError(f"sequence {b}: the alphabet does not have the label {name!r}")
    made = []
    for words, b in zip(rows, of_rows, strict=True):
        names = labels[b]
        if any(word is not None and word >= len(names) for word in words):
            raise ValueError(f"sequence {b} has more words than its {len(names)} labels")
        pairs = zip(words, _begins(words), strict=True)
        made.append([-100 if word is None or not begins else number[names[word]] for word, begins in pairs])
    return made


def _words_of(encoding: Any) -> list[Sequence[int | None]]:
    """Return the word of each token of each sequence."""
    if not hasattr(encoding, "word_ids"):
        return list(encoding)
    ids = encoding["input_ids"]
    if len(ids) and isinstance(ids[0], int):  # of one text
        return [encoding.word_ids()]
    return [encoding.word_ids(b) for b in range(len(ids))]


def _begins(words: Sequence[int | None]) -> list[bool]:
    return [word is not None and (t == 0 or words[t - 1] != word) for t, word in enumerate(words)]
