"""Lines in, lines out; a wrong line is answered by a line, and the others go on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cases.web import NAMES, Client, client_of, saved, words_model

PATH = "/v1/models/words/tag"
KIND = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return client_of(saved(tmp_path_factory.mktemp("models"), words=words_model()), max_body=10_000)


def lines(client: Client, content: Any, query: str = "") -> list[Any]:
    answer = client.post(PATH + query, content=content, headers=KIND)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == KIND["content-type"]
    return [json.loads(line) for line in answer.text.splitlines()]


def test_lines_are_answered_in_order(client: Client) -> None:
    given: list[Any] = [{"id": n, "tokens": NAMES[0][: n % 5 + 1]} for n in range(500)]
    given[7] = {"id": "seven", "text": "Ana lives in New York"}
    found = lines(client, "\n".join(map(json.dumps, given)))
    assert [one["id"] for one in found] == [one["id"] for one in given]
    expected = words_model().predict([one.get("tokens", []) for one in given])
    assert [one["labels"] for n, one in enumerate(found) if n != 7] == [
        y for n, y in enumerate(expected) if n != 7
    ]
    assert [span["text"] for span in found[7]["spans"]] == ["Ana", "New York"]


def test_pieces_may_cut_lines_anywhere(client: Client) -> None:
    body = "".join(
        json.dumps({"text": "Ana é \U0001f680"}, ensure_ascii=False) + "\n" for _ in range(20)
    ).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for n in range(0, len(body), 7):
            yield body[n : n + 7]

    assert lines(client, pieces()) == lines(client, body)


def test_options_are_in_the_url(client: Client) -> None:
    [one] = lines(client, b'{"tokens":["New","York"]}\n\n', "?spans=true&probabilities=best&kbest=2")
    assert len(one["alternatives"]) == len(one["probabilities"]) == 2
    assert one["spans"][0]["label"] == "LOC"
    for wrong in ("?kbest=101", "?probabilities=some", "?unknown=1", "?spans=perhaps"):
        assert client.post(PATH + wrong, content=b"", headers=KIND).status_code == 422


def test_a_wrong_line_is_answered_by_a_line(client: Client) -> None:
    body = b'{"id":1,"text":"Ana"}\nnot json\n{"id":3,"items":[["a"]]}\n{"id":4}\n{"id":5,"text":"Ana"}'
    found = lines(client, body)
    assert [one.get("id") for one in found] == [1, None, 3, None, 5]
    assert [one["problem"]["status"] for one in found if "problem" in one] == [400, 422, 422]
    assert [one["problem"]["where"]["line"] for one in found if "problem" in one] == [2, 3, 4]
    assert found[0]["spans"] == found[4]["spans"]


def test_deep_nesting_is_a_problem_of_its_line(client: Client) -> None:
    found = lines(client, b'{"id":' + b"[" * 5000 + b'\n{"text":"Ana"}')
    assert found[0]["problem"]["status"] == 400
    assert found[1]["spans"]


def test_a_line_that_is_too_long_ends_the_stream(client: Client) -> None:
    found = lines(client, b'{"text":"Ana"}\n{"text":"' + b"x" * 20_000)
    assert found[0]["spans"]
    assert found[1]["problem"]["status"] == 413


def test_nothing(client: Client) -> None:
    assert lines(client, b"") == lines(client, b"\n\n") == []
