"""Under load: 200 reloads and a SIGTERM, no failed request, every answer from one model."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cases.web import ask, saved, served, words_model

BODY = {"tokens": [["New", "York"], ["Ana"], ["New", "York", "Ana"]] * 5}
PATH = "/v1/models/words/tag"


class Load:
    """Workers that send as fast as answers come, until the service is not ready."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers: list[Any] = []
        self.failed: list[str] = []
        self.ended = False

    async def work(self) -> None:
        async with httpx.AsyncClient(base_url=self.address, timeout=20) as client:
            while not self.ended:
                try:
                    answer = await client.post(PATH, json=BODY)
                except httpx.HTTPError as error:
                    self.failed.append(repr(error))
                    continue
                if answer.status_code != 200:
                    self.failed.append(answer.text)
                else:
                    self.answers.append(answer.json())

    async def watch(self) -> None:
        async with httpx.AsyncClient(base_url=self.address, timeout=20) as client:
            while (await client.get("/health/ready")).status_code == 200:
                await asyncio.sleep(0.02)
        self.ended = True


async def run(address: str, process: Any, reloads: int, folder: Path) -> Load:
    load = Load(address)
    workers = [asyncio.create_task(load.work()) for _ in range(4)]
    watching = asyncio.create_task(load.watch())
    models = [words_model(("GPE", "HUM")), words_model()]
    async with httpx.AsyncClient(base_url=address, timeout=20) as client:
        for n in range(reloads):
            models[n % 2].save(folder / "words.crf")
            answer = await client.post("/v1/models/words/reload")
            assert answer.status_code == 200, answer.text
    process.send_signal(signal.SIGTERM)
    await asyncio.gather(*workers, watching)
    return load


def check(folder: Path, reloads: int) -> None:
    saved(folder, words=words_model())
    with served(folder / "words.crf", "--drain", "2", "--watch", "0", "--access-log", "none") as (
        process,
        address,
    ):
        first = ask(address, PATH, BODY).json()
        load = asyncio.run(run(address, process, reloads, folder))
        assert process.wait(20) == 0
    assert load.failed == []
    assert len(load.answers) > reloads
    by_version: dict[str, set[str]] = {}
    for answer in [first, *load.answers]:
        by_version.setdefault(answer["model"]["version"], set()).add(json.dumps(answer["results"]))
    assert [len(answers) for answers in by_version.values()] == [1, 1]  # each version always says the same
    assert len({*map(str, by_version.values())}) == 2  # and they differ


def test_a_few_reloads_and_an_end_under_load(tmp_path: Path) -> None:
    check(tmp_path, 6)


@pytest.mark.slow
def test_two_hundred_reloads_and_an_end_under_load(tmp_path: Path) -> None:
    check(tmp_path, 200)
