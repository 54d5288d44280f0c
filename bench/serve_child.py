"""Servers that `bench.serve` compares with: the least that a server can do, and our app on python-crfsuite.

python -m bench.serve_child null|peer PORT
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
from typing import Any

import msgspec

from bench.sentence import OURS, features, opened_peer
from crfkit.web import Models, Settings, State, create_app, run
from crfkit.web.asgi import App, Receive, Scope, Send, answer
from crfkit.web.messages import ModelName, Result, TagAnswer, TagRequest
from crfkit.web.observing import AccessLog


class Null:
    """Reads JSON, answers JSON of the same form: no model, no guards, no log."""

    def __init__(self) -> None:
        self._decode = msgspec.json.Decoder(TagRequest).decode
        self._encode = msgspec.json.Encoder().encode

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        given = self._decode(body) if body else TagRequest()
        made = [Result(labels=["O"] * len(words)) for words in given.tokens or ()]
        out = self._encode(TagAnswer(ModelName("null", "0"), made))
        await answer(send, 200, out, b"application/json")


class Peer:
    """python-crfsuite behind the methods that our app asks for."""

    def __init__(self) -> None:
        self._peer = opened_peer()

    def tag(self, words: list[str]) -> Any:
        return self._peer.tag(features(words))

    def predict(self, several: list[list[str]], threads: int | None = None) -> Any:
        return [self.tag(words) for words in several]


def app_of(kind: str, state: State) -> App:
    if kind == "null":
        return Null()
    models: Any = state.models
    peer: Any = Peer()
    models._loaded = {"esp": replace(models["esp"], tagger=peer, model=peer)}
    return create_app(state, None, AccessLog(open(os.devnull, "wb")))


def main() -> None:
    kind, port = sys.argv[1], int(sys.argv[2])
    state = State(Models({"esp": str(OURS)}), Settings(port=port, watch=0, drain=0))
    listener = socket.create_server(("127.0.0.1", port))
    run(app_of(kind, state), state, listener)


if __name__ == "__main__":
    main()
