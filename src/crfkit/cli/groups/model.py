"""Model: what is learned, a structure, its weights and, of segments, how gold tags become them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from crfkit.cli.groups.compose import option

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.features import Extractor
    from crfkit.linear.features import FeatureSelection as Selection
    from crfkit.models.tags import Outside
    from crfkit.structures.structure import Structure

_option = partial(option, "Model")

InferenceMethod = Annotated[
    str | None, _option("--inference-method", help="Inference method for graphs: {methods}.")
]


@dataclass(frozen=True)
class Model:
    """What is learned, as it was given on the command line.

    Examples
    --------
    >>> Model(order=2).target.structure.order
    2
    """

    structure: Annotated[
        str,
        _option(
            "--structure",
            help="chain; local-chain: a maximum-entropy Markov model, normalized at each step; semi: labeled "
            "segments, a semi-Markov CRF; graph (crfkit train only): what --graph describes.",
        ),
    ] = "chain"
    order: Annotated[
        int, _option("--order", help="How many previous labels each label depends on.", min=0, max=8)
    ] = 1
    max_length: Annotated[
        str | None,
        _option(
            "--max-length",
            help="For semi: longest segment in positions, as in 4, or for each label, as in PER=4,ORG=6 "
            "(other labels: 1). Default: the longest of each label in the data.",
        ),
    ] = None
    outside: Annotated[
        str | None,
        _option(
            "--outside",
            help="For semi: whether each position outside of segments is a segment of its own (unit, the "
            "default) or each stretch of O is one (long, slower).",
        ),
    ] = None
    scheme: Annotated[
        str | None,
        _option(
            "--scheme",
            help="Forbid tags that are invalid in this scheme: {schemes}. For semi: how to read the tags.",
        ),
    ] = None
    selection: Annotated[
        str,
        _option(
            "--selection", help="Which pairs of attribute and label get a weight: observed, all, likely."
        ),
    ] = "observed"
    transitions: Annotated[
        str | None,
        _option(
            "--transitions",
            help="Which pairs of labels get a weight: all, observed (fast with hundreds of labels) or "
            "none. Default: all; with a CRF++ or Wapiti template, what its B lines request.",
        ),
    ] = None
    min_count: Annotated[
        float,
        _option("--min-count", help="Drop pairs of attribute and label that occur less often.", min=0.0),
    ] = 0.0

    @property
    def recoded(self) -> str | None:
        """The scheme that a chain learns instead of that of the data."""
        return None

    @property
    def target(self) -> LearningTarget:
        """The structure, and how gold tags become its labels."""
        return structure_of(
            self.structure, self.order, self.scheme, self.max_length, self.outside, self.recoded
        )

    @property
    def kept(self) -> Selection:
        """Which pairs of attribute and label have weights; transitions are not among them yet."""
        from crfkit.linear.features import FeatureSelection

        if self.selection not in ("observed", "all", "likely"):
            raise ValueError(f"--selection is {self.selection!r}, expected observed, all or likely")
        if self.transitions not in (None, "all", "observed", "none"):
            raise ValueError(f"--transitions is {self.transitions!r}, expected all, observed or none")
        return replace(FeatureSelection.of(self.selection), min_count=self.min_count)

    def weights(self, extract: Extractor | None) -> Selection:
        """Return which weights there are: transitions as given, or as templates ask for them."""
        from crfkit.cli.recipes import transitions_of

        made: Any = transitions_of(extract) if self.transitions is None else self.transitions
        return replace(self.kept, transitions=made)


@dataclass(frozen=True)
class RecodedModel(Model):
    """What is learned, with labels of another scheme than the data have.

    Examples
    --------
    >>> RecodedModel(train_scheme="bioes").target.encoding
    'BIOES'
    """

    train_scheme: Annotated[
        str | None,
        _option(
            "--train-scheme",
            help="For chains: train on tags of another scheme than the data have: {trained} (begin, "
            "continue, end, unique). Predictions use the scheme of the data.",
        ),
    ] = None

    @property
    def recoded(self) -> str | None:
        """The scheme that a chain learns instead of that of the data."""
        return self.train_scheme


@dataclass(frozen=True)
class AnyModel(RecodedModel):
    """What is learned, graphs among it.

    Examples
    --------
    >>> AnyModel(structure="graph", graph="g.txt").check()
    """

    graph: Annotated[
        str | None,
        _option(
            "--graph",
            help="For graph: a file that describes kinds and cliques. See docs/how-to/graphs-files.md.",
        ),
    ] = None
    inference_method: InferenceMethod = None

    def check(self) -> None:
        """Refuse options of graphs for what is none."""
        if self.structure != "graph" and (self.graph is not None or self.inference_method is not None):
            raise ValueError(
                "--graph and --inference-method are for --structure graph; give it, or leave them out"
            )


@dataclass(frozen=True)
class LearningTarget:
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
) -> LearningTarget:
    """Return the structure of --structure, --order, --scheme, --max-length, --outside and --train-scheme.

    Examples
    --------
    >>> structure_of("chain", 2, None).structure
    Chain(labels=(), order=2, constraints=())
    >>> structure_of("semi", 1, "bio", "PER=4,O=1").structure.max_length
    {'PER': 4, 'O': 1}
    """
    from crfkit.cli.messages import check_choice
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
        return LearningTarget(SemiMarkov(max_length=lengths), read, "long" if outside == "long" else "unit")
    if name not in kinds:
        raise ValueError(
            f"--structure is {name!r}, expected {', '.join(kinds)} or semi; graph is for crfkit train"
        )
    for flag, given in (("--max-length", max_length), ("--outside", outside)):
        if given is not None:
            raise ValueError(f"{flag} is for segments; give --structure semi too, or leave it out")
    if encoding is not None:
        from crfkit.models.encoding import encoding_of

        encoding = encoding_of(encoding, "--train-scheme")
    if scheme is not None:
        check_choice("--scheme", scheme, tuple(one.lower() for one in NAMES))
    chain = kinds[name](order=order, constraints=() if scheme is None else (Rule(scheme.upper()),))
    return LearningTarget(chain, encoding=encoding)


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
