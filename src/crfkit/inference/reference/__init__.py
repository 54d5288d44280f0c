"""The same queries without kernels: by enumeration, and as the textbooks write them.

For tests, for teaching, and for anyone who doubts an answer.

Examples
--------
>>> from crfkit import Chain, inference
>>> from crfkit.inference.reference import Enumeration, Textbook
>>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
>>> exact = inference.log_partition(scores)
>>> [round(other.log_partition - exact, 12) for other in (Enumeration(scores), Textbook(scores))]
[0.0, 0.0]
"""

from crfkit.inference.reference.enumeration import Enumeration, enumerate_labelings
from crfkit.inference.reference.textbook import Textbook

__all__ = ["Enumeration", "Textbook", "enumerate_labelings"]
