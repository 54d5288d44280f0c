r"""Regular expressions of strangers, run by Python's `re`: those that could take long are refused by name.

`re` goes back and tries again: ``(a+)+$`` takes it 2^n steps on n letters. So the most steps that it can take
on a text are foreseen from the expression alone (`crfkit.expressions.parts`). An expression that is searched
for in texts of any length may take so many for each of their characters, all expressions of a recipe together
(`MOST_RATE`); one that is matched with known texts, as patterns of constraints are with labels, so many on
the longest (`MOST_STEPS`).
"""

from crfkit.expressions.expression import (
    LONGEST,
    MOST_RANGES,
    MOST_RATE,
    MOST_STEPS,
    Expression,
    compiled,
    expression_of,
)
from crfkit.expressions.parser import MOST_NESTED

__all__ = [
    "LONGEST",
    "MOST_NESTED",
    "MOST_RANGES",
    "MOST_RATE",
    "MOST_STEPS",
    "Expression",
    "compiled",
    "expression_of",
]
