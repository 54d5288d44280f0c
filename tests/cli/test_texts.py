"""Raw text on the command line: documents are learned and judged, text is tagged, formats are converted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit import Doc
from crfkit.cli.texts import tokenizer_named
from crfkit.text import Blanks, Given, Pattern, Words, align, write
from tests.cases.cli import run
from tests.cases.documents import DOCS, made

MARK = re.compile(r"<mark[^>]*><bdi>(.*?)</bdi><b [^>]*><bdi>(.*?)</bdi>")
ROCKET = "\U0001f680"
NOTES = f"Ana Ruiz saw New York.\n\n{ROCKET} Leo ran in Oslo.\nNobody.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made_in = tmp_path_factory.mktemp("texts")
    write(DOCS, made_in / "train.jsonl")
    (made_in / "notes.txt").write_text(NOTES, encoding="utf-8")
    run("train", made_in / "train.jsonl", "-o", made_in / "m.crf", "-q", "-j", 1)
    return made_in


def rows(output: str) -> list[list[str]]:
    return [line.split("\t") for line in output.splitlines()]


# ---- learning


def test_text_with_spans_is_learned(folder: Path, tmp_path: Path) -> None:
    done = run("train", folder / "train.jsonl", "-o", tmp_path / "m.crf", "-j", 1)
    assert "15 documents, 126 tokens, 33 spans: 33 exact." in done.stderr
    assert done.stderr.splitlines()[-1] == f"next: crfkit tag {tmp_path / 'm.crf'} FILE --text"
    model = crfkit.load(tmp_path / "m.crf")
    assert model.text.tokenizer == Words()
    assert model.training.alignment.exact == 33
    assert (model.w == crfkit.train(DOCS, progress=False).w).all()


@pytest.mark.parametrize(
    "options",
    [
        ["--structure", "semi"],
        ["--block-positions", "30"],
        ["--train-scheme", "bioes", "--sentences", "rule"],
        ["-t", "word[-1..1]", "--tokenizer", "blanks=.,()"],
        ["--dev", "train.jsonl"],
    ],
)
def test_ways_to_learn_documents(folder: Path, tmp_path: Path, options: list[str]) -> None:
    given = [str(folder / one) if one.endswith(".jsonl") else one for one in options]
    run("train", folder / "train.jsonl", "-o", tmp_path / "m.crf", "-q", "-j", 1, *given)
    judged = run("evaluate", tmp_path / "m.crf", folder / "train.jsonl", "-j", 1).stdout
    assert judged.splitlines()[-1] == "span_f1 1.0000"
    assert crfkit.load(tmp_path / "m.crf").score(DOCS) == 1.0


def test_documents_come_through_a_pipe(folder: Path, tmp_path: Path) -> None:
    text = (folder / "train.jsonl").read_bytes()
    run("train", "-", "-o", tmp_path / "m.crf", "-q", "-j", 1, text=text)
    assert (tmp_path / "m.crf").read_bytes() == (folder / "m.crf").read_bytes()
    assert rows(run("tag", folder / "m.crf", "-q", text=text).stdout)[0][:4] == ["1", "0", "8", "PER"]


def test_several_files_are_joined(folder: Path, tmp_path: Path) -> None:
    write([Doc("Osloer", spans=[(0, 4, "LOC")])], tmp_path / "more.jsonl")
    done = run("train", folder / "train.jsonl", tmp_path / "more.jsonl", "-o", tmp_path / "m.crf", "-j", 1)
    assert "16 documents, 127 tokens, 34 spans: 33 exact, 1 expanded." in done.stderr
    assert "expanded: 'Oslo' to 'Osloer' (LOC)" in done.stderr
    done = run(
        *("train", folder / "train.jsonl", tmp_path / "more.jsonl", "-o", tmp_path / "m.crf"),
        *("--alignment", "strict"),
        status=2,
    )
    assert "a span cuts a token: 'Oslo' to 'Osloer' (LOC)" in done.stderr


def test_documents_go_where_columns_go(folder: Path, tmp_path: Path) -> None:
    model, data = folder / "m.crf", folder / "train.jsonl"
    assert run("features", data).stdout.startswith("Ana\tB-PER\n    bias\n")
    assert run("explain", model, data, "--sequence", 2).stdout.startswith("In O\tO ")
    assert len(rows(run("rank", model, data, "-n", 3).stdout)) == 3
    assert "sequences                   15" in run("forecast", data, "-j", 1).stdout
    assert "span_f1   mean 0.9" in run("cv", data, "--folds", 2, "-q", "-j", 1).stdout
    run("calibrate", model, data, "-o", tmp_path / "c.crf", "-q")
    assert crfkit.load(tmp_path / "c.crf")("Ana ran").spans
    same = run("evaluate", model, data, "--against", model, "-j", 1).stdout
    assert "span_f1" in same


def test_partly_annotated_documents(tmp_path: Path) -> None:
    docs = [*DOCS, Doc("Ana saw somebody else", spans=[(0, 3, "PER")], known=[(0, 7)])]
    write(docs, tmp_path / "d.jsonl")
    run("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.crf", "-q", "-j", 1)
    assert (crfkit.load(tmp_path / "m.crf").w == crfkit.train(docs, progress=False).w).all()
    assert (
        "positions without a label"
        in run("evaluate", tmp_path / "m.crf", tmp_path / "d.jsonl", status=2).stderr
    )


# ---- tagging


def test_lines_of_text_are_tagged(folder: Path) -> None:
    found = rows(run("tag", folder / "m.crf", folder / "notes.txt", "--text").stdout)
    model = crfkit.load(folder / "m.crf")
    expected = [(n, span) for n, line in enumerate(NOTES.splitlines(), 1) for span in model(line).spans]
    assert [row[:4] for row in found] == [[str(n), str(s.start), str(s.end), s.label] for n, s in expected]
    assert [row[5] for row in found] == ["Ana Ruiz", "New York", "Leo", "Oslo"]
    assert [float(row[4]) for row in found] == pytest.approx([s.probability for _, s in expected], abs=1e-6)
    piped = run("tag", folder / "m.crf", "--text", text="Ana Ruiz saw New York.\n").stdout
    assert rows(piped) == found[:2]


def test_answers_as_json_in_any_unit(folder: Path) -> None:
    output = run(
        "tag", folder / "m.crf", folder / "notes.txt", "--text", "--json", "--offsets", "utf16"
    ).stdout
    docs = [Doc.of_dict(json.loads(line)) for line in output.splitlines()]
    model = crfkit.load(folder / "m.crf")
    assert docs == [model(line).in_unit("utf16") for line in NOTES.splitlines() if line]
    found = rows(run("tag", folder / "m.crf", folder / "notes.txt", "--text", "--offsets", "byte").stdout)
    assert found[2][1:3] == ["5", "8"]


def test_a_file_is_one_text(folder: Path) -> None:
    found = rows(run("tag", folder / "m.crf", folder / "notes.txt", "--whole").stdout)
    assert [NOTES[int(row[1]) : int(row[2])] for row in found] == ["Ana Ruiz", "New York", "Leo", "Oslo"]
    lines = run(
        "tag", folder / "m.crf", folder / "notes.txt", "--whole", "--json", "--offsets", "utf16"
    ).stdout
    spans = [json.loads(line) for line in lines.splitlines()]
    coded = NOTES.encode("utf-16-le")
    assert [coded[2 * s["start"] : 2 * s["end"]].decode("utf-16-le") for s in spans] == [
        s["text"] for s in spans
    ]


def test_documents_are_tagged(folder: Path) -> None:
    output = run("tag", folder / "m.crf", folder / "train.jsonl", "--json").stdout
    docs = [Doc.of_dict(json.loads(line)) for line in output.splitlines()]
    assert [[span[:3] for span in doc.spans] for doc in docs] == [[s[:3] for s in doc.spans] for doc in DOCS]
    assert [doc.id for doc in docs] == [doc.id for doc in DOCS]


def test_pages_of_text_are_as_the_rows(folder: Path, tmp_path: Path) -> None:
    line = ("tag", folder / "m.crf", folder / "notes.txt", "--text")
    done = run(*line, "--html").stdout
    assert [(text, label) for text, label in MARK.findall(done)] == [
        (row[5], row[3]) for row in rows(run(*line).stdout)
    ]
    assert done.count("<figure") == 3  # a line without characters is no text
    run(*line, "--html", "-o", tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text("utf-8") == done
    docs = run("tag", folder / "m.crf", folder / "train.jsonl", "--html").stdout
    assert docs.count("<figure") == len(DOCS)
    hostile = run("tag", folder / "m.crf", "--text", "--html", text="<script>Ana</script>\n").stdout
    assert "<script>" not in hostile


def test_text_is_explained_as_it_is_tagged(folder: Path) -> None:
    line = ("explain", folder / "m.crf", folder / "notes.txt", "--text")
    found = [json.loads(one) for one in run(*line, "--json").stdout.splitlines()]
    model = crfkit.load(folder / "m.crf")
    texts = [one for one in NOTES.splitlines() if one]
    made = [(token, one.label) for text in texts for token, one in explained(model, text)]
    assert [(one["token"], one["label"]) for each in found for one in each] == made
    assert run(*line, "--sequence", 2).stdout.startswith(f"{ROCKET}\tO ")
    page = run(*line, "--html", "--sequence", 1).stdout
    assert [label for _, label in MARK.findall(page)] == ["PER", "LOC"]
    piped = run("explain", folder / "m.crf", "--text", text="Ana ran\n").stdout
    assert piped.startswith("Ana\tB-PER ")
    for more in ([], ["--html"]):
        refused = run("explain", folder / "m.crf", *more, text="Ana ran\n", status=2).stderr
        assert "give --text where it is raw text" in refused


def explained(model: Any, text: str) -> list[tuple[str, Any]]:
    doc = model(text)
    return [*zip((text[a:b] for a, b in doc.tokens.tolist()), model.explain(doc), strict=True)]


def test_constraints_hold_for_text(folder: Path) -> None:
    text = "Oslo, New York, Oslo.\n"
    free = rows(run("tag", folder / "m.crf", "--text", text=text).stdout)
    bound = rows(run("tag", folder / "m.crf", "--text", "--constraint", "at-most:LOC:1", text=text).stdout)
    assert [row[3] for row in free].count("LOC") > 1
    assert [row[3] for row in bound].count("LOC") == 1


def test_other_models_get_a_tokenizer(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("in O\nYork LOC\n\nin O\nYork LOC\n")
    run("train", tmp_path / "t.txt", "-o", tmp_path / "m.crf", "-q", "-j", 1)
    refused = run("tag", tmp_path / "m.crf", "--text", text="in York\n", status=2).stderr
    assert "has no tokenizer; say how text is cut: --tokenizer words, or blanks" in refused
    found = rows(run("tag", tmp_path / "m.crf", "--text", "--tokenizer", "words", text="in York\n").stdout)
    assert [row[:4] for row in found] == [["1", "3", "7", "LOC"]]
    (tmp_path / "two.txt").write_text("in P O\nYork N LOC\n")
    run("train", tmp_path / "two.txt", "-o", tmp_path / "two.crf", "-q", "-j", 1)
    refused = run("tag", tmp_path / "two.crf", "--text", text="in York\n", status=2).stderr
    assert "reads the columns 0, 1, and a raw text has words only: it cannot read text" in refused


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "text", "told"),
    [
        (["--text"], b"Ana\nZo\xe9\n", "standard input, line 2: is not valid UTF-8"),
        (["--whole"], b"Ana\nZo\xe9\n", "standard input, line 2: is not valid UTF-8"),
        (["--text"], b"Ana \0\n", "holds a NUL byte"),
        (["--text", "-k", "2"], b"Ana\n", "--kbest is for sequences of tokens"),
        (["--text", "--given"], b"Ana\n", "--given is for sequences of tokens"),
        (["--text", "--print", "labels"], b"Ana\n", "--print labels is for sequences of tokens"),
        (
            ["--text", "--offsets", "letters"],
            b"Ana\n",
            "--offsets is 'letters', expected one of codepoint, utf16",
        ),
        (["--whole", "--html"], b"Ana\n", "leave --whole or --html out"),
        (["--text", "--html"], b"\n", "standard input holds no text"),
        (["--text", "--html", "--json"], b"Ana\n", "--html and --json are two forms"),
        (["--text", "--tokenizer", "word"], b"Ana\n", "tokenizer is 'word', expected one of words"),
        (["--text", "--tokenizer", "pattern=(a+)+$"], b"Ana\n", "could take far more steps"),
        ([], b"Ana Ruiz saw New York\nLeo ran\n", "give --text where it is raw text"),
        ([], b"Ana Ruiz saw\n", "or give --text where it is raw text"),
        ([], b'{"text": "Ana"}\n{"text": 7}\n{"spans": [[0, 1]]\n', "line 3: is not JSON"),
        ([], b'{"spans": [], "text": null}\n', "no document has a text: 1 document without text"),
        (
            ["--columns", "word"],
            b'{"text": "Ana"}\n',
            'has a "text", whose characters are not cut into tokens',
        ),
    ],
)
def test_wrong_input_is_refused(folder: Path, arguments: list[str], text: bytes, told: str) -> None:
    assert told in run("tag", folder / "m.crf", "-q", *arguments, text=text, status=2).stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"text": "Ana", "spans": [[0, 3]]}', "line 1: (0, 3) is not a span|line 1: [0, 3] is not a span"),
        ('{"text": "Ana", "spans": [["0", 3, "PER"]]}', "its ends are no whole numbers"),
        ('{"text": "Ana", "spans": [[0, 3, 7]]}', "has the label 7"),
    ],
)
def test_wrong_spans_are_refused_with_their_line(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(content + "\n")
    error = run("train", path, "-o", tmp_path / "m.crf", status=2).stderr
    assert any(one in error for one in told.split("|"))
    assert "d.jsonl, line 1" in error


def test_offsets_and_overlaps_that_are_wrong_are_counted(tmp_path: Path) -> None:
    docs = [*DOCS, Doc("Ana ran", spans=[(0, 3, "PER"), (0, 7, "X"), (5, 99, "Y"), (-2, 1, "Y")], id="odd")]
    write(docs, tmp_path / "d.jsonl")
    told = run("train", tmp_path / "d.jsonl", "-o", tmp_path / "m.crf", "-j", 1).stderr
    assert "37 spans: 34 exact, 1 overlapping, 2 out of range." in told
    assert "out of range: (5, 99, 'Y'), document 'odd'" in told


def test_tokenizers_have_names() -> None:
    assert tokenizer_named("words=-/") == Words("-/")
    assert tokenizer_named("blanks=,") == Blanks(",")
    assert tokenizer_named(r"pattern=\w+=?") == Pattern(r"\w+=?")
    for wrong in ("given=x", "characters=x"):
        with pytest.raises(ValueError, match=r"--tokenizer is '.*', expected words, words=CHARACTERS"):
            tokenizer_named(wrong)
    with pytest.raises(ValueError, match="the tokenizer pattern needs an expression"):
        tokenizer_named("pattern")


# ---- formats


def test_documents_become_columns_and_back(folder: Path, tmp_path: Path) -> None:
    done = run("convert-data", folder / "train.jsonl", tmp_path / "t.txt")
    assert "15 documents, 126 tokens, 33 spans: 33 exact." in done.stderr
    assert (tmp_path / "t.txt").read_text().splitlines()[:3] == ["Ana B-PER", "Ruiz I-PER", "lives O"]
    run("convert-data", tmp_path / "t.txt", tmp_path / "back.jsonl", "--to", "doccano")
    back = [*crfkit.text.read(tmp_path / "back.jsonl")]
    assert [[(s.text, s.label) for s in doc.spans] for doc in back] == [
        [(" ".join(s.text.split()), s.label) for s in doc.spans] for doc in DOCS
    ]
    run(
        "convert-data",
        folder / "train.jsonl",
        tmp_path / "s.txt",
        "--scheme",
        "BIOES",
        "--tokenizer",
        "blanks=.",
    )
    assert "S-PER" in (tmp_path / "s.txt").read_text()
    run("convert-data", tmp_path / "t.txt", tmp_path / "t.csv", "-q")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "0,Ana,B-PER"


@pytest.mark.parametrize("format", ["jsonl", "prodigy", "doccano", "label-studio", "brat"])
def test_documents_in_other_formats(folder: Path, tmp_path: Path, format: str) -> None:
    path = tmp_path / ("folder" if format == "brat" else "out.json")
    run("convert-data", folder / "train.jsonl", path, "--to", format, "-q")
    found = {doc.text: [span[:3] for span in doc.spans] for doc in crfkit.text.read(path)}
    assert found == {doc.text: [span[:3] for span in doc.spans] for doc in DOCS}
    run("convert-data", path, tmp_path / "again.jsonl", "-q")
    assert len([*crfkit.text.read(tmp_path / "again.jsonl")]) == 15


@pytest.mark.parametrize("format", ["webanno", "rows", "conllu", "parserator", "jsonl"])
def test_documents_are_cut_into_tokens_for_other_formats(folder: Path, tmp_path: Path, format: str) -> None:
    path = tmp_path / ("folder" if format == "webanno" else "out.any")
    told = run("convert-data", folder / "train.jsonl", path, "--to", format, "--tokenizer", "words").stderr
    assert "15 documents, 126 tokens, 33 spans: 33 exact." in told
    found = sorted(crfkit.text.read(path, format), key=lambda doc: doc.words())
    assert [[(" ".join(one.text.split()), one.label) for one in doc.spans] for doc in found] == [
        [(" ".join(one.text.split()), one.label) for one in doc.spans]
        for doc in sorted(crfkit.text.align(DOCS)[0], key=lambda doc: doc.words())
    ]
    assert sum(len(doc.tokens) for doc in found if doc.tokens is not None) == 126


def test_tokens_of_documents_stay_where_no_tokenizer_is_given(folder: Path, tmp_path: Path) -> None:
    error = run("convert-data", folder / "train.jsonl", tmp_path / "x", "--to", "webanno", status=2).stderr
    assert "has no tokens, and webanno holds text cut into tokens: give --tokenizer words" in error
    run("convert-data", folder / "train.jsonl", tmp_path / "t.jsonl", "--tokenizer", "blanks")
    cut = [doc.words() for doc in crfkit.text.read(tmp_path / "t.jsonl")]
    assert ["In", "Oslo,"] in [words[:2] for words in cut]
    run("convert-data", tmp_path / "t.jsonl", tmp_path / "s.jsonl", "--sentences", "rule")
    assert [doc.words() for doc in crfkit.text.read(tmp_path / "s.jsonl")] == cut


def test_plain_and_missing_labels_become_labels_of_tokens(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sequence,word,label\n0,the,D\n0,dog,\n")
    run("convert-data", tmp_path / "t.csv", tmp_path / "d.jsonl")
    [doc] = crfkit.text.read(tmp_path / "d.jsonl")
    assert doc.labels == ("D", None)
    assert doc.known == ((0, 3),)


@pytest.mark.parametrize(
    ("to", "told"),
    [
        (["--to", "words"], "--to is 'words', expected one of columns, "),
        (["--to", "crfsuite"], "the data are columns, but format crfsuite holds attributes"),
        (["--scheme", "BOI"], "scheme 'BOI' is not known"),
        (["--alignment", "cut"], "--alignment is 'cut', expected one of expand"),
    ],
)
def test_wrong_conversions_are_refused(folder: Path, tmp_path: Path, to: list[str], told: str) -> None:
    assert told in run("convert-data", folder / "train.jsonl", tmp_path / "o.txt", *to, status=2).stderr


def test_items_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("N\tw=dog\tlen:3\n")
    error = run(
        "convert-data",
        tmp_path / "t.txt",
        tmp_path / "o.jsonl",
        "--to",
        "doccano",
        "-f",
        "crfsuite",
        status=2,
    ).stderr
    assert "the data have attributes and no words, so that there is no text" in error


def test_made_up_documents_print_their_spans() -> None:
    assert str(made("in [New York LOC]")) == "in [New York LOC]"


def test_a_line_that_is_very_long_is_labeled_piece_by_piece(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Eva ran.\n" + "Ana Ruiz saw New York. " * 60 + "\nLeo ran.\n"
    expected = rows(run("tag", folder / "m.crf", "--text", "--sentences", "rule", text=text).stdout)
    monkeypatch.setattr("crfkit.cli.tag_texts._LONG", 1000)
    found = rows(run("tag", folder / "m.crf", "--text", "--sentences", "rule", text=text).stdout)
    assert found == expected
    assert [row[0] for row in found] == ["1", *["2"] * 120, "3"]


def test_long_documents_are_labeled_piece_by_piece_and_not_answered_whole(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Eva ran.", "Ana Ruiz saw New York. " * 60, "Leo ran."]
    lines = [json.dumps({"text": text, "spans": []}) + "\n" for text in texts]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
    asked = ["tag", folder / "m.crf", tmp_path / "a.jsonl", "--sentences", "rule"]
    expected = rows(run(*asked).stdout)
    monkeypatch.setattr("crfkit.cli.tag_texts._LONG", 1000)
    assert rows(run(*asked).stdout) == expected
    assert [row[0] for row in expected] == ["1", *["2"] * 120, "3"]
    monkeypatch.setattr("crfkit.cli.tag_texts.LONGEST_ANSWER", 1000)
    told = "the text has 1,380 characters, expected at most 1,000 where an answer is one object of JSON"
    assert f"a document: {told}; leave --json out" in run(*asked, "--json", status=2).stderr
    error = run("tag", folder / "m.crf", tmp_path / "a.txt", "--text", "--json", status=2).stderr
    assert f"a.txt, line 2: {told}" in error


def test_documents_with_tokens_are_read_as_their_tokenizer_cuts_text(folder: Path, tmp_path: Path) -> None:
    """What train says to do next works; where no tokenizer makes these tokens, it does not say so."""
    blanks = [made(text) for text in ("[Ana PER] left [Oslo, LOC]", "[Bo PER] saw [Lima LOC]")] * 5
    write([align([doc], Blanks())[0][0] for doc in blanks], tmp_path / "a.jsonl")
    done = run("train", tmp_path / "a.jsonl", "-o", tmp_path / "m.crf", "-j", 1)
    assert done.stderr.splitlines()[-1] == f"next: crfkit tag {tmp_path / 'm.crf'} FILE --text"
    found = run("tag", tmp_path / "m.crf", "--text", text="Ana left Oslo,\n").stdout
    assert [row[-1] for row in rows(found)] == ["Ana", "Oslo,"]
    cut = [align([doc], Pattern(r"\w\w?|,"))[0][0] for doc in blanks]
    write(cut, tmp_path / "b.jsonl")
    done = run("train", tmp_path / "b.jsonl", "-o", tmp_path / "n.crf", "-j", 1)
    assert done.stderr.splitlines()[-1] == f"next: crfkit tag {tmp_path / 'n.crf'} FILE"
    assert crfkit.load(tmp_path / "n.crf").text.tokenizer == Given()
