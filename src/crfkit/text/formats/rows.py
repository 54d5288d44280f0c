"""Rows of tokens and tags, as Hugging Face data sets have them: in memory, as JSON lines, or as Parquet.

A row has ``tokens`` (or ``words``) and ``ner_tags`` (or ``ner``, ``tags``, ``labels``): names of tags, or
numbers, whose names come from the features of the data set, from a Parquet file that keeps them, or from
``names=[...]``; -100 is not known, and no token is of a row without tags. ``pos_tags`` (``upos``, ``xpos``)
are labels of tokens, and so are tags that spell no spans. The text is that of the row, if it has one, else
its tokens with blanks between them. Rows in memory are a data set, a list of mappings, or a table (Arrow,
pandas, Polars).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any, Final

from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.tags.detection import are_tags
from crfkit.tags.segments import spans as spelled
from crfkit.text.doc import Doc
from crfkit.text.formats.json_objects import as_id, as_lines, objects, top_keys
from crfkit.text.formats.record import Options, Remarks, TextFormat, needs_tokens, placed

__all__ = ["FORMAT"]

_TOKENS: Final = ("tokens", "words")
_TAGS: Final = ("ner_tags", "ner", "tags", "labels")
_LABELS: Final = ("pos_tags", "upos", "xpos")
_UNKNOWN: Final = -100  #: what losses of neural networks leave out
_ROWS = 1000  #: of a Parquet file at a time

#: The names of the numbers of a column.
Names = Mapping[str, Sequence[str]]


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    if source.peek(4) == b"PAR1":
        yield from _of_parquet(source, options)
        return
    names: Names = {} if options.names is None else dict.fromkeys(_TAGS, options.names)
    for line, row in objects(source):
        with placed(source, line):
            made = _doc(row, names)
        yield made


def _of_parquet(source: Input, options: Options) -> Iterator[Doc]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install pyarrow") from error
    try:
        file = parquet.ParquetFile(arrow.BufferReader(source.whole()))
    except (ValueError, OSError) as error:
        raise source.error(None, f"is not a Parquet file ({error})") from None
    names = _names(options, _kept_names(file.schema_arrow.metadata))
    number = 0
    for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
        for row in batch.to_pylist():
            number += 1
            try:
                made = _doc(row, names)
            except (ValueError, TypeError) as error:
                raise source.error(None, f"row {number}: {error}") from None
            yield made


def _of_rows(given: Any, options: Options, remarks: Remarks) -> Iterator[Doc]:
    """Yield the documents of rows in memory."""
    names = _names(options, _feature_names(getattr(given, "features", None)))
    for number, row in enumerate(_mappings(given), 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} is {row!r:.60}, expected a mapping with tokens and tags")
        try:
            made = _doc(row, names)
        except (ValueError, TypeError) as error:
            raise type(error)(f"row {number}: {error}") from None
        yield made


def _mappings(given: Any) -> Iterable[Any]:
    """Return a table as rows; what has rows stays."""
    if hasattr(given, "to_dicts"):  # Polars
        return given.to_dicts()  # type: ignore[no-any-return]
    if hasattr(given, "iloc"):  # pandas
        return given.to_dict("records")  # type: ignore[no-any-return]
    if hasattr(given, "to_pylist"):  # pyarrow
        return given.to_pylist()  # type: ignore[no-any-return]
    return given  # type: ignore[no-any-return]


def _names(options: Options, found: Names) -> Names:
    return found if options.names is None else {**found, **dict.fromkeys(_TAGS, options.names)}


def _feature_names(features: Any) -> Names:
    """Return the names that the features of a data set give to the numbers of its columns."""
    if not isinstance(features, Mapping):
        return {}
    found = {name: getattr(getattr(one, "feature", one), "names", None) for name, one in features.items()}
    return {name: names for name, names in found.items() if names}


def _kept_names(metadata: Any) -> Names:
    """Return the names that the package datasets keeps in Parquet files."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        inner = {name: one.get("feature", one) for name, one in features.items()}
        return {name: one["names"] for name, one in inner.items() if isinstance(one.get("names"), list)}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _doc(row: Mapping[str, Any], names: Names) -> Doc:
    tokens = _first(row, _TOKENS)
    if tokens is None:
        raise ValueError(
            f"has no field {' or '.join(_TOKENS)}; its fields are {', '.join(map(str, row)):.100}"
        )
    words = _listed(row[tokens], tokens)
    if odd := [one for one in words if not isinstance(one, str) or not one]:
        raise ValueError(f"has the token {odd[0]!r:.40}, expected a string that is not empty")
    text, offsets = _placed(row.get("text"), words, row.get("offsets"))
    kind = _first(row, _TAGS)
    tags = None if kind is None else _tags(row, kind, len(words), names)
    labels_kind = _first(row, _LABELS)
    labels = None if labels_kind is None else _tags(row, labels_kind, len(words), names)
    of_spans = tags is not None and (
        {*tags} <= {"O", None} or are_tags(one for one in tags if one is not None)
    )
    used = {tokens, kind, labels_kind, "id", "text", "offsets"}
    unseen = tags is None and labels is None
    if not of_spans and labels is None:
        labels, tags = tags, None
    found = spelled([one or "O" for one in tags]) if tags is not None and of_spans else []
    return Doc(
        text,
        offsets,
        spans=[(offsets[a][0], offsets[b - 1][1], str(label)) for a, b, label in found],
        labels=labels,
        id=as_id(row.get("id")),
        meta={str(name): value for name, value in row.items() if name not in used},
        known=() if unseen else None if tags is None or None not in tags else _known(offsets, tags),
    )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if row.get(name) is not None), None)


