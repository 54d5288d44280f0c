"""Formats of text cut into tokens: CoNLL-U, parserator's XML, rows of Hugging Face, spaCy's DocBin."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from crfkit.errors import DataError, DataWarning
from crfkit.text import Doc, read, write

DATA = Path(os.environ.get("CRFKIT_DATA", "../shared/data"))


def conllu(*lines: str) -> io.BytesIO:
    return io.BytesIO(("\n".join(line.replace(" | ", "\t") for line in lines) + "\n\n").encode())


def word(number: int | str, form: str, upos: str = "_", misc: str = "_") -> str:
    return "\t".join([str(number), form, "_", upos, *"_____", misc])


def file_of(docs: list[Doc], format: str) -> io.BytesIO:
    file = io.BytesIO()
    write(docs, file, format)
    return io.BytesIO(file.getvalue())


# ---- CoNLL-U


def test_a_sentence_with_its_text() -> None:
    lines = ["# sent_id = a-1", "# text = Vámonos  al mar.", word("1-2", "Vámonos"), word(1, "Vamos", "VERB")]
    lines += [word(2, "nos", "PRON"), word("3-4", "al"), word(3, "a", "ADP"), word(4, "el", "DET")]
    lines += [
        word("4.1", "playa", "NOUN"),
        word(5, "mar", "NOUN", "SpaceAfter=No|NER=B-LOC"),
        word(6, ".", "PUNCT"),
    ]
    docs = read(conllu(*lines))
    with pytest.warns(DataWarning, match=r"1 empty node .*2 multiword tokens whose labels are joined"):
        (doc,) = docs
    assert docs.format == "conllu"
    assert (doc.text, doc.words(), doc.id) == ("Vámonos  al mar.", ["Vámonos", "al", "mar", "."], "a-1")
    assert doc.labels == ("VERB+PRON", "ADP+DET", "NOUN", "PUNCT")
    assert [(span.text, span.label) for span in doc.spans] == [("mar", "LOC")]


def test_words_that_spell_their_token_are_tokens() -> None:
    lines = [
        word("1-2", "don't", misc="ner=S-X"),
        word(1, "do", "AUX"),
        word(2, "n't", "PART"),
        word(3, "go"),
    ]
    (doc,) = read(conllu(*lines))
    assert (doc.text, doc.words(), doc.labels) == ("don't go", ["do", "n't", "go"], ("AUX", "PART", None))
    assert [(span.text, span.label) for span in doc.spans] == [("don't", "X")]


def test_documents_of_several_sentences() -> None:
    lines = [
        "# newdoc id = d",
        "# text = One two.",
        word(1, "One"),
        word(2, "two", misc="SpaceAfter=No"),
        word(3, "."),
    ]
    lines += [
        "",
        "# text = Three.",
        word(1, "Three", misc="SpacesAfter=\\s\\s"),
        word(2, "."),
        "",
        "# newdoc",
    ]
    first, second = read(conllu(*lines, word(1, "Four")))
    assert (first.id, first.text) == ("d", "One two. Three  .")
    assert first.sentence_words() == [["One", "two", "."], ["Three", "."]]
    assert (second.id, second.text) == (None, "Four")


def test_columns_behind_the_tenth() -> None:
    (doc,) = read(conllu(word(1, "Ana") + "\tB-PER", word(2, "ran") + "\tO"))
    assert [*doc.spans] == [(0, 3, "PER", None)]
    names = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC PARSEME:MWE X:NE"
    (doc,) = read(conllu(names, word(1, "Ana") + "\t1:VID\tB-PER"))
    assert [*doc.spans] == [(0, 3, "PER", None)]
    with pytest.raises(DataError, match=r"line 1: names 'ID FORM', expected ID FORM LEMMA"):
        list(read(conllu("# global.columns = ID FORM", word(1, "Ana")), "conllu"))


def test_a_text_that_tokens_do_not_spell_is_said() -> None:
    docs = read(conllu("# text = Ana runs", word(1, "Ana"), word(2, "ran")))
    with pytest.warns(DataWarning, match=r"1 sentence with a text that its tokens do not spell .*line 1"):
        (doc,) = docs
    assert doc.text == "Ana ran"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\tAna"], "line 1: has '1.tAna', expected a number and 9 other columns"),
        ([word(1, "a"), word("x", "b")], "line 2: has 'x"),
        ([word(1, "")], "line 1: has an empty form"),
        ([word("1-3", "abc"), word(1, "a")], "line 1: the token 'abc' stands for words that do not follow"),
        ([word("3-1", "abc")], "line 1: has the number 3-1"),
        (["# text = a"], "holds no sentence"),
        ([word(1, "a\0b")], "line 1: holds a NUL byte"),
    ],
)
def test_what_is_not_conllu(lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read(conllu(*lines), "conllu"))


def test_what_conllu_cannot_hold() -> None:
    with pytest.raises(ValueError, match=r"document 1: 'a.tb' holds a TAB"):
        write([Doc("a\tb", [(0, 3)])], io.BytesIO(), "conllu")
    with pytest.raises(ValueError, match="does not fit the tokens"):
        write([Doc("ab", [(0, 2)], spans=[(0, 1, "X")])], io.BytesIO(), "conllu")
    with pytest.warns(DataWarning, match="1 text outside of tokens"):
        file = file_of([Doc("a - b", [(0, 1), (4, 5)])], "conllu")
    assert [doc.text for doc in read(file)] == ["a - b"]


def test_conllu_of_the_english_web_treebank() -> None:
    path = DATA / "ud/en_ewt.dev.txt.gz"
    if not path.exists():
        pytest.skip(f"no {path}")
    blocks = gzip.decompress(path.read_bytes()).decode().strip().split("\n\n")[:500]
    rows = [[line.split(" ") for line in block.split("\n")] for block in blocks]
    docs = [Doc.of_dict(_joined([w for w, *_ in one], [y for _, y, _ in one])) for one in rows]
    again = [*read(file_of(docs, "conllu"))]
    assert again == docs
    lines = [word(t, w, y) for one in rows for t, (w, y, _) in [*enumerate(one, 1), (0, ["", "", ""])]]
    given = "\n".join("" if line.startswith("0\t") else line for line in lines) + "\n"
    assert [doc.labels for doc in read(io.BytesIO(given.encode()))] == [doc.labels for doc in docs]


def _joined(words: list[str], labels: list[str]) -> dict[str, Any]:
    text, tokens = " ".join(words), []
    at = 0
    for one in words:
        tokens.append((at, at + len(one)))
        at += len(one) + 1
    return {"text": text, "tokens": tokens, "labels": labels}


# ---- parserator's XML

#: Lines of measure_performance/test_data/labeled.xml of usaddress (MIT, The Atlanta Journal Constitution).
ADDRESSES = """<AddressCollection>
  <AddressString><AddressNumber>20</AddressNumber> <StreetName>Benton</StreetName> <StreetNamePostType>Pl\
