"""The tour of ``crfkit demo``: learn to read postal addresses, judge it, tag, explain, save.

Words are separated by blanks and keep their commas. The recipe sees a word, its neighbors, shapes, ends and
commas; the columns go by their place, as `crfkit train` has it, so that files to tag need no names.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from crfkit import data, metrics
from crfkit.data.formats.columns import Columns
from crfkit.datasets.generate import Line, corpus
from crfkit.features import Extractor, Recipe
from crfkit.metrics.tokenwise import TokenScores
from crfkit.models.explanation import Decision, Explanation
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood
from crfkit.training.stop import Stop
from crfkit.training.train import train

RECIPE = """
bias
lower(0)[-2..2]
lower(0)[-1] & lower(0)[0]
lower(0)[0] & lower(0)[1]
regex(0, "[^,]+")[-1..1]       # without its comma
is(0, ",$")[-2..1]
shape(0)[-2..2]
shape(0)[-1] & shape(0)[0] & shape(0)[1]
prefix(0, 2)[0]; prefix(0, 3)[0]
suffix(0, 2)[-1..1]; suffix(0, 3)[0]; suffix(0, 4)[0]
"""
#: What no list of names can decide; nothing here is taken from the corpus.
HARD = (
    "10115 Berlin Turnpike Berlin CT 06037",
    "Paris Lincoln, 20 rue de Londres, 75009 Paris",
    "Lincoln House 4 St John St Lincoln LN1 3AA UK",
)
EXPLAINED = (0, 0)  # the line and the word: a number of five digits that is not a postcode


@dataclass(frozen=True)
class Learned:
    """A model, and what it makes of lines that it has not seen."""

    model: SequenceModel
    scores: TokenScores
    whole: float  #: part of the lines with every label right


def learn(lines: list[Line], held_out: list[Line], *, progress: bool | None = None) -> Learned:
    """Train on some lines and score on others.

    Examples
    --------
    >>> lines = corpus(300, seed=1)
    >>> learned = learn(lines[:250], lines[250:], progress=False)
    >>> learned.scores.accuracy > 0.8
    True
    """
    extract = Extractor(Recipe.parse(RECIPE), label=1)
    known = extract(Columns.from_rows(lines))
    model = train(known, objective=Likelihood(l2=0.5), stop=Stop(tolerance=1e-3), progress=progress)
    gold = [[label for _, label in line] for line in held_out]
    found = model.predict(Extractor(Recipe.parse(RECIPE), label=None)(Columns.from_rows(held_out)))
    return Learned(
        model, metrics.token_scores(gold, found), metrics.METRICS["sequence_accuracy"](gold, found)
    )


def decisions(model: SequenceModel, texts: tuple[str, ...]) -> list[Explanation]:
    """Return what the model says of some addresses, word by word."""
    columns = Columns.from_rows([[(word,) for word in text.split()] for text in texts])
    data = Extractor(Recipe.parse(RECIPE), label=None)(columns)
    return [model.explain(data[n : n + 1]) for n in range(len(texts))]


def run(lines: int = 5000, seed: int = 0, output: str | None = None, console: Console | None = None) -> None:
    """Show it all; the model goes to ``output``, by default to a new temporary folder."""
    console = console or Console(highlight=False)
    began = time.perf_counter()
    made = corpus(lines, seed)
    kept = max(len(made) // 5, 1)
    known, held_out = made[:-kept], made[-kept:]
    console.rule(f"{len(made):,} made-up addresses, seed {seed}", align="left")
    for line in known[:3]:
        console.print(" ".join(f"{word}[dim]/{label}[/dim]" for word, label in line))
    console.rule(f"training on {len(known):,} of them", align="left")
    learned = learn(known, held_out, progress=True)
    console.rule(f"the other {len(held_out):,}, which it has not seen", align="left")
    console.print(_table(learned.scores))
    console.print(
        f"[bold]{100 * learned.scores.accuracy:.1f} %[/bold] of {learned.scores.tokens:,} words, "
        f"[bold]{100 * learned.whole:.1f} %[/bold] of whole lines right"
    )
    console.rule("hard ones, with probabilities", align="left")
    decided = decisions(learned.model, HARD)
    console.print(_tagged(decided))
    n, t = EXPLAINED
    console.rule(f"why is {HARD[n].split()[t]} a {decided[n][t].label}?", align="left")
    _explain(decided[n][t], console)
    folder = tempfile.mkdtemp(prefix="crfkit-demo-")
    output = output or os.path.join(folder, "addresses.crf")
    learned.model.with_text("blanks").save(output, notes=f"crfkit demo --lines {lines} --seed {seed}")
    for name, part in (("train.txt", known), ("test.txt", held_out)):
        data.write(os.path.join(folder, name), Columns.from_rows(part))
    console.rule(f"done in {time.perf_counter() - began:.1f} s; what to try next", align="left")
    for command in _next(output, folder):
        console.print(command, soft_wrap=True, markup=False)


def _table(scores: TokenScores) -> Table:
    table = Table("label")
    for name in ("precision", "recall", "F1", "words"):
        table.add_column(name, justify="right")
    for label, one in scores.by_label.items():
        numbers = (f"{100 * x:.1f}" for x in (one.precision, one.recall, one.f1))
        table.add_row(label, *numbers, f"{one.support:,}")
    return table


def _tagged(decided: list[Explanation]) -> Table:
    table = Table("word", "label", "runner-up")
    table.columns[1].style = "green"
    for text, line in zip(HARD, decided, strict=True):
        for word, made in zip(text.split(), line, strict=True):
            second = f"{made.runner_up_probability:.3f} {made.runner_up}" if made.runner_up else ""
            table.add_row(word, f"{made.probability:.3f} {made.label}", second)
        table.add_section()
    return table


def _explain(made: Decision, console: Console, top: int = 8) -> None:
    """Print the weights that decided; those of other words have their distance in brackets."""
    console.print(
        f"The best labeling scores {made.difference:+.2f} over the best one with {made.runner_up} there "
        f"({', '.join(made.alternative)}):"
    )
    for one in made.contributions[:top]:
        far = made.distance(one)
        away = f"  [{far:+d}]" if far else ""
        name = readable(one.name) if one.kind == "attribute" else one.name
        console.print(f"  {one.amount:+6.2f}  {name}{away}", markup=False, soft_wrap=True)
    rest = made.difference - sum(one.amount for one in made.contributions[:top])
    console.print(f"  {rest:+6.2f}  {max(len(made.contributions) - top, 0)} others")


def readable(attribute: str) -> str:
    """Return the name of an attribute with "word" for the first column.

    Examples
    --------
    >>> readable("suffix(0, 2)[-1]=0,")
    'suffix(word, 2)[-1]=0,'
    """
    head, equals, value = attribute.partition("=")
    return re.sub(r"\b0(?=[\[,)])", "word", head) + equals + value


def _next(output: str, folder: str) -> list[str]:
    model = shlex.quote(output)
    train_file, test_file = (shlex.quote(os.path.join(folder, name)) for name in ("train.txt", "test.txt"))
    return [
        f"crfkit show {model} --label street",
        f"crfkit explain {model} {test_file} --sequence 1 --top 3",
        f"crfkit evaluate {model} {test_file}",
        f"crfkit train {train_file} --dev {test_file} -o mine.crf",
        "crfkit demo --label-bias",
        f"echo '221B Baker St, London NW1 6XE' | crfkit tag {model} --text",
    ]
