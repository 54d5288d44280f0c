"""Annotations of a tool, kept in a folder, and models trained from them behind the service.

The folder has two files for each model: ``NAME.annotations.jsonl`` with a line for each annotation that came,
of which the last of a text counts, and ``NAME.crf``, the model that was trained last, which is served in
place of the first one. A training always begins with the first model: on its data and the annotations where
``--train-data`` names them, else by `partial_fit`, which the model must allow (`crfkit.training.curvature`).
What comes meanwhile is trained next.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from crfkit import text
from crfkit.estimators.chain import ChainCRF
from crfkit.models import SequenceModel
from crfkit.models.files import load
from crfkit.text.doc import Doc
from crfkit.web.models import Models

__all__ = ["Learner"]


class Learner:
    """Keeps annotations of one model, and trains it from them.

    Parameters
    ----------
    models : Models
        Where the new model is put.
    name, path : str
        The model, and the file that it came from.
    folder : str
    data : str, optional
        Labeled documents that the model was trained on.
    say : function, optional
        Gets a line when a training ends.
    """

    def __init__(
        self,
        models: Models,
        name: str,
        folder: str,
        data: str | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.models, self.name, self.data = models, name, data
        self.path = models[name].path
        self._say = say or _tell
        self.annotations = Path(folder) / f"{name}.annotations.jsonl"
        self.trained = Path(folder) / f"{name}.crf"
        os.makedirs(folder, exist_ok=True)
        self._lock = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None
        if models[name].model.text is None:
            raise ValueError(f"{self.path} has no tokenizer: --train-folder is for models that read raw text")
        if data is None and _model_of(self.path).curvature is None:
            raise ValueError(
                f"{self.path} cannot be trained further without its data: name them by --train-data, or save "
                "a model that keeps how firmly its data held it (crfkit.training.curvature.with_curvature)"
            )
        if self.trained.exists():
            models.move(name, str(self.trained))

    def add(self, name: object, doc: Doc | None) -> None:
        """Keep what a person has marked in a text, by the tool's name for it; None: nothing any more."""
        kept = {"id": name, "doc": None if doc is None else doc.to_dict()}
        line = json.dumps(kept, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
        with self._lock, open(self.annotations, "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def docs(self) -> list[Doc]:
        """Return the annotated texts, each once."""
        if not self.annotations.exists():
            return []
        with self._lock:
            lines = self.annotations.read_bytes().splitlines()
        latest: dict[str, Any] = {}
        for line in lines:
            with suppress(ValueError):  # the last line of a process that was killed may be cut
                one = json.loads(line)
                latest[json.dumps(one["id"])] = one["doc"]
        return [Doc.of_dict(doc) for doc in latest.values() if doc is not None]

    @property
    def busy(self) -> bool:
        """Whether a training is under way."""
        return self._thread is not None and self._thread.is_alive()

    def train(self) -> None:
        """Have a training made behind; one that is under way is followed by another."""
        with self._lock:
            self._wanted = True
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="crfkit-learn", daemon=True)
                self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until no training is under way."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._thread = None
                    return
                self._wanted = False
            try:
                self._train_once()
            except Exception as error:  # said, and the old model serves on; never with the text
                self._say(
                    f"training of {self.name} failed by {type(error).__name__}; the old model serves on"
                )

    def _train_once(self) -> None:
        docs = self.docs()
        if not docs:
            return
        crf = ChainCRF.load(self.path)
        spec = crf.model_.text
        if crf.tokenizer is None and spec is not None:
            crf.tokenizer, crf.sentences = spec.tokenizer, spec.sentences
        if self.data is None:
            crf.partial_fit(docs)
        else:
            crf.fit([*text.read(self.data), *docs])
        crf.save(self.trained)
        self.models.move(self.name, str(self.trained))
        self._say(f"trained {self.name} with {len(docs)} annotated texts: {self.models[self.name].version}")


def _model_of(path: str) -> SequenceModel:
    found: SequenceModel = load(path)
    return found


def _tell(line: str) -> None:
    print(f"crfkit: {line}", file=sys.stderr, flush=True)
