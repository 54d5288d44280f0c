"""What commands write with ``--html``: whole pages of pictures, which run no script and load nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crfkit import view
from crfkit.data.formats.columns import Columns
from crfkit.metrics.pictures import calibration_picture, groups_picture, mistake_pictures, report_pictures
from crfkit.models.pictures import decision_picture, entities_picture, model_pictures, sentence_pictures
from crfkit.models.slices import slices

if TYPE_CHECKING:
    from crfkit.cli.scores import Texts
    from crfkit.cli.tagging import Tagger
    from crfkit.data.dataset import Dataset
    from crfkit.metrics import Report

_SENTENCES = 20  #: of a page of errors, where --errors says nothing


def print_page(title: str, pictures: Iterable[str]) -> None:
    """Print a page."""
    print(view.page(*pictures, title=title), end="")


def words_of(block: Columns | Dataset) -> list[list[str]]:
    """Return what to call the positions of each sequence of a block: words, or their numbers."""
    if isinstance(block, Columns):
        return [[row[0] for row in block.sequence(n)] for n in range(len(block))]
    return [[f"item {t + 1}" for t in range(b - a)] for a, b in pairwise(block.batch.seq_ptr.tolist())]


def tagged(tagger: Tagger, blocks: Iterable[Columns | Dataset]) -> Iterator[str]:
    """Yield the sequences of blocks, each in color."""
    for block in blocks:
        batch = tagger.batch(block)
        for n, words in enumerate(words_of(block)):
            if words:
                yield entities_picture(tagger.model, batch.select([n]), words)


def explained(tagger: Tagger, batch: Any, words: Sequence[str], title: str, most: int) -> Iterator[str]:
    """Yield a sequence in color, its lattice, and why each token has its label, the least certain first."""
    yield from sentence_pictures(tagger.model, batch, words, title)
    found = tagger.model.explain(batch, threads=tagger.threads)
    for one in sorted(found, key=lambda one: one.probability):
        yield decision_picture(one, words, most=most or 1 << 30)


def shown_model(model: Any, path: str, most: int) -> list[str]:
    """Return what is in a model."""
    return [*model_pictures(model, path, features=most)]


def write_report(path: str, model: Any, title: str) -> None:
    """Write how a model was trained, and what it learned, as a file."""
    from crfkit.data.sink import write_bytes

    write_bytes(path, [view.page(*model_pictures(model, title), title=title).encode()])


def evaluated(
    report: Report,
    texts: Texts,
    errors: int,
    sliced: Callable[[Sequence[str]], Report] | None = None,
    model: Any = None,
) -> list[str]:
    """Return how good a system is: scores, confusion, errors with their words, calibration, slices.

    Parameters
    ----------
    report : Report
    texts : Texts
        Words, lines, and probabilities where the system has them.
    errors : int
        How many sequences with errors; 0: 20.
    sliced : function of the group of each sequence -> Report, optional
    model : SequenceModel, optional
        Where there is one: it knows words.
    """
    labels = [] if model is None else list(model.structure.labels)
    made: list[str] = [*report_pictures(report, labels)]
    if sliced is not None and texts.words:
        for one in slices(texts.words, model):
            made.append(groups_picture(sliced(one.groups), one.title, one.names))
    if texts.claims:
        from crfkit.metrics import calibration

        sure, right = zip(*texts.claims, strict=True)
        made.append(calibration_picture({"labels": calibration(sure, right)}))
    wrong = report.errors(None, **texts.keywords)
    return [*made, *mistake_pictures(report, wrong, errors or _SENTENCES, labels)]
