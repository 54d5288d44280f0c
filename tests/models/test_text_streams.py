"""Many texts, and texts of any size: pipes and streams give what single calls give."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crfkit.errors import DataWarning
from crfkit.text import spec as text_spec
from crfkit.text.offsets import UNITS
from tests.cases.text_models import MODEL, TEXT

# ---- many texts


def test_a_pipe_keeps_the_order_and_reads_no_further_than_a_batch() -> None:
    taken: list[int] = []

    def texts() -> Iterator[str]:
        for n in range(100):
            taken.append(n)
            yield f"Ana Ruiz is number {n}." if n % 3 else ""

    found = MODEL.pipe(texts(), batch=7)
    assert next(found).text == ""
    assert len(taken) == 7
    rest = [*found]
    assert [doc.text for doc in rest] == [f"Ana Ruiz is number {n}." if n % 3 else "" for n in range(1, 100)]
    assert rest[:20] == [MODEL(doc.text) for doc in rest[:20]]
    assert [*MODEL.pipe([])] == []


def test_a_pipe_gives_the_same_for_any_batch_and_threads() -> None:
    texts = [TEXT, "", "Eva Diaz left.", TEXT * 3]
    expected = [MODEL(text) for text in texts]
    for batch in (1, 2, 256):
        for threads in (1, 2):
            assert [*MODEL.pipe(texts, batch=batch, threads=threads)] == expected
    with pytest.raises(ValueError, match="batch is 0, expected 1 or more"):
        next(MODEL.pipe(texts, batch=0))
    with pytest.raises(TypeError, match=r"for one text call the model, model\(text\)"):
        next(MODEL.pipe(TEXT))
    with pytest.raises(TypeError, match="expected a text or a Doc, not 7 of type int"):
        next(MODEL.pipe([7]))  # type: ignore[list-item]


def test_models_that_run_on_threads_share_a_tagger() -> None:
    from concurrent.futures import ThreadPoolExecutor

    expected = MODEL(TEXT)
    with ThreadPoolExecutor(4) as pool:
        assert all(doc == expected for doc in pool.map(MODEL, [TEXT] * 40))


# ---- one text of any size


BOOK = "".join(f"{TEXT} \U0001f680 Zoë {n} left.\n" for n in range(90))


@pytest.mark.parametrize("window", [1024, 1500, 1 << 20])
def test_a_stream_finds_what_the_whole_text_has(window: int, tmp_path: Path) -> None:
    expected = MODEL(BOOK).spans
    path = tmp_path / "book.txt"
    path.write_text(BOOK, encoding="utf-8")
    for file in (io.StringIO(BOOK), io.BytesIO(BOOK.encode()), path):
        found = [*MODEL.stream(file, window=window)]
        assert [span[:3] for span in found] == [span[:3] for span in expected]
        assert [span.text for span in found] == [span.text for span in expected]
        assert [span.probability for span in found] == pytest.approx([span.probability for span in expected])


@pytest.mark.parametrize("unit", UNITS)
def test_a_stream_counts_in_any_unit(unit: Any) -> None:
    expected = MODEL(BOOK).in_unit(unit).spans
    found = [*MODEL.stream(io.StringIO(BOOK), window=1024, unit=unit)]
    assert [span[:3] for span in found] == [span[:3] for span in expected]


def test_a_model_that_takes_texts_for_sentences_streams_lines() -> None:
    model = MODEL.with_text("words")
    lines = BOOK.splitlines(keepends=True)
    expected = [(span.text, span.probability) for line in lines for span in model(line).spans]
    found = [*model.stream(io.StringIO(BOOK), window=1024)]
    assert [span.text for span in found] == [text for text, _ in expected]
    assert [span.probability for span in found] == pytest.approx([p for _, p in expected])


def test_the_memory_of_a_stream_does_not_grow_with_the_text() -> None:
    def peak(times: int) -> int:
        text = io.StringIO(BOOK * times)
        tracemalloc.start()
        for _ in MODEL.stream(text, window=4096, threads=1):
            pass
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1)  # what is made once
    assert peak(20) < peak(2) + (1 << 18)


def test_a_sentence_longer_than_a_window_is_cut_with_a_warning() -> None:
    with pytest.warns(DataWarning, match="a sentence is longer than the window of 1,024 and is cut"):
        found = [*MODEL.stream(io.StringIO("Ana Ruiz saw " * 300), window=1024)]
    assert 300 <= len(found) < 305  # where a window ends, a name may be cut
    with pytest.raises(ValueError, match="window is 10, expected 1,024 characters or more"):
        next(MODEL.stream(io.StringIO("Ana"), window=10))


def test_a_sentence_of_very_many_tokens_is_cut_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_spec, "LONGEST", 100)
    with pytest.warns(DataWarning, match="a sentence of 901 tokens is cut into pieces of 100; sentences="):
        doc = MODEL("Ana Ruiz saw " * 300 + ".")
    assert doc.sentences is not None
    assert doc.sentences.tolist() == [*range(0, 901, 100), 901]
    assert len(doc.spans) > 250
