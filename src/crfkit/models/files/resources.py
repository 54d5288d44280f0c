"""Resources of recipes as arrays: tables, gazetteers, dictionaries and embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from itertools import pairwise
from typing import Any, cast

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, pointers
from crfkit.data.alphabet import Alphabet
from crfkit.features import Dictionary, Gazetteer
from crfkit.models.store import Array


class Embeddings(Mapping[str, Floats]):
    """Vectors of words, out of one matrix [V, K] that may be mapped.

    Examples
    --------
    >>> table = Embeddings(Alphabet(["a", "b"]).freeze(), np.eye(2))
    >>> table["b"].tolist(), table.get("c")
    ([0.0, 1.0], None)
    """

    def __init__(self, words: Alphabet, matrix: Floats) -> None:
        self.words, self.matrix = words, matrix

    def __getitem__(self, word: str) -> Floats:
        i = self.words.find(word)
        if i < 0:
            raise KeyError(word)
        row: Floats = self.matrix[i]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def values(self) -> ValuesView[Floats]:
        """Return all vectors, without looking up a word."""
        return _Vectors(self)


class _Vectors(ValuesView[Floats]):
    def __init__(self, table: Embeddings) -> None:
        super().__init__(table)
        self._matrix = table.matrix

    def __iter__(self) -> Iterator[Floats]:
        return iter(self._matrix)


def _pack_strings(strings: Sequence[str]) -> tuple[Array, Array]:
    encoded = [string.encode() for string in strings]
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), pointers(list(map(len, encoded)))


def _unpack_strings(name: str, text: Array, begin: Array) -> list[str]:
    _check_pointers(name, begin, len(text))
    data, ends = text.tobytes(), begin.tolist()
    return [data[a:b].decode() for a, b in pairwise(ends)]


def _check_pointers(name: str, ptr: Array, end: int) -> None:
    good = ptr.ndim == 1 and ptr.dtype == np.int64 and len(ptr) > 0
    if not good or ptr[0] != 0 or ptr[-1] != end or (ptr[1:] < ptr[:-1]).any():
        raise ValueError(f"the resource {quoted(name)} is damaged: its pointers are wrong")


def _part(name: str, arrays: Mapping[str, Array], part: str, kinds: str = "u1") -> Array:
    array = arrays.get(part)
    if array is None or array.dtype not in [np.dtype(kind) for kind in kinds.split()]:
        raise ValueError(f"the resource {quoted(name)} is damaged: {part} is missing or of a wrong type")
    return array


def _pack_lookup(name: str, table: Mapping[str, Any]) -> dict[str, Array]:
    keys = list(table)
    values = [table[key] for key in keys]
    lists = [[value] if isinstance(value, str) else list(value or ()) for value in values]
    flat = [text for texts in lists for text in texts]
    if not all(isinstance(text, str) for text in [*keys, *flat]):
        raise ValueError(
            f"the resource {quoted(name)} is not a table of strings; a model file cannot keep it"
        )
    made = dict(zip(("keys", "keys_begin"), _pack_strings(keys), strict=True))
    made.update(zip(("values", "values_begin"), _pack_strings(flat), strict=True))
    made["ptr"] = pointers(list(map(len, lists)))
    made["several"] = np.array([not isinstance(value, str) for value in values], dtype=np.uint8)
    return made


def _unpack_lookup(name: str, arrays: Mapping[str, Array]) -> dict[str, Any]:
    keys = _unpack_strings(name, _part(name, arrays, "keys"), _part(name, arrays, "keys_begin", "i8"))
    flat = _unpack_strings(name, _part(name, arrays, "values"), _part(name, arrays, "values_begin", "i8"))
    ptr, several = _part(name, arrays, "ptr", "i8"), _part(name, arrays, "several")
    _check_pointers(name, ptr, len(flat))
    if len(ptr) != len(keys) + 1 or several.shape != (len(keys),):
        raise ValueError(f"the resource {quoted(name)} is damaged: keys and values differ in number")
    table: dict[str, Any] = {}
    for i, (key, many) in enumerate(zip(keys, several.tolist(), strict=True)):
        texts = flat[int(ptr[i]) : int(ptr[i + 1])]
        if not many and len(texts) != 1:
            raise ValueError(f"the resource {quoted(name)} is damaged: {quoted(key)} has no value")
        table[key] = texts if many else texts[0]
    return table


def _pack_phrases(phrases: Sequence[Sequence[str]], lower: bool) -> dict[str, Array]:
    tokens, begin = _pack_strings([token for phrase in phrases for token in phrase])
    ptr = pointers(list(map(len, phrases)))
    return {"tokens": tokens, "tokens_begin": begin, "ptr": ptr, "lower": np.array([lower], dtype=np.uint8)}


def _unpack_phrases(name: str, arrays: Mapping[str, Array]) -> tuple[list[tuple[str, ...]], bool]:
    tokens = _unpack_strings(name, _part(name, arrays, "tokens"), _part(name, arrays, "tokens_begin", "i8"))
    ptr, lower = _part(name, arrays, "ptr", "i8"), _part(name, arrays, "lower")
    _check_pointers(name, ptr, len(tokens))
    if lower.shape != (1,):
        raise ValueError(f"the resource {quoted(name)} is damaged: lower is wrong")
    return [tuple(tokens[a:b]) for a, b in pairwise(ptr.tolist())], bool(lower[0])


def _pack_gazetteer(name: str, gazetteer: object) -> dict[str, Array]:
    if not isinstance(gazetteer, Gazetteer):
        raise ValueError(f"the resource {quoted(name)} is not a Gazetteer; a model file cannot keep it")
    return _pack_phrases(gazetteer.phrases, gazetteer.lower)


def _unpack_gazetteer(name: str, arrays: Mapping[str, Array]) -> Gazetteer:
    return Gazetteer(*_unpack_phrases(name, arrays))


def _pack_dictionary(name: str, dictionary: object) -> dict[str, Array]:
    """Keep the entries; the sequences that they come from only matter for the training data."""
    if not isinstance(dictionary, Dictionary):
        raise ValueError(f"the resource {quoted(name)} is not a Dictionary; a model file cannot keep it")
    return _pack_phrases(dictionary.entries, dictionary.lower)


def _unpack_dictionary(name: str, arrays: Mapping[str, Array]) -> Dictionary:
    return Dictionary(*_unpack_phrases(name, arrays), name=name)


def _pack_embedding(name: str, table: Mapping[str, Any]) -> dict[str, Array]:
    words = list(table)
    matrix = np.array([np.asarray(table[word], dtype=np.float64) for word in words])
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"the resource {quoted(name)} is not a table of vectors of one size, all finite")
    text, begin = _pack_strings(words)
    return {"words": text, "words_begin": begin, "matrix": matrix}


def _unpack_embedding(name: str, arrays: Mapping[str, Array]) -> Embeddings:
    words = _unpack_strings(name, _part(name, arrays, "words"), _part(name, arrays, "words_begin", "i8"))
    matrix = _part(name, arrays, "matrix", "f8 f4")
    known = Alphabet(words).freeze()
    if matrix.ndim != 2 or len(known) != len(matrix) or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(f"the resource {quoted(name)} is damaged: its vectors are wrong")
    return Embeddings(known, cast(Floats, matrix.astype(np.float64, copy=False)))


#: What packs and unpacks each kind of resource.
PACK = {
    "lookup": _pack_lookup,
    "gazetteer": _pack_gazetteer,
    "dictionary": _pack_dictionary,
    "embedding": _pack_embedding,
}
UNPACK = {
    "lookup": _unpack_lookup,
    "gazetteer": _unpack_gazetteer,
    "dictionary": _unpack_dictionary,
    "embedding": _unpack_embedding,
}
