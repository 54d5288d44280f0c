"""Every picture: well-formed, of known structure, small, quick, and harmless whatever its text."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from crfkit import view
from crfkit.view.style import color_classes, style
from crfkit.view.text import brief, width
from tests.cases.pictures import HOSTILE, hostile, large, small

#: Of each picture a digest of its elements, and how many of each there are; `python -m tests.view.structures`
#: writes them anew after a change that is meant.
STRUCTURES = json.loads((Path(__file__).parent / "structures.json").read_text())
PICTURES = sorted(small())
#: What may stand in a picture, and nothing that runs or loads.
_ELEMENTS = """
b bdi br circle code details div em figcaption figure g i img line mark p path polyline rect small span
summary svg table tbody td text th thead title tr tspan"""
ELEMENTS = set(_ELEMENTS.split())


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def elements(picture: str) -> Iterator[ElementTree.Element]:
    return parsed(picture).iter()


def name(one: ElementTree.Element) -> str:
    return one.tag.rpartition("}")[2]


def structure(picture: str) -> dict[str, object]:
    """Return what a picture is made of: elements with their classes, in order, and the count of each."""
    found = [f"{name(one)}.{one.get('class', '')}" for one in elements(picture)]
    counts: dict[str, int] = {}
    for one in elements(picture):
        counts[name(one)] = counts.get(name(one), 0) + 1
    return {"digest": hashlib.sha256("\n".join(found).encode()).hexdigest()[:16], "counts": counts}


def test_labels_of_one_color_have_different_patterns() -> None:
    labels = [f"label {i}" for i in range(48)]
    found = color_classes(labels)
    assert len({found[one] for one in labels}) == 48
    assert sum(" " in found[one] for one in labels) == 36
    assert len(set(color_classes(labels[:12]).values())) == 12
    assert not any(" " in one for one in color_classes(labels[:12]).values())
    sheet = str(style())
    for one in {each for name in found.values() for each in name.split()}:
        assert f".crfkit .{one}{{" in sheet
    many = view.segments(["a"], [(0, 1, one, 0.5) for one in labels[:29]], labels=labels[:29])
    boxes = [one for one in elements(many) if one.get("class") in found.values() and name(one) == "g"]
    hatched = [one for one in boxes if " " in (one.get("class") or "")]
    assert all(any(name(part) == "path" for part in one) for one in hatched)
    assert boxes
    assert len({one.get("class") for one in boxes}) == len(boxes)


def test_comparisons_name_what_they_underline() -> None:
    made = view.compare("in York", {"A": [(3, 7, "LOC")], "B": [(3, 7, "LOC")]})
    legend = next(one for one in elements(made) if one.get("class") == "legend")
    assert "".join(legend.itertext()) == "LOC"


def test_every_public_picture_has_cases() -> None:
    others = {"cell", "page", "style", "joined"}
    assert set(view.__all__) - others == set(small()) == set(large()) == set(hostile("x"))


@pytest.mark.parametrize("picture", PICTURES)
def test_structure(picture: str) -> None:
    assert structure(small()[picture]()) == STRUCTURES[picture], (
        "python -m tests.view.structures, if it is meant"
    )


@pytest.mark.parametrize("picture", PICTURES)
def test_the_same_every_time(picture: str) -> None:
    assert small()[picture]() == small()[picture]()
    assert not re.search(r'\bid="', small()[picture]())


@pytest.mark.parametrize("picture", PICTURES)
def test_large_ones_are_small_files_and_quick(picture: str) -> None:
    made = large()[picture]()
    assert structure(made)
    assert len(made.encode()) < 50_000
    took = float("inf")
    for _ in range(30):  # 10 ms at most on an idle machine; a busy one disturbs some of them
        make = large()[picture]
        begin = time.process_time()
        make()
        took = min(took, time.process_time() - begin)
        if took < 0.02:
            return
    raise AssertionError(f"{1e3 * took:.1f} ms")


@pytest.mark.parametrize("bad", HOSTILE)
@pytest.mark.parametrize("picture", PICTURES)
def test_hostile_text_stays_text(picture: str, bad: str) -> None:
    made = hostile(bad)[picture]()
    made.encode()  # no half of a surrogate pair
    for one in elements(made):
        assert name(one) in ELEMENTS
        for key, value in one.attrib.items():
            assert not key.lower().startswith("on")
            assert key not in ("href", "srcset", "action", "formaction")
            assert key != "src" or value.startswith("data:image/png;base64,")
            assert key != "style" or re.fullmatch(r"--[pk]:[-\w.#()]+", value)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", made)


@pytest.mark.parametrize("picture", PICTURES)
def test_each_argument_that_is_text_is_hostile_once(picture: str) -> None:
    """The hostile cases give every parameter: a new one cannot be forgotten."""
    source = inspect.getsource(hostile)
    call = source[source.index(f"view.{picture}(") :]
    call = call[: call.index("lambda", 1) if "lambda" in call else len(call)]
    text = [
        one.name
        for one in inspect.signature(getattr(view, picture)).parameters.values()
        if one.name in ("title", "note", "labels", "metric", "gold", "border")
        and one.kind == one.KEYWORD_ONLY
    ]
    assert not [name for name in text if f"{name}=" not in call]


def test_a_page_is_whole_and_runs_nothing() -> None:
    whole = view.page(*(make() for make in small().values()), title="<b>&")
    first, _, rest = whole.partition("\n")
    assert first == "<!DOCTYPE html>"
    root = ElementTree.fromstring(rest)
    assert {name(one) for one in root.iter()} - ELEMENTS == {
        "html",
        "head",
        "meta",
        "style",
        "body",
        "main",
        "h1",
    }
    policy = next(one.get("content", "") for one in root.iter("meta") if one.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert next(root.iter("title")).text == "<b>&"


def test_a_cell_has_plain_text_for_notebooks_that_are_not_trusted() -> None:
    made = view.cell(view.entities("Ana", [(0, 3, "PER")]), plain="[Ana PER] <")
    assert ElementTree.fromstring(made).findtext("pre") == "[Ana PER] <"
    shown: str = view.entities("Ana", [])._repr_html_()
    assert shown == view.cell(view.entities("Ana", []))


def test_a_lattice_links_what_it_is_told_to() -> None:
    def link(t: int, y: int | None) -> dict[str, object]:
        return {"href": f"?at={t}" if y is None else f"?fix={t}:{y}", "aria_label": f"{t} <{y}>"}

    made = view.lattice(
        ["a", "b"], ["D", "N"], [[0.9, 0.1], [0, 1.0]], best=[0, 1], at=1, fixed=[1], link=link
    )
    root = ElementTree.fromstring(made)
    links = [one.attrib["href"] for one in root.iter() if one.tag.endswith("}a")]
    assert sorted(links) == ["?at=0", "?at=1", "?fix=0:0", "?fix=0:1", "?fix=1:1"]
    assert 'role="group"' in made
    assert made.count("<circle") == 2
    assert made.count('class="band"') == 1
    assert ">fixed<" in made
    assert "0 &lt;None&gt;" in made


def test_cells_of_a_confusion_link() -> None:
    made = view.confusion(
        ["N", "V"], [[3, 1], [0, 2]], link=lambda y, z: {"href": f"?gold={y}&predicted={z}"}
    )
    assert made.count("<a ") == 3
    assert 'href="?gold=N&amp;predicted=V"' in made


def test_a_narrow_waterfall_is_narrow() -> None:
    rows = [("word[0]=Paul", "", 2.0), ("lower(word)[-1]&lower(word)[0]=st.|paul", "[+1]", -0.5)]
    made = [
        view.waterfall("Paul", "city", 0.9, "street", 0.1, rows, narrow=narrow) for narrow in (True, False)
    ]
    widths = [int(re.findall(r'width="(\d+)"', one)[0]) for one in made]
    assert widths[0] < 350 < widths[1]


def test_a_confusion_has_the_colors_of_the_model() -> None:
    """Of a few of its labels too; what is no label, missed and invented, is gray."""
    names = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG", "HHH"]
    few = names[2:5]
    wanted = color_classes(names)
    assert [wanted[one] for one in few] != [color_classes(few)[one] for one in few]
    made = view.confusion(
        [*few, "invented"], [[1] * 4] * 4, columns=[*few, "missed"], colored=names, border={few[0]: 2}
    )
    heads = re.findall(r'<th scope="\w+" class="(\w+)"><bdi>(\w+)', made)
    assert len(heads) == 8
    assert {(name, wanted.get(name, "o")) for _, name in heads} == {(name, color) for color, name in heads}


def test_names_that_are_cut_stay_apart() -> None:
    names = [f"StreetName{which}DirectionalOfTheAddress" for which in ("Pre", "Post")]
    square = [[1.0, 0.5], [0.5, 1.0]]
    for made in (
        view.transitions(names, names, square),
        view.confusion(names, [[1, 2], [3, 4]]),
        view.lattice(["a", "b"], names, square, best=[0, 1]),
        view.marginals(["a", "b"], names, square),
    ):
        assert {*re.findall(r">(StreetName[^<]*)<", made)} >= {*brief(names, 26).values()}
    assert len({*brief(names, 26).values()}) == 2
    assert [len(one) for one in brief(["a" * 500 + "b", "a" * 500 + "c" + "d" * 500], 9).values()] == [9, 9]


def test_heads_of_many_long_labels_stand_upright() -> None:
    names = [f"label number {n}" for n in range(12)]
    table = [[1.0] * 12] * 12
    assert view.transitions(names, names, table).count('class="heat tall"') == 1
    assert "tall" not in view.transitions(names[:3], names[:3], table[:3])


def test_a_bar_is_full_at_what_is_asked_for() -> None:
    made = view.scores(["share"], {"a": [0.2], "b": [0.1]}, bar=0, full=0.2)
    assert re.findall("--p:([0-9.]+)", made) == ["1.000", "0.500"]


def test_words_above_a_waterfall_do_not_overlap() -> None:
    """Both ends of the scale may have long names; neither takes more than half of the width."""
    names = "StreetNamePreDirectional", "StreetNamePostDirectional"
    for signs in ((1.0,), (-1.0,), (1.0, -1.5), (2.0, -0.5)):
        rows = [("word[0]=N", "", one) for one in signs]
        made = view.waterfall("N", names[0], 0.9, names[1], 0.1, rows, narrow=True)
        left = re.search(r'<text x="([\d.]+)" y="18" text-anchor="end" class="against small">([^<]*)', made)
        right = re.search(r'<text x="([\d.]+)" y="18" class="for small">([^<]*)', made)
        assert left is not None
        assert right is not None
        assert float(left[1]) < float(right[1])
        assert float(left[1]) - width(left[2], 11.5) >= 0
        assert float(right[1]) + width(right[2], 11.5) <= int(re.findall(r'width="(\d+)"', made)[0])
