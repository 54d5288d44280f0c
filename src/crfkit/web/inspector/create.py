"""`create_inspector`: models and data to an app."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from crfkit.models.model import SequenceModel
from crfkit.web.asgi import App
from crfkit.web.inspector.app import LOCAL, app_of
from crfkit.web.inspector.inspector import Inspector
from crfkit.web.inspector.labeling import Labeling, check_learns
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened, opened
from crfkit.web.inspector.store import Store

__all__ = ["create_inspector"]


def create_inspector(
    model: SequenceModel | Opened | str | os.PathLike[str],
    other: SequenceModel | Opened | str | os.PathLike[str] | None = None,
    *,
    data: Material | tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]] | None = None,
    pool: Material | Sequence[Sequence[str]] | None = None,
    labels: str | os.PathLike[str] = ":memory:",
    edit: bool = False,
    every: int = 20,
    tokenizer: Any = None,
    hosts: Iterable[str] = LOCAL,
) -> App:
    """Return the inspector as an ASGI app; ``crfkit inspect`` serves it.

    Parameters
    ----------
    model : SequenceModel or path
    other : SequenceModel or path, optional
        What it is compared with.
    data : (X, y) or Material, optional
        Labeled data: words of each sentence, and their labels.
    pool : X or Material, optional
        Sentences without labels, for the queue.
    labels : path
        The file of SQLite that keeps the labels given; made where there is none.
    edit : bool
        Whether labels may be given; otherwise the inspector only reads.
    every : int
        A training starts after this many new labels.
    tokenizer : Tokenizer or its name, optional
        What cuts typed text, in place of that of the model; default: words, where a model of words has none.
    hosts : iterable of str
        The names under which it may be asked for.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> X, y = [["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9
    >>> app = create_inspector(ChainCRF().fit(X, y).model_, data=(X, y))
    >>> callable(app)
    True
    """
    models = [one if isinstance(one, Opened) else opened(one) for one in (model, other) if one is not None]
    judged = data if data is None or isinstance(data, Material) else _material("the data", *data)
    labeling = None
    if pool is not None:
        check_learns(models[0].model)
        listed = pool if isinstance(pool, Material) else _material("the pool", pool)
        labeling = Labeling(models[0].model, listed, Store(labels), judged, every)
    return app_of(Inspector(models, judged, labeling, edit=edit, tokenizer=tokenizer), hosts)


def _material(name: str, X: Any, y: Any = None) -> Material:
    rows = [list(one) for one in X]
    words = [[str(row[0]) if isinstance(row, tuple | list) else str(row) for row in one] for one in rows]
    return Material(name, rows, words, None if y is None else [list(one) for one in y])
