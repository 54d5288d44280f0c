"""Methods for graphs: how queries of `crfkit.inference` are answered, as ``method=``.

=================  ==============================================================================
`Auto`             exact where that is cheap, else the best that is known for the graph; the default
`Elimination`      exact: variables are summed out one by one, as long as the tables fit the budget
`Enumeration`      every labelling is scored: exact, for a few variables
=================  ==============================================================================
"""

from crfkit.inference.methods.auto import Auto
from crfkit.inference.methods.elimination import Elimination, TooWideError
from crfkit.inference.methods.enumeration import Enumeration
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Method, MethodError

__all__ = ["Auto", "Elimination", "Enumeration", "How", "Method", "MethodError", "TooWideError"]
