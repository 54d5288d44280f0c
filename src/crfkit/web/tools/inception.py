"""INCEpTION's external recommenders, at ``/inception/MODEL``: a CAS comes in, and goes out with suggestions.

``POST /predict`` adds an annotation of the layer for each span, with its probability as the score and the
features that spoke for it as the explanation. ``POST /train`` answers 204 and trains from behind; it answers
429 meanwhile (--train-folder). Sentences and tokens are those of the document. Needs dkpro-cassis:
``pip install 'crfkit[inception]'``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from crfkit.text.doc import Doc
from crfkit.web.models import Loaded
from crfkit.web.problems import Problem
from crfkit.web.reading import decoded, whole_body
from crfkit.web.routes import model_of, need, noted
from crfkit.web.state import State
from crfkit.web.tools.learning import Learner

__all__ = ["inception_routes", "suggested"]

_TOKEN: Final = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token"
_SENTENCE: Final = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
_PREDICTED: Final = "inception_internal_predicted"
_DECLARED = re.compile(r"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_EXPLAINED = 200  # spans of a document: each takes milliseconds
_REASONS = 3


class _Meta(msgspec.Struct):
    layer: str
    feature: str


class _Document(msgspec.Struct, rename="camel"):
    xmi: str
    document_id: int | str = ""
    user_id: str = ""


class _Predict(msgspec.Struct, rename="camel"):
    metadata: _Meta
    document: _Document
    type_system: str


class _Train(msgspec.Struct, rename="camel"):
    metadata: _Meta
    documents: list[_Document]
    type_system: str


def _opened(document: _Document, types: str) -> Any:
    """Return a document as a CAS; refuse what declares entities."""
    import cassis

    if _DECLARED.search(document.xmi) or _DECLARED.search(types):
        raise Problem(422, "the document declares a DOCTYPE or entities, which are not read")
    try:
        system = cassis.load_typesystem(types)
        return cassis.load_cas_from_xmi(document.xmi, typesystem=system)
    except Exception as error:  # cassis and lxml raise what they come upon
        raise Problem(422, f"the document is not a CAS in XMI: {type(error).__name__}") from None


def _sentences(cas: Any) -> Iterator[list[tuple[int, int]]]:
    """Yield the offsets of the tokens of each sentence."""
    names = {one.name for one in cas.typesystem.get_types()}
    if _TOKEN not in names:
        return
    if _SENTENCE not in names or not (sentences := cas.select(_SENTENCE)):
        yield [(one.begin, one.end) for one in cas.select(_TOKEN)]
        return
    for sentence in sentences:
        yield [(one.begin, one.end) for one in cas.select_covered(_TOKEN, sentence)]


def suggested(loaded: Loaded, given: _Predict) -> dict[str, str]:
    """Return the document with suggestions."""
    cas = _opened(given.document, given.type_system)
    layer, feature = given.metadata.layer, given.metadata.feature
    try:
        kind = cas.typesystem.get_type(layer)
    except Exception:
        raise Problem(422, f"the type system has no layer {layer!r:.80}", {"field": "metadata"}) from None
    fields = {one.name for one in kind.all_features}
    if feature not in fields:
        raise Problem(422, f"the layer has no feature {feature!r:.80}", {"field": "metadata"})
    text, left = cas.sofa_string or "", _EXPLAINED
    for tokens in _sentences(cas):
        words = [text[a:b] for a, b in tokens]
        for span in loaded.tagger.predict_spans(words) if words else ():
            own: dict[str, Any] = {
                feature: span.label,
                f"{feature}_score": span.probability,
                _PREDICTED: True,
            }
            if f"{feature}_score_explanation" in fields and left:
                left -= 1
                own[f"{feature}_score_explanation"] = _reasons(loaded, words, span.start)
            begin, end = tokens[span.start][0], tokens[span.end - 1][1]
            cas.add(kind(begin=begin, end=end, **{name: own[name] for name in own if name in fields}))
    return {"document": cas.to_xmi()}


def _reasons(loaded: Loaded, words: list[str], at: int) -> str:
    """Return what spoke most for the label of a token."""
    [decision] = loaded.model.explain(words, at, threads=1)
    most = [one for one in decision.contributions if one.amount > 0.0][:_REASONS]
    return "; ".join(f"{one.name} {one.amount:+.2f}" for one in most)


def _annotated(document: _Document, given: _Train) -> Doc:
    """Return a document as people have marked it."""
    cas = _opened(document, given.type_system)
    spans = [
        (one.begin, one.end, str(label))
        for one in cas.select(given.metadata.layer)
        if (label := getattr(one, given.metadata.feature, None)) and not getattr(one, _PREDICTED, None)
    ]
    return Doc(cas.sofa_string or "", spans=spans)


def inception_routes(state: State, learners: dict[str, Learner]) -> list[BaseRoute]:
    """Return the routes of a recommender; an ImportError says what is missing."""
    try:
        import cassis  # noqa: F401 - asked for before the first request
    except ImportError:
        raise ImportError("--inception needs dkpro-cassis: pip install 'crfkit[inception]'") from None
    predict_decoder, train_decoder = msgspec.json.Decoder(_Predict), msgspec.json.Decoder(_Train)

    def chosen(request: Request, what: str, right: str) -> Loaded:
        need(request.scope, right)
        loaded = model_of(state, request.path_params["name"])
        noted(request.scope, f"inception {what}", loaded.name)
        return loaded

    async def predict(request: Request) -> Response:
        loaded = chosen(request, "predict", "tag")
        given = decoded(predict_decoder, await whole_body(request.receive))
        with state.at_work(len(given.document.xmi) // 16):
            made = await state.aside(lambda: suggested(loaded, given))
        return Response(msgspec.json.encode(made), media_type="application/json")

    async def train(request: Request) -> Response:
        loaded = chosen(request, "train", "admin")
        given = decoded(train_decoder, await whole_body(request.receive))
        learner = learners.get(loaded.name)
        if learner is None:
            return Response(status_code=204)
        if learner.busy:
            raise Problem(429, "a training is under way", headers={"Retry-After": "5"})

        def kept() -> None:
            for one in given.documents:
                learner.add([one.user_id, one.document_id], _annotated(one, given))

        await state.aside(kept)
        learner.train()
        return Response(status_code=204)

    return [
        Route("/inception/{name}/predict", predict, methods=["POST"]),
        Route("/inception/{name}/train", train, methods=["POST"]),
    ]