def _listed(given: Any, name: str) -> list[Any]:
    found = given.tolist() if hasattr(given, "tolist") else given  # an array of NumPy
    if not isinstance(found, list | tuple):
        raise ValueError(f"has {given!r:.60} for {name}, expected a list")
    return list(found)


def _tags(row: Mapping[str, Any], name: str, count: int, names: Names) -> list[str | None]:
    """Return the tags of a row by their names."""
    given = _listed(row[name], name)
    if len(given) != count:
        raise ValueError(f"has {count} tokens and {len(given)} {name}, expected one for each")
    if all(one is None or isinstance(one, str) for one in given):
        return given
    known = names.get(name)
    if known is None:
        raise ValueError(f"has numbers for {name}; give their names in order, names=['O', 'B-PER', ...]")
    found: list[str | None] = []
    for one in given:
        if type(one) is not int or not (0 <= one < len(known) or one == _UNKNOWN):
            raise ValueError(f"has {one!r:.40} for {name}, expected a number below {len(known)}")
        found.append(None if one == _UNKNOWN else known[one])
    return found


def _placed(text: Any, words: Sequence[str], given: Any) -> tuple[str, list[tuple[int, int]]]:
    """Return the text, and where tokens are in it."""
    if isinstance(text, str) and given is not None:
        offsets = [(int(a), int(b)) for a, b in _listed(given, "offsets")]
        if [text[a:b] for a, b in offsets] == [*words]:
            return text, offsets
        raise ValueError("has offsets that do not lead to its tokens")
    whole = text if isinstance(text, str) else " ".join(words)
    at, found = 0, []
    for word in words:
        at = whole.find(word, at)
        if at < 0:
            raise ValueError(f"has the token {word!r:.40}, which does not stand in its text in this order")
        found.append((at, at + len(word)))
        at += len(word)
    return whole, found


def _known(offsets: Sequence[tuple[int, int]], tags: Sequence[str | None]) -> list[tuple[int, int]]:
    """Return the characters from the first to the last of tokens that are known, run by run."""
    known = []
    for is_known, run in groupby(zip(offsets, tags, strict=True), key=lambda one: one[1] is not None):
        if is_known:
            places = [place for place, _ in run]
            known.append((places[0][0], places[-1][1]))
    return known


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    yield from as_lines(_row(doc, number) for number, doc in enumerate(docs, 1))


def _row(doc: Doc, number: int) -> dict[str, Any]:
    offsets = needs_tokens(doc, number, "rows").tolist()
    row: dict[str, Any] = {} if doc.id is None else {"id": doc.id}
    row |= {"tokens": doc.words(), "ner_tags": doc.to_tags()}
    if doc.labels is not None:
        row["pos_tags"] = list(doc.labels)
    return row | {"text": doc.text, "offsets": offsets} | dict(doc.meta)


def _guess(sample: Sample) -> str:
    keys = top_keys(sample)
    tagged = keys & {*_TOKENS} and keys & {*_TAGS, *_LABELS}
    return "its objects have tokens and tags" if tagged and "spans" not in keys else ""


FORMAT = TextFormat(
    "rows",
    "rows of tokens and tags (Hugging Face): JSON lines, Parquet, or in memory",
    '{"id": "1", "tokens": ["Ana", "lives", "in", "New", "York"], '
    '"ner_tags": ["B-PER", "O", "O", "B-LOC", "I-LOC"]}\n',
    _read,
    _write,
    keeps=frozenset({"tokens", "labels", "id", "meta", "known"}),
    options=frozenset({"names", "encoding"}),
    guess=_guess,
    endings=(".parquet",),
    magic=b"PAR1",
    rows=_of_rows,
)
