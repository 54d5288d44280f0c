"""The labels that people give, in a file of SQLite: on disk before the page says so, for several inspectors.

Answers are only ever added: what is undone, skipped or given again is a row of its own, and the last row of a
sentence counts. A row says which row it is an answer to, so that two people cannot overwrite each other.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Answer", "Run", "Store", "StoreError", "key_of"]

T = TypeVar("T")
_APPLICATION = 0x63726671  # "crfq", in the header of the file
_VERSION = 1
_WAIT = 5.0  # seconds for another inspector
_TABLES = """
CREATE TABLE answer (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sentence TEXT NOT NULL, action TEXT NOT NULL, words TEXT NOT NULL,
    spans TEXT NOT NULL, open TEXT NOT NULL, kept INTEGER NOT NULL, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX answer_of ON answer (sentence, id);
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT, answers INTEGER NOT NULL, metric TEXT NOT NULL, score REAL,
    seconds REAL NOT NULL, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
"""


class StoreError(Exception):
    """Labels that cannot be saved or read, in words for people."""


class Conflict(StoreError):  # noqa: N818 - what it is, not that something failed
    """Somebody else has answered meanwhile."""


@dataclass(frozen=True)
class Answer:
    """What somebody said of a sentence."""

    id: int
    sentence: str  #: its key
    action: str  #: "label", "skip" or "undo"
    words: list[str]
    spans: list[tuple[int, int, str]]  #: in tokens
    open: list[int]  #: tokens that nobody decided
    kept: int  #: tokens whose label is that which the model had


@dataclass(frozen=True)
class Run:
    """A training: with how many answers, and how good it is on the data."""

    answers: int
    metric: str
    score: float | None
    seconds: float


def key_of(words: Sequence[str]) -> str:
    """Return what a sentence is known by: the same words are the same sentence.

    Examples
    --------
    >>> key_of(["in", "York"]) == key_of(("in", "York")) != key_of(["in York"])
    True
    """
    text = json.dumps([*words], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Store:
    """A file of labels; safe for any thread and for several processes.

    Examples
    --------
    >>> store = Store(":memory:")
    >>> store.add("k", "label", ["in", "York"], [(1, 2, "LOC")], [], 2, seen=0)
    1
    >>> [(one.words, one.spans) for one in store.latest().values()]
    [(['in', 'York'], [(1, 2, 'LOC')])]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = os.path.basename(self.path)
        self._lock = threading.Lock()
        self._closed = False
        try:
            self._db = sqlite3.connect(
                self.path, timeout=_WAIT, check_same_thread=False, isolation_level=None
            )
            self._begin()
        except sqlite3.Error as error:
            raise StoreError(self._words(error)) from None
        self._inode = self._file()

    def _begin(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        with self._changing() as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not application:
                for statement in filter(str.strip, _TABLES.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id={_APPLICATION}")
                db.execute(f"PRAGMA user_version={_VERSION}")
            elif application != _APPLICATION:
                raise StoreError(
                    f"{self.path} is a database of another program; give the name of another file"
                )
            elif version != _VERSION:
                raise StoreError(
                    f"{self.path} has version {version}, but this crfkit reads version {_VERSION}"
                )

    def latest(self) -> dict[str, Answer]:
        """Return the last answer for each sentence, in the order in which they were given."""
        rows = self._asked(
            "SELECT * FROM answer WHERE id IN (SELECT max(id) FROM answer GROUP BY sentence) ORDER BY id"
        )
        return {row[1]: _answer(row) for row in rows}

    def last(self, sentence: str) -> int:
        """Return the number of the last answer for a sentence; 0 where there is none."""
        found = self._asked("SELECT max(id) FROM answer WHERE sentence = ?", sentence)
        return found[0][0] or 0

    def add(
        self,
        sentence: str,
        action: str,
        words: Sequence[str],
        spans: Sequence[tuple[int, int, str]],
        open: Sequence[int],
        kept: int,
        *,
        seen: int,
    ) -> int:
        """Add an answer, and return its number when it is on disk.

        Parameters
        ----------
        seen : int
            The number of the answer that it replaces, 0 for none. Where there is another one meanwhile, it is
            refused.
        """
        row = (
            sentence,
            action,
            *(json.dumps(one, ensure_ascii=True) for one in ([*words], [*spans], [*open])),
            kept,
        )
        try:
            with self._lock, self._changing() as db:
                self._check_file()
                last = (
                    db.execute("SELECT max(id) FROM answer WHERE sentence = ?", (sentence,)).fetchone()[0]
                    or 0
                )
                if last != seen:
                    raise Conflict(
                        "another inspector has labeled this sentence in the meantime; its labels stay, and "
                        "nothing was saved"
                    )
                columns = "sentence, action, words, spans, open, kept"
                number = db.execute(
                    f"INSERT INTO answer ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row
                ).lastrowid
        except sqlite3.Error as error:
            raise StoreError(f"the label was not saved: {self._words(error)}") from None
        assert number is not None
        return number

    def add_run(self, run: Run) -> None:
        """Add a training."""
        try:
            with self._lock, self._changing() as db:
                self._check_file()
                values = (run.answers, run.metric, run.score, run.seconds)
                db.execute("INSERT INTO run (answers, metric, score, seconds) VALUES (?, ?, ?, ?)", values)
        except sqlite3.Error as error:
            raise StoreError(self._words(error)) from None

    def runs(self) -> list[Run]:
        """Return all trainings; of several with the same answers the last."""
        rows = self._asked("SELECT answers, metric, score, seconds FROM run ORDER BY id")
        return [*{row[0]: Run(*row) for row in rows}.values()]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self._db.close()

    # ---- within

    def _asked(self, question: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        try:
            with self._lock:
                return self._db.execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(self._words(error)) from None

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Do all of it or nothing; others wait."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _file(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        if self._file() != self._inode:
            raise StoreError(
                f"the label was not saved: {self.path} was removed or replaced since it was opened; "
                "start the inspector again"
            )

    def _words(self, error: sqlite3.Error) -> str:
        told = str(error)
        if "locked" in told or "busy" in told:
            return f"{self.path} is held by another program; try again"
        if "not a database" in told or "malformed" in told:
            return f"{self.path} is not a file of labels, or is damaged; give the name of another file"
        if "unable to open" in told:
            return f"{self.path} cannot be opened or made; check the folder and its rights"
        return f"{self.path}: {told}"


def _answer(row: Sequence[object]) -> Answer:
    id, sentence, action, words, spans, open_, kept = row[:7]
    decoded: Callable[[object], list] = lambda text: json.loads(str(text))  # type: ignore[type-arg]  # noqa: E731
    listed = [(int(a), int(b), str(y)) for a, b, y in decoded(spans)]
    return Answer(
        int(str(id)), str(sentence), str(action), decoded(words), listed, decoded(open_), int(str(kept))
    )
