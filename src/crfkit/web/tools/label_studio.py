"""Label Studio's protocol of ML backends, at ``/label-studio`` and ``/label-studio/MODEL``.

=====================  =====================================================================================
``GET /health``        within a second: UP
``POST /setup``        says which version of the model it is; the API token that it brings is not kept
``POST /predict``      as many results as tasks; what the user has marked (``context``) stays
``POST /webhook``      answers at once; annotations are kept and trained from behind, with --train-folder
=====================  =====================================================================================

The service never calls Label Studio. Its offsets count code points: its editor turns those of the browser
into them.
"""

from __future__ import annotations

import re
from typing import Any, Final
from xml.parsers import expat

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from crfkit.text.doc import Doc
from crfkit.web.messages import TagRequest
from crfkit.web.models import Loaded
from crfkit.web.problems import Problem
from crfkit.web.reading import decoded, measured, whole_body
from crfkit.web.routes import model_of, need, noted
from crfkit.web.state import State
from crfkit.web.tools.learning import Learner

__all__ = ["Config", "label_studio_routes", "predictions"]

_TRAINS: Final = frozenset(
    {"ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATION_DELETED", "START_TRAINING"}
)


class _Predict(msgspec.Struct):
    """What /predict takes of a request; all else is ignored."""

    tasks: list[dict[str, Any]]
    label_config: str = ""
    params: dict[str, Any] | None = None


_predict = msgspec.json.Decoder(_Predict)
_any = msgspec.json.Decoder(dict[str, Any])


class Config(msgspec.Struct):
    """What a labeling configuration says of labels of a text.

    Examples
    --------
    >>> labels = '<Labels name="l" toName="t"><Label value="PER"/></Labels>'
    >>> Config.of(f'<View>{labels}<Text name="t" value="$text"/></View>')
    Config(from_name='l', to_name='t', field='text', labels=['PER'])
    """

    from_name: str = "label"
    to_name: str = "text"
    field: str = "text"
    labels: list[str] = []

    @classmethod
    def of(cls, xml: str) -> Config:
        """Read a configuration: the first <Labels> whose text there is."""
        if not xml:
            return cls()
        found: list[tuple[str, str, list[str]]] = []
        texts: dict[str, str] = {}

        def start(tag: str, given: dict[str, str]) -> None:
            if tag in ("Labels", "HyperTextLabels"):
                found.append((given.get("name", ""), given.get("toName", ""), []))
            elif tag == "Label" and found:
                found[-1][2].append(given.get("value", ""))
            elif tag == "Text":
                texts[given.get("name", "")] = given.get("value", "")

        def refuse(*given: Any) -> None:
            raise Problem(
                422, "label_config declares entities, which are not read", {"field": "label_config"}
            )

        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EntityDeclHandler = start, refuse
        try:
            parser.Parse(xml, True)
        except expat.ExpatError as error:
            told = f"label_config is not XML: {expat.ErrorString(error.code)} in line {error.lineno}"
            raise Problem(422, told, {"field": "label_config"}) from None
        for name, to, labels in found:
            if to in texts and (field := re.fullmatch(r"\$(\w+)", texts[to])):
                return cls(name, to, field[1], labels)
        told = "label_config has no <Labels> of a <Text> whose value is a field, as $text"
        raise Problem(422, told, {"field": "label_config"})


def predictions(loaded: Loaded, given: _Predict) -> dict[str, Any]:
    """Return a prediction for each task, in order: none may be missing."""
    config = Config.of(given.label_config)
    context = (given.params or {}).get("context") or {}
    marked = _regions(context.get("result"), config) if isinstance(context, dict) else []
    made = []
    for task in given.tasks:
        data = task.get("data")
        text = data.get(config.field) if isinstance(data, dict) else None
        made.append(_prediction(loaded, config, text, marked) if isinstance(text, str) else _nothing(loaded))
    return {"results": made, "model_version": loaded.version}


def _nothing(loaded: Loaded) -> dict[str, Any]:
    return {"result": [], "score": 0.0, "model_version": loaded.version}


def _regions(result: Any, config: Config) -> list[tuple[int, int, str]]:
    """Return the spans that a user has marked."""
    found = []
    for one in result if isinstance(result, list) else ():
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, dict) and one.get("from_name", config.from_name) == config.from_name:
            start, end, labels = value.get("start"), value.get("end"), value.get("labels")
            if type(start) is int and type(end) is int and isinstance(labels, list) and labels:
                found.append((start, end, str(labels[0])))
    return found


