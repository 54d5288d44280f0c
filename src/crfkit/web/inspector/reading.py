"""What people type into the inspector, as the model reads it: raw text, rows of columns, or attributes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from crfkit.arrays import Bools
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.models.known import Watch
from crfkit.models.model import SequenceModel
from crfkit.models.reader import Reader
from crfkit.structures.gold import Sets
from crfkit.text.spec import TextSpec

__all__ = ["LONGEST", "Typed", "Typing", "batch_of", "given_batch"]

LONGEST = 200_000  #: characters of a text


@dataclass(frozen=True, eq=False)
class Typed:
    """A text in sentences of tokens."""

    text: str
    offsets: list[tuple[int, int]]  #: of all tokens, in characters
    ptr: list[int]  #: where sentences begin in the tokens, and how many tokens there are
    sentences: list[Any]  #: each as the model reads it
    columns: tuple[str, ...] = ()  #: the names of columns, where sentences are rows

    @property
    def words(self) -> list[str]:
        """All tokens."""
        return [self.text[a:b] for a, b in self.offsets]

    def read(self, n: int | None = None) -> Any:
        """Return all sentences as the model reads them, or one."""
        some = self.sentences if n is None else self.sentences[n : n + 1]
        return Columns.from_rows(some, self.columns) if self.columns else some


class Typing:
    """How a model reads what is typed.

    Parameters
    ----------
    model : SequenceModel
    tokenizer : Tokenizer or its name, optional
        In place of that of the model; default: words, where a model of words has none.
    """

    def __init__(self, model: SequenceModel, tokenizer: Any = None) -> None:
        self.kind: Literal["text", "rows", "items"] = "items"
        self.columns: tuple[str, ...] = ()
        self.names: tuple[str, ...] = ()  #: of the columns, as people know them
        self.spec: TextSpec | None = None
        self.chosen = False  #: whether neither the model nor anybody says how text is cut
        recipe = model.recipe
        if recipe is not None and len(recipe.columns) > 1:
            self.kind, self.columns, self.names = "rows", recipe.columns, recipe.column_names
        elif recipe is not None or (model.text is not None and model.text.features is not None):
            self.kind = "text"
            own = model.text if tokenizer is None else None
            self.spec = TextSpec.of(tokenizer or "words") if own is None else own
            self.chosen = tokenizer is None and own is None

    @property
    def hint(self) -> str:
        """What to type."""
        if self.kind == "rows":
            return f"A token in each line: {', '.join(self.names)}, with blanks or tabs between them"
        if self.kind == "items":
            return "A token in each line: its attributes, with tabs between them"
        return f"Type or paste a text; it is {self.cut}"

    @property
    def cut(self) -> str:
        """How text becomes tokens; empty where it is typed token by token."""
        return "" if self.spec is None else f"cut by {self.spec.tokenizer.kind}"

    def __call__(self, text: str) -> Typed:
        """Return a text as the model reads it.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> model = ChainCRF().fit([["in", "York"]], [["O", "B-LOC"]]).model_
        >>> Typing(model)("in New  York").offsets
        [(0, 2), (3, 6), (8, 12)]
        """
        if len(text) > LONGEST:
            raise ValueError(f"the text has {len(text):,} characters; give at most {LONGEST:,}")
        if self.spec is None:
            return self._rows(text)
        cut = self.spec.cut(text)
        offsets = [(int(a), int(b)) for a, b in cut.offsets.tolist()]
        ptr = [0, len(offsets)] if cut.sentences is None else cut.sentences.tolist()
        ptr = [0, *(b for a, b in pairwise(ptr) if b > a)]
        words = [text[a:b] for a, b in offsets]
        sentences: list[Any] = [words[a:b] for a, b in pairwise(ptr)]
        if self.spec.features is not None:
            sentences = [[self.spec.features(one, i) for i in range(len(one))] for one in sentences]
        return Typed(text, offsets, ptr, sentences)

    def _rows(self, text: str) -> Typed:
        offsets: list[tuple[int, int]] = []
        sentences: list[Any] = [[]]
        at = 0
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
            if not line.strip():
                sentences.append([])
            elif self.columns and len(fields) < len(self.columns):
                needs = f"{len(self.columns)}: {', '.join(self.names)}"
                raise ValueError(
                    f"line {number} has {len(fields)} of the columns that the model reads, {needs}"
                )
            else:
                row = fields[: len(self.columns)] if self.columns else [one for one in fields if one]
                begin = at + line.index(row[0])
                offsets.append((begin, begin + len(row[0])))
                sentences[-1].append(tuple(row) if self.columns else row)
            at += len(line)
        sentences = [one for one in sentences if one]
        ptr = [0]
        for one in sentences:
            ptr.append(ptr[-1] + len(one))
        return Typed(text, offsets, ptr, sentences, self.columns)


def batch_of(model: SequenceModel, X: Any) -> Batch:
    """Return data with the ids of a model; that it knows few of the attributes is for people to see."""
    watch = Watch(model.names, model.recipe, done=True)
    data = X if hasattr(X, "batch") else Reader(model, watch)(X, gold=False, threads=1)
    return model.batch_of(data, threads=1, watch=watch)


def given_batch(
    model: SequenceModel, X: Any, given: list[list[str | None]]
) -> tuple[Batch, Bools | Sets | None]:
    """Return data with the ids of a model, and the labels that positions may have; None: all."""
    if not any(one is not None for row in given for one in row):
        return batch_of(model, X), None
    watch = Watch(model.names, model.recipe, done=True)
    data = X if hasattr(X, "batch") else Reader(model, watch)(X, gold=False, threads=1)
    return model.batch_given(data, given, 1)
