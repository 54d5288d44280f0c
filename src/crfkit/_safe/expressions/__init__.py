r"""Regular expressions of strangers, run by Python's `re`: those that could take long are refused by name.

`re` goes back and tries again: ``(a+)+$`` takes it 2^n steps on n letters. So the most steps that it can take
on a text are foreseen from the expression alone (`crfkit._safe.expressions.parts`). An expression that is
searched for may take at most `MOST_RATE` steps for each character of a text of up to `LONG` characters, all
expressions of a recipe together; a longer text is refused where it would take more. One that is matched with
known texts, as patterns of constraints are with labels, may take at most `MOST_STEPS` on the longest.
"""

from crfkit._safe.expressions.expression import (
    LONG,
    LONGEST,
    MOST_RANGES,
    MOST_RATE,
    MOST_STEPS,
    Expression,
    compiled,
    expression_of,
)
from crfkit._safe.expressions.parser import MOST_NESTED

__all__ = [
    "LONG",
    "LONGEST",
    "MOST_NESTED",
    "MOST_RANGES",
    "MOST_RATE",
    "MOST_STEPS",
    "Expression",
    "compiled",
    "expression_of",
]
