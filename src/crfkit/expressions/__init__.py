r"""Regular expressions of strangers on texts of strangers, at a cost that is bounded.

Syntax and answers are those of Python's `re`, which goes back and tries again: ``(a+)+$`` takes it 2^n steps
on n letters. So an `Expression` foresees the most steps that `re` can take on a text of so many characters
(`crfkit.expressions.costs`). Where these are few, `re` does it: that is so for words and all common
expressions. Where they are many, the expression becomes a program (`crfkit.expressions.program`) that is run
once over the text, from its end (`crfkit.expressions.sweep`), in states x characters steps. Back-references
and conditions have no program; texts on which `re` could take more than `MOST_STEPS` steps are refused.
"""

from crfkit.expressions.expression import (
    LONGEST,
    MOST_RANGES,
    MOST_STEPS,
    Expression,
    compiled,
    expression_of,
)

__all__ = ["LONGEST", "MOST_RANGES", "MOST_STEPS", "Expression", "compiled", "expression_of"]
