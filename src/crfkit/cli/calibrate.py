"""``crfkit calibrate``: correct the probabilities of a model by labeled data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.judging import Calibrating
from crfkit.cli.groups.output import ModelOutput, Running
from crfkit.cli.messages import check_choice, check_output, say

if TYPE_CHECKING:
    from crfkit.cli.tagging import Tagger
    from crfkit.data.dataset import Dataset
    from crfkit.models.calibration import Reliability


@composed
def calibrate(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="Labeled data that training has not seen; - for standard input."
        ),
    ],
    output: ModelOutput,
    *,
    reading: LabeledData,
    calibrating: Calibrating,
    running: Running,
) -> None:
    """Correct the probabilities of a model, and write it again.

    A temperature changes no prediction and keeps all queries consistent. Isotonic regression corrects
    more, needs more data, and gives no probabilities of whole label sequences (--kbest). The command
    prints the expected calibration error: the mean difference between probabilities and how often they
    come true, over ten bins. On the data of the fit it looks too good; give other data with --test.

    For example:

      crfkit calibrate names.crf dev.txt -o sure.crf --test test.txt
      crfkit calibrate m.crf dev.txt -o sure.crf --calibration isotonic
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.models.calibration import Method, calibrated, reliability

    test, plot, threads = calibrating.test, calibrating.plot, running.jobs
    check_output(output, read=[data, test])
    method = check_choice("--calibration", calibrating.calibration, get_args(Method))
    if plot is not None:
        check_output(plot, "--plot", [model, data, test])
        _check_matplotlib()
    tagger = Tagger(model, reading.label, threads)
    tagger.check_sums("there is nothing to calibrate")
    labeled = _data(tagger, data, reading)
    judged = labeled if test is None else _data(tagger, test, reading)
    before = reliability(tagger.model, judged, threads=threads)
    made = calibrated(tagger.model, labeled, None, cast(Method, method), threads=threads)
    after = reliability(made, judged, threads=threads)
    made.save(output)
    told = {"model": output, "method": method, "before": _plain(before), "after": _plain(after)}
    if running.as_json:
        print(json.dumps(told))
    else:
        for kind in before._fields:
            if getattr(before, kind) is not None:
                print(_line(kind, getattr(before, kind), getattr(after, kind)))
    if plot is not None:
        draw(plot, before, after)
        say(f"wrote {plot}", running.quiet)


def _data(tagger: Tagger, path: str, reading: LabeledData) -> Dataset:
    """Return all data of a file with the names of the model, and their gold."""
    from crfkit.cli.tagging import sequences
    from crfkit.data.dataset import Dataset

    parts: list[Dataset] = []
    gold: list[list[str | None]] = []
    for block in reading.blocks(path, **tagger.reads(reading)):
        labels = tagger.gold(block)
        gold += sequences(labels, block)
        names = tagger.model.names
        batch = tagger.batch(block)
        parts.append(
            Dataset(batch, names.labels, names.attributes, names.edge_attributes, names.segment_attributes)
        )
    if not parts:
        raise ValueError(f"{path} holds no sequence; calibration needs labeled data")
    tagger.check_known([[y for y in labels if y is not None] for labels in gold], path)
    return tagger.model.dataset(Dataset.concat(parts), gold, threads=tagger.threads)


def _plain(found: Reliability) -> dict[str, Any]:
    return {
        name: None
        if one is None
        else {
            "count": int(one.count.sum()),
            "expected_calibration_error": one.expected_error,
            "brier": one.brier,
        }
        for name, one in found._asdict().items()
    }


def _line(kind: str, before: Any, after: Any) -> str:
    return (
        f"{kind}: expected calibration error {before.expected_error:.4f} before, {after.expected_error:.4f} "
        f"after; Brier score {before.brier:.4f} before, {after.brier:.4f} after ({int(before.count.sum()):,} "
        f"{kind})"
    )


def _check_matplotlib() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ImportError("--plot needs matplotlib; install it with: pip install 'crfkit[plot]'")


def draw(path: str, before: Reliability, after: Reliability) -> None:
    """Draw accuracy by confidence, of labels and of segments: a line on the diagonal is what one wants."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kinds = [kind for kind in before._fields if getattr(before, kind) is not None]
    figure = Figure(figsize=(4.2 * len(kinds), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for place, kind in enumerate(kinds, start=1):
        axes = figure.add_subplot(1, len(kinds), place)
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
        for name, found, mark in (("before", before, "o--"), ("after", after, "s-")):
            one = getattr(found, kind)
            full = one.count > 0
            title = f"{name}: error {one.expected_error:.4f}"
            axes.plot(
                one.confidence[full],
                one.accuracy[full],
                mark,
                markersize=4,
                linewidth=1.2,
                label=title,
                clip_on=False,
            )
        axes.set(
            title=kind,
            xlabel="mean probability of a bin",
            ylabel="part that is right",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        axes.set_aspect("equal")
        axes.legend(frameon=False, loc="upper left", fontsize="small")
    figure.savefig(path, dpi=150, format="png")
