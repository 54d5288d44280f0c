"""Output: where results go, how they look, and how many threads find them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from crfkit.cli.groups.compose import option

_option = partial(option, "Output")

AsJson = Annotated[bool, _option("--json", help="Print JSON.")]
AsHtml = Annotated[bool, _option("--html", help="Print a page of pictures, as HTML.")]
Quiet = Annotated[bool, _option("--quiet", "-q", help="Print only results and errors.")]
Jobs = Annotated[int | None, _option("--jobs", "-j", help="Number of threads. Default: all cores.", min=1)]
ModelOutput = Annotated[str, _option("--output", "-o", help="The model file to write.")]
Report = Annotated[
    str | None, _option("--report", help="Write training curves, transitions and features to this HTML file.")
]


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
class Showing(Running):
    """How results are found and printed, by commands that print pages too.

    Examples
    --------
    >>> Showing(as_html=True).as_json
    False
    """

    as_html: AsHtml = False

    def check(self) -> None:
        """Refuse two forms at once."""
        if self.as_html and self.as_json:
            raise ValueError("--html and --json are two forms of the answer; give one of them")


@dataclass(frozen=True)
class Saving:
    """How a model is written to a file.

    Examples
    --------
    >>> Saving(float32=True).keywords["dtype"]
    'float32'
    """

    compact: Annotated[bool, _option("--compact", help="Leave weights that are 0 out of the file.")] = False
    float32: Annotated[bool, _option("--float32", help="Round weights to half the size.")] = False
    notes: Annotated[str | None, _option("--notes", help="Free text to store with the model.")] = None
    license: Annotated[
        str | None, _option("--license", help="License of the model: CC-BY-4.0, or any text.")
    ] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `Model.save`."""
        dtype = "float32" if self.float32 else "float64"
        return {"dtype": dtype, "compact": self.compact, "notes": self.notes, "license": self.license}
