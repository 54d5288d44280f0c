"""Data that a model knows next to nothing of are not labeled without a word, by whichever door they come."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import MEMM, ChainCRF, FactorialCRF, HiddenChainCRF, SemiCRF
from crfkit.data.formats.columns import Columns
from crfkit.errors import DataWarning
from crfkit.estimators.classic import KernelChainCRF, VotedPerceptron
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger, uncertainty
from crfkit.models.files import write_model
from crfkit.models.known import UnknownAttributesWarning, inside
from crfkit.training import Induction, induce
from tests.cases.cli import run

RANDOM = np.random.default_rng(5)
WORDS = [[f"w{RANDOM.integers(30)}" for _ in range(9)] for _ in range(40)]
LABELS = [["D" if int(word[1:]) % 2 else "N" for word in words] for words in WORDS]
OTHER = [[f"other{word}" for word in words] for words in WORDS]


def items(words: list[list[str]], *, more: bool = True) -> list[list[dict[str, Any]]]:
    """Return items with what any data have: a bias, and marks of the ends."""
    made = []
    for sequence in words:
        one: list[dict[str, Any]] = [{"w": word} | ({"bias": 1.0} if more else {}) for word in sequence]
        if more:
            one[0]["BOS"], one[-1]["EOS"] = True, True
        made.append(one)
    return made


@contextmanager
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        yield


def fitted(estimator: Any = ChainCRF, **options: Any) -> Any:
    return estimator(**options).fit(items(WORDS), LABELS)


TRAINED = "trained on attributes such as 'w:w"


@pytest.mark.parametrize("estimator", [ChainCRF, MEMM, SemiCRF, HiddenChainCRF, VotedPerceptron])
def test_every_query_of_an_estimator_warns_once(estimator: Any) -> None:
    made = fitted(estimator)
    queries: list[Callable[[Any], Any]] = [made.predict]
    queries += [getattr(made, name) for name in ("predict_proba", "sample") if hasattr(made, name)]
    for query in queries:
        with pytest.warns(UnknownAttributesWarning, match=TRAINED) as told:
            query(items(OTHER))
        assert len(told) == 1
        assert told[0].filename == __file__  # the line that called, not one of crfkit
        with silent():
            query(items(WORDS))
    with pytest.warns(DataWarning, match="knows none"):
        made.score(items(OTHER), LABELS)


def test_a_kernel_of_items_warns() -> None:
    made = KernelChainCRF(kernel="linear").fit(items(WORDS)[:10], LABELS[:10])
    with pytest.warns(UnknownAttributesWarning):
        made.predict(items(OTHER, more=False))
    with silent():
        made.predict(items(WORDS))


def test_models_of_graphs_warn() -> None:
    made = FactorialCRF().fit(items(WORDS, more=False)[:20], {"a": LABELS[:20], "b": LABELS[:20]})
    with pytest.warns(UnknownAttributesWarning, match="of 360 "):
        made.predict(items(OTHER, more=False))
    with silent():
        made.predict(items(WORDS, more=False))


def test_queries_of_a_model_warn() -> None:
    model = fitted().model_
    extract = ItemExtractor()
    for given in (items(OTHER), extract(items(OTHER))):
        for query in (
            model.predict,
            model.predict_proba,
            model.predict_spans,
            lambda X: uncertainty(model, X),
            model.dataset,
        ):
            with pytest.warns(UnknownAttributesWarning, match=TRAINED):
                query(given)
    with silent():
        model.predict(extract(items(WORDS)))
        model.predict(model.dataset(items(WORDS)))


def test_what_any_data_have_does_not_hide_it() -> None:
    """A bias is at every position, marks at the ends; 11 % of all occurrences are those of marks."""
    model = fitted().model_
    assert {"bias", "BOS", "EOS"} <= set(model.attributes)
    with pytest.warns(UnknownAttributesWarning, match=r"of 280 attributes of the data the model knows none"):
        model.predict(items(OTHER))


def test_a_hundred_attributes_of_every_position_do_not_hide_it() -> None:
    def many(words: list[list[str]]) -> list[list[dict[str, Any]]]:
        always = {f"always{i}": 1.0 for i in range(100)}
        return [[{"w": word} | always for word in sequence] for sequence in words]

    made = ChainCRF(max_iterations=2).fit(many(WORDS), LABELS)
    with silent():
        made.predict(many(WORDS))
    with pytest.warns(UnknownAttributesWarning, match="knows none"):
        made.predict(many(OTHER))


def test_two_in_a_hundred_are_enough() -> None:
    model = ChainCRF().fit(items(WORDS, more=False), LABELS).model_
    mixed = [["x", *words, "x"] for words in OTHER]  # 40 of 9 inside

    def with_known(count: int) -> list[list[dict[str, Any]]]:
        flat = [list(words) for words in mixed]
        for n in range(count):
            flat[n][4] = "w1"
        return items(flat, more=False)

    with silent():
        model.predict(with_known(8))  # of 360
    with pytest.warns(UnknownAttributesWarning, match="of 360 attributes of the data the model knows 7"):
        model.predict(with_known(7))


def test_few_data_do_not_decide() -> None:
    model = ChainCRF().fit(items(WORDS, more=False), LABELS).model_
    few = [["x"] * 201]
    with silent():
        model.predict(items(few, more=False))  # 199 inside
    with pytest.warns(UnknownAttributesWarning, match="of 200 "):
        model.predict(items([["x"] * 202], more=False))


def test_a_tagger_counts_from_call_to_call_and_warns_once() -> None:
    model = fitted().model_
    tagger = Tagger(model)
    expected = [ChainCRF.predict(fitted(), [x])[0] for x in items(OTHER)[:3]]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = [tagger.tag(x if n % 2 else iter(x)) for n, x in enumerate(items(OTHER))]
    assert [one.category for one in told] == [UnknownAttributesWarning]
    assert found[:3] == expected
    with silent():
        calm = Tagger(model)
        assert [calm.tag(x) for x in items(WORDS)] == model.predict(items(WORDS))
        [calm.tag(x) for x in items(OTHER)]  # the first ones were known: that decides


def columns(words: list[list[str]], tags: list[list[str]], swapped: bool = False) -> Columns:
    rows = [
        [(y, w) if swapped else (w, y) for w, y in zip(*one, strict=True)]
        for one in zip(words, tags, strict=True)
    ]
    return Columns.from_rows(rows, names=["0", "1"])


def test_recipes_warn_though_windows_have_known_padding() -> None:
    """Every third attribute of these windows is padding or reaches it."""
    window = "".join(f"U{k}:%x[{k},0]\n" for k in (-2, -1, 0, 1, 2))
    made = ChainCRF(features=window).fit(columns(WORDS, LABELS))
    with pytest.warns(UnknownAttributesWarning, match="trained on the columns '0', which make"):
        made.predict(columns(WORDS, LABELS, swapped=True))
    with silent():
        made.predict(columns(WORDS, LABELS))
    model = made.model_
    with pytest.warns(UnknownAttributesWarning, match="such as 'U-2:"):
        model.predict([[(word, "") for word in words] for words in OTHER])


def test_recipes_with_few_values_do_not_warn() -> None:
    """A template that seldom has a value is not taken for one whose values are unknown."""
    rare = [["x"] * 30 + ["Xx"] for _ in range(20)]
    tags = [["O"] * 30 + ["N"] for _ in range(20)]
    made = ChainCRF(features='is(w, "upper")[0]').fit([[{"w": w} for w in s] for s in rare], tags)
    with silent():
        made.predict([[{"w": w} for w in s] for s in rare])


def test_models_without_names_or_with_other_features_do_not_warn() -> None:
    rows = [RANDOM.normal(size=(9, 3)) for _ in WORDS]
    dense = ChainCRF().fit(list(zip(items(WORDS), rows, strict=True)), LABELS)
    hashed = ChainCRF().fit(ItemExtractor(hashed=1 << 16)(items(WORDS), LABELS))
    with silent():
        dense.predict(list(zip(items(OTHER), rows, strict=True)))
        hashed.predict(ItemExtractor(hashed=1 << 16)(items(OTHER)))


def test_models_that_keep_few_attributes_do_not_warn() -> None:
    """Induction and large L1 penalties leave few attributes, of which most data have none."""
    found = induce(ItemExtractor()(items(WORDS), LABELS), induction=Induction(rounds=1, per_round=2))
    assert found.model.selected
    sparse = ChainCRF().fit(items(WORDS), LABELS).model_
    w = np.array(sparse.w)
    w[np.flatnonzero(w)[2:]] = 0.0
    again = SequenceModel.from_bytes(replace(sparse, w=w).to_bytes())
    assert again.selected
    assert not SequenceModel.from_bytes(sparse.to_bytes()).selected
    with silent():
        found.model.predict(items(OTHER))
        again.predict(items(OTHER))
        SequenceModel.from_bytes(again.to_bytes()).predict(items(OTHER))


def test_positions_inside() -> None:
    assert inside(np.array([0, 0, 5, 6]), 2).tolist() == [False, False, True, False, False, False]
    assert inside(np.array([0, 1, 2]), 1).all()
    assert inside(np.array([0]), 1).tolist() == []


# ---- the command line ----------------------------------------------------------------------------


def text(words: list[list[str]], tags: list[list[str]] | None = None) -> str:
    tags = LABELS[: len(words)] if tags is None else tags
    pairs = [zip(*one, strict=True) for one in zip(words, tags, strict=True)]
    return "\n".join("".join(f"{word} {tag}\n" for word, tag in one) for one in pairs)


def crfsuite_text(words: list[list[str]]) -> str:
    return "\n".join("".join(f"D\tw\\:{word}\n" for word in one) for one in words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("known")
    (made / "train.txt").write_text(text(WORDS))
    (made / "other.txt").write_text(text(OTHER))
    (made / "template").write_text("0[-1..1]\n")
    run("train", made / "train.txt", "-t", made / "template", "-o", made / "m.crf", "-q")
    model = ChainCRF().fit(items(WORDS, more=False), LABELS).model_
    write_model(model, made / "m.crfsuite", "crfsuite")
    (made / "known.crfsuite.txt").write_text(crfsuite_text(WORDS))
    (made / "other.crfsuite.txt").write_text(crfsuite_text(OTHER))
    return made


@pytest.mark.filterwarnings("always")
def test_tag_refuses_and_can_be_forced(folder: Path, tmp_path: Path) -> None:
    done = run("tag", folder / "m.crf", folder / "other.txt", "-o", tmp_path / "out.txt", status=2)
    assert "the model knows none" in done.stderr
    assert "label these all the same with --force" in done.stderr
    assert not (tmp_path / "out.txt").exists()
    done = run("tag", folder / "m.crf", folder / "other.txt", "--force")
    assert "crfkit: warning: of " in done.stderr
    assert len(done.stdout.splitlines()) == len((folder / "other.txt").read_text().splitlines()) + 1
    assert not run("tag", folder / "m.crf", folder / "train.txt").stderr
    for options in (["--print", "spans"], ["--json"], ["--kbest", "2"], ["--print", "proba"]):
        if options != ["--print", "spans"]:
            run("tag", folder / "m.crf", folder / "other.txt", *options, status=2)


def test_a_model_without_a_recipe_that_is_fed_with_columns_is_refused(folder: Path) -> None:
    done = run("tag", folder / "m.crfsuite", folder / "train.txt", status=2)
    assert "positions of the data have no attributes" in done.stderr  # a line without TAB is a label
    done = run("tag", folder / "m.crfsuite", text="The dog barks.\n", status=2)
    assert "the first position of the data has no attributes" in done.stderr
    assert not done.stdout
    (folder / "tabs.txt").write_text(text(WORDS).replace(" ", "\t"))
    done = run("tag", folder / "m.crfsuite", folder / "tabs.txt", status=2)
    assert "of 273 attributes of the data, such as 'N', 'D', the model knows none" in done.stderr
    done = run("tag", folder / "m.crfsuite", folder / "other.crfsuite.txt", status=2)
    assert "trained on attributes such as 'w:" in done.stderr
    assert "such as 'w:other" in done.stderr
    assert not run("tag", folder / "m.crfsuite", folder / "known.crfsuite.txt").stderr


@pytest.mark.filterwarnings("always")
def test_streams_are_decided_by_their_first_data(folder: Path) -> None:
    known, other = (folder / "train.txt").read_text(), (folder / "other.txt").read_text()
    run("tag", folder / "m.crf", "-", text=known + "\n" + other * 40)
    run("tag", folder / "m.crf", "-", text=other * 40, status=2)
    short = text(OTHER[:3])
    run("tag", folder / "m.crf", "-", text=short)  # too little to decide


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["evaluate", "rank", "explain"])
def test_other_commands_warn(command: str, folder: Path) -> None:
    done = run(command, folder / "m.crf", folder / "other.txt")
    assert done.stderr.count("the model knows none") == 1
    assert done.stdout
    assert "knows" not in run(command, folder / "m.crf", folder / "train.txt").stderr


def test_given_keeps_labels_of_the_input(folder: Path) -> None:
    swapped = [["N" if y == "D" else "D" for y in labels] for labels in LABELS[:4]]
    (folder / "swapped.txt").write_text(text(WORDS[:4], swapped))
    out = run("tag", folder / "m.crf", folder / "swapped.txt", "--given", "--print", "labels").stdout
    assert out.split() == [y for labels in swapped for y in labels]
    plain = run("tag", folder / "m.crf", folder / "swapped.txt", "--print", "labels").stdout
    assert plain.split() != out.split()
