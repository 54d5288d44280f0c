"""Inspectors of address models, for tests of their pages."""

from __future__ import annotations

import asyncio
import html
import re
from functools import cache
from typing import Any

import httpx

from crfkit import train
from crfkit.datasets import load_addresses
from crfkit.models.model import SequenceModel

Labeled = tuple[list[list[str]], list[list[str]]]
FEW, POOL = 40, 400


@cache
def addresses() -> tuple[Labeled, Labeled]:
    """Return words and labels of addresses: to train on, and to judge by."""
    sample = load_addresses()

    def both(docs: Any) -> Labeled:
        return [doc.words() for doc in docs], [[y or "" for y in doc.labels] for doc in docs]

    return both(sample.train), both(sample.test)


@cache
def model(size: int = 1000, seed: int = 0) -> SequenceModel:
    """Return a model of some addresses."""
    from crfkit.data.alphabet import Alphabet
    from crfkit.data.dataset import labeled
    from crfkit.features.stock_recipes import default_recipe
    from crfkit.models.reading import read

    (X, y), _ = addresses()
    chosen = slice(seed, seed + size)
    data = labeled(read(X[chosen], default_recipe(["word"], False), 1), y[chosen], Alphabet())
    return train(data, l2=0.5)


@cache
def named() -> tuple[SequenceModel, Labeled]:
    """Return a model of places and people in sentences of our own, and sentences to judge it by."""
    X = [
        ["Ana", "Ruiz", "lives", "in", "New", "York", "."],
        ["Leo", "Brandt", "went", "to", "Oslo", "."],
        ["In", "York", "there", "is", "Mia", "Stone", "."],
        ["Oslo", "is", "far", "from", "New", "York", "."],
        ["Noor", "works", "in", "Porto", "Alegre", "."],
    ]
    y = [
        ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"],
        ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
        ["O", "B-LOC", "O", "O", "B-PER", "I-PER", "O"],
        ["B-LOC", "O", "O", "O", "B-LOC", "I-LOC", "O"],
        ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"],
    ]
    from crfkit import ChainCRF

    made = ChainCRF(features="w[-1..1]; shape(w)[-1..1]; suffix(w, 2)[0]").fit(X * 3, y * 3)
    return made.model_, (X, y)


class Client:
    """Asks an app without a server."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def _ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Ask for a page."""
        return self._ask("GET", path, params=query or None)

    def post(self, path: str, headers: dict[str, str] | None = None, **form: Any) -> httpx.Response:
        """Send a form."""
        return self._ask("POST", path, data=form, headers=headers)


def alert(answer: httpx.Response) -> str:
    """Return what a page says is wrong; empty where nothing is."""
    found = re.search(r'<p class="card note all" role="alert">(.*?)</p>', answer.text, re.DOTALL)
    return html.unescape(found[1]) if found else ""
