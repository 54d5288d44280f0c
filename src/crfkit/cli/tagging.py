"""Models of any kind, and batches for them from blocks of data: what tag, evaluate and explain share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crfkit._safe.printable import counted
from crfkit.arrays import Bools, Floats
from crfkit.cli.groups.constraints import Keeping
from crfkit.cli.groups.data import Data
from crfkit.cli.messages import say
from crfkit.cli.texts import spec_for_model
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Recipe
from crfkit.models.column_count import check_width
from crfkit.models.files import read_model
from crfkit.models.reader import Reader
from crfkit.models.reading import place_of
from crfkit.structures.gold import Path, Sets, sets_of
from crfkit.text.spec import TextSpec

if TYPE_CHECKING:
    from crfkit.inference.constrained.decoding import Constrained

T = TypeVar("T")
REMEDY = "give data with a column of labels, or name the column with --label-column"


def check_gold(block: Columns, label: str | int | None, recipe: Recipe | None, who: str) -> int:
    """Return the place of the gold labels; refuse a column that is not there or that the recipe reads."""
    try:
        place = block.place(-1 if label is None else label)
    except ValueError as error:
        raise ValueError(f"{error}; {REMEDY}, or all columns with --columns") from None
    if recipe is not None and place in [place_of(block, name) for name in recipe.columns]:
        raise ValueError(
            f"{block.source}: the column {block.names[place]!r} would be taken for the labels, but {who} "
            f"reads it as input; {REMEDY}"
        )
    return place


class Tagger:
    """A model from a file, and how data become its batches.

    Parameters
    ----------
    path : str
        A model of any kind.
    label : str or int, optional
        The column of gold labels; by default the one that the model was trained on, else the last.
    threads : int, optional
    keeping : Keeping, optional
        Constraints on whole labelings, in place of those of the model.
    """

    def __init__(
        self,
        path: str,
        label: str | int | None = None,
        threads: int | None = None,
        keeping: Keeping | None = None,
    ) -> None:
        self.source = path
        self.keeping = keeping or Keeping()
        self.model = self.keeping.of(read_model(path))
        if self.model.feature_map is not None:
            raise ValueError(
                f"{path} reads {self.model.feature_map.takes}, which cannot be read from text: use "
                f"crfkit.load({path!r}).predict(X) in Python"
            )
        self.ways: Counter[str] = Counter()  # how answers under constraints were found
        self.threads = threads
        self.label = label if label is not None else self.model.label_column
        self._read = Reader(self.model)

    def check_sums(self, what: str) -> None:
        """Refuse what needs probabilities or sums of weights where the model decides without them."""
        if not hasattr(self.model, "predict_proba"):
            raise ValueError(
                f"{self.source} decides by {self.model.rule}, without probabilities: it gives labels alone; "
                f"{what}"
            )

    @property
    def attributes(self) -> bool:
        """Whether the model needs data with attributes, not columns."""
        return self.model.recipe is None

    def reads(self, reading: Data) -> dict[str, Any]:
        """Return what `Data.blocks` needs to know of the model."""
        from crfkit.models.documents import scheme_of

        def text() -> TextSpec:
            return spec_for_model(self.model, reading, self.source)

        return {"attributes": self.attributes, "text": text, "scheme": scheme_of(self.model)}

    def batch(self, block: Columns | Dataset) -> Batch:
        """Return a block with the ids of the model, without gold labels."""
        recipe = self.model.recipe
        if isinstance(block, Dataset):
            if recipe is not None:
                reads = ", ".join(recipe.columns)
                raise ValueError(
                    f"{self.source} makes attributes of the columns {reads} by itself, but the data have "
                    "attributes already (CRFsuite's or MALLET's text, items in JSON lines); give columns"
                )
            self._read.watch.begin(block)
            return self.model.batch_of(block, watch=self._read.watch)
        if recipe is None:
            raise ValueError(
                f"{self.source} has no recipe that makes attributes of columns; give data with attributes "
                "(CRFsuite's text, items in JSON lines), as it was trained on"
            )
        self._check_columns(block, recipe.columns)
        return self._read(block, gold=False, threads=self.threads).batch

    def _check_columns(self, block: Columns, needed: Sequence[str]) -> None:
        if all(name.isdigit() for name in needed):
            check_width(block, self.model.extractor, self.source)
        for name in needed:
            if place_of(block, name) is not None:
                continue
            remedy = "give data with as many columns as in training"
            if not name.isdigit():
                remedy = self._named(block, needed)
            if self.model.text is not None:
                remedy += ", or give --text where it is raw text"
            raise ValueError(
                f"{block.source}: there is no column {name!r}, which {self.source} reads; the columns are "
                f"{', '.join(block.names)}; {remedy}"
            )
        check_width(block, self.model.extractor, self.source)

    def _named(self, block: Columns, needed: Sequence[str]) -> str:
        """Return how the columns can get the names that the model reads."""
        if block.headed:
            return "rename them in the file, or give --no-header where its first line is a token"
        label = self.label if isinstance(self.label, str) and not self.label.isdigit() else "label"
        names = [*needed, label] if len(block.names) > len(needed) else needed
        such = f" (--columns {','.join(names)})" if len(names) == len(block.names) else ""
        return f"name the columns with --columns{such}"

    def gold(self, block: Columns | Dataset) -> list[str | None]:
        """Return the gold labels of all positions of a block; None where there is none."""
        if isinstance(block, Dataset):
            label = block.batch.label
            if label is None:
                return [None] * block.batch.positions
            names: list[str | None] = [*block.labels.strings(), None]  # -1 finds the last
            return [names[y] for y in label.tolist()]
        which = "label" if self.label is None and "label" in block.names else self.label
        place = check_gold(block, which, self.model.recipe, self.source)
        return [label or None for label in block.strings()[place].tolist()]

    def shares(self, block: Columns | Dataset) -> Floats | None:
        """Return the probability of each answer of the model [P, L]; None where it has none."""
        model = self.model
        if not hasattr(model, "predict_proba"):
            return None
        parts = model.parts(self.batch(block), threads=self.threads, cells=model.share_cells)
        return np.concatenate([model.label_shares(scores, self.threads) for _, scores in parts])

    def probability(
        self, rows: Floats | None, gold: Sequence[str | None]
    ) -> tuple[list[float | None] | None, list[tuple[float, bool]]]:
        """Return of each position, out of `shares`, the probability of its gold label, where that is known.

        And of each whose gold label is known: the highest probability, and whether it is that of the gold.
        """
        if rows is None:
            return None, []
        model = self.model
        if model.segmental and model.scheme is not None:  # tags of segments, whose types have probabilities
            gold = [y[2:] if y is not None and y[1:2] == "-" else y for y in gold]
        column = {name: y for y, name in enumerate(model.answers)}
        known = [None if y is None else column.get(y) for y in gold]
        sure = [None if y is None else float(row[y]) for row, y in zip(rows, known, strict=True)]
        best = zip(rows.max(1).tolist(), rows.argmax(1).tolist(), gold, known, strict=True)
        return sure, [(p, z == y) for p, z, name, y in best if name is not None]

    def check_known(self, gold: list[list[str]], source: str) -> None:
        """Say which gold labels the model does not know; refuse them where it knows none that matters."""
        from crfkit.metrics.default_metric import check_known

        known = self.model.spelling.alphabet.strings()
        if self.model.segmental and self.model.scheme is not None:  # gold may have another scheme
            known = list(self.model.structure.labels)
            gold = [[y[2:] if y[1:2] == "-" else y for y in sequence] for sequence in gold]
        check_known(
            gold, known, scheme=self.model.label_scheme, source=source, who=self.source, remedy=REMEDY
        )

    @property
    def known(self) -> list[str]:
        """The labels and tags that the model knows."""
        return [*self.model.structure.labels, *self.model.spelling.alphabet.strings()]

    def path(self, batch: Batch, allowed: Bools | Sets | None = None) -> Path:
        """Return the best labels of a batch, and where segments begin."""
        if not self.model.constraints:
            return self.model._path(batch, allowed=allowed, threads=self.threads)
        found = self.model._decode(
            batch, allowed=allowed, infeasible=self.keeping.fallback, threads=self.threads
        )
        self.ways += Counter(found.counts())
        return found.path

    def constrained(self, potentials: Any) -> list[Constrained]:
        """Return the best labelings that keep the constraints of the model."""
        from crfkit.inference.constrained.decoding import constrained_paths

        found = constrained_paths(
            potentials, self.model.rules, infeasible=self.keeping.fallback, threads=self.threads
        )
        self.ways += Counter(found.counts())
        return found.labelings()

    def tell(self, quiet: bool) -> None:
        """Say how answers under constraints were found, and how many do not keep them."""
        if not self.ways:
            return
        from crfkit.inference.constrained.decoding import WAYS

        told = ", ".join(f"{self.ways[way]:,} {way}" for way in WAYS[:-1] if self.ways[way])
        say(f"crfkit: labels that keep the constraints: {told or 'none'}", quiet)
        if self.ways["none"]:
            free = counted(self.ways["none"], "sequence")
            say(f"crfkit: without labels that keep them, so that its free ones stay: {free}")

    def forced(self, block: Columns | Dataset) -> Bools | Sets:
        """Return which labels the gold of a block allows [P, L]: where it is not of the model, all."""
        if self.model.segmental:
            return self._forced_segments(block)
        if self.model.encoding is not None:
            raise ValueError(
                f"--given is for labels as they were learned; {self.source} learned the encoding "
                f"{self.model.encoding}"
            )
        known = self.model.names.labels.ids([label or "" for label in self.gold(block)])  # [P]
        mask = np.repeat(known[:, None] < 0, len(self.model.names.labels), axis=1)
        fixed = np.flatnonzero(known >= 0)
        mask[fixed, known[fixed]] = True
        return mask

    def _forced_segments(self, block: Columns | Dataset) -> Sets:
        """Return the segments that the gold of a block allows."""
        from crfkit.models.tags import segmented

        model, spelled = self.model, set(self.known)
        tags = sequences([tag if tag in spelled else None for tag in self.gold(block)], block)
        ptr = block.seq_ptr if isinstance(block, Columns) else block.batch.seq_ptr
        none = np.zeros(int(ptr[-1]) + 1, np.int64), np.zeros(0, np.int32)
        bare = Dataset(Batch(ptr, *none), Alphabet(), Alphabet(), Alphabet())
        made = segmented(bare, tags, model.scheme, labels=model.structure.labels)
        return sets_of(made.batch, len(model.names.labels))


def sequences(flat: Sequence[T], block: Columns | Dataset) -> list[list[T]]:
    """Cut what there is of every position into one list for each sequence."""
    ptr = block.seq_ptr if isinstance(block, Columns) else block.batch.seq_ptr
    return [list(flat[a:b]) for a, b in pairwise(ptr.tolist())]
