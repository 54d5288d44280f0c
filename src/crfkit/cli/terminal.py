"""How ``crfkit tag`` shows text on a terminal: words with their labels and probabilities, in color.

Where words may lie in no segment, segments are marked in place, in brackets where there is no color. Where
all have a label, as in addresses, labels stand below. What is in doubt has a question mark. Only the sixteen
colors of terminals are used, which themes are in charge of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from crfkit._safe.printable import shown
from crfkit.cli.pictures import words_of
from crfkit.tags.schemes import OUTSIDE
from crfkit.view.entities import UNSURE
from crfkit.view.style import color_classes
from crfkit.view.text import limit, share

if TYPE_CHECKING:
    from crfkit.cli.tagging import Tagger
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns

#: The color of each class of the style sheet.
_COLORS = {
    **{"k0": "blue", "k1": "red", "k2": "green", "k3": "magenta", "k4": "yellow", "k5": "cyan"},
    **{"k6": "bright_magenta", "k7": "bright_blue", "k8": "bright_red", "k9": "bright_yellow"},
    **{"k10": "bright_green", "k11": "bright_cyan", "o": "default"},
}
_INDENT = "  "
_LISTED = 3  #: words whose second best label is said

#: (start, end, label, probability), counted in words.
Spans = Sequence[Sequence[Any]]


def show(tagger: Tagger, blocks: Iterable[Columns | Dataset]) -> bool:
    """Print the sequences of blocks with their best segments; return whether there were any."""
    size = get_terminal_size()  # Rich takes both, or neither
    console = Console(highlight=False, markup=False, width=size.columns, height=size.lines)
    seen = False
    labels = list(tagger.model.structure.labels)
    for block in blocks:
        batch = tagger.batch(block)
        found = tagger.model.predict_spans(batch, threads=tagger.threads)
        rows, at = tagger.shares(block), 0
        for words, spans in zip(words_of(block), found, strict=True):
            mine = None if rows is None else rows[at : at + len(words)]
            at, seen = at + len(words), True
            second = _second(words, spans, mine, tagger.model.answers)
            for line in shown_text(words, spans, labels, second, console):
                console.print(line, soft_wrap=True)
    return seen


def shown_text(
    words: Sequence[str], spans: Spans, labels: Sequence[str], second: str, console: Console
) -> list[Text]:
    """Return the lines of one sequence, as wide as the console, and an empty one.

    Examples
    --------
    >>> plain = Console(width=40, color_system=None)
    >>> for line in shown_text(["Ana", "ran"], [(0, 1, "PER", 0.54)], ["O", "B-PER"], "", plain):
    ...     print(line.plain)
      [Ana PER .54 ?] ran
    <BLANKLINE>
      ? below .7
    <BLANKLINE>
    >>> for line in shown_text(["9", "Elm"], [(0, 1, "no", 1.0), (1, 2, "road", 0.99)], [], "", plain):
    ...     print(line.plain)
      9   Elm
      no  road
      1   .99
    <BLANKLINE>
    """
    colors = color_classes([*labels, *(one[2] for one in spans)])
    below = OUTSIDE not in labels and sum(one[1] - one[0] for one in spans) == len(words) > 0
    lines = (_below if below else _in_place)(words, spans, colors, console)
    if any(one[3] < UNSURE for one in spans):
        note = f"{_INDENT}? below {limit(UNSURE)}{' - ' if second else ''}{second}"
        lines += [*([] if below else [Text()]), Text(note, "dim"), Text()]
        return lines
    return lines if below else [*lines, Text()]


def _second(words: Sequence[str], spans: Spans, rows: Any, answers: Sequence[str]) -> str:
    """Say the second best label of words that begin a doubtful segment."""
    told: list[str] = []
    for start, _, label, p in spans:
        if p < UNSURE and rows is not None and len(told) < _LISTED:
            order = sorted(range(len(answers)), key=lambda y: -rows[start][y])
            others = [y for y in order if answers[y] != label and answers[y][2:] != label]
            if others:
                told.append(
                    f"{shown(words[start])}: {shown(answers[others[0]])} {share(rows[start][others[0]])}"
                )
    return f"second best for {', '.join(told)}" if told else ""


def _in_place(words: Sequence[str], spans: Spans, colors: Mapping[str, str], console: Console) -> list[Text]:
    """Return the text with its segments marked."""
    plain = console.no_color or console.color_system is None
    text, at = Text(), 0
    for start, end, label, p in spans:
        text.append(" ".join(map(shown, [*words[at:start], ""])))
        color = "" if plain else _COLORS[colors[label].split()[0]]
        doubt = " ?" if p < UNSURE else ""
        piece = Text("[" if plain else "")
        piece.append(" ".join(map(shown, words[start:end])), f"{color} underline".strip())
        piece.append(f" {shown(label)}", f"{color} bold".strip())
        piece.append(f" {share(p)}{doubt}{']' if plain else ''}", color)
        text.append_text(piece)
        text.append(" ")
        at = end
    text.append(" ".join(map(shown, words[at:])))
    wrapped = text.wrap(console, max(console.width - 2 * len(_INDENT), 10))
    for line in wrapped:
        line.rstrip()
    return [Text(_INDENT).append_text(line) for line in wrapped]


def _below(words: Sequence[str], spans: Spans, colors: Mapping[str, str], console: Console) -> list[Text]:
    """Return words with labels and probabilities below them."""
    lines: list[Text] = []
    rows = [Text(_INDENT), Text(_INDENT), Text(_INDENT)]
    for start, end, label, p in spans:
        color = _COLORS[colors[label].split()[0]]
        cells = [
            (" ".join(map(shown, words[start:end])), ""),
            (shown(label), f"{color} bold"),
            (share(p) + (" ?" if p < UNSURE else ""), f"{color} bold" if p < UNSURE else ""),
        ]
        wide = max(cell_len(cell) for cell, _ in cells)
        if len(rows[0]) > len(_INDENT) and cell_len(rows[0].plain) + wide > console.width - len(_INDENT):
            lines += [*rows, Text()]
            rows = [Text(_INDENT), Text(_INDENT), Text(_INDENT)]
        for row, (cell, style) in zip(rows, cells, strict=True):
            row.append(cell, style)
            row.append(" " * (wide - cell_len(cell) + 2))
    for row in (made := [*lines, *rows]):
        row.rstrip()
    return [*made, Text()]
