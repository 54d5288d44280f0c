"""Templates of transitions without fields (CRF++'s ``B``, Wapiti's ``b`` and ``*``): plain transitions.

Foreign files keep their weights under a name, as those of any other string. Here they are the table of all
steps, and the name is an edge attribute only where a template with fields could make the same string.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit.arrays import Bools
from crfkit.features.recipe import Recipe, Template
from crfkit.models.model import SequenceModel

_MOST_WORK = 20_000_000  # letters of strings times templates that are compared


def plain_transitions(recipe: Recipe | None) -> dict[str, int]:
    r"""Return the strings of templates that make plain transitions, and how often each stands there.

    Examples
    --------
    >>> from crfkit.features.crfpp import parse_crfpp
    >>> plain_transitions(parse_crfpp("U00:%x[0,0]\nB\nB\nB01:%x[0,0]"))
    {'B': 2}
    """
    found: dict[str, int] = {}
    for template in recipe.templates if recipe is not None else ():
        if template.kind in ("edge", "both") and not template.fields:
            found[template.literals[0]] = found.get(template.literals[0], 0) + 1
    return found


def edge_strings(recipe: Recipe | None, names: Sequence[str]) -> Bools:
    r"""Return which strings of transitions are edge attributes: [names]. Without a recipe all are.

    Examples
    --------
    >>> from crfkit.features.crfpp import parse_crfpp
    >>> edge_strings(parse_crfpp("B\nB01:%x[0,0]"), ["B", "B01:dog"]).tolist()
    [False, True]
    """
    if recipe is None:
        return np.ones(len(names), dtype=np.bool_)
    plain, made = plain_transitions(recipe), _with_fields(recipe)
    if not made:
        return np.zeros(len(names), dtype=np.bool_)
    if sum(len(name) + 20 for name in plain) * len(made) > _MOST_WORK:
        raise ValueError(f"it has {len(recipe.templates):,} templates, which are too many")
    idle = {name for name in plain if not any(_makes(template, name) for template in made)}
    return np.array([name not in idle for name in names], dtype=np.bool_)


def with_steps(
    model: SequenceModel, lines: Sequence[str], others: Sequence[str]
) -> tuple[list[str], str | None]:
    """Return the lines of the model's templates for a file, and the string that has the weights of all steps.

    The string stands there once for a step, and for nothing else: one of the recipe's own, or else one of
    `others`, which becomes a line. Other lines of plain transitions count for nothing and are left out. None:
    the model has no plain transitions.
    """
    recipe, part = model.recipe, model.layout.parts["transition"]
    assert recipe is not None
    plain, made = plain_transitions(recipe), _with_fields(recipe)
    both = [t.literals[0] for t in recipe.templates if t.kind == "both" and not t.fields]
    kept = [line for line in lines if line not in plain or line in both]
    if not model.layout.order or not (plain or model.w[part].any()):
        return kept or list(lines), None
    names = [name for name in plain if not (name in both and plain[name] > 1)]
    names += [name for name in others if name not in plain]
    steps = next((name for name in names if not any(_makes(template, name) for template in made)), None)
    if steps is None:
        raise ValueError(
            "the templates of the model leave no string for plain transitions; train with one for them, such "
            f"as {others[0]}, that no other template makes"
        )
    if steps not in kept:
        before = lines.index(steps) if steps in lines else len(lines)
        kept.insert(sum(line in kept for line in lines[:before]), steps)
    return kept, steps


def _with_fields(recipe: Recipe) -> list[Template]:
    """Return the templates of transitions that have fields."""
    return [
        template for template in recipe.templates if template.kind in ("edge", "both") and template.fields
    ]


def _makes(template: Template, name: str) -> bool:
    """Return whether a template with fields could make a string; only a match of Wapiti's may be empty."""
    first, *rest = template.literals
    least = [0 if field.view == "match" else 1 for field in template.fields]
    if not name.startswith(first):
        return False
    at = len(first)
    for size, literal in zip(least[:-1], rest[:-1], strict=True):
        found = name.find(literal, at + size)  # the leftmost leaves most to the others
        if found < 0:
            return False
        at = found + len(literal)
    return name.endswith(rest[-1]) and len(name) - len(rest[-1]) >= at + least[-1]
