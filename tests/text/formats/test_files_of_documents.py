"""Formats whose documents are files of their own: brat and WebAnno TSV."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crfkit.errors import DataError, DataWarning
from crfkit.text import Doc, read, write

FOLDER = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "annotation"
ROCKET = "\U0001f680"


def brat(folder: Path, text: str, annotations: str, name: str = "a") -> Path:
    (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    (folder / f"{name}.ann").write_text(annotations, encoding="utf-8", newline="")
    return folder / f"{name}.ann"


def webanno(folder: Path, *lines: str, layers: str = "#T_SP=custom.Span|value") -> Path:
    path = folder / "a.tsv"
    path.write_text("\n".join(["#FORMAT=WebAnno TSV 3.3", layers, "", "", *lines, ""]), newline="")
    return path


@contextmanager
def ignored() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


# ---- brat


def test_brats_real_files(tmp_path: Path) -> None:
    folder = FOLDER / "brat"
    if not folder.exists():
        pytest.skip(f"no {folder}")
    docs = read(folder)
    with pytest.warns(DataWarning, match=r"events .* equivalences .* relations"):
        found = [*docs]
    lines = [line for path in folder.glob("*.ann") for line in path.read_text().splitlines()]
    assert len(found) == len([*folder.glob("*.ann")])
    counts = {kind: sum(line[0] == kind for line in lines) for kind in "TER*AMN#"}
    assert sum(len(doc.spans) for doc in found) == counts["T"]
    assert docs.remarks.counts == {
        what: counts[kind]
        for kind, what in {"*": "equivalence", "E": "event", "R": "relation"}.items()
        if counts[kind]
    } | ({"attribute": counts["A"] + counts["M"]} if counts["A"] + counts["M"] else {})
    said = {line.split("\t")[2] for line in lines if line[0] == "T"}
    assert {span.text for doc in found for span in doc.spans} == said
    write(found, tmp_path, "brat")
    assert [*read(tmp_path)] == found


def test_brat_by_the_name_of_either_file(tmp_path: Path) -> None:
    path = brat(tmp_path, "Ana ran\r\n", "T1\tPER 0 3\tAna\r\n#1\tAnnotatorNotes T1\tsure?\r\n")
    (tmp_path / "README.txt").write_text("no annotations")
    for place in (path, path.with_suffix(".txt"), tmp_path):
        docs = read(place)
        with pytest.warns(DataWarning, match="1 note"):
            (doc,) = docs
        assert (doc.text, doc.id, [*doc.spans]) == ("Ana ran\r\n", "a", [(0, 3, "PER", None)])
    assert docs.remarks.counts[".txt without .ann"] == 1


def test_brat_counts_every_letter_of_the_text(tmp_path: Path) -> None:
    """Line ends of any kind, and a mark of the order of bytes, are letters as others are."""
    text = "\ufeffone\r\ntwo\u0085three\u2028four\rfive"
    spans = [found.span() for found in re.finditer(r"\w+", text)]
    lines = [f"T{i}\tN {a} {b}\t{text[a:b]}\n" for i, (a, b) in enumerate(spans)]
    (doc,) = read(brat(tmp_path, text, "".join(lines)))
    assert (doc.text, [span.text for span in doc.spans]) == (text, ["one", "two", "three", "four", "five"])


def test_brats_spans_in_several_parts(tmp_path: Path) -> None:
    """Parts with no more than a line end between them are one; others are unknown, never outside of spans."""
    text = "left and right arm\nof Ana"
    lines = "T1\tBODY 0 4;15 18\tleft arm\nT2\tBODY 15 18;19 21\tarm of\nT3\tPER 22 25\tAna\n"
    with pytest.warns(DataWarning, match=r"1 span in several parts \(first in line 1\)"):
        (doc,) = read(brat(tmp_path, text, lines))
    assert [span.text for span in doc.spans] == ["arm\nof", "Ana"]
    assert doc.known == ((18, 25),)


def test_brats_offsets_that_count_other_units(tmp_path: Path) -> None:
    (doc,) = read(brat(tmp_path, f"{ROCKET} Oslo", "T1\tLOC 3 7\tOslo\n"))
    assert doc.spans[0].text == "Oslo"
    with pytest.warns(DataWarning, match="1 span whose text is another"):
        (doc,) = read(brat(tmp_path, "in Oslo", "T1\tLOC 2 6\tOslo\n"))
    assert doc.spans[0].text == " Osl"


def test_brats_line_ends_may_count_once(tmp_path: Path) -> None:
    """Where a program has read the text with line ends of one character, offsets are of that text."""
    text = f"{ROCKET} one\r\ntwo\r\nthree\r\n"
    for a, b in ((12, 17), (13, 18)):  # code points, UTF-16 units
        (doc,) = read(brat(tmp_path, text, f"T1\tN {a - 2} {b - 2}\tthree\nT2\tN {a - 6} {b - 8}\ttwo\n"))
        assert (doc.text, [span.text for span in doc.spans]) == (text, ["three", "two"])


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (b"T1\tPER 0\tAna\n", "a.ann, line 1: has 'PER 0'"),
        (b"\nT1\tPER\n", "a.ann, line 2: has 'PER'"),
        (b"T1\tPER 0 3\t\xff\n", "a.ann, line 1: is not valid UTF-8"),
    ],
)
def test_what_is_not_brat(annotations: bytes, message: str, tmp_path: Path) -> None:
    path = brat(tmp_path, "Ana", "")
    path.write_bytes(annotations)
    with pytest.raises(DataError, match=message):
        list(read(path))


def test_brat_without_its_text(tmp_path: Path) -> None:
    path = brat(tmp_path, "Ana", "")
    path.with_suffix(".txt").write_bytes(b"A\n\xff")
    with pytest.raises(DataError, match=r"a\.txt, line 2: is not valid UTF-8"):
        list(read(path))
    path.with_suffix(".txt").unlink()
    with pytest.raises(DataError, match=r"a\.ann: has no .*a\.txt beside it"):
        list(read(path))
    with pytest.raises(ValueError, match="has a blank"):
        write([Doc("a", spans=[(0, 1, "A B")])], tmp_path / "x.ann", "brat")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        write([Doc("\ud83d")], tmp_path / "x.ann", "brat")


def test_names_of_strangers_stay_in_the_folder(tmp_path: Path) -> None:
    docs = [Doc("a", id=name) for name in ("../../x", "/etc/x", ".", "A", "a", "000002", "b/c", "con\n")]
    with pytest.warns(DataWarning, match="documents with an id that cannot name a file"):
        write(docs, tmp_path / "out", "brat")
    assert len([*(tmp_path / "out").iterdir()]) == 2 * len(docs)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


# ---- WebAnno TSV


def test_webannos_real_files(tmp_path: Path) -> None:
    """What a span layer has is read, everything else is counted, and what was read comes back."""
    folder = FOLDER / "webanno_tsv"
    if not folder.exists():
        pytest.skip(f"no {folder}")
    read_ones: dict[str, tuple[Doc, dict[str, int]]] = {}
    for path in sorted(folder.glob("*.tsv")):
        docs = read(path)
        with ignored():
            (doc,) = docs
        read_ones[path.stem] = doc, docs.remarks.counts
        lines = path.read_text().split("\n")
        assert doc.words() == [line.split("\t")[2] for line in lines if re.match(r"\d+-\d+\t", line)]
        with ignored():
            write([doc], tmp_path / path.name)
            (again,) = read(tmp_path / path.name)
        solid = [span for span in doc.spans if span.start < span.end]
        assert sorted(again.spans) == sorted(solid)
        assert (again.text, again.labels) == (doc.text, doc.labels)

    def of(name: str) -> list[tuple[str, str]]:
        return [(span.text, span.label) for span in read_ones[name][0].spans]

    assert of("testSentenceWithEmoji") == [("\U0001f60a", "Span")]
    assert of("testCrossSentenceSpanWithFeatureValue") == [("He loves her .\nShe loves him not .", "PERSON")]
    assert of("testSubTokenPrefix") == [("T", "OTH")]
    assert of("testTokenBoundedSpanWithUnderscoreFeatureValue")[0] == ("This", "_")
    assert of("testTokenBoundedStackedLookAlike")[3] == ("test", "NOTSTACKED[3]")
    assert of("testMultiTokenStackedSpanWithoutFeatureValue") == [("This is a test .", "Span")] * 2
    assert ("aaa bbb", "8") in of("testSubMultiTokenSpanWithFeatureValue")
    assert read_ones["testSimpleSlotFeature"][1] == {"slot": 2}
    assert read_ones["testSingleTokenRelationWithFeatureValue"][1] == {"relation": 1}
    assert read_ones["testStackedChain"][1] == {"chain": 6}
    assert read_ones["testDependencyWithValues"][0].labels == ("POS1", "POS2", None, None, None)


def test_webannos_texts_of_several_lines_and_gaps(tmp_path: Path) -> None:
    path = webanno(
        tmp_path,
        *("#Text=one \\t two", "#Text=three\\\\", "1-1\t2-5\tone\t_\t", "1-2\t8-11\ttwo\t*[1]\t"),
        *("1-3\t12-17\tthree\t*[1]\t", "", "#Text=four", "2-1\t20-24\tfour\tA\\|B\t"),
    )
    (doc,) = read(path)
    assert doc.text == "  one \t two\nthree\\\n four"
    assert [(span.text, span.label) for span in doc.spans] == [("two\nthree", "Span"), ("four", "A|B")]
    assert doc.sentence_words() == [["one", "two", "three"], ["four"]]


def test_webannos_escapes_in_text(tmp_path: Path) -> None:
    """Reserved characters as the manual says, code units as 3.1 wrote them; a token has them or not."""
    path = webanno(
        tmp_path,
        *("#Text=a\\_b \\[1\\] \\-> \\* \\| \\; \\\\[ \\q", "1-1\t0-3\ta_b\t*[1]\t"),
        *("1-2\t4-7\t\\[1\\]\t*[1]\t", "1-3\t8-10\t->\t_\t", "1-4\t11-12\t*\t_\t"),
        *("1-5\t17-19\t\\[\tX\t", "1-6\t20-22\t\\q\t_\t", ""),
        '#Text=\\u00E9t\\u00e9 \\uD83D\\uDE80 \\"x\\"',
        *("2-1\t23-26\t\xe9t\xe9\tY\t", "2-2\t27-29\t\U0001f680\tZ\t"),
    )
    docs = read(path)
    (doc,) = docs
    assert doc.text == 'a_b [1] -> * | ; \\[ \\q\n\xe9t\xe9 \U0001f680 "x"'
    assert [span.text for span in doc.spans] == ["a_b [1]", "\\[", "\xe9t\xe9", "\U0001f680"]
    assert not docs.remarks.counts
    write([doc], tmp_path / "again.tsv")
    (again,) = read(tmp_path / "again.tsv")
    assert (again.text, again.spans) == (doc.text, doc.spans)
    (alone,) = read(webanno(tmp_path, "#Text=a \\uD83D b", "1-1\t0-1\ta\t_\t"))
    assert alone.text == "a \\uD83D b"  # half a character is none


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1-1\t0-3\tone", "line 6: has '1-1.t0-3.tone', expected a token: .* 1 columns"),
        ("1-1\tx\tone\t_\t", "line 6: has the offsets 'x'"),
        ("one\t0-3\tone\t_\t", "line 6: has 'one"),
        ("1-1\t9999999999-9999999999\tone\t_\t", "line 6: begins at 9999999999"),
        ("1-1\t0-9\tone\t_\t", "tokens is .* within a text of 3"),
    ],
)
def test_what_is_not_webanno(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        list(read(webanno(tmp_path, "#Text=one", line)))


def test_webanno_without_tokens(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no tokens.*call crfkit\.text\.align"):
        write([Doc("Ana")], tmp_path / "x.tsv")
    with pytest.raises(ValueError, match=r"one file.*a file for each of 2"):
        write([Doc("Ana", [(0, 3)])] * 2, tmp_path / "x.tsv")
    with pytest.raises(DataError, match="is a folder without files of"):
        list(read(tmp_path))
    path = tmp_path / "y.tsv"
    path.write_text("#FORMAT=WebAnno TSV 3.3\n\n\n#Text=one\n")
    with pytest.raises(DataError, match="ends behind a text without tokens"):
        list(read(path))


def test_webanno_says_which_spans_have_no_token(tmp_path: Path) -> None:
    doc = Doc("  a  ", [(2, 3)], spans=[(0, 1, "X"), (2, 3, "Y"), (9, 12, "Z")])
    with pytest.warns(DataWarning, match="2 spans without a token"):
        write([doc], tmp_path / "x.tsv")
    (again,) = read(tmp_path / "x.tsv")
    assert [span.label for span in again.spans] == ["Y"]


def test_webanno_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("#FORMAT=WebAnno TSV 2\n\n1-1\tAna\tB-PER\n")
    with pytest.raises(DataError, match=r"line 1: begins with '#FORMAT=WebAnno TSV 2', expected .* 3\.3"):
        list(read(path))
