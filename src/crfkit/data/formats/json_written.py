"""JSON lines as they are written; `crfkit.data.formats.jsonlines` says what they hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns, spell
from crfkit.data.formats.crfsuite_text import check_plain
from crfkit.data.formats.jsonlines import KEYS

_TAKEN = {"tokens", "labels", "segments", "items", "weight"}


def render(data: Columns | Dataset) -> str:
    """Return one line of JSON for every sequence."""
    lines = _token_lines(data) if isinstance(data, Columns) else _item_lines(data)
    dump: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": ")).encode
    return "".join([dump(line) + "\n" for line in lines])


def _token_lines(data: Columns) -> Iterator[dict[str, object]]:
    clash = sorted(_TAKEN & set(data.names))
    if clash:
        raise ValueError(f"the column name {clash[0]!r} has a meaning of its own in JSON lines; rename it")
    if not data.names:
        raise ValueError("the data have no columns, expected at least one to write")
    keys = [KEYS.get(name, name) for name in data.names]
    strings = [column.tolist() for column in data.strings()]
    ends = data.seq_ptr.tolist()
    for a, b in pairwise(ends):
        yield {key: column[a:b] for key, column in zip(keys, strings, strict=True)}


def _item_lines(data: Dataset) -> Iterator[dict[str, object]]:
    check_plain(data, "JSON lines", empty=True)
    batch = data.batch
    names = spell(data.attributes, batch.attr).tolist()
    values = None if batch.value is None else batch.value.tolist()
    labels: list[str | None] = [None] * batch.positions
    if batch.label is not None:
        known = batch.label >= 0
        spelled = np.full(batch.positions, None, dtype=object)
        spelled[known] = spell(data.labels, batch.label[known])
        labels = spelled.tolist()
    attr_ptr, seq_ptr = batch.attr_ptr.tolist(), batch.seq_ptr.tolist()
    for n in range(batch.sequences):
        begin, end = seq_ptr[n], seq_ptr[n + 1]
        items: list[object] = []
        for i, j in zip(attr_ptr[begin:end], attr_ptr[begin + 1 : end + 1], strict=True):
            if values is None or all(v == 1 for v in values[i:j]):
                items.append(names[i:j])
                continue
            item: dict[str, float] = {}
            for name, value in zip(names[i:j], values[i:j], strict=True):
                item[name] = item.get(name, 0.0) + value
            items.append(item)
        line: dict[str, object] = {"items": items}
        if any(label is not None for label in labels[begin:end]):
            line["labels"] = labels[begin:end]
        if batch.weight is not None and batch.weight[n] != 1:
            line["weight"] = float(batch.weight[n])
        yield line
