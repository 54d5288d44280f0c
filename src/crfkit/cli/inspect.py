"""``crfkit inspect``: a model in the browser."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.messages import say

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.web.inspector.material import Material
    from crfkit.web.inspector.opened import Opened

_BUSY = (
    "port {} is in use, perhaps by another inspector; give another one, --port {}, or --port 0 for a free one"
)


@composed
def inspect(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    other: Annotated[str | None, typer.Argument(help="A second model, to compare with.")] = None,
    data: Annotated[str | None, option("Data", "--data", help="Labeled data, such as a dev set.")] = None,
    pool: Annotated[
        str | None,
        option(
            "Data",
            "--pool",
            help="Unlabeled text, a sentence in each line; or documents, or with -f columns.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        option("Data", "--labels", help="SQLite file that keeps the labels. Default: beside the pool."),
    ] = None,
    edit: Annotated[
        bool, option("Service", "--edit", help="Let people add labels. Default: read only.")
    ] = False,
    every: Annotated[
        int, option("Training", "--every", help="Train after this many new labels.", min=1)
    ] = 20,
    port: Annotated[int, option("Service", "--port", help="0: any free one.", min=0, max=65535)] = 8765,
    *,
    reading: LabeledData,
) -> None:
    """Show what a model does, in the browser.

    Five pages: a sentence with its lattice and the reasons for each label, errors on --data, the comparison
    of two models, a queue of unlabeled sentences of --pool, and the model itself. Labels given in the queue
    are saved before the page confirms them; the model learns from them in the background. Only this machine
    (127.0.0.1) can open the pages, and they load nothing from elsewhere. Ctrl-C ends it. Needs: pip install
    'crfkit[inspect]'.

    For example:

      crfkit inspect names.crf
      crfkit inspect new.crf old.crf --data dev.txt
      crfkit inspect names.crf --data dev.txt --pool raw.txt --edit
    """
    _need_extra()
    from crfkit.web.inspector.create import create_inspector
    from crfkit.web.inspector.opened import opened
    from crfkit.web.inspector.store import StoreError

    if labels is not None and pool is None:
        raise ValueError("--labels is where labels of a --pool are kept; give the pool too")
    with _listening(port) as listening:
        models = [opened(path) for path in (model, other) if path is not None]
        judged = None if data is None else _data(models[0], data, reading)
        raw = None if pool is None else _pool(models[0], pool, reading)
        kept = labels or (":memory:" if pool is None else f"{os.path.splitext(pool)[0]}.labels.sqlite")
        more: dict[str, Any] = {"edit": edit, "every": every, "tokenizer": reading.cutter}
        try:
            app = create_inspector(*models, data=judged, pool=raw, labels=kept, **more)
        except StoreError as error:
            raise ValueError(str(error)) from None
        say(f"crfkit inspect: http://127.0.0.1:{listening.getsockname()[1]}  (Ctrl-C ends it)")
        _serve(app, listening)


def _need_extra() -> None:
    try:
        import jinja2
        import starlette
        import uvicorn
    except ImportError as error:
        raise ImportError(
            f"crfkit inspect needs {error.name}, which is not installed: pip install 'crfkit[inspect]'"
        ) from None
    _ = jinja2, starlette, uvicorn


def _listening(port: int) -> socket.socket:
    """Return a socket that listens, or say what is in the way."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(128)
    except PermissionError:
        made.close()
        raise ValueError(f"--port is {port}, which needs rights that you lack; give one above 1023") from None
    except OSError:
        made.close()
        raise ValueError(_BUSY.format(port, port + 1)) from None
    return made


def _serve(app: Any, listening: socket.socket) -> None:
    import uvicorn

    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    uvicorn.Server(settings).run(sockets=[listening])


def _data(one: Opened, path: str, reading: LabeledData) -> Material:
    """Return labeled data as the model reads them."""
    from crfkit.cli.pictures import words_of
    from crfkit.cli.tagging import Tagger, sequences
    from crfkit.web.inspector.material import Material

    tagger = Tagger(one.path, reading.label)
    parts = list(reading.blocks(path, **tagger.reads(reading)))
    if not parts:
        raise ValueError(f"{path} holds no sequence; give labeled data")
    block = _whole(parts, path, reading)
    gold = tagger.gold(block)
    if None in gold:
        raise ValueError(f"{path} has positions without a label; give labeled data")
    labels = sequences([y or "" for y in gold], block)
    tagger.check_known(labels, path)
    return Material(os.path.basename(path), block, words_of(block), labels)


def _whole(parts: list[Columns | Dataset], path: str, reading: LabeledData) -> Columns | Dataset:
    """Return the blocks of a file as one."""
    from crfkit.data.formats.columns import Columns
    from crfkit.data.reading import read

    if len(parts) == 1:
        return parts[0]
    columns = [one for one in parts if isinstance(one, Columns)]
    if len(columns) < len(parts):
        return read(path, **reading.keywords)
    rows = [list(one.sequence(n)) for one in columns for n in range(len(one))]
    return Columns.from_rows(rows, columns[0].names)


def _pool(one: Opened, path: str, reading: LabeledData) -> Material:
    """Return sentences without labels: lines of text, documents, or columns where a format is given."""
    from crfkit.cli.pictures import words_of
    from crfkit.cli.tagging import Tagger
    from crfkit.data.formats.columns import Columns
    from crfkit.web.inspector.material import Material

    name = os.path.basename(path)
    recipe = one.model.recipe
    columns = reading.format is not None or (recipe is not None and len(recipe.columns) > 1)
    docs = reading.documents(path)
    if docs is None and columns:
        parts = list(reading.blocks(path, **Tagger(one.path).reads(reading)))
        if not parts:
            raise ValueError(f"{path} holds no sentence; give unlabeled data")
        block = _whole(parts, path, reading)
        if not isinstance(block, Columns):
            raise ValueError(f"{path} has attributes, not words; a pool is text or columns")
        return Material(name, block, words_of(block))
    texts = (doc.text for doc in docs) if docs is not None else _lines(path, reading.encoding)
    return _of_texts(one, name, path, texts, reading)


def _lines(path: str, encoding: str | None) -> Iterator[str]:
    with open(path, encoding=encoding or "utf-8", errors="strict") as file:
        try:
            yield from (line.strip() for line in file)
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in {encoding or 'utf-8'}; give --encoding") from None


def _of_texts(one: Opened, name: str, path: str, texts: Iterator[str], reading: LabeledData) -> Material:
    """Return texts in sentences and words, each with where it was in its text."""
    from itertools import pairwise

    from crfkit.web.inspector.material import Material
    from crfkit.web.inspector.reading import Typing

    typing = Typing(one.model, reading.cutter)
    if typing.kind == "items":
        raise ValueError(
            f"{one.name} reads attributes and has no recipe that makes them: it cannot read {path}"
        )
    words: list[list[str]] = []
    shown: list[str] = []
    offsets: list[list[tuple[int, int]]] = []
    for text in texts:
        typed = typing(text)
        for a, b in pairwise(typed.ptr):
            places = typed.offsets[a:b]
            first, last = places[0][0], places[-1][1]
            words.append([text[x:y] for x, y in places])
            shown.append(text[first:last])
            offsets.append([(x - first, y - first) for x, y in places])
    if not words:
        raise ValueError(f"{path} holds no sentence; give unlabeled text")
    return Material(name, words, words, texts=shown, offsets=offsets)
