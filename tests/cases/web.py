"""A service without a socket, and with one, for the tests of the service."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from crfkit import ChainCRF
from crfkit.models import SequenceModel
from crfkit.web import Models, Settings, State, create_app
from crfkit.web.asgi import App

__all__ = [
    "NAMES",
    "Client",
    "ask",
    "client_of",
    "columns_model",
    "items_model",
    "saved",
    "served",
    "words_model",
]

NAMES = (["in", "New", "York", "Ana", "lives"], ["O", "B-LOC", "I-LOC", "B-PER", "O"])
_MORE = (["\U0001f680", "é", "Ana", "Ruiz", "lives"], ["O", "O", "B-PER", "I-PER", "O"])
_ONE = (["Ana", "lives"], ["B-PER", "O"])


@cache
def words_model(labels: tuple[str, ...] = ("LOC", "PER")) -> SequenceModel:
    """A model of names in texts, which knows a few words."""
    place, person = labels
    y = [
        [tag.replace("LOC", place).replace("PER", person) for tag in tags] for _, tags in (NAMES, _MORE, _ONE)
    ]
    crf = ChainCRF(features="w[-1..0]").fit([NAMES[0], _MORE[0], _ONE[0]] * 9, y * 9)
    return crf.model_.with_text("words", "rule")


@cache
def columns_model() -> SequenceModel:
    X = [[{"word": "the", "pos": "DT"}, {"word": "dog", "pos": "NN"}]] * 5
    return ChainCRF(features="word[0]; pos[-1..0]").fit(X, [["D", "N"]] * 5).model_


@cache
def items_model() -> SequenceModel:
    return ChainCRF().fit([[["w=the"], {"w": "dog", "n": 1.0}]] * 5, [["D", "N"]] * 5).model_


def saved(folder: Path, **models: SequenceModel) -> dict[str, str]:
    """Write models, and return their places."""
    for name, model in models.items():
        model.save(folder / f"{name}.crf")
    return {name: str(folder / f"{name}.crf") for name in models}


class Client:
    """Calls an app as a server would."""

    def __init__(self, app: App, state: State) -> None:
        self.app, self.state = app, state

    def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **more)

        return asyncio.run(call())

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self("POST", path, **more)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self("GET", path, **more)

    def tag(self, model: str = "words", **body: Any) -> Any:
        """Return the results of a request that must go well."""
        answer = self.post(f"/v1/models/{model}/tag", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["results"]

    def wrong(self, status: int, model: str = "words", **body: Any) -> Any:
        """Return the problem of a request that must be refused."""
        answer = self.post(f"/v1/models/{model}/tag", json=body)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
        return answer.json()


def client_of(places: dict[str, str], tokens: Any = None, log: Any = None, **settings: Any) -> Client:
    state = State(Models(places), Settings(**settings))
    return Client(create_app(state, tokens, log), state)


@contextmanager
def served(*arguments: object, seconds: float = 30.0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``crfkit serve`` on a free port; give the process and the address."""
    command = [sys.executable, "-m", "crfkit", "serve", *map(str, arguments), "--port", "0"]
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": ""}
    )
    assert running.stderr is not None
    try:
        line = running.stderr.readline()
        found = re.search(r"http://[\w.:\[\]]+", line)
        assert found is not None, line + running.stderr.read()
        yield running, found[0].rstrip(";")
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
        running.wait(seconds)
        running.stderr.close()


def ask(address: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
    """Send one request to a server."""
    if body is None:
        return httpx.get(address + path, timeout=10, **more)
    sent = {"content-type": "application/json"}
    return httpx.post(address + path, content=json.dumps(body), headers=sent, timeout=10, **more)
