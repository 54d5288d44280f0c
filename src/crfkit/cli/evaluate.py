"""``crfkit evaluate``: how good labels are, and whether one system is better than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.constraints import Keeping
from crfkit.cli.groups.data import Data, LabeledData
from crfkit.cli.groups.judging import Judging
from crfkit.cli.groups.output import Running, Showing
from crfkit.cli.scores import Labels, Texts, compared, tell

if TYPE_CHECKING:
    from crfkit.cli.graph_commands import GraphTagger
    from crfkit.cli.tagging import Tagger
    from crfkit.metrics.comparison import Columns
    from crfkit.metrics.registry import Metric
    from crfkit.metrics.report import Report
    from crfkit.tags.reading import LabelScheme


@composed
def evaluate(
    model: Annotated[str | None, typer.Argument(help="A model of any kind.")] = None,
    data: Annotated[str | None, typer.Argument(help="Labeled data; - for standard input.")] = None,
    *,
    reading: LabeledData,
    keeping: Keeping,
    judging: Judging,
    running: Showing,
) -> None:
    """Print precision, recall and F1, and compare two systems.

    Scores are of spans if the labels are tags of spans, else of labels; with --metric accuracy always of
    labels. The last line is the metric and its value, the same as score in Python. With a second system
    (--against MODEL, or --predicted twice) two tests say whether the difference may be chance: McNemar's
    test on tokens and a paired bootstrap over sequences. --constraint constrains the labels of the first
    model, as in crfkit tag. For a model of graphs, each kind is scored by itself.

    For example:

      crfkit evaluate chunks.crf test.txt
      crfkit evaluate chunks.crf test.txt --confusion --errors 5
      crfkit evaluate chunks.crf test.txt --html > errors.html
      crfkit evaluate old.crf test.txt --against new.crf -m span_f1
      crfkit tag chunks.crf test.txt | crfkit evaluate --predicted -
      crfkit evaluate names.crf test.txt --constraint at-most:PER:1
    """
    from crfkit import metrics
    from crfkit.models.files import GraphFileError

    running.check()
    if judging.metric != "auto":
        metrics.metric(judging.metric)
    read_by = None if judging.scheme is None else _scheme(judging.scheme)
    if judging.predicted:
        if model is not None or data is not None or judging.against is not None:
            raise ValueError("give either MODEL and DATA or --predicted FILE, not both")
        if keeping.constraints:
            raise ValueError("--predicted has labels already; constraints (--constraint) need a MODEL")
        found = _of_files(judging.predicted, reading, read_by)
    elif model is None or data is None:
        raise ValueError("give MODEL and DATA, or --predicted FILE with gold and predicted labels")
    else:
        titles = [one for one in (model, judging.against) if one]
        try:
            taggers = _taggers(titles, reading, running.jobs, keeping)
        except GraphFileError as error:
            if (
                judging.against is not None
                or keeping.constraints
                or judging.metric not in ("auto", "accuracy")
            ):
                raise
            from crfkit.cli.graph_commands import GraphTagger

            tagger = GraphTagger(model, error.model, running.jobs)
            _of_graphs(tagger, data, reading, judging, read_by, running)
            return
        found = _of_models(
            taggers, titles, data, reading, read_by, running, judging.errors > 0 or running.as_html
        )
    if not found.gold:
        raise ValueError(
            f"{judging.predicted[0] if judging.predicted else data} holds no sequence; give labeled data"
        )
    _tell(found, judging, running)


def report_on(model: str, data: str, reading: LabeledData, running: Running) -> Report:
    """Return how good a model of sequences is on labeled data."""
    taggers = _taggers([model], reading, running.jobs, Keeping())
    found = _of_models(taggers, [model], data, reading, None, running, errors=False)
    if not found.gold:
        raise ValueError(f"{data} holds no sequence; give labeled data")
    [side] = _sides(found, found.fits)
    return side.report()


@dataclass(frozen=True)
class Found:
    """Gold labels, what systems say, and how these are scored by default."""

    titles: list[str]
    gold: Labels
    systems: list[Labels]
    fits: str  #: the metric that fits the labels
    scheme: LabelScheme
    texts: Texts
    model: Any = None  #: the first


def _tell(found: Found, judging: Judging, running: Showing) -> None:
    """Print reports and, of two systems, whether their difference could be luck."""
    gold, systems = found.gold, found.systems
    chosen = found.fits if judging.metric == "auto" else judging.metric
    sides = _sides(found, chosen)
    reports = [one.report() for one in sides]
    if running.as_html and len(systems) == 1:
        from crfkit.cli.pictures import evaluated, print_page

        print_page(
            found.titles[0], evaluated(reports[0], found.texts, judging.errors, sides[0].report, found.model)
        )
        return
    if running.as_html:
        raise ValueError("--html is of one system; leave --against and the second --predicted out")
    test = (
        compared(gold, systems, _metric(found, chosen), judging.samples, judging.seed)
        if len(systems) == 2
        else None
    )
    tell(found.titles, reports, judging, running.as_json, test, found.texts)


def _metric(found: Found, chosen: str) -> Metric:
    """Return a metric that reads labels as the model spells them."""
    from crfkit import metrics
    from crfkit.metrics.registry import of_spans

    return metrics.metric(chosen, **({"scheme": found.scheme} if of_spans(chosen) else {}))


def _sides(found: Found, chosen: str) -> list[Columns]:
    """Return the gold labels beside those of each system."""
    from crfkit.metrics.comparison import Columns
    from crfkit.metrics.default_metric import scheme_of_rows
    from crfkit.metrics.registry import of_spans

    spelled = found.scheme if of_spans(found.fits) else None
    scheme = scheme_of_rows(chosen, (), spelled)
    metric = _metric(found, chosen)
    return [Columns.of(found.gold, labels, metric, scheme=scheme) for labels in found.systems]


def _scheme(given: str) -> str:
    from crfkit.tags.reading import READINGS

    known = {name.lower(): name for name in READINGS}
    if given.lower() not in known:
        raise ValueError(f"--scheme is {given!r}, expected one of {', '.join(READINGS)}")
    return known[given.lower()]


def _taggers(paths: list[str], reading: LabeledData, threads: int | None, keeping: Keeping) -> list[Tagger]:
    """Return the models, which must read the same data."""
    from crfkit.cli.tagging import Tagger

    taggers = [
        Tagger(path, reading.label, threads, keeping if i == 0 else None) for i, path in enumerate(paths)
    ]
    first = taggers[0]
    for other in taggers[1:]:
        if other.attributes != first.attributes:
            raise ValueError(
                f"{first.source} and {other.source} cannot read the same data: one needs columns, one "
                "attributes"
            )
    return taggers


def _of_models(
    taggers: list[Tagger],
    titles: list[str],
    data: str,
    reading: LabeledData,
    scheme: LabelScheme | None,
    running: Running,
    errors: bool,
) -> Found:
    """Return gold labels, and the predictions of each model on the same data, read once."""
    from crfkit.cli.origins import located
    from crfkit.cli.tagging import sequences
    from crfkit.models.tags import stretches_as_tags

    first = taggers[0]
    # Of segments whose labels are not tags, a metric must know where they begin.
    stretches = any(tagger.model.segmental and tagger.model.scheme is None for tagger in taggers)
    gold: Labels = []
    found: list[Labels] = [[] for _ in taggers]
    texts, seen = Texts(), 0
    for block in reading.blocks(data, threads=running.jobs, **first.reads(reading)):
        labels = first.gold(block)
        if None in labels:
            raise ValueError(f"{data} has positions without a label; give labeled data")
        gold += sequences([y or "" for y in labels], block)
        for tagger, mine in zip(taggers, found, strict=True):
            model = tagger.model
            spelling = model.spelling_for("span_f1" if stretches else None)
            with located(block, seen, data):
                mine += spelling.tags(tagger.path(tagger.batch(block)))
        if errors:
            texts.add(block, *first.probability(first.shares(block), labels))
        seen += len(block)
    for tagger in taggers:
        tagger.check_known(gold, "standard input" if data == "-" else data)
    for tagger in taggers:
        tagger.tell(running.quiet)
    if stretches:
        gold = stretches_as_tags(gold)
        found = [
            mine if tagger.model.segmental else stretches_as_tags(mine)
            for tagger, mine in zip(taggers, found, strict=True)
        ]
    judge: Any = first.model.judge()
    fits = "span_f1" if any(one.model.segmental for one in taggers) else judge.name
    return Found(
        titles, gold, found, fits, scheme or first.model.label_scheme or "lenient", texts, first.model
    )


def _of_graphs(
    tagger: GraphTagger,
    data: str,
    reading: Data,
    judging: Judging,
    scheme: LabelScheme | None,
    running: Showing,
) -> None:
    """Print the report of a model of graphs: of each kind, and of all together."""
    from crfkit.cli.tagging import REMEDY
    from crfkit.metrics import METRICS
    from crfkit.metrics.comparison import Columns, Joined
    from crfkit.metrics.default_metric import check_known, rule_of_kind

    gold, found, texts = tagger.judged(reading, data)
    if not any(gold.values()):
        raise ValueError(f"{data} holds no sequence; give labeled data")
    parts = {}
    for kind in tagger.kinds:
        known = tagger.names(kind)
        told = [[y for y in labels if y is not None] for labels in gold[kind]]
        check_known(told, known, source=f"{data}, kind {kind}", who=tagger.source, remedy=REMEDY)
        whole = judging.metric == "auto" and not any(None in labels for labels in gold[kind])
        judge, spelled = rule_of_kind(known, whole, scheme or "lenient")
        parts[kind] = Columns.of(gold[kind], found[kind], judge, scheme=spelled)
    report = Joined.pooled(parts, METRICS["accuracy"]).report()
    if running.as_html:
        from crfkit.cli.pictures import evaluated, print_page

        print_page(tagger.source, evaluated(report, texts, judging.errors))
        return
    tell([tagger.source], [report], judging, running.as_json, texts=texts)


def _of_files(paths: list[str], reading: Data, scheme: LabelScheme | None) -> Found:
    """Return gold labels and those of each file; all files have the same gold labels."""
    from crfkit.cli.tagging import sequences
    from crfkit.data.formats.columns import Columns
    from crfkit.metrics.default_metric import metric_for, some

    if len(paths) > 2:
        raise ValueError(f"--predicted is given {len(paths)} times, expected once or twice")
    golds: list[Labels] = []
    texts = Texts()
    found: list[Labels] = []
    for path in paths:
        golds.append([])
        found.append([])
        for block in reading.blocks(path, attributes=False):
            if not isinstance(block, Columns) or len(block.names) < 2:
                raise ValueError(f"{path}: expected columns, the last two with gold and predicted labels")
            fields = block.strings()
            golds[-1] += sequences(fields[-2].tolist(), block)
            found[-1] += sequences(fields[-1].tolist(), block)
            if path == paths[0]:
                texts.add(block)
        kinds, answers = ({y for sequence in one[-1] for y in sequence} for one in (golds, found))
        if len(kinds) > len(answers) and not kinds & answers:
            raise ValueError(
                f"{path}: the last two columns ({some(kinds)} and {some(answers)}) have no label in common, "
                "expected gold and predicted labels; tag data that have a column of gold labels"
            )
    if golds[0] != golds[-1]:
        raise ValueError(
            f"{paths[0]} and {paths[1]} differ in their gold labels; they must be of the same data"
        )
    fits = metric_for({y for sequence in golds[0] for y in sequence})
    return Found(paths, golds[0], found, fits, scheme or "lenient", texts)