</StreetNamePostType> <PlaceName>St</PlaceName> <PlaceName>Louis,</PlaceName> \
<StateName>MO</StateName></AddressString>
  <AddressString><Recipient>LEXI</Recipient> <Recipient>HAGENSON
</Recipient> <AddressNumber>860</AddressNumber> <PlaceName>CHICAGO</PlaceName> \
<ZipCode>60642&#8212;2534</ZipCode></AddressString>
</AddressCollection>
"""


def test_parserators_own_lines() -> None:
    docs = read(io.BytesIO(ADDRESSES.encode()))
    first, second = docs
    assert docs.format == "parserator"
    assert first.text == "20 Benton Pl St Louis, MO"
    assert [(span.text, span.label) for span in first.spans][3:] == [
        ("St Louis,", "PlaceName"),
        ("MO", "StateName"),
    ]
    assert second.words() == ["LEXI", "HAGENSON", "860", "CHICAGO", "60642\u20142534"]
    assert second.text.startswith("LEXI HAGENSON\n 860")
    assert [*read(file_of([first, second], "parserator"))] == [first, second]


def test_addresses_that_ship_come_back_as_runs() -> None:
    """Labels of tokens stand for spans; nothing is lost of them, and nothing is said to be."""
    from crfkit.datasets import load_addresses

    docs = load_addresses().test
    for doc, again in zip(docs, read(file_of(docs, "parserator")), strict=True):
        assert again.text == doc.text
        assert again.to_tags("IO") == [f"I-{label}" for label in doc.labels]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("<a><b><C>x</C></b>", "line 2: is not XML"),
        ("<a>\n<b><C>x<d/></C></b></a>", "line 2: has the element 'd' within a token"),
        ("<a>\n\nx<b/></a>", "line 3: has the text 'x' outside"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a><b><C>&x;</C></b></a>', "line 1: declares types or entities"),
        ("<a></a>", "holds no document"),
        ("<a><b><C>\x01</C></b></a>", "line 1: is not XML"),
    ],
)
def test_what_is_not_parserators(given: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read(io.BytesIO(given.encode()), "parserator"))


def test_what_xml_cannot_hold() -> None:
    with pytest.raises(ValueError, match="the label 'A B' cannot name"):
        write([Doc("a", [(0, 1)], spans=[(0, 1, "A B")])], io.BytesIO(), "parserator")
    with pytest.warns(DataWarning, match="1 end of a span before one of the same label"):
        write([Doc("a b", [(0, 1), (2, 3)], spans=[(0, 1, "X"), (2, 3, "X")])], io.BytesIO(), "parserator")
    with pytest.warns(DataWarning, match="1 label without a token"):
        list(read(io.BytesIO(b"<a><b><C> </C><D>x</D></b></a>")))


# ---- rows


ROWS = [{"id": 4, "tokens": ["In", "New", "York"], "ner_tags": [0, 1, 2], "source": "web"}]
NAMES = ["O", "B-LOC", "I-LOC"]


class DataSet(list[Any]):
    """Rows with features, as `datasets.Dataset` has them."""

    features: ClassVar = {
        "ner_tags": SimpleNamespace(feature=SimpleNamespace(names=NAMES)),
        "id": SimpleNamespace(),
    }


def test_rows_in_memory() -> None:
    for docs in (read(DataSet(ROWS)), read(ROWS, names=NAMES), read(ROWS, "rows", names=NAMES)):
        (doc,) = docs
        assert (doc.text, doc.id, doc.meta) == ("In New York", "4", {"source": "web"})
        assert [(span.text, span.label) for span in doc.spans] == [("New York", "LOC")]
        assert len([*docs]) == 1
    (doc,) = read([{"words": ["a", "b"], "ner": np.array([-100, 0]), "upos": ["X", None]}], names=NAMES)
    assert (doc.known, doc.labels) == (((2, 3),), ("X", None))
    (doc,) = read([{"tokens": ["a", "b"], "tags": ["DET", "NOUN"]}])
    assert (doc.labels, doc.spans) == (("DET", "NOUN"), ())
    bare = read([{"tokens": ["a"]}, {"tokens": ["a"], "ner_tags": None}, {"tokens": ["a"], "tags": ["O"]}])
    assert [doc.known for doc in bare] == [(), (), None]


def test_rows_of_tables_and_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    features = {"ner_tags": {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}}
    kept = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    table = pyarrow.Table.from_pylist(ROWS).replace_schema_metadata(kept)
    parquet.write_table(table, tmp_path / "a.parquet")
    (expected,) = read(ROWS, names=NAMES)
    assert [*read(tmp_path / "a.parquet")] == [*read(table, names=NAMES)] == [expected]
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for kind in (pandas.DataFrame, polars.DataFrame):
        (doc,) = read(kind(ROWS), names=NAMES)
        assert (doc.spans, doc.id) == (expected.spans, "4")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"a\.parquet: is not a Parquet file"):
        list(read(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a"], "ner_tags": [0]}, "row 1: has numbers for ner_tags; give their names"),
        ({"tokens": ["a"], "ner_tags": ["O", "O"]}, "row 1: has 1 tokens and 2 ner_tags"),
        ({"tokens": "ab", "ner_tags": ["O"]}, "row 1: has 'ab' for tokens, expected a list"),
        ({"tokens": ["a", ""]}, "row 1: has the token ''"),
        ({"body": "a"}, "row 1: has no field tokens or words; its fields are body"),
        ({"tokens": ["b", "a"], "text": "a b"}, "row 1: has the token 'a', which does not stand in its text"),
        ({"tokens": ["b"], "text": "a b", "offsets": [[0, 1]]}, "row 1: has offsets that do not lead"),
        (["a"], r"row 1 is \['a'\], expected a mapping"),
    ],
)
def test_rows_that_are_none(row: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        list(read([row]))
    if isinstance(row, dict):
        with pytest.raises(DataError, match=message.replace("row 1", "line 1")):
            list(read(io.BytesIO(json.dumps(row).encode()), "rows"))


def test_rows_with_wrong_numbers_and_one_time_rows() -> None:
    with pytest.raises(ValueError, match="row 1: has 7 for ner_tags, expected a number below 3"):
        list(read([{"tokens": ["a"], "ner_tags": [7]}], names=NAMES))
    with pytest.raises(TypeError, match="expected a path, an open file or a list of rows, not generator"):
        list(read(one for one in ROWS))
    with pytest.raises(TypeError, match="expected a path, an open file or a list of rows, not list"):
        list(read(ROWS, "doccano"))


# ---- spaCy


def test_docbin_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    for name in ("spacy.tokens", "spacy.vocab"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"the format spacy needs spaCy: pip install 'crfkit\[spacy\]'"):
        list(read(io.BytesIO(b"x"), "spacy"))


def test_docbin_of_spacy_itself(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    tokens = pytest.importorskip("spacy.tokens")
    nlp = spacy.blank("en")
    doc = nlp("\U0001f680 Ana lives\nin New York.")
    doc.set_ents([doc.char_span(2, 5, label="PER"), doc.char_span(15, 23, label="LOC")])
    nobody = nlp("not looked at")
    grouped = nlp("Ana ran")
    grouped.spans["sc"] = [tokens.Span(grouped, 0, 1, label="PER"), tokens.Span(grouped, 0, 2, label="X")]
    grouped.spans["sc"].attrs["scores"] = [0.75, 0.5]
    path = tmp_path / "train.spacy"
    tokens.DocBin(docs=[doc, nobody, grouped], store_user_data=True).to_disk(path)
    docs = read(path)
    first, second, third = docs
    assert docs.format == "spacy"
    assert (first.text, [(span.text, span.label) for span in first.spans]) == (
        doc.text,
        [("Ana", "PER"), ("New York", "LOC")],
    )
    assert "\n" not in first.words()
    assert (first.known, second.known) == (None, ())
    assert [(span.label, span.probability) for span in third.spans] == [("PER", 0.75), ("X", 0.5)]
    assert third.known is None
    with pytest.raises(ValueError, match="does not fit the tokens"):
        write([third.with_spans([(0, 3, "A"), (1, 7, "B")])], tmp_path / "x.spacy")
    write([first], tmp_path / "again.spacy")
    (given,) = tokens.DocBin().from_disk(tmp_path / "again.spacy").get_docs(nlp.vocab)
    assert (given.text, [(e.text, e.label_) for e in given.ents]) == (
        doc.text,
        [("Ana", "PER"), ("New York", "LOC")],
    )
    (tmp_path / "bad.spacy").write_bytes(b"x\x9cno")
    with pytest.raises(DataError, match=r"bad\.spacy: is not a DocBin of spaCy"):
        list(read(tmp_path / "bad.spacy"))


def test_conllu_has_names_of_entities_in_misc() -> None:
    """DaNE writes tags as ``name=B-PER``; a name of another kind is none, and brackets are counted."""
    rows = ["name=B-PER", "SpaceAfter=No|name=O", "name=Ana|Entity=(1-person-2)"]
    text = "".join(f"{i}\tw{i}\t_\tX\t_\t_\t_\t_\t_\t{misc}\n" for i, misc in enumerate(rows, 1))
    docs = read(io.BytesIO(text.encode()), "conllu")
    with pytest.warns(DataWarning, match=r"1 Entity in MISC \(first in line 3\)"):
        (doc,) = docs
    assert [(span.text, span.label) for span in doc.spans] == [("w1", "PER")]
