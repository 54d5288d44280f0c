"""One callable that labels a column of an Arrow table, for any engine that calls functions of partitions.

It pickles as the path of its model and a digest of that file, and each process reads the model once. The same
object serves Dask, Ray (``map_batches``), Spark (``mapInArrow``) and a plain loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from crfkit._safe.cached import once
from crfkit.checks import check_number

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from crfkit.models.model import SequenceModel

__all__ = ["TagPartition"]

_MODELS: dict[tuple[str, str], SequenceModel] = {}  #: of this process, by path and digest
_READING = Lock()
_TOGETHER = 256  # rows of tokens that are labeled together


class TagPartition:
    """Adds a column of labeled spans to tables.

    Parameters
    ----------
    model : path
        A model file, which every process finds under this path. The model reads raw text, or columns of
        tokens where the column holds lists.
    text : str
        The column: of texts, whose spans count characters; or of lists of tokens, whose spans count tokens.
    out : str
        The column to add: for each row a list of ``start``, ``end``, ``label`` and ``p``, the probability
        of exactly this span, null where the model has none. Rows that are null have null.
    tokenizer : Tokenizer or its name, optional
        For models without one; see `SequenceModel.with_text`.
    threads : int
        How many threads one call has; engines make as many calls at a time as there are cores.
    digest : str, optional
        What tells the model file from others; default: that of the file that is there now. Another file under
        the path is refused.

    Examples
    --------
    >>> import pickle, tempfile
    >>> import pyarrow as pa
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     crf.model_.with_text("words").save(f"{folder}/m.crf")
    ...     tag = pickle.loads(pickle.dumps(TagPartition(f"{folder}/m.crf")))
    ...     made = tag(pa.table({"id": [1, 2], "text": ["in New York", None]}))
    >>> [{**span, "p": round(span["p"], 1)} for span in made["spans"][0].as_py()], made["spans"][1].as_py()
    ([{'start': 3, 'end': 11, 'label': 'LOC', 'p': 1.0}], None)
    """

    def __init__(
        self,
        model: str | Path,
        text: str = "text",
        out: str = "spans",
        tokenizer: Any = None,
        threads: int = 1,
        digest: str | None = None,
    ) -> None:
        check_number("threads", threads, 1, whole=True)
        self.path, self.text, self.out = str(Path(model).absolute()), text, out
        self.tokenizer, self.threads = tokenizer, threads
        self.digest = _digest(self.path) if digest is None else digest

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.path, self.text, self.out, self.tokenizer, self.threads, self.digest)
        return type(self), given

    @once
    def model(self) -> SequenceModel:
        """The model, read once in each process."""
        made = _model(self.path, self.digest)
        return made if self.tokenizer is None else made.with_text(self.tokenizer)

    @once
    def type(self) -> pa.DataType:
        """The type of the column that is added."""
        import pyarrow as pa

        names = {"start": pa.int32(), "end": pa.int32(), "label": pa.string(), "p": pa.float32()}
        return pa.list_(pa.struct(list(names.items())))

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of what comes out, of that of what goes in."""
        import pyarrow as pa

        return given.append(pa.field(self.out, self.type))

    def spans(self, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return the spans of each row of a column."""
        import pyarrow as pa

        if not (_is_text(column.type) or _is_tokens(column.type)):
            raise ValueError(
                f"column {self.text} is of {column.type}, expected strings, or lists of strings: tokens"
            )
        rows = column.to_pylist()
        filled = [row for row in rows if row is not None]
        found = self._of_texts(filled) if _is_text(column.type) else self._of_tokens(filled)
        starts: list[int] = []  # flat: a tuple for each span would keep the garbage collector busy
        ends: list[int] = []
        labels: list[str] = []
        sure: list[float | None] = []
        first: list[int | None] = []  # span of each row; None: the row is null
        for row in rows:
            first.append(None if row is None else len(starts))
            for start, end, label, *p in () if row is None else next(found):
                starts.append(start)
                ends.append(end)
                labels.append(str(label))
                sure.append(p[0] if p else None)
        several = self.type.value_type
        flat = [pa.array(one, of.type) for one, of in zip((starts, ends, labels, sure), several, strict=True)]
        spans = pa.StructArray.from_arrays(flat, fields=[*several])
        return pa.ListArray.from_arrays(pa.array([*first, len(starts)], pa.int32()), spans)

    def _of_texts(self, texts: list[str]) -> Iterator[Sequence[Any]]:
        return (spans for _, _, spans in self.model.piped(texts, threads=self.threads))

    def _of_tokens(self, rows: list[list[str]]) -> Iterator[Sequence[Any]]:
        for at in range(0, len(rows), _TOGETHER):
            part = rows[at : at + _TOGETHER]
            filled = [row for row in part if row]
            found = iter(self.model.predict_spans(filled, threads=self.threads) if filled else ())
            yield from (next(found) if row else () for row in part)

    def __call__(self, table: Any) -> Any:
        """Return a table or a record batch with the column: for Ray's ``map_batches``, and plain loops."""
        import pyarrow as pa

        if self.text not in table.schema.names:
            raise ValueError(
                f"there is no column {self.text!r}; the columns are {', '.join(table.schema.names)}"
            )
        if self.out in table.schema.names:
            raise ValueError(f"there is a column {self.out!r} already; give another name: out=")
        made = self.spans(table.column(self.text))
        if isinstance(table, pa.RecordBatch):
            return pa.RecordBatch.from_arrays([*table.columns, made], schema=self.schema(table.schema))
        return table.append_column(self.out, made)

    def iterate(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the record batches with the column: for Spark's ``mapInArrow``."""
        return map(self, batches)

    def frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a data frame of pandas with the column: for ``map_partitions`` of Dask."""
        import pyarrow as pa

        made = frame.copy()
        column = pa.array(frame[self.text], from_pandas=True)
        made[self.out] = self.spans(column if len(column) else column.cast(pa.string())).to_pylist()
        return made


def _is_text(given: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_null(given))


def _is_tokens(given: pa.DataType) -> bool:
    import pyarrow as pa

    lists = pa.types.is_list(given) or pa.types.is_large_list(given)
    return bool(lists) and _is_text(given.value_type)


def _digest(path: str) -> str:
    return blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()


def _model(path: str, digest: str) -> SequenceModel:
    with _READING:
        found = _MODELS.get((path, digest))
        if found is None:
            import crfkit

            if _digest(path) != digest:
                raise ValueError(
                    f"{path} is another model than where this was sent from; put the same file on all "
                    "machines"
                )
            found = _MODELS[path, digest] = crfkit.load(path)
        return found
