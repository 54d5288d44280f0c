"""How many columns a model reads: as many as in training, with or without the labels.

Columns that go by their numbers mean something else where there are more or fewer of them: a sentence on one
line would be one token. Columns that a recipe finds by name may stand among any others.
"""

from __future__ import annotations

from crfkit._safe.printable import counted
from crfkit.data.dataset import ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.errors import DataError


def widths(made_by: ExtractorSpec) -> tuple[int, ...]:
    """Return the numbers of columns that data may have; none where that of training is not known.

    Examples
    --------
    >>> from crfkit.features import Recipe
    >>> widths(ExtractorSpec(Recipe.parse("0[0]"), -1, width=2))
    (1, 2)
    >>> widths(ExtractorSpec(Recipe.parse("0[0]; 1[0]"), width=2))  # labels came from elsewhere
    (2, 3)
    """
    width, label = made_by.width, made_by.label_column
    if width is None or made_by.recipe is None:
        return ()
    last = width - 1
    bare = width > 1 and str(last) not in made_by.recipe.columns
    bare = bare and (not isinstance(label, int) or label in (-1, last))
    return (*((width - 1,) if bare else ()), width, *((width + 1,) if label is None else ()))


def check_width(
    columns: Columns, made_by: ExtractorSpec | None, who: str, trained: str = "was trained on"
) -> None:
    """Refuse columns that are more or fewer than those of training, unless all are found by name."""
    recipe = None if made_by is None else made_by.recipe
    if made_by is None or recipe is None:
        return
    fine = widths(made_by)
    found = len(columns.names)
    named = all(not name.isdigit() and name in columns.names for name in recipe.columns)
    if not fine or found in fine or named:
        return
    what = (
        f"has {counted(found, 'column')}, but {who} {trained} {made_by.width}, so that "
        f"{' or '.join(map(str, fine))} can be read"
    )
    if not columns.source:
        raise ValueError(f"X {what}; give tokens with the columns of training")
    what += (
        "; write one token to a line, with the columns of training, or give separator (--separator) where "
        "something else lies between them"
    )
    raise DataError(columns.source, columns.lines.of(0) if columns.lines and len(columns) else None, what)
