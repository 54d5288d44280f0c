"""Errors and warnings of crfkit: all are kinds of ValueError and UserWarning.

====================  ==============================================================================
`DataError`           data that cannot be read or used: which file and line, or which sequence
`ModelFileError`      a file that does not hold a model
`SaveError`           a model that cannot be written to a file, such as one that needs a function
`UnsupportedError`    parts that do not go together; `NotCoveredError`: an optimizer or objective,
                      `MethodError`: a method of inference, that cannot do what was asked
`InfeasibleError`     a sequence or graph that has no allowed labeling
`DataWarning`         data that look different from what was meant
====================  ==============================================================================

From scikit-learn: `sklearn.exceptions.NotFittedError` and `sklearn.exceptions.ConvergenceWarning`.

Examples
--------
>>> from crfkit import errors
>>> all(issubclass(getattr(errors, name), (ValueError, UserWarning)) for name in errors.__all__)
True
"""

from __future__ import annotations

import os
import sys
import warnings

from crfkit._safe.printable import cut

__all__ = [
    "DataError",
    "DataWarning",
    "InfeasibleError",
    "MethodError",
    "ModelFileError",
    "NotCoveredError",
    "SaveError",
    "UnsupportedError",
]

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_MOST_SHOWN = 400  # letters of what is wrong: names in it may have any length
_REMEDY = "copy it again from where it came, or save the model anew"


class DataError(ValueError):
    """Data are wrong; the message says where, why, and what to do.

    Examples
    --------
    >>> error = DataError("train.txt", 7, "has 2 columns, expected 3")
    >>> error.path, error.line
    ('train.txt', 7)
    >>> print(error)
    train.txt, line 7: has 2 columns, expected 3
    """

    def __init__(self, path: str, line: int | None, what: str) -> None:
        what = cut(what, _MOST_SHOWN)
        super().__init__(path, line, what)
        self.path = path  #: name of the file; "" of data in memory
        self.line = line  #: number of the line, from 1; None where the whole file is meant
        self.what = what  #: what is wrong, and the remedy

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{place}: {self.what}" if place else self.what


class ModelFileError(ValueError):
    """A file is not a model that crfkit can read; the message says why.

    Examples
    --------
    >>> print(ModelFileError("m.crf", "is empty"))
    m.crf is empty; copy it again from where it came, or save the model anew
    """

    def __init__(self, source: str, what: str, remedy: str = _REMEDY) -> None:
        super().__init__(source, what, remedy)
        self.source, self.what, self.remedy = source, what, remedy

    def __str__(self) -> str:
        return f"{self.source} {self.what}; {self.remedy}"


class SaveError(ValueError):
    """A model cannot be saved; the message says which part, and what to do instead."""


class UnsupportedError(ValueError):
    """Two options, or an option and the data, do not go together; the message says why."""


class NotCoveredError(UnsupportedError):
    """The optimizer cannot minimize this loss, or parts of a training do not fit each other."""


class MethodError(UnsupportedError):
    """The inference method cannot answer this query, or not for this graph."""


class InfeasibleError(ValueError):
    """A sequence or a graph has no labeling that is allowed and satisfies all constraints.

    Examples
    --------
    >>> InfeasibleError(3).after(10).sequence
    13
    >>> print(InfeasibleError(3, constraints="AtLeast('a', 5)").after(10))
    sequence 13 has no labeling that keeps AtLeast('a', 5): relax it, or ask for the free answer there \
(infeasible="free", --infeasible free)
    """

    def __init__(self, sequence: int, more: int = 0, what: str = "sequence", constraints: str = "") -> None:
        others = f" (and {more} more)" if more else ""
        if constraints:
            why = (
                f"that keeps {constraints}{others}: relax it, or ask for the free answer there "
                '(infeasible="free", --infeasible free)'
            )
        else:
            why = f"above -inf{others}: relax the constraints, the allowed labels or the -inf scores"
        super().__init__(f"{what} {sequence} has no labeling {why}")
        self.sequence = sequence  #: its index
        self.more = more  #: how many others have none
        self.what = what  #: "sequence" or "graph"
        self.constraints = constraints  #: those on whole labelings that cannot be kept

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[int, int, str, str]]:
        """Return what a process of a grid search pickles."""
        return type(self), (self.sequence, self.more, self.what, self.constraints)

    def after(self, sequences: int) -> InfeasibleError:
        """Return the same error, counted from the beginning of data; this many sequences come before."""
        return InfeasibleError(self.sequence + sequences, self.more, self.what, self.constraints)


class DataWarning(UserWarning):
    """Data look suspicious; the message says why, and what to write.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DataWarning)  # in a program that wants to be sure
    """


def warn_about(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn, as if from the line of the program that called crfkit."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
