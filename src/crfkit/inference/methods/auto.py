"""The method that is used where none is named."""

from crfkit.inference.methods.enumeration import Enumeration as Auto

__all__ = ["Auto"]
