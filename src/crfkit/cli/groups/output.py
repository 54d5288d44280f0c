"""Output: where results go, how they look, and how many threads find them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from crfkit.cli.groups.compose import option

__all__ = ["AsJson", "Compact", "Jobs", "Kept", "License", "ModelOutput", "Notes", "Output", "Running"]

_option = partial(option, "Output")

AsJson = Annotated[bool, _option("--json", help="Print JSON.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="Print only results and errors.")]
Jobs = Annotated[int | None, _option("--jobs", "-j", help="Threads; default: all cores.", min=1)]
ModelOutput = Annotated[str, _option("--output", "-o", help="The model file to write.")]
Compact = Annotated[bool, _option("--compact", help="Leave weights of zero out of the file.")]
Notes = Annotated[str | None, _option("--notes", help="Free text that goes with the model.")]
License = Annotated[str | None, _option("--license", help="Terms of the model: CC-BY-4.0, or any text.")]


@dataclass(frozen=True)
class Output:
    """How results are printed.

    Examples
    --------
    >>> Output(quiet=True).as_json
    False
    """

    as_json: AsJson = False
    quiet: Quiet = False


@dataclass(frozen=True)
class Running(Output):
    """How results are found and printed.

    Examples
    --------
    >>> Running(jobs=2).jobs
    2
    """

    jobs: Jobs = None


@dataclass(frozen=True)
class Kept(Running):
    """What is written of a model.

    Examples
    --------
    >>> Kept(notes="by hand").texts
    {'notes': 'by hand', 'license': ''}
    """

    compact: Compact = False
    notes: Notes = None
    license: License = None

    @property
    def texts(self) -> dict[str, str]:
        """What people say of the model, as `Model.save` takes it."""
        return {"notes": self.notes or "", "license": self.license or ""}
