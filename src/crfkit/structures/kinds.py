"""Structures that can be trained, by the names that users write and files hold: a new one is a line here."""

from __future__ import annotations

from collections.abc import Sequence

from crfkit._safe.printable import quoted
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.segments.semimarkov import SemiMarkov
from crfkit.structures.structure import Structure

STRUCTURES: dict[str, type[Structure]] = {one.kind: one for one in (Chain, LocalChain, SemiMarkov)}


def structure_from(plain: object, labels: Sequence[str]) -> Structure:
    """Return the structure that its `to_dict` described, over these labels.

    Examples
    --------
    >>> structure_from({"kind": "chain", "order": 2, "constraints": []}, ["a", "b"])
    Chain(labels=('a', 'b'), order=2, constraints=())
    >>> structure_from({"kind": "ring"}, ["a"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: the structure is of kind 'ring', this version knows chain, ...: use a newer crfkit
    """
    if not isinstance(plain, dict):
        raise ValueError("the structure is not described")
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in STRUCTURES:
        raise ValueError(
            f"the structure is of kind {quoted(str(kind))}, this version knows {', '.join(STRUCTURES)}: "
            "use a newer crfkit"
        )
    return STRUCTURES[kind].of_dict(plain, labels)
