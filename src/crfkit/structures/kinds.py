"""The kinds of structures by name, as model files have them; a new one is a line in this table."""

from __future__ import annotations

from collections.abc import Sequence

from crfkit.structures.chain import Chain
from crfkit.structures.local import LocalChain

__all__ = ["KINDS", "structure_of"]

KINDS: dict[str, type[Chain]] = {one.kind: one for one in (Chain, LocalChain)}


def structure_of(plain: object, labels: Sequence[str]) -> Chain:
    """Return the structure that its `to_dict` described, over these labels.

    Examples
    --------
    >>> structure_of({"kind": "chain", "order": 2, "constraints": []}, ["a", "b"])
    Chain(labels=('a', 'b'), order=2, constraints=())
    >>> structure_of({"kind": "ring"}, ["a"])
    Traceback (most recent call last):
        ...
    ValueError: the structure is of kind 'ring', this version knows chain, local-chain: use a newer crfkit
    """
    if not isinstance(plain, dict):
        raise ValueError("the structure is not described")
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"the structure is of kind {str(kind)[:80]!r}, this version knows {', '.join(KINDS)}: "
            "use a newer crfkit"
        )
    return KINDS[kind].of_dict(plain, labels)
