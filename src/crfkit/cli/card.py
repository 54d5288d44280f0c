"""``crfkit card``: what a model is and how good it is, as a page of Markdown."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.output import Running

if TYPE_CHECKING:
    from crfkit.metrics.report import Report
    from crfkit.models import SequenceModel

_LABELS = 60  # that are named


@composed
def card(
    model: Annotated[str, typer.Argument(help="A model of sequences.")],
    data: Annotated[
        str | None, typer.Argument(metavar="INPUT", help="Labeled data that training did not see.")
    ] = None,
    language: Annotated[
        str | None, option("Output", "--language", help="Language of the texts, such as en, for the head.")
    ] = None,
    *,
    reading: LabeledData,
    running: Running,
) -> None:
    """Print a card of a model, for those who will use it.

    It has labels, training, scores, and how to use the model. The page is Markdown, with the front matter
    that Hugging Face reads. All scores are measured on INPUT, and digests identify both files. License
    and notes are those of the model file (crfkit convert --license, --notes).

    For example:

      crfkit card names.crf test.txt --language en > README.md
    """
    from crfkit.cli.evaluate import report_on
    from crfkit.models import SequenceModel
    from crfkit.models.files import load

    found = load(model)
    if not isinstance(found, SequenceModel):
        raise ValueError(f"{model} holds a model of graphs; cards are for models of sequences")
    report = None if data is None else report_on(model, data, reading, running)
    name = Path(model).stem
    head = _head(found, name, data, report, language)
    if running.as_json:
        print(json.dumps(head, ensure_ascii=False))
        return
    yaml = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items())
    print(f"---\n{yaml}\n---\n\n{_text(found, model, name, data, report)}")


def _head(
    model: SequenceModel, name: str, data: str | None, report: Report | None, language: str | None
) -> dict[str, Any]:
    """Return the head, each value of which is YAML as JSON."""
    made: dict[str, Any] = {} if language is None else {"language": language}
    if model.license:
        made["license"] = model.license.lower()
    made |= {
        "library_name": "crfkit",
        "pipeline_tag": "token-classification",
        "tags": ["conditional-random-field", "sequence-labeling"],
    }
    if report is not None and data is not None:
        metrics = [
            {
                "type": "f1" if report.kind == "spans" else report.metric,
                "name": report.metric,
                "value": report.score,
            },
            {"type": "accuracy", "name": "accuracy", "value": report.accuracy},
        ][: 2 if report.metric != "accuracy" else 1]
        task = {"type": "token-classification"}
        dataset = {"type": "custom", "name": Path(data).name}
        made["model-index"] = [
            {"name": name, "results": [{"task": task, "dataset": dataset, "metrics": metrics}]}
        ]
    return made


def _text(model: SequenceModel, path: str, name: str, data: str | None, report: Report | None) -> str:
    labels = list(model.answers)
    more = ", ..." if len(labels) > _LABELS else ""
    told = model.told.removeprefix("a model of ")
    parts = [
        f"# {name}",
        f"{told[:1].upper()}{told[1:]}, made by [crfkit](https://github.com/crfkit/crfkit).",
    ]
    if model.notes:
        parts.append(model.notes)
    parts += [
        "## What it is",
        _rows(
            {
                "labels": f"{len(labels)}: {', '.join(labels[:_LABELS])}{more}",
                "weights": f"{model.layout.weights:,}",
                "attributes": f"{model.layout.attributes:,}",
                "reads": _reads(model),
                "SHA-256 of the file": _digest(path),
                **({"license": model.license} if model.license else {}),
            }
        ),
        "## Use",
        f"```python\nimport crfkit\n\nmodel = crfkit.load({Path(path).name!r})\n{_use(model)}\n```",
    ]
    if model.training is not None:
        parts += ["## Training", "```text\n" + str(model.training) + "\n```"]
    if report is not None and data is not None:
        of = f"On {Path(data).name} ({counted(report.n, report.unit)}, SHA-256 {_digest(data)}):"
        parts += ["## Scores", of, f"```text\n{report}\n```"]
    return "\n\n".join(parts)


def _rows(rows: dict[str, str]) -> str:
    lines = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows.items()]
    return "\n".join(["| | |", "| --- | --- |", *lines])


def _reads(model: SequenceModel) -> str:
    if model.text is not None:
        return f"raw text, cut by the tokenizer {model.text.tokenizer.kind!r}"
    if model.recipe is None:
        return "features of tokens"
    return f"the columns {', '.join(model.recipe.column_names)}"


def _use(model: SequenceModel) -> str:
    if model.text is not None:
        return 'print(model("A text."))'
    if model.recipe is not None and len(model.recipe.columns) == 1:
        return 'print(model.tag(["some", "words"]))'
    return "print(model.predict(X))  # X as in training"


def _digest(path: str) -> str:
    if path == "-":
        return "unknown"
    made = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            made.update(part)
    return made.hexdigest()
