"""The parser and compiler of Python's `re`, which have no public name."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeGuard

__all__ = ["UNLIMITED", "Item", "Tree", "Wraps", "is_tree", "parsed", "single"]

Item: TypeAlias = tuple[Any, Any]  #: an operation and what belongs to it, as `re` parses them
Wraps: TypeAlias = tuple[tuple[int, int], ...]  #: flags that enclosing groups add and take away

_NEW = sys.version_info >= (3, 11)
_parser: Any = import_module("re._parser" if _NEW else "sre_parse")
_compiler: Any = import_module("re._compiler" if _NEW else "sre_compile")

UNLIMITED = int(_parser.MAXREPEAT)  #: the highest count of a repeat without an end


class Tree(Protocol):
    """A parsed expression, or a part of it."""

    state: Any

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Item: ...
    def getwidth(self) -> tuple[int, int]:
        """Return the fewest and most characters that it matches."""


def parsed(pattern: str | re.Pattern[str]) -> Tree:
    """Return the tree of an expression.

    Examples
    --------
    >>> [item[0].name for item in parsed("a.")]
    ['LITERAL', 'ANY']
    """
    if isinstance(pattern, str):
        tree: Tree = _parser.parse(pattern)
    else:
        tree = _parser.parse(pattern.pattern, pattern.flags)
    return tree


def is_tree(value: object) -> TypeGuard[Tree]:
    """Return whether a part of an item is a tree; to ask a protocol takes ten times as long."""
    return isinstance(value, _parser.SubPattern)


def single(item: Item, state: Any, wraps: Wraps) -> re.Pattern[str]:
    """Return an expression of one item, with the flags of the groups that it is in."""
    tree = _parser.SubPattern(state, [item])
    for added, removed in reversed(wraps):
        tree = _parser.SubPattern(state, [(_parser.SUBPATTERN, (None, added, removed, tree))])
    pattern: re.Pattern[str] = _compiler.compile(tree)
    return pattern
