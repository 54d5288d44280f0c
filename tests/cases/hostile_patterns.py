"""Expressions, recipes and constraints that somebody wrote to take long, at random."""

from __future__ import annotations

import contextlib
import random
import sys
import time
import warnings

from crfkit._safe.expressions import Expression, compiled
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.features.dialects import parse_recipe
from crfkit.features.recipe import Dialect
from crfkit.structures.constraints import Forbid, Require, resolve
from crfkit.structures.rules import constraints_of, plain_constraints

MOST_SECONDS = 20.0  #: of the processor, for one case

_ATOMS = (
    *("a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\W", r"\b", r"\B", "^", "$"),
    *(r"\A", r"\Z", "", "é", "ß", "A", r"\d", r"\s", "[a-cÉ]"),
)
_NEW = sys.version_info >= (3, 11)  # possessive repeats and atomic groups
_TIMES = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,3}?", "{0}", "{,2}"]
if _NEW:
    _TIMES += ["*+", "++", "?+", "{1,2}+", "{2}+"]
_BEHIND = ("a", "[ab]b", "^a", r"\b", "(?=b)", "a(?!b)")


def random_expression(rng: random.Random, depth: int = 4) -> str:
    """Return an expression, right or wrong, without back-references."""
    return rng.choice(("", "", "", "(?i)", "(?s)", "(?m)", "(?x)", "(?a)")) + _expression(rng, depth)


def _expression(rng: random.Random, depth: int) -> str:
    def inner() -> str:
        return _expression(rng, depth - 1)

    kind = rng.random()
    if depth <= 0 or kind < 0.35:
        return rng.choice(_ATOMS)
    if kind < 0.55:
        return inner() + inner()
    if kind < 0.65:
        return f"(?:{inner()}|{inner()})"
    if kind < 0.7:
        return f"({inner()}|{inner()}|)"
    if kind < 0.9:
        return f"(?:{inner()}){rng.choice(_TIMES)}"
    if kind < 0.95:
        return f"{rng.choice(('(?=', '(?!'))}{inner()})"
    if kind < 0.97:
        return f"{rng.choice(('(?<=', '(?<!'))}{rng.choice(_BEHIND)})"
    if kind < 0.985:
        return f"{rng.choice(('(?i:', '(?s:', '(?m:', '(?-i:'))}{inner()})"
    return f"{'(?>' if _NEW else '(?:'}{inner()})"


def fuzz_patterns(rng: random.Random) -> None:
    """Try one hostile expression, recipe or constraint on hostile tokens: an answer or a ValueError, soon.

    Examples
    --------
    >>> fuzz_patterns(random.Random(0))
    """
    case = rng.choice((_try_expression, _try_recipe, _try_wapiti, _try_constraint, _try_text))
    state, began = rng.getstate(), time.process_time()
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        case(rng)
    took = time.process_time() - began
    assert took < MOST_SECONDS, f"{case.__name__} took {took:.0f} s with the state {state}"


def _token(rng: random.Random, most: int = 400) -> str:
    unit = rng.choice(("a", "ab", "aA1", ",", "a,", "é\u0130", '"', "\\\\", "%x[0,0]", "[ ", "1"))
    return (unit * rng.randrange(1, most))[:most] + rng.choice(("", "!", "b", "\n"))


def _nested(rng: random.Random) -> str:
    """Return an expression that backtracks."""
    made = random_expression(rng, 2)
    for _ in range(rng.randrange(4)):
        times = rng.choice(("*", "+", "{1,9}", "{0,999}", "{30}"))
        forms = (f"({made}){times}", f"({made}|{made}){times}", f"(?={made}){made}", f"({made})\\1?")
        made = rng.choice(forms)
    return made + rng.choice(("", "$", "x", "!"))


def _try_expression(rng: random.Random) -> None:
    expression, text = Expression(_nested(rng)), _token(rng, 2000)
    with contextlib.suppress(ValueError):
        expression.check_search()
        found = expression.search(text)
        assert found is None or found in text
    expression.fullmatches([text])


def _extract(text: str, dialect: Dialect, tokens: list[str]) -> None:
    recipe = parse_recipe(text, dialect)
    names = [str(i) for i in range(3)]
    columns = Columns.from_rows([[(token, token, token) for token in tokens]], names=names)
    Extractor(recipe, label=None)(columns, threads=1)


def _try_recipe(rng: random.Random) -> None:
    quoted = _nested(rng).replace('"', "").replace("\\", "\\\\")
    fields = [
        f'is(0, "{quoted}")[{rng.randrange(-9, 9)}]',
        f'regex(1, "{quoted}")[0]',
        f"ngrams(0, {rng.choice((1, 3))}, {rng.choice((2, 30, 1000))})[0]",
        "shape(2)[-1]",
        "0[-1000..1000]",
    ]
    line = " & ".join(rng.choices(fields, k=rng.choice((1, 1, 2, 9, 150))))
    _extract("\n".join([line] * rng.choice((1, 3, 30_000))), "crfkit", [_token(rng), "a", "aa"])


def _try_wapiti(rng: random.Random) -> None:
    atoms = (".", "a", r"\a", r"\W", ",", "^", "$", "*", "?")
    pattern = "".join(rng.choices(atoms, k=3)) * rng.choice((1, 10, 300, 30_000))
    _extract(f'*:%{rng.choice("mtMT")}[{rng.randrange(-9, 9)},0,"{pattern}"]', "wapiti", [_token(rng, 9000)])


def _try_constraint(rng: random.Random) -> None:
    labels = [*dict.fromkeys(_token(rng) for _ in range(rng.randrange(2, 12)))]
    pattern = compiled(_nested(rng))
    rule = rng.choice((Forbid(pair=pattern), Forbid(pattern, labels[0]), Require(labels[0], pattern)))
    resolve([rule], labels)
    constraints_of(plain_constraints([rule], labels), labels)


def _try_text(rng: random.Random) -> None:
    pieces = ["word[", "%x[0,0]", "%m[", "\\\\", '\\"', "..", *'"&;# ]()Uu0,\n']
    unit = "".join(rng.choices(pieces, k=rng.randrange(1, 6)))
    text = rng.choice(("", "U", "u:", "word[0]")) + unit * rng.choice((1, 50, 9000))
    parse_recipe(text, rng.choice((None, "crfkit", "crfpp", "wapiti")))
