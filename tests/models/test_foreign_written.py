"""Models written for CRF++ and Wapiti: the bytes of the originals, the same answers, refusals."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import crfkit
from crfkit import FeatureSelection, Stop, train
from crfkit.cli import app
from crfkit.data.dataset import ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor, Recipe
from crfkit.features.dialects import parse_recipe
from crfkit.features.recipe import Template
from crfkit.models import SequenceModel
from crfkit.models.files import Kind, guess_kind, read_model, read_model_bytes, write_model
from crfkit.models.files.assembly import Triples, assemble
from crfkit.models.files.crfpp_write import crfpp_text as write_crfpp
from crfkit.models.files.kinds import FOREIGN, Foreign, kinds, written
from crfkit.models.files.wapiti_write import wapiti_text as write_wapiti
from crfkit.structures import Chain
from crfkit.structures.chains.local import LocalChain
from crfkit.structures.constraints import Forbid
from tests.cases.foreign_models import WAPITI_PATTERNS, crfpp_binary, crfpp_text, wapiti_text
from tests.cases.real_data import GOLDEN, needs_golden

WRITERS: dict[Kind, Callable[[SequenceModel], bytes]] = {"crfpp": write_crfpp, "wapiti": write_wapiti}
ROWS = [[("the", "DT", "O"), ("New", "NN", "B"), ("York", "NN", "I")], [("a", "DT", "O"), ("x", "NN", "B")]]


def made(template: str, rows: Any = ROWS, **options: Any) -> SequenceModel:
    extract = Extractor(parse_recipe(template))
    return train(extract(Columns.from_rows(rows)), stop=Stop(max_iterations=2), **options)


def answers(model: SequenceModel, columns: Columns) -> tuple[list[list[str]], bytes]:
    """Return labels, and the bits of all scores and marginals."""
    assert model.recipe is not None
    batch = model.batch_of(Extractor(model.recipe, label=None)(columns))
    potentials = model.potentials(batch)
    scores = [potentials.node, *(part for part in potentials.edge or ())]
    marginals = model.predict_proba(batch)
    return model.predict(batch), b"".join(part.tobytes() for part in [*scores, *marginals])


def parts(text: bytes) -> tuple[Any, ...]:
    """Return head, labels, templates and the weights of each string of a CRF++ file."""
    head, labels, templates, strings, weights = text.split(b"\n\n")
    ids = dict(line.split(b" ", 1)[::-1] for line in strings.split(b"\n"))
    lines, L = weights.split(b"\n"), len(labels.split(b"\n"))
    owned = {name: lines[int(i) : int(i) + L ** (1 if name[:1] == b"U" else 2)] for name, i in ids.items()}
    return head, labels, templates, owned


# ---- files of the originals


@needs_golden
@pytest.mark.parametrize("name", ["model", "model_l1", "model_mira"])
def test_golden_crfpp(name: str) -> None:
    original = gzip.decompress((GOLDEN / "crfpp" / f"{name}.txt.gz").read_bytes())
    model = read_model_bytes(original)
    written = write_crfpp(model)
    assert parts(written) == parts(original)
    assert (written == original) == (name == "model_l1")  # trained with -f 2, which numbers by name
    columns = crfkit.read(GOLDEN / "crfpp" / "test.txt", format="crfpp")
    assert isinstance(columns, Columns)
    assert answers(read_model_bytes(written), columns) == answers(model, columns)
    assert write_crfpp(read_model_bytes(written)) == written


@needs_golden
@pytest.mark.parametrize("name", ["lbfgs", "sgd", "memm", "maxent"])
def test_golden_wapiti(name: str) -> None:
    original = gzip.decompress((GOLDEN / "wapiti" / f"model_{name}.txt.gz").read_bytes())
    model = read_model_bytes(original)
    written = write_wapiti(model)
    begin = original.index(b"\n5031:") if b"\n5031:" in original else original.index(b"#qrk#5031")
    assert written[:begin] == original[:begin]  # sizes, patterns, labels
    assert sorted(re.findall(rb"=(.*0x.*)\n", written)) == sorted(re.findall(rb"=(.*0x.*)\n", original))
    columns = crfkit.read(GOLDEN / "wapiti" / "test.txt", format="wapiti")
    assert isinstance(columns, Columns)
    assert answers(read_model_bytes(written), columns) == answers(model, columns)
    assert write_wapiti(read_model_bytes(written)) == written


@pytest.mark.parametrize("kind", [1, 2])
def test_wapiti_bytes_come_back(kind: int) -> None:
    text = re.sub(rb"0+(p[+-])", rb"\1", wapiti_text(kind))  # C prints no zeros at the end
    assert write_wapiti(read_model_bytes(text)) == text
    alone = re.sub(rb"0+(p[+-])", rb"\1", wapiti_text(kind, [])).replace(b"#rdr#0/1/0", b"#rdr#0/0/0")
    assert write_wapiti(read_model_bytes(alone)) == alone


def test_crfpp_strings_and_weights_come_back() -> None:
    text, again = crfpp_text(), write_crfpp(read_model_bytes(crfpp_text()))
    for (name, theirs), (other, ours) in zip(
        sorted(parts(text)[3].items()), sorted(parts(again)[3].items()), strict=True
    ):
        assert (name, [float(w) for w in theirs]) == (other, [float(w) for w in ours])
    assert parts(text)[:3] == parts(again)[:3]
    assert write_crfpp(read_model_bytes(crfpp_binary())) == again


# ---- random models

POOLS: dict[Kind, list[str]] = {
    "crfpp": ["U00:%x[0,0]", "U01:%x[-2,1]/%x[1,0]", "U", "B", "B", "B01", "B01:%x[0,1]", "B2%x[-1,0]",
              "B01:N", "U%x[8,0]"],
    "wapiti": [*WAPITI_PATTERNS, "*", "b", "b:true", "b", 'b%m[0,0,"x*"]', "U:far=%x[@-1,1]", "u",
               "*:e=%X[-6,0]"],
}  # fmt: skip


def idle(model: SequenceModel, noise: np.random.Generator) -> np.ndarray:
    """Choose some transitions, and all weights of some attributes: a shorter row adds up in another order."""
    layout, chosen = model.layout, np.zeros(model.layout.weights, dtype=np.bool_)
    for name, ptr in (("node", layout.node_ptr), ("edge", layout.edge_ptr)):
        chosen[layout.parts[name]] = np.repeat(noise.random(len(ptr) - 1) < 0.3, np.diff(ptr))
    chosen[layout.parts["transition"]] = noise.random(len(layout.transition_cell)) < 0.3
    return chosen


@pytest.mark.parametrize("kind", ["crfpp", "wapiti"])
@pytest.mark.parametrize("seed", range(25))
def test_random_models_survive(kind: Kind, seed: int) -> None:
    """Labels, scores and marginals of a model that was written and read are the same, bit by bit."""
    draw, noise = random.Random(f"{kind} {seed}"), np.random.default_rng(seed)
    words, tags, labels = ["x", "y", "Zz", "\u00e9", "%", "true"], ["N", "DT", "p"], ["O", "B-x", "I-x", "#"]
    rows = [
        [(draw.choice(words), draw.choice(tags), draw.choice(labels)) for _ in range(draw.randint(1, 5))]
        for _ in range(6)
    ]
    template = "\n".join(draw.sample(POOLS[kind], draw.randint(1, 6)))
    recipe = parse_recipe(template, kind)  # type: ignore[arg-type]
    extract = Extractor(recipe)
    order = draw.choice([0, 1, 1, 1]) if "edge" not in extract._made else 1
    options: dict[str, Any] = (
        {"selection": FeatureSelection(transitions=draw.choice(["all", "observed", "none"]))} if order else {}
    )
    dataset = extract(Columns.from_rows(rows))
    model = train(dataset, stop=Stop(max_iterations=1), structure=Chain(order=order), **options)
    w = noise.normal(size=len(model.w)) * 10.0 ** noise.integers(-20, 4, size=len(model.w))
    w[idle(model, noise)] = 0.0
    local = kind == "wapiti" and order == 1 and draw.random() < 0.3
    structure = LocalChain(model.names.labels) if local else model.structure
    model = replace(model, w=w, structure=structure)
    text = WRITERS[kind](model)
    assert guess_kind(text) == kind
    again = read_model_bytes(text)
    assert again.structure.kind == structure.kind
    assert np.sort(again.w[again.w != 0.0]).tolist() == np.sort(w[w != 0.0]).tolist()
    unseen = [[(draw.choice([*words, "new"]), draw.choice(tags), "O") for _ in range(4)] for _ in range(4)]
    columns = Columns.from_rows([*rows, *unseen])
    ours, theirs = answers(model, columns), answers(again, columns)
    assert theirs[0] == ours[0]
    if kind == "wapiti" or order:  # CRF++ has no chains of order 0
        assert theirs[1] == ours[1]
    assert WRITERS[kind](again) == text


# ---- what cannot be written


def refusals() -> dict[str, tuple[Kind, Callable[[], SequenceModel]]]:
    crfpp, wapiti = "U00:%x[0,0]\nB", "u:%x[0,0]\nb"
    items = ItemExtractor()([[["w=a"], ["w=b"]]], [["P", "Q"]])

    def bound() -> SequenceModel:
        model = made(crfpp)
        return replace(model, structure=Chain(model.structure.labels, constraints=[Forbid("O", "I")]))

    def local() -> SequenceModel:
        model = made(crfpp)
        return replace(model, structure=LocalChain(model.names.labels))

    def by_hand() -> SequenceModel:
        recipe = Recipe((Template("node", (), ("Ux",)),), "crfpp")
        return replace(made(crfpp), extractor=ExtractorSpec(recipe))

    return {
        r"order 2, which CRF\+\+'s format cannot hold; save it with": (
            "crfpp",
            lambda: made(crfpp, structure=Chain(order=2)),
        ),
        "order 2 and start weights, which Wapiti's": (
            "wapiti",
            lambda: made(wapiti, structure=Chain(order=2), selection=FeatureSelection(start=True)),
        ),
        "stop weights, which CRF": ("crfpp", lambda: made(crfpp, selection=FeatureSelection(stop=True))),
        "constraints, which CRF": ("crfpp", bound),
        "steps that are normalized by themselves, which CRF": (
            "crfpp",
            local,
        ),
        "no template .its attributes were made in Python., and CRF.. needs one; train with a CRF": (
            "crfpp",
            lambda: train(items, stop=Stop(max_iterations=1)),
        ),
        "no template .its attributes were made in Python., and Wapiti needs one": (
            "wapiti",
            lambda: train(items, stop=Stop(max_iterations=1)),
        ),
        "attribute 'w=a' was not made by a Wapiti pattern": (
            "wapiti",
            lambda: train(items, stop=Stop(max_iterations=1), selection=FeatureSelection(transitions="none")),
        ),
        "templates of crfkit's own dialect, and CRF.. knows only its own; train with a CRF.. template file": (
            "crfpp",
            lambda: made("0[0]; suffix(0, 2)[0]"),
        ),
        "templates of CRF.., and Wapiti knows only its own": ("wapiti", lambda: made(crfpp)),
        "made by hand, without their text": ("crfpp", by_hand),
        "the string 'U00:New York' holds ' ', which a line of CRF.. cannot; train again without it": (
            "crfpp",
            lambda: made(crfpp, [[("New York", "B"), ("x", "O")]]),
        ),
        "leave no string for plain transitions; train with one for them, such as b": (
            "wapiti",
            lambda: made('b%m[0,0,"x*"]\n*%m[0,0,"x*"]', selection=FeatureSelection(transitions="all")),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("message", refusals())
def test_refused_before_there_is_a_file(message: str, tmp_path: Path) -> None:
    kind, make = refusals()[message]
    with pytest.raises(ValueError, match=message):
        write_model(make(), tmp_path / "m.txt", kind)
    assert not list(tmp_path.iterdir())


# ---- from a shell


def run(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == status, (done.output, done.exception)
    return done.output


def test_convert_to_crfpp_and_wapiti(tmp_path: Path) -> None:
    columns = Columns.from_rows(ROWS)
    for kind, template in (("crfpp", "U00:%x[0,0]\nB\nB01:%x[0,1]"), ("wapiti", "u:%x[0,0]\n*:%x[0,1]\n*")):
        model = made(template)
        source, by_option, by_name = (tmp_path / name for name in ("m.crf", "m.txt", f"m.{kind}.gz"))
        model.save(source)
        run("convert", source, by_option, "--to", kind)
        run("convert", source, by_name)
        assert gzip.decompress(by_name.read_bytes()) == by_option.read_bytes() == WRITERS[kind](model)
        assert answers(read_model(by_option), columns) == answers(model, columns)
        w = model.w.copy()
        w[: model.layout.node_ptr[1]] = 0.0
        write_model(replace(model, w=w), tmp_path / "zero.txt", kind)
        run("convert", tmp_path / "zero.txt", tmp_path / "small.txt", "--to", kind, "--compact")
        assert len(read_model(tmp_path / "small.txt").attributes) == len(model.attributes) - 1
        assert "--float32 is for models of crfkit" in run(
            "convert", source, tmp_path / "no.txt", "--to", kind, "--float32", status=2
        )
    (tmp_path / "i.crf").write_bytes(
        train(ItemExtractor()([[["a"], ["b"]]], [["P", "Q"]]), stop=Stop(max_iterations=1)).to_bytes()
    )
    told = run("convert", tmp_path / "i.crf", tmp_path / "no.txt", "--to", "crfpp", status=2)
    assert "train with a CRF++ template file" in " ".join(told.split())
    assert not (tmp_path / "no.txt").exists()


def test_a_kind_is_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))

    def read(data: bytes | memoryview, *, encoding: str) -> SequenceModel:
        return SequenceModel.from_bytes(bytes(data)[4:])

    mine = Foreign("Mine", (b"mine",), read, lambda given: b"mine" + given.to_bytes(), "for a test")
    monkeypatch.setitem(FOREIGN, "mine", mine)
    path = tmp_path / "m.mine"
    write_model(model, path, "mine")
    assert guess_kind(path.read_bytes()) == "mine"
    assert read_model(path).w.tobytes() == model.w.tobytes()
    assert kinds()[-1] == written()[-1] == "mine"
    with pytest.raises(ValueError, match=r"expected one of crfkit, .*, mine"):
        read_model(path, "other")
    (tmp_path / "text").write_text("words")
    with pytest.raises(ValueError, match=r"give one of crfkit, .*, Mine"):
        read_model(tmp_path / "text")
    monkeypatch.setitem(FOREIGN, "mine", replace(mine, write=None))
    with pytest.raises(ValueError, match=r"kind is 'mine'; crfkit, .* can be written"):
        write_model(model, path, "mine")


@pytest.mark.parametrize("kind", ["crfsuite", "wapiti"])
def test_what_is_written_can_be_read(kind: Kind) -> None:
    labels = [f"L{i}" for i in range(4095)]
    weight = Triples(np.array([0]), np.array([7]), np.array([1.0]))
    recipe = parse_recipe("*\nu:%x[0,0]", "wapiti") if kind == "wapiti" else None
    steps = np.zeros((4095, 4095))
    steps[1, 2] = 1.0
    model = assemble(labels, ["u:a"], weight, steps, recipe=recipe)
    with pytest.raises(ValueError, match="its 4,095 labels have 16,769,025 steps, too many"):
        FOREIGN[kind].writer()(model)
