"""The queue: labels are on disk before the page says so, nobody overwrites anybody, and the model learns."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crfkit.text import read
from crfkit.web.inspector.app import app_of
from crfkit.web.inspector.inspector import Inspector
from crfkit.web.inspector.judging import sides
from crfkit.web.inspector.labeling import Labeling, check_learns, tags_of
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened
from crfkit.web.inspector.queue import formats
from crfkit.web.inspector.store import Answer, Store, StoreError, key_of
from tests.cases.inspector import Client, addresses, alert, model, named

Made = Callable[..., tuple[Client, Labeling]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Made]:
    opened: list[Inspector] = []

    def made(
        *,
        size: int = 30,
        pool: int = 60,
        every: int = 1000,
        edit: bool = True,
        of: Any = None,
        judge: bool = False,
    ) -> Any:
        (X, _), (DX, dy) = addresses()
        chosen = X[800 : 800 + pool]
        one = of or model(size)
        data = Material("dev.txt", DX, DX, dy) if judge else None
        words = chosen if of is None else named()[1][0]
        store = Store(tmp_path / "raw.labels.sqlite")
        labeling = Labeling(one, Material("raw.txt", words, words), store, data, every)
        opened.append(Inspector([Opened(one, "a.crf")], data, labeling, edit=edit))
        return Client(app_of(opened[-1])), labeling

    yield made
    for one in opened:
        one.close()


def shown(page: str) -> tuple[str, int, dict[str, Any]]:
    """Return the key of the sentence that is asked for, the answer it has, and its data."""
    import html

    key = re.search(r'name="key" value="(\w+)"', page)
    seen = re.search(r'name="seen" value="(\d+)"', page)
    data = re.search(r'data-sentence="([^"]*)"', page)
    assert key is not None
    assert seen is not None
    assert data is not None
    return key[1], int(seen[1]), json.loads(html.unescape(data[1]))


def gold_of(words: list[str]) -> list[tuple[int, int, str]]:
    """Return the runs of the gold labels of an address of the training part."""
    from crfkit.tags.segments import runs_of

    (X, y), _ = addresses()
    return [*runs_of(y[X.index(words)])]


def wait_for(labeling: Labeling, limit: float = 30.0) -> None:
    end = time.monotonic() + limit
    while labeling.running and time.monotonic() < end:
        time.sleep(0.02)
    assert not labeling.running


def test_the_most_uncertain_come_first(make: Made) -> None:
    from crfkit.models import uncertainty

    client, labeling = make()
    order, unsure = labeling.order("entropy")
    assert unsure.tolist() == pytest.approx(uncertainty(labeling.model, labeling.pool.X).tolist())
    values = [unsure[n] for n in order]
    assert values == sorted(values, reverse=True)
    key, seen, data = shown(client.get("/queue").text)
    assert (key, seen, data["words"]) == (labeling.keys[order[0]], 0, list(labeling.pool.words[order[0]]))
    spans = labeling.model.predict_spans([data["words"]])[0]
    assert [one[:3] for one in data["spans"]] == [list(one[:3]) for one in spans]
    for (a, b, y, p), shares in zip(data["spans"], data["shares"], strict=True):
        assert shares[y] == pytest.approx(p, abs=1e-4), (a, b)
        assert sum(shares.values()) <= 1.0 + 1e-3


def test_a_label_is_saved_undone_and_skipped(make: Made, tmp_path: Path) -> None:
    client, labeling = make()
    key, seen, data = shown(client.get("/queue").text)
    spans = gold_of(data["words"])
    answer = client.post("/queue/label", key=key, seen=seen, spans=json.dumps(spans), open="[]", kept=3)
    assert answer.status_code == 200
    other = sqlite3.connect(tmp_path / "raw.labels.sqlite")
    assert other.execute("SELECT sentence, action, kept FROM answer").fetchall() == [(key, "label", 3)]
    other.close()
    following = shown(answer.text)[0]
    assert following != key
    assert "1 labeled" in answer.text
    skipped = client.post("/queue/label", key=following, seen=0, action="skip")
    assert shown(skipped.text)[0] not in (key, following)
    back = client.post("/queue/label", action="undo")
    assert shown(back.text)[0] == following
    again = client.post("/queue/label", action="undo")
    assert shown(again.text)[:2] == (key, 4)
    assert "0 labeled" in again.text
    nothing = client.post("/queue/label", action="undo")
    assert nothing.status_code == 409
    assert alert(nothing) == "there is nothing to undo"
    assert [one.action for one in labeling.store.latest().values()] == ["undo", "undo"]


def test_two_inspectors_do_not_overwrite_each_other(make: Made) -> None:
    first, second = make(), make()
    key, seen, data = shown(first[0].get("/queue").text)
    assert shown(second[0].get("/queue").text)[0] == key
    form: Any = {"key": key, "seen": seen, "spans": json.dumps(gold_of(data["words"])), "open": "[]"}
    assert first[0].post("/queue/label", **form).status_code == 200
    late = second[0].post("/queue/label", **{**form, "spans": "[]"})
    assert late.status_code == 409
    assert "another inspector has labeled this sentence in the meantime; its labels stay" in alert(late)
    [kept] = second[1].labels()
    assert kept.spans == gold_of(data["words"])
    assert shown(second[0].get("/queue").text)[0] != key


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"key": "none"}, "the sentence is not in the pool; nothing was saved"),
        ({"spans": "{"}, "spans and open are not lists as the page sends them"),
        ({"spans": "[[0, 99, 'ZipCode']]"}, "spans and open are not lists"),
        ({"spans": '[[0, 99, "ZipCode"]]'}, "the span 0 to 99 is not within"),
        ({"spans": '[[1, 2, "ZipCode"], [0, 2, "ZipCode"]]'}, "the span 1 to 2 is not within"),
        ({"spans": '[[0, 1, "O"]]'}, "the label 'O' is not valid"),
        ({"spans": '[[0, 1, "\\u0000"]]'}, "the label '\\x00' is not valid"),
        ({"open": "[99]"}, "open has token numbers beyond"),
        ({"action": "drop"}, "action is 'drop', expected one of label, skip, undo, train"),
        ({"seen": "many"}, "seen is 'many', expected a whole number"),
        ({"action": "train"}, "there are no labels to learn from yet"),
    ],
)
def test_wrong_answers_are_refused(make: Made, form: dict[str, Any], told: str) -> None:
    client, labeling = make()
    key, seen, _ = shown(client.get("/queue").text)
    answer = client.post("/queue/label", **{"key": key, "seen": seen, "spans": "[]", "open": "[]", **form})
    assert answer.status_code in (400, 409)
    assert alert(answer).startswith(told)
    assert labeling.answers() == {}


def test_it_only_reads_unless_it_may_edit(make: Made) -> None:
    client, labeling = make(edit=False)
    page = client.get("/queue").text
    assert 'id="answer"' not in page
    answer = client.post("/queue/label", key=labeling.keys[0], seen=0, spans="[]")
    assert answer.status_code == 403
    assert alert(answer) == "the inspector only reads; start it with --edit to give labels"


def test_sixty_labels_raise_the_score(make: Made) -> None:
    client, labeling = make(size=30, pool=300, every=20, judge=True)
    for _ in range(60):
        key, seen, data = shown(client.get("/queue").text)
        spans = json.dumps(gold_of(data["words"]))
        assert client.post("/queue/label", key=key, seen=seen, spans=spans, open="[]").status_code == 200
        wait_for(labeling)
    runs = labeling.store.runs()
    assert [one.answers for one in runs] == [0, 20, 40, 60]
    first, last = runs[0].score, runs[-1].score
    assert first is not None
    assert last is not None
    assert last > first + 0.05
    _, (X, y) = addresses()
    assert sides(labeling.model, Material("dev", X, X, y)).score() == last
    assert sides(labeling.opened, Material("dev", X, X, y)).score() == first
    assert "Learned from 60 labels" in labeling.live.state
    assert labeling.live.picture().count("<svg") >= 1


def test_labels_of_before_are_learned_at_once(make: Made) -> None:
    client, _ = make()
    key, seen, data = shown(client.get("/queue").text)
    client.post("/queue/label", key=key, seen=seen, spans=json.dumps(gold_of(data["words"])), open="[]")
    _, again = make()
    wait_for(again)
    assert again.trained == 1
    assert again.model.predict([data["words"]]) == [
        [y for a, b, y in gold_of(data["words"]) for _ in range(a, b)]
    ]


def test_what_is_left_open_is_not_learned(make: Made) -> None:
    client, labeling = make(of=named()[0])
    words = ["Ana", "Ruiz", "lives", "in", "New", "York", "."]
    key = key_of(words)
    spans = json.dumps([[0, 2, "PER"]])
    client.post("/queue/label", key=key, seen=0, spans=spans, open=json.dumps([4, 5]))
    [one] = labeling.labels()
    assert tags_of(labeling.opened, one) == ["B-PER", "I-PER", "O", "O", None, None, "O"]
    client.post("/queue/label", action="train")
    wait_for(labeling)
    assert labeling.trained == 1, labeling.live.state


@pytest.mark.parametrize("format", formats())
def test_labels_are_exported(make: Made, tmp_path: Path, format: str) -> None:
    client, _ = make(of=named()[0])
    words = ["Ana", "Ruiz", "lives", "in", "New", "York", "."]
    client.post("/queue/label", key=key_of(words), seen=0, spans='[[0, 2, "PER"], [4, 6, "LOC"]]', open="[]")
    answer = client.get("/queue/export", format=format)
    assert answer.status_code == 200
    name = re.findall(r'filename="(raw\.[\w.]+)"', answer.headers["content-disposition"])[0]
    if format == "columns":
        assert answer.text.startswith("Ana\tB-PER\nRuiz\tI-PER\nlives\tO\n")
        return
    (tmp_path / name).write_bytes(answer.content)
    [doc] = read(tmp_path / name, format)
    assert doc.text.strip() == "Ana Ruiz lives in New York ."
    assert [(span.text, span.label) for span in doc.spans] == [("Ana Ruiz", "PER"), ("New York", "LOC")]
    assert client.get("/queue/export", format="docx").status_code == 400


def test_partial_labels_are_exported_as_such(make: Made) -> None:
    client, _ = make(of=named()[0])
    key = key_of(["Ana", "Ruiz", "lives", "in", "New", "York", "."])
    client.post("/queue/label", key=key, seen=0, spans='[[0, 2, "PER"]]', open="[4, 5]")
    row = json.loads(client.get("/queue/export").text)
    assert row["known"] == [[0, 17], [27, 28]]


CHILD = """
import sys
from crfkit.web.inspector.queue import formats
from crfkit.web.inspector.store import Store
store = Store(sys.argv[1])
for n in range(100000):
    words = ["word", str(n)]
    number = store.add(str(n), "label", words, [(0, 1, "X")], [], 0, seen=0)
    sys.stdout.write(f"{n}\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("after", [1, 25, 60])
def test_killed_it_has_all_that_it_said_it_has(tmp_path: Path, after: int) -> None:
    """What was said to be saved is there after kill -9, and the file can be used at once."""
    path = tmp_path / "labels.sqlite"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = [child.stdout.readline() for _ in range(after)]
    os.kill(child.pid, signal.SIGKILL)
    said += child.stdout.readlines()
    child.stdout.close()
    child.wait()
    whole = [int(line) for line in said if line.endswith("\n")]
    store = Store(path)
    found = [int(one.sentence) for one in store.latest().values()]
    assert found[: len(whole)] == whole
    assert len(found) - len(whole) in (0, 1)
    assert store.add("new", "label", ["a"], [], [], 0, seen=0) > 0
    store.close()


def test_files_that_are_not_of_labels_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("some text\n" * 999)
    with pytest.raises(StoreError, match="is not a file of labels, or is damaged; give the name of another"):
        Store(tmp_path / "text")
    assert (tmp_path / "text").read_text().startswith("some text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="is a database of another program"):
        Store(tmp_path / "other")
    with pytest.raises(StoreError, match="cannot be opened or made; check the folder"):
        Store(tmp_path / "none" / "labels")


def test_a_file_that_is_gone_takes_no_more_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.sqlite"
    store = Store(path)
    store.add("a", "label", ["a"], [], [], 0, seen=0)
    path.unlink()
    with pytest.raises(StoreError, match=r"the label was not saved: .* was removed or replaced"):
        store.add("b", "label", ["b"], [], [], 0, seen=0)
    store.close()


def test_a_file_that_another_holds_is_waited_for_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crfkit.web.inspector.store._WAIT", 0.1)
    store = Store(tmp_path / "labels.sqlite")
    other = sqlite3.connect(tmp_path / "labels.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is held by another program; try again"):
        store.add("a", "label", ["a"], [], [], 0, seen=0)
    other.execute("ROLLBACK")
    assert store.add("a", "label", ["a"], [], [], 0, seen=0) == 1
    other.close()
    store.close()


def test_models_that_cannot_learn_are_refused() -> None:
    from crfkit import ChainCRF

    X, y = [[{"w": "a"}, {"w": "b"}]] * 3, [["D", "N"]] * 3
    with pytest.raises(ValueError, match="has no recipe that makes attributes of words"):
        check_learns(ChainCRF().fit(X, y).model_)
    votes = ChainCRF(objective="perceptron", random_state=0).fit([["a", "b"]] * 3, y).model_
    if not hasattr(votes, "predict_proba"):
        with pytest.raises(ValueError, match="nothing says which sentences it is unsure of"):
            check_learns(votes)


def test_answers_become_tags_in_the_scheme_of_the_model() -> None:
    one = Answer(1, "k", "label", ["Ana", "Ruiz", "ran"], [(0, 2, "PER")], [2], 0)
    assert tags_of(named()[0], one) == ["B-PER", "I-PER", None]
    assert tags_of(model(30), Answer(1, "k", "label", ["1", "Main"], [(0, 1, "AddressNumber")], [], 0)) == [
        "AddressNumber",
        None,
    ]
