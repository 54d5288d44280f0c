"""``crfkit serve``: models behind HTTP."""

from __future__ import annotations

import sys
from dataclasses import field, make_dataclass
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.output import Quiet
from crfkit.cli.messages import say
from crfkit.web.settings import SETTINGS

if TYPE_CHECKING:
    from crfkit.web.settings import Settings as Flags
else:
    _TYPES = {"str": str, "str | None": str | None, "int": int, "float": float, "bool": bool}
    Flags = make_dataclass(
        "Flags",
        [
            (
                one.name,
                Annotated[_TYPES[one.type], option("Service", one.flag, help=one.help)],
                field(default=one.default),
            )
            for one in SETTINGS
        ],
        namespace={"__module__": __name__},
        frozen=True,
    )


_MOST_BYTES = 1 << 20  # of a file of tokens


@composed
def serve(
    models: Annotated[list[str], typer.Argument(metavar="MODEL", help="Model files, or NAME=FILE.")],
    quiet: Quiet = False,
    *,
    flags: Flags,
) -> None:
    """Serve models over HTTP, for programs and for tools.

    POST /v1/models/NAME/tag labels; /docs lists all requests. A model is reloaded when its file
    is replaced, and no request fails; SIGHUP reloads all. SIGTERM lets running requests finish. Texts are
    never logged. Needs: pip install 'crfkit[serve]'.

    For example:

      crfkit serve names.crf
      crfkit serve en=english.crf es=spanish.crf --port 9000
      crfkit serve names.crf --host 0.0.0.0 --token-file tokens.txt
    """
    _check_installed()
    from crfkit.web import Models, Settings, State, create_app, run
    from crfkit.web.app import tokens_of
    from crfkit.web.models import places_of
    from crfkit.web.observing import AccessLog
    from crfkit.web.running import bound

    settings = Settings(**vars(flags))
    tokens = None
    if settings.token_file is not None:
        from crfkit.data.opening import open_file

        with open_file(settings.token_file) as file:
            tokens = tokens_of(file.read(_MOST_BYTES).decode(), settings.token_file)
    listener = bound(settings)
    try:
        state = State(Models(places_of(models)), settings)
        written = _log_file(settings.access_log)
        log = None if written is None else AccessLog(written)
        app = create_app(state, tokens, log)
        port = listener.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        names = ", ".join(state.models.names())
        listener.listen(1024)  # from here on connections wait, and none is refused
        say(f"crfkit: serving {names} on http://{host}:{port}; see http://{host}:{port}/docs", quiet)
        run(app, state, listener, log)
    finally:
        listener.close()


def _log_file(name: str) -> IO[bytes] | None:
    if name == "none":
        return None
    return sys.stderr.buffer if name == "-" else open(name, "ab")


def _check_installed() -> None:
    """Say in one sentence what is missing."""
    from importlib.util import find_spec

    needed: dict[str, Any] = dict.fromkeys(
        ["starlette", "uvicorn", "httptools", "msgspec", "prometheus_client"]
    )
    if any(find_spec(name) is None for name in needed):
        raise ImportError("crfkit serve needs more packages; install them with: pip install 'crfkit[serve]'")
