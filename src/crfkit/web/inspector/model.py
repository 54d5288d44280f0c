"""The page of a model: what it is, its training, transitions, weights; and trainings as they run.

In the address: `label`, whose strongest features are listed; `find`, a text in names of attributes; `model`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crfkit import view
from crfkit.models.pictures import lines_of, training_picture
from crfkit.models.weights import transition_table
from crfkit.web.inspector.state import Query
from crfkit.web.inspector.weights import Weights

if TYPE_CHECKING:
    from crfkit.web.inspector.inspector import Inspector

__all__ = ["events", "page"]

_STRONGEST = 10
_FOUND = 14
_TEMPLATES = 24
_LOOK = 0.2  # seconds between two looks at a training


def page(inspector: Inspector, query: Query) -> dict[str, Any]:
    """Return what the page shows."""
    which = query.number("model", 0, 0, len(inspector.models) - 1)
    one = inspector.models[which]
    model = one.model
    weights: Weights = inspector.once(f"weights {which}", lambda: Weights(model))
    label = query.choice("label", one.labels, next((y for y in one.labels if y != "O"), one.labels[0]))
    high, low = weights.strongest(one.labels.index(label), _STRONGEST)
    facts = lines_of(model)
    facts.pop("training", None)
    find = query.get("find")[:200]
    names, table, many = weights.find(find, _FOUND) if find else ([], [], 0)
    more = f"{len(names)} of {many:,} attributes, strongest first" if find else ""
    steps = transition_table(model) if len(model.layout.transition_cell) else None
    templates = inspector.once(f"templates {which}", lambda: weights.templates(_TEMPLATES))
    shares: dict[str, Any] = {name: [many, share] for name, many, share in templates}
    largest = max((share for _, _, share in templates), default=1.0)
    return {
        "which": which,
        "one": one,
        "facts": view.facts(facts),
        "constraints": [repr(rule) for rule in (*model.structure.constraints, *model.constraints)],
        "training": None if model.training is None else training_picture(model.training, ""),
        "transitions": None
        if steps is None
        else view.transitions(steps.rows, steps.columns, steps.weights, title=""),
        "label": label,
        "features": view.top_features(
            {label: [*high, *low]}, labels=inspector.labels, most=2 * _STRONGEST, title=""
        ),
        "find": find,
        "weights": view.weights(names, one.labels, table, note=more) if names else None,
        "templates": view.scores(["weights", "share"], shares, bar=1, full=largest),
        "labels": one.labels,
        "colors": inspector.colors,
        "wide": len(one.labels) > 12,
        "live": inspector.labeling,
    }


async def events(inspector: Inspector, request: Request) -> Response:
    """Answer with the trainings of the queue as they run: a picture whenever something is new."""

    async def told() -> AsyncIterator[bytes]:
        seen = -1
        yield b"retry: 2000\n\n"
        while inspector.labeling is not None and not inspector.labeling.closed:
            live = inspector.labeling.live
            number = live.number
            if number != seen:
                seen = number
                data = json.dumps({"picture": live.picture(), "state": live.state, "seconds": live.seconds})
                yield f"event: training\ndata: {data}\n\n".encode()
            await asyncio.sleep(_LOOK)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(), media_type="text/event-stream", headers=headers)
