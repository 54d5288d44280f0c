"""The options that say what is learned: a structure and, of segments, how gold tags become them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.models.tags import Outside
    from crfkit.structures.structure import Structure

__all__ = [
    "Asked",
    "MaxLength",
    "Order",
    "OutsideName",
    "Scheme",
    "StructureName",
    "TrainScheme",
    "structure_of",
]

StructureName = Annotated[
    str,
    typer.Option(
        "--structure",
        help="chain; local-chain: a maximum-entropy Markov model, normalized at each step; semi: labeled "
        "segments, a semi-Markov CRF; graph: what --graph describes.",
    ),
]
MaxLength = Annotated[
    str | None,
    typer.Option(
        "--max-length",
        help="Of semi: positions of the longest segment, 4, or by label, PER=4,ORG=6 (others 1); default: "
        "the longest of each label in the data.",
    ),
]
OutsideName = Annotated[
    str | None,
    typer.Option(
        "--outside",
        help="Of semi: whether each position outside of segments, O, is a segment (unit, the default) or "
        "each stretch (long), which takes time in proportion to the longest stretch.",
    ),
]
TrainScheme = Annotated[
    str | None,
    typer.Option(
        "--train-scheme",
        help="Of chains: learn other labels of segments than the data have: io, bio, bioes, or bceu (begin, "
        "continue, end, unique). Tags are written as in the data.",
    ),
]
Order = Annotated[
    int, typer.Option("--order", help="Labels before the current one that count.", min=0, max=8)
]
Scheme = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="Forbid what is not a segment in bio, iob1, bioes, bilou or bmes; of semi: how to read "
        "the tags.",
    ),
]


@dataclass(frozen=True)
class Asked:
    """What is to be learned: a structure and, of segments, how gold tags become them."""

    structure: Structure
    scheme: str | None = None
    outside: Outside = "unit"
    encoding: str | None = None  #: of the labels of a chain

    @property
    def segmental(self) -> bool:
        """Whether labels are those of segments."""
        return self.structure.segmental

    def gold(self, data: Dataset) -> Dataset:
        """Return data with the gold that the structure learns from."""
        from crfkit.models.encoding import encoded
        from crfkit.models.tags import as_segments

        if self.encoding is not None:
            return encoded(data, self.encoding)
        return as_segments(data, self.scheme, self.outside) if self.segmental else data

    def settled(self, data: Dataset) -> Structure:
        """Return the structure with the labels and lengths of data with such gold."""
        from crfkit.training.segments import settled_by

        return settled_by(self.structure, data, self.outside)


def structure_of(
    name: str,
    order: int,
    scheme: str | None,
    max_length: str | None = None,
    outside: str | None = None,
    encoding: str | None = None,
) -> Asked:
    """Return the structure of --structure, --order, --scheme, --max-length, --outside and --train-scheme.

    Examples
    --------
    >>> structure_of("chain", 2, None).structure
    Chain(labels=(), order=2, constraints=())
    >>> structure_of("semi", 1, "bio", "PER=4,O=1").structure.max_length
    {'PER': 4, 'O': 1}
    """
    from crfkit.cli.options import check_choice
    from crfkit.structures import Chain, LocalChain, SemiMarkov
    from crfkit.structures.constraints import Scheme as Rule
    from crfkit.tags import SCHEMES as NAMES

    kinds = {kind.kind: kind for kind in (Chain, LocalChain)}
    if name in ("semi", SemiMarkov.kind):
        from crfkit.tags.schemes import canonical

        if encoding is not None:
            raise ValueError("--train-scheme is for chains; semi has labels of segments: leave it out")
        if order != 1:
            raise ValueError("--order is for chains; semi looks at the label of the segment before")
        if outside not in (None, "unit", "long"):
            raise ValueError(f"--outside is {outside!r}, expected unit or long")
        lengths = None if max_length is None else lengths_of(max_length)
        read = None if scheme is None else canonical(scheme)
        return Asked(SemiMarkov(max_length=lengths), read, "long" if outside == "long" else "unit")
    if name not in kinds:
        raise ValueError(
            f"--structure is {name!r}, expected {', '.join(kinds)} or semi; graph is for crfkit train"
        )
    for option, given in (("--max-length", max_length), ("--outside", outside)):
        if given is not None:
            raise ValueError(f"{option} is for segments; give --structure semi too, or leave it out")
    if encoding is not None:
        from crfkit.models.encoding import encoding_of

        encoding = encoding_of(encoding, "--train-scheme")
    if scheme is not None:
        check_choice("--scheme", scheme, tuple(one.lower() for one in NAMES))
    chain = kinds[name](order=order, constraints=() if scheme is None else (Rule(scheme.upper()),))
    return Asked(chain, encoding=encoding)


def lengths_of(text: str) -> int | dict[str, int]:
    """Return what --max-length says: one length, or one for each label.

    Examples
    --------
    >>> lengths_of("4"), lengths_of("PER=4,ORG=6")
    (4, {'PER': 4, 'ORG': 6})
    """
    parts = [part.rpartition("=") for part in text.split(",")]
    named = [bool(equals) for _, equals, _ in parts]
    whole = all(number.isdigit() and int(number) > 0 for *_, number in parts)
    if (
        not whole
        or (any(named) and not (all(named) and all(name for name, *_ in parts)))
        or (not any(named) and len(parts) > 1)
    ):
        raise ValueError(
            f"--max-length is {text!r}, expected a number of 1 or more, as 4, or one for each label, as "
            "PER=4,O=1"
        )
    return {name: int(number) for name, _, number in parts} if any(named) else int(parts[0][2])
