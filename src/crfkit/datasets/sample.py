"""A data set with what is known of it: `Sample`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from crfkit._safe.cached import once
from crfkit._safe.printable import counted
from crfkit.data.formats.columns import Columns
from crfkit.text.doc import Doc

__all__ = ["Sample", "doc_of"]


@dataclass(frozen=True, eq=False)
class Sample:
    """A data set in parts: documents, or columns of tokens, as `fit`, `train` and `evaluate` take them.

    Parameters
    ----------
    name : str
    train : list of Doc, or Columns
    test : list of Doc, or Columns, optional
    dev : list of Doc, or Columns, optional
    about : str
        What the data are, where they come from, and which errors are known; Markdown.
    license : str

    Examples
    --------
    >>> from crfkit.datasets import make_addresses
    >>> made = make_addresses(50)
    >>> print(made)
    made-up addresses: 40 to train on, 10 to test on, 14 labels; MIT
    >>> made.columns("test").names
    ('word', 'label')
    """

    name: str
    train: Any
    test: Any = None
    dev: Any = None
    about: str = ""
    license: str = ""

    def columns(self, part: str = "train") -> Columns:
        """Return a part as columns of tokens, the label last.

        Parameters
        ----------
        part : {"train", "dev", "test"}
        """
        if part not in ("train", "dev", "test"):
            raise ValueError(f"part is {part!r}, expected 'train', 'dev' or 'test'")
        found = getattr(self, part)
        if found is None:
            raise ValueError(f"{self.name} has no {part} part")
        if isinstance(found, Columns):
            return found
        return Columns.from_rows(
            [list(zip(doc.words(), doc.labels, strict=True)) for doc in found], ["word", "label"]
        )

    @once
    def labels(self) -> tuple[str, ...]:
        """The labels of the training part, in the order in which they occur."""
        if isinstance(self.train, Columns):
            place = self.train.place(-1 if self.train.label is None else self.train.label)
            used = dict.fromkeys(self.train.ids[place].tolist())
            return tuple(self.train.alphabets[place][i] for i in used)
        return tuple(dict.fromkeys(label for doc in self.train for label in doc.labels))

    def __str__(self) -> str:
        parts = [
            f"{len(part):,} to {use}"
            for part, use in ((self.train, "train on"), (self.dev, "choose by"), (self.test, "test on"))
            if part is not None
        ]
        named = f"; {self.license}" if self.license else ""
        return f"{self.name}: {', '.join(parts)}, {counted(len(self.labels), 'label')}{named}"

    __repr__ = __str__


def doc_of(tokens: Iterable[Sequence[str]], id: str | None = None) -> Doc:
    """Return tokens with their labels as a document, whose text has a blank between them.

    Examples
    --------
    >>> doc_of([("12", "number"), ("Main", "street"), ("St", "street")]).labels
    ('number', 'street', 'street')
    """
    words, labels = zip(*tokens, strict=True)
    at, offsets = 0, []
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    return Doc(" ".join(words), offsets, labels=labels, id=id)
