"""Models that are served: opened from files, tested, and replaced by swapping one reference.

A request takes its model once and keeps it to its end, so that every answer comes from one model, and a
reload waits for nobody.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crfkit._safe.cached import once
from crfkit._safe.printable import shown
from crfkit.data.opening import open_file
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import load_bytes
from crfkit.web.messages import ModelName

__all__ = ["Loaded", "Models", "places_of"]

_DIGITS = 12  # of the digest, in the version


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model at work, with what requests need of it."""

    name: str
    path: str
    model: SequenceModel
    version: str
    tagger: Tagger
    stamp: tuple[int, ...]  #: of its file, to notice another one

    @classmethod
    def open(cls, name: str, path: str) -> Loaded:
        """Read a file and test what it holds."""
        stamp = stamp_of(path)
        with open_file(path) as file:
            data = file.read()
        found = load_bytes(data, source=path)
        if not isinstance(found, SequenceModel):
            raise ValueError(f"{path} holds a model of graphs; the service is for models of sequences")
        tagger = Tagger(found)
        _test(found, tagger, path)
        return cls(name, path, found, hashlib.sha256(data).hexdigest()[:_DIGITS], tagger, stamp)

    @once
    def told(self) -> ModelName:
        """How answers name it."""
        return ModelName(self.name, self.version)

    @property
    def reads(self) -> list[str]:
        """What requests may give it: names of fields."""
        model = self.model
        if model.recipe is None:
            return ["text", "texts", "items"] if model.text is not None else ["items"]
        single = ["tokens"] if len(model.recipe.columns) == 1 else []
        return [*(["text", "texts"] if model.text is not None else []), *single, "columns"]

    def card(self) -> dict[str, Any]:
        """Return what the model is, as plain data."""
        model, training = self.model, self.model.training
        made = {
            "name": self.name,
            "version": self.version,
            "reads": self.reads,
            "structure": model.structure.describe(),
            "labels": list(model.answers),
            "attributes": model.layout.attributes,
            "weights": model.layout.weights,
            "nonzero": int(np.count_nonzero(model.w)),
            "columns": None if model.recipe is None else list(model.recipe.column_names),
            "recipe": None if model.recipe is None else str(model.recipe),
            "tokenizer": None if model.text is None else model.text.tokenizer.kind,
            "constraints": [repr(rule) for rule in (*model.structure.constraints, *model.constraints)],
            "training": None if training is None else str(training),
            "certificate": None if training is None else training.certificate,
            "notes": model.notes,
            "license": model.license,
        }
        return {key: value for key, value in made.items() if value not in (None, "", [])}


class Models:
    """The models of a service, by name.

    Parameters
    ----------
    places : mapping
        Name -> path.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._loaded = {name: Loaded.open(name, path) for name, path in places.items()}
        self._lock = threading.Lock()  # one reload at a time
        self._failed: dict[str, tuple[int, ...]] = {}  # files that did not load, to try them but once

    def __getitem__(self, name: str) -> Loaded:
        return self._loaded[name]

    def get(self, name: str) -> Loaded | None:
        """Return a model; None where there is none of the name."""
        return self._loaded.get(name)

    def __iter__(self) -> Iterator[Loaded]:
        return iter([*self._loaded.values()])

    def __len__(self) -> int:
        return len(self._loaded)

    def names(self) -> list[str]:
        """Return the names."""
        return [*self._loaded]

    def changed(self) -> list[str]:
        """Return the models whose files are others than those that are loaded, and not known to be bad."""
        found = []
        for name, one in [*self._loaded.items()]:
            try:
                stamp = stamp_of(one.path)
            except OSError:  # it is being replaced, or gone: the model that is loaded serves on
                continue
            if stamp not in (one.stamp, self._failed.get(name)):
                found.append(name)
        return found

    def move(self, name: str, path: str) -> None:
        """Serve a model from another file from now on."""
        with self._lock:
            self._loaded[name] = Loaded.open(name, path)

    def reload(self, name: str) -> bool:
        """Load the file of a model anew; return whether it is another model.

        Raises what is wrong with the file; the old model then serves on.
        """
        with self._lock:
            old = self._loaded[name]
            try:
                new = Loaded.open(name, old.path)
            except Exception:
                with suppress(OSError):
                    self._failed[name] = stamp_of(old.path)
                raise
            self._failed.pop(name, None)
            self._loaded[name] = new
            return new.version != old.version


def stamp_of(path: str) -> tuple[int, ...]:
    """Return what tells one file from another in its place."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def places_of(given: Iterable[str]) -> dict[str, str]:
    """Return names and paths of models, as NAME=PATH or PATH on a command line.

    Examples
    --------
    >>> places_of(["models/en.crf", "es=models/spanish.crf"])
    {'en': 'models/en.crf', 'es': 'models/spanish.crf'}
    """
    made: dict[str, str] = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or "/" in name or os.path.exists(one):
            name, path = Path(one).stem, one
        if not name or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
            raise ValueError(
                f"the model {one!r} would be called {shown(name)!r}: give it a name of letters, digits, "
                f"'-', '_' and '.', as in en={one}"
            )
        if name in made:
            raise ValueError(f"two models are called {name}: give them names, as in {name}-2={path}")
        made[name] = path
    return made


def _test(model: SequenceModel, tagger: Tagger, path: str) -> None:
    """Label a short sequence in two ways; refuse a model that fails or disagrees with itself."""
    X = [_sequence(model)]
    try:
        labels = tagger.tag(X[0])
        again = model.predict(model.dataset(X, threads=1), threads=1)[0]
        shares = model.predict_proba(X, threads=1)[0] if not model.rule else np.ones((len(X[0]), 1))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} opens, but does not label a sequence: {error}") from None
    if [*labels] != [*again] or not np.allclose(shares.sum(axis=1), 1.0, atol=1e-6):
        raise ValueError(f"{path} opens, but labels a sequence in two ways: {labels} and {again}")


def _sequence(model: SequenceModel) -> list[Any]:
    """Return a sequence of two positions that a model can read."""
    if model.recipe is not None:
        columns = list(model.recipe.column_names)
        words = ["New", "York"]
        return [*words] if len(columns) == 1 else [dict.fromkeys(columns, word) for word in words]
    names = model.attributes.strings()[:2] if len(model.attributes) else ["a", "b"]
    return [[name] for name in names]
