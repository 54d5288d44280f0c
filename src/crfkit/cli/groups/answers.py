"""Answers: what is printed of each sequence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from crfkit.cli.groups.compose import option
from crfkit.cli.groups.constraints import Keeping

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

_option = partial(option, "Answers")
_WORDS = ("columns", "labels", "spans", "proba")


@dataclass(frozen=True)
class Answers(Keeping):
    """What to print of each sequence, as it was given on the command line.

    Examples
    --------
    >>> Answers(print="spans,proba").proba, Answers().proba
    (True, False)
    """

    print: Annotated[
        str,
        _option(
            "--print",
            metavar="WHAT",
            help="columns: the input with the label in a further column; labels: labels alone; spans: one "
            "segment per line; proba: columns and the probability of every label, as "
            "label/probability; spans,proba: segments with their probabilities. Default: columns; on "
            "a terminal, segments in color.",
        ),
    ] = ""
    kbest: Annotated[
        int | None, _option("--kbest", "-k", help="Print the K best label sequences.", min=1)
    ] = None
    given: Annotated[
        bool, _option("--given", help="Keep the labels that the input already has, and predict the others.")
    ] = False
    force: Annotated[
        bool,
        _option("--force", help="Label the data even if the model knows almost none of their attributes."),
    ] = False

    @property
    def words(self) -> frozenset[str]:
        """What is printed."""
        return frozenset(word.strip() for word in (self.print or "columns").split(","))

    @property
    def plain(self) -> bool:
        """Whether nothing but the best labels is asked for, in no special form."""
        return not (self.print or self.kbest or self.given)

    @property
    def labels_only(self) -> bool:
        """Whether the columns of the input are left out."""
        return "labels" in self.words

    @property
    def spans(self) -> bool:
        """Whether segments are printed."""
        return "spans" in self.words

    @property
    def proba(self) -> bool:
        """Whether probabilities are printed: of labels, or of segments."""
        return "proba" in self.words

    def check(self, as_json: bool) -> None:
        """Refuse words that do not exist, or do not go together."""
        if not self.words <= {*_WORDS} or not self.words:
            raise ValueError(f"--print is {self.print!r}, expected {', '.join(_WORDS)} or spans,proba")
        if len(self.words - {"proba"}) > 1:
            raise ValueError(f"--print is {self.print!r}; give one of columns, labels and spans")
        if self.kbest is not None and self.proba:
            raise ValueError("--print proba is of positions and --kbest of whole labelings; give one of them")
        if self.kbest is not None and self.spans and not as_json:
            raise ValueError("--kbest with --print spans is printed as JSON; give --json too")
        if self.labels_only and self.proba and not as_json:
            raise ValueError("--print labels prints only labels; leave it out to see probabilities")

    def check_page(self) -> None:
        """Refuse what a page of the best labels does not have."""
        if self.kbest or self.given or self.words != {"columns"}:
            raise ValueError("--html shows the best segments; leave --kbest, --given and --print out")

    def check_model(self, model: SequenceModel) -> None:
        """Refuse what constraints on whole labelings do not go with."""
        if model.constraints and (self.kbest or self.proba):
            given = "--kbest" if self.kbest else "--print proba"
            raise ValueError(
                f"{given} does not know constraints on whole labelings (--constraint, or those of the "
                f"model): leave {given} or the constraints out"
            )
