"""The service: models behind HTTP.

==================  ==============================================================================
`create_app`        the ASGI app, for any server and for tests
`Settings`          its options; `SETTINGS` lists them
`Models`            the models by name, opened from files and replaced while requests run
`State`             models and settings, and what all requests share
`run`               the app on uvicorn, with signals and reloading: what ``crfkit serve`` does
`create_inspector`  pages that show what a model does: what ``crfkit inspect`` serves
==================  ==============================================================================

Needs the extra: ``pip install 'crfkit[serve]'``.
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.web.app import create_app
    from crfkit.web.inspector.create import create_inspector
    from crfkit.web.models import Models
    from crfkit.web.running import run
    from crfkit.web.settings import SETTINGS, Settings
    from crfkit.web.state import State

__all__ = ["SETTINGS", "Models", "Settings", "State", "create_app", "create_inspector", "run"]

lazily(
    __name__,
    {
        "Models": ".models",
        "SETTINGS": ".settings",
        "Settings": ".settings",
        "State": ".state",
        "create_app": ".app",
        "create_inspector": ".inspector.create",
        "run": ".running",
    },
)
