"""Requests and answers of the service: what JSON has, with its types; `crfkit.web.openapi` publishes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

__all__ = ["Alternative", "CompareAnswer", "Compared", "ExplainAnswer", "ExplainRequest", "Line", "ModelName"]
__all__ += ["Result", "TagAnswer", "TagOptions", "TagRequest", "TextSpan"]


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


#: Features of a position: names, or names with values.
Item = dict[str, float | str | bool] | list[str]
#: A sequence in columns: of each name, the values of all positions.
Columns = dict[str, list[str]]
#: A span or label that is known: [text, start, end, label] or [sequence, position, label].
Mark = list[int | str]


class TagOptions(msgspec.Struct, forbid_unknown_fields=True):
    """What a request asks for beside labels; of streams, parameters of the URL."""

    labels: Annotated[
        bool | None, _about("Give a label for each token; default: where tokens were given.")
    ] = None
    spans: Annotated[
        bool | None, _about("Give spans with their probabilities; default: where texts were given.")
    ] = None
    probabilities: Annotated[
        Literal["none", "best", "all"],
        _about("Probabilities of the labels that won, of all labels, or none."),
    ] = "none"
    kbest: Annotated[int, _about("How many of the best labelings to give.")] = 0
    constraints: Annotated[
        list[str] | None, _about("Such as 'once:all', 'at-most:PER:1', 'before:author,title'.")
    ] = None
    infeasible: Annotated[Literal["raise", "free"], _about("Where no labeling keeps the constraints.")] = (
        "raise"
    )
    offsets: Annotated[Literal["codepoint", "utf16", "byte"], _about("What offsets in texts count.")] = (
        "codepoint"
    )


class TagRequest(TagOptions, forbid_unknown_fields=True):
    """Texts or sequences to label: one of text, texts, tokens, columns and items."""

    text: Annotated[str | None, _about("One raw text, where the model has a tokenizer.")] = None
    texts: Annotated[list[str] | None, _about("Several raw texts.")] = None
    tokens: Annotated[list[list[str]] | None, _about("Sequences of words.")] = None
    columns: Annotated[list[Columns] | None, _about("Sequences as a list of values for each column.")] = None
    items: Annotated[
        list[list[Item]] | None, _about("Sequences of features: names, or names with values.")
    ] = None
    fixed: Annotated[
        list[Mark] | None, _about("What is known: [text, start, end, label] or [sequence, position, label].")
    ] = None


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a stream: one text or sequence."""

    id: Annotated[Any, _about("Comes back with the answer.")] = None
    text: str | None = None
    tokens: list[str] | None = None
    columns: Columns | None = None
    items: list[Item] | None = None


class TextSpan(msgspec.Struct, omit_defaults=True):
    """A labeled segment; the probability is that of exactly these ends and this label."""

    start: int
    end: int
    label: str
    probability: float | None = None
    text: str | None = None


class Alternative(msgspec.Struct, omit_defaults=True):
    """One of the k best labelings."""

    probability: float
    labels: list[str]
    spans: list[TextSpan] | None = None


class Result(msgspec.Struct, omit_defaults=True):
    """The answer to one text or sequence."""

    id: Any = None
    tokens: Annotated[list[list[int]] | None, _about("Where the tokens of a text begin and end.")] = None
    labels: list[str] | None = None
    spans: list[TextSpan] | None = None
    probability: Annotated[float | None, _about("How probable the whole labeling is.")] = None
    probabilities: Annotated[list[float | dict[str, float]] | None, _about("For each token.")] = None
    alternatives: list[Alternative] | None = None


class ModelName(msgspec.Struct):
    """Which model answered; the version is a digest of its file."""

    name: str
    version: str


class TagAnswer(msgspec.Struct):
    """The answer to a request: a result for each text or sequence, in order."""

    model: ModelName
    results: list[Result]


class Compared(msgspec.Struct):
    """What two models say of one text or sequence."""

    same: bool
    first: Result
    second: Result


class CompareAnswer(msgspec.Struct):
    """What two models say."""

    models: list[ModelName]
    same: Annotated[float, _about("The share of texts or sequences that both answer alike.")]
    results: list[Compared]


class ExplainRequest(msgspec.Struct, forbid_unknown_fields=True):
    """One text or sequence whose labels are to be explained."""

    text: str | None = None
    tokens: list[str] | None = None
    columns: Columns | None = None
    items: list[Item] | None = None
    at: Annotated[int | None, _about("A position, from 0; default: all.")] = None
    top: Annotated[int, _about("Contributions of each decision.")] = 20


class ExplainAnswer(msgspec.Struct):
    """Why labels won: what each weight adds to the difference from the runner-up."""

    model: ModelName
    tokens: list[str]
    decisions: list[dict[str, Any]]
