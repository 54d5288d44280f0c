"""Every page: with anything to show and with nothing, with hostile text, and asked for what it cannot do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crfkit import ChainCRF, HiddenChainCRF, SemiCRF
from crfkit.models.model import SequenceModel
from crfkit.web.inspector.app import PAGES, app_of
from crfkit.web.inspector.create import create_inspector
from crfkit.web.inspector.inspector import Inspector
from crfkit.web.inspector.labeling import Labeling
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened, opened
from crfkit.web.inspector.store import Store
from tests.cases.inspector import Client, alert, named
from tests.cases.pictures import HOSTILE

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    model, (X, y) = named()
    data = Material("dev.txt", X, X, y)
    labeling = Labeling(model, Material("raw.txt", X, X), Store(":memory:"), data)
    inspector = Inspector([Opened(model, "a.crf"), Opened(model, "b.crf")], data, labeling, edit=True)
    yield Client(app_of(inspector))
    inspector.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_loads_nothing_of_others(client: Client, page: str) -> None:
    answer = client.get(f"/{page}", text="Ana lives in York")
    assert answer.status_code == 200
    assert alert(answer) == ""
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"""(src|href|action)=["'](https?:)?//""", answer.text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon[a-z]+=|javascript:", answer.text)
    for name in re.findall(r'(?:src|href)="(/static/[^"]*)"', answer.text):
        static = client.get(name)
        assert static.status_code == 200
        assert static.headers["cache-control"].endswith("immutable")


def test_typed_text_is_cut_into_words_and_the_page_says_so() -> None:
    model, _ = named()

    def told(tokenizer: str | None, one: SequenceModel = model) -> str:
        return (
            Client(create_inspector(one, tokenizer=tokenizer)).get("/sentence", text="Estadio Olímpico.").text
        )

    missing = "The model has no tokenizer"
    assert "3 tokens, cut by words" in told(None)
    assert missing in told(None)
    assert "2 tokens, cut by blanks" in told("blanks")
    assert "16 tokens, cut by characters" in told("characters")
    assert missing not in told("blanks")
    assert "2 tokens, cut by blanks" in told(None, model.with_text("blanks"))
    assert missing not in told(None, model.with_text("blanks"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_without_data_says_what_to_give(page: str) -> None:
    answer = Client(create_inspector(named()[0])).get(f"/{page}")
    assert answer.status_code == 200
    if page in ("errors", "compare", "queue"):
        assert "Start the inspector with" in answer.text


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_text_stays_text(bad: str) -> None:
    bad = bad.encode("utf-8", "replace").decode()  # no data hold half of a surrogate pair
    words = bad.split() or ["x"]
    X = [[*words, "end"]] * 2
    one = ChainCRF(features="w[0]").fit(X, [[*(f"B-{bad}" for _ in words), "O"]] * 2).model_
    y = [["O" for _ in words] + [f"B-{bad}"]] * 2
    labeling = Labeling(one, Material(bad, X, X), Store(":memory:"), Material(bad, X, X, y))
    inspector = Inspector(
        [Opened(one, bad), Opened(one, bad)], labeling.data, labeling, edit=True, tokenizer="blanks"
    )
    client = Client(app_of(inspector))
    try:
        for page in PAGES:
            answer = client.get(f"/{page}", text=f"{bad} end", find=bad[:50], fixed=f"0:{bad}")
            assert answer.status_code == 200, alert(answer)
            assert '<section class="card' in answer.text
            assert "<script>" not in answer.text
            assert "<img src=x" not in answer.text
            assert "{{" not in bad or "49" not in re.sub(
                r'[-\w]*="[^"]*"', "", answer.text.partition("<main")[2]
            )
    finally:
        inspector.close()


@pytest.mark.filterwarnings("ignore:a sentence of .* tokens is cut")
def test_a_very_long_text_is_answered(client: Client) -> None:
    text = "Ana Ruiz lives in New York . " * 3450
    assert len(text) > 100_000
    answer = client.post("/sentence", text=text)
    assert answer.status_code == 200
    assert "24,150 tokens" in answer.text
    assert re.search(r"tokens [\d,]+ to [\d,]+ of 10,000\.?", answer.text)
    assert answer.headers["hx-replace-url"] == "/sentence"
    assert len(answer.content) < 6_000_000
    one = client.post("/sentence", text="x" * 100_000)
    assert one.status_code == 200
    refused = client.post("/sentence", text="x" * 200_001)
    assert refused.status_code == 400
    assert alert(refused) == "the text has 200,001 characters; give at most 200,000"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/sentence?n=99", "n is 99, expected 1 to 5"),
        ("/sentence?text=a&at=x", "at is 'x', expected a whole number"),
        (
            "/sentence?text=Ana&fixed=0:B-XXX:Ana",
            "fixed has the label 'B-XXX', which the model does not know",
        ),
        ("/sentence?model=7", "model is 7, expected 0 to 1"),
        ("/errors?sort=size", "sort is 'size', expected one of surest, shortest, loss"),
        ("/errors?coverage=0", "coverage is 0, expected 1 to 100"),
        ("/compare?who=me", "who is 'me', expected one of a, b, differ, alike, both"),
        ("/model?label=XXX", "label is 'XXX', expected one of"),
        ("/queue?by=size", "by is 'size', expected one of entropy, margin, density, least-confidence"),
        ("/queue?key=none", "this sentence is not in the pool"),
    ],
)
def test_what_a_page_cannot_show_is_said(client: Client, address: str, told: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert alert(answer).startswith(told)


def test_other_addresses_and_methods_are_refused(client: Client) -> None:
    assert client.get("/nothing").status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/nothing.js").status_code == 404
    assert client.post("/errors").status_code == 405
    assert client.get("/queue/label").status_code == 405
    assert client.get("/").headers["location"] == "/sentence?n=1"


def test_other_hosts_and_sites_are_refused(client: Client) -> None:
    rebound = client._ask("GET", "/sentence", headers={"Host": "evil.example"})
    assert rebound.status_code == 421
    crossed = client.post("/queue/label", {"Sec-Fetch-Site": "cross-site"}, action="train")
    assert crossed.status_code == 403
    assert client.post("/sentence", {"Origin": "http://evil.example"}, text="a").status_code == 403


def test_a_large_body_is_refused(client: Client) -> None:
    assert client.post("/sentence", text="x" * (3 << 20)).status_code == 413


def test_htmx_is_what_its_notice_says() -> None:
    folder = ROOT / "src/crfkit/web/inspector/static"
    digest = hashlib.sha256((folder / "htmx.min.js").read_bytes()).hexdigest()
    assert digest in (folder / "htmx.txt").read_text()
    assert sum(one.stat().st_size for one in folder.iterdir()) < 150_000


X = [["in", "New", "York"], ["Ana", "ran"], ["York", "ran"]] * 5
Y = [["O", "B-LOC", "I-LOC"], ["B-PER", "O"], ["B-LOC", "O"]] * 5
MODELS = {
    "segments": lambda: SemiCRF().fit(X, Y).model_,
    "order 2": lambda: ChainCRF(order=2).fit(X, Y).model_,
    "plain labels": lambda: ChainCRF().fit(X, [[tag[:1] for tag in tags] for tags in Y]).model_,
    "items": lambda: ChainCRF().fit([[[f"w={word}", "bias"] for word in words] for words in X], Y).model_,
    "columns": lambda: (
        ChainCRF(features="0[0]; 1[-1..1]")
        .fit([[(word, word[:1]) for word in words] for words in X], Y)
        .model_
    ),
    "perceptron": lambda: ChainCRF(objective="perceptron", random_state=0).fit(X, Y).model_,
    "hidden": lambda: HiddenChainCRF(random_state=0).fit(X, [[tag[:1] for tag in tags] for tags in Y]).model_,
}
TYPED = {
    "items": "w=in\tbias\nw=New\tbias\nw=York\tbias",
    "columns": "in i\nNew N\nYork Y",
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_of_every_kind_are_shown(kind: str) -> None:
    model = MODELS[kind]()
    client = Client(create_inspector(model))
    answer = client.get("/sentence", text=TYPED.get(kind, "in New York"))
    assert answer.status_code == 200, alert(answer)
    assert "3 tokens" in answer.text
    assert answer.text.count('class="scroll"') >= 2
    assert client.get("/model", find="o").status_code == 200


def test_rows_that_lack_columns_are_named() -> None:
    answer = Client(create_inspector(MODELS["columns"]())).get("/sentence", text="in i\nNew")
    assert alert(answer) == "line 2 has 1 of the columns that the model reads, 2: 0, 1"


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "none.crf")
    with pytest.raises(ValueError, match="is a model of graphs"):
        opened(object())  # type: ignore[arg-type]


def test_a_model_whose_file_vanishes_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.crf"
    model: SequenceModel = named()[0]
    model.save(path)
    client = Client(create_inspector(path))
    assert "no longer there" not in client.get("/model").text
    path.write_bytes(path.read_bytes())
    assert "a.crf has changed since; start again to see the new one" in client.get("/model").text
    path.unlink()
    answer = client.get("/sentence", text="Ana lives in York")
    assert answer.status_code == 200
    assert "a.crf is no longer there; this is the model as it was opened" in answer.text