def _prediction(
    loaded: Loaded, config: Config, text: str, marked: list[tuple[int, int, str]]
) -> dict[str, Any]:
    doc = _tagged(loaded, text, marked)
    spans = [
        span
        for span in doc.spans
        if (not config.labels or span.label in config.labels)
        and not any(span.start < end and start < span.end for start, end, _ in marked)
    ]
    result = [
        {
            "id": f"crfkit-{span.start}-{span.end}",
            "from_name": config.from_name,
            "to_name": config.to_name,
            "type": "labels",
            "score": span.probability,
            "value": {"start": span.start, "end": span.end, "text": span.text, "labels": [span.label]},
        }
        for span in spans
    ]
    score = min((span.probability for span in spans if span.probability is not None), default=1.0)
    return {"result": result, "score": score, "model_version": loaded.version}


def _tagged(loaded: Loaded, text: str, marked: list[tuple[int, int, str]]) -> Doc:
    """Return a text with its spans beside the marked ones; where those cut tokens, without them."""
    if marked:
        try:
            return loaded.model(text, fixed=marked)
        except (ValueError, TypeError):  # they do not fit the tokens, or are of labels that the model lacks
            pass
    return loaded.model(text)


def _annotated(given: dict[str, Any]) -> tuple[Any, Doc | None] | None:
    """Return the task of a webhook and its text as a person has marked it; None where it brings none."""
    task, annotation, project = (given.get(name) for name in ("task", "annotation", "project"))
    if not isinstance(task, dict) or not isinstance(annotation, dict):
        return None
    if given.get("action") == "ANNOTATION_DELETED" or annotation.get("was_cancelled"):
        return task.get("id"), None
    config = Config.of(str(project.get("label_config", "")) if isinstance(project, dict) else "")
    data = task.get("data")
    text = data.get(config.field) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return None
    return task.get("id"), Doc(text, spans=_regions(annotation.get("result"), config))


class _Backend:
    """What Label Studio calls."""

    def __init__(self, state: State, learners: dict[str, Learner]) -> None:
        self.state, self.learners = state, learners

    def _chosen(self, request: Request, what: str, right: str = "tag") -> Loaded:
        need(request.scope, right)
        loaded = model_of(self.state, request.path_params.get("name") or self.state.models.names()[0])
        noted(request.scope, f"label-studio {what}", loaded.name)
        return loaded

    async def health(self, request: Request) -> Response:
        loaded = self._chosen(request, "health")
        return _json({"status": "UP", "model_class": "crfkit", "model_version": loaded.version})

    async def setup(self, request: Request) -> Response:
        await whole_body(request.receive)  # it brings a token, which nobody needs here
        return _json({"model_version": self._chosen(request, "setup").version})

    async def versions(self, request: Request) -> Response:
        return _json({"versions": [self._chosen(request, "versions").version]})

    async def validate(self, request: Request) -> Response:
        self._chosen(request, "validate")
        given = decoded(_any, await whole_body(request.receive))
        Config.of(str(given.get("config", "")))
        return _json({"status": "ok"})

    async def predict(self, request: Request) -> Response:
        loaded = self._chosen(request, "predict")
        given = decoded(_predict, await whole_body(request.receive))
        texts = [v for one in given.tasks if isinstance(d := one.get("data"), dict) for v in d.values()]
        asked = TagRequest(texts=[one for one in texts if isinstance(one, str)])
        size = request.scope["crfkit.note"].tokens = measured(asked, self.state.settings)
        with self.state.at_work(size):
            return _json(await self.state.aside(lambda: predictions(loaded, given)))

    async def webhook(self, request: Request) -> Response:
        loaded = self._chosen(request, "webhook", "admin")
        given = decoded(_any, await whole_body(request.receive))
        learner = self.learners.get(loaded.name)
        if learner is None or given.get("action") not in _TRAINS:
            return _json({"status": "ignored"}, 201)
        if found := _annotated(given):
            name, doc = found
            await self.state.aside(lambda: learner.add(name, doc))
        learner.train()
        return _json({"status": "training"}, 201)


def label_studio_routes(state: State, learners: dict[str, Learner]) -> list[BaseRoute]:
    """Return the routes of the backend."""
    backend = _Backend(state, learners)
    made: list[BaseRoute] = []
    for prefix in ("/label-studio", "/label-studio/{name}"):
        made += [
            Route(f"{prefix}/health", backend.health),
            Route(f"{prefix}/setup", backend.setup, methods=["POST"]),
            Route(f"{prefix}/predict", backend.predict, methods=["POST"]),
            Route(f"{prefix}/webhook", backend.webhook, methods=["POST"]),
            Route(f"{prefix}/validate", backend.validate, methods=["POST"]),
            Route(f"{prefix}/versions", backend.versions),
        ]
    return made


def _json(plain: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(plain), status, media_type="application/json")
