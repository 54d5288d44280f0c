"""Protocols of annotation tools, a file each; all are off unless asked for."""

from __future__ import annotations

from starlette.routing import BaseRoute

from crfkit.web.state import State

__all__ = ["tool_routes"]


def tool_routes(state: State) -> list[BaseRoute]:
    """Return the routes of the tools that the settings ask for."""
    settings, made = state.settings, list[BaseRoute]()
    learners = {}
    if settings.train_folder is not None:
        from crfkit.web.tools.learning import Learner

        for name in state.models.names():
            learners[name] = Learner(state.models, name, settings.train_folder, settings.train_data)
    if settings.label_studio:
        from crfkit.web.tools.label_studio import label_studio_routes

        made += label_studio_routes(state, learners)
    if settings.inception:
        from crfkit.web.tools.inception import inception_routes

        made += inception_routes(state, learners)
    if settings.doccano:
        from crfkit.web.tools.doccano import doccano_routes

        made += doccano_routes(state)
    return made
