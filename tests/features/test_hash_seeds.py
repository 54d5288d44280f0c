"""Sets of names give the same bits in every run: Python hashes strings with a seed of its own in each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from crfkit.checks import in_order
from crfkit.features import ItemExtractor

RUN = """
import hashlib, json, sys
from dataclasses import replace
from crfkit import Chain, Graph, Stop, train
from crfkit.compat import pycrfsuite
from crfkit.constraints import AtMost, Forbid, AtMostOnce
from crfkit.data.alphabet import Alphabet
from crfkit.features import Conjunctions, Dictionary, Gazetteer, ItemExtractor, segment_features

words = "the dog sees a cat and runs fast while birds sing".split()
names = lambda w: {f"w={w}", f"suffix={w[-2:]}", f"prefix={w[:2]}", "bias", f"length={len(w)}"}
y = [["D", "N", "V", "D", "N", "C", "V", "A", "C", "N", "V"]] * 2
items = {
    "sets": [[names(w) for w in words]] * 2,
    "frozen sets": [[frozenset(names(w)) for w in words]] * 2,
    "bytes": [[{name.encode() for name in names(w)} for w in words]] * 2,
    "sets in dicts": [[{"f": names(w), "g": {"h": frozenset(names(w))}, "v": 0.5} for w in words]] * 2,
}
found = {}

def keep(what, model):
    found[what] = hashlib.sha256(replace(model, training=None).to_bytes()).hexdigest()

def learn(data, **options):
    return train(data, stop=Stop(max_iterations=5), **options)

for what, X in items.items():
    keep(what, learn(ItemExtractor()(X, y)))
keep("hashed", learn(ItemExtractor(hashed=64)(items["sets"], y)))
mixed = [[{*names(w), 3, 11, 7} for w in words]] * 2
keep("hashed, with ids", learn(ItemExtractor(hashed=64)(mixed, y)))
rules = {Forbid("D", "D"), Forbid("C", "C"), Forbid("A", "A"), Forbid("N", "N")}
keep("constraints", learn(ItemExtractor()(items["sets"], y), structure=Chain(constraints=rules)))
model = learn(ItemExtractor()(items["sets"], y))
keep("on whole labelings", model.constrained({AtMost("N", 2), AtMost("V", 2), AtMostOnce({"D", "C", "A"})}))
pairs = {("bias", "w=the"), ("bias", "w=dog"), ("bias", "length=3")}
keep("conjunctions", learn(Conjunctions(pairs)(ItemExtractor()(items["sets"], y))))
trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 5})
for xseq, yseq in zip(items["sets"], y):
    trainer.append(xseq, yseq)
trainer.train(sys.argv[1])
found["python-crfsuite"] = hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()
found["alphabet"] = Alphabet(names("dog")).strings()
found["labels"] = Chain(names("dog")).labels
found["kinds"] = repr(Graph({"a": names("dog")}, c=["a"]).kinds)
found["gazetteer"] = Gazetteer({"New York", "York", "San Francisco"}).phrases
found["dictionary"] = Dictionary({"New York", "York", ("San", "Francisco")}).entries
functions = [lambda x, start, end: {f"{word}{end - start}" for [word] in x[start:end]} | {"long", "short"}]
segments = segment_features([[[word] for word in words]], 3, functions)
found["segments"] = segments.segment_attributes.strings(), segments.batch.segment_attr.tolist()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes find, each with another seed."""
    folder = tmp_path_factory.mktemp("seeds")
    begun = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", RUN, str(folder / f"{seed}.crfsuite")],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in (0, 1)
    ]
    said = [run.communicate(timeout=120)[0] for run in begun]
    assert [run.returncode for run in begun] == [0, 0]
    return [json.loads(text) for text in said]


def test_seeds_change_nothing(runs: list[dict[str, Any]]) -> None:
    different = [what for what in runs[0] if len({json.dumps(run[what]) for run in runs}) > 1]
    assert different == []


@pytest.mark.parametrize(
    ("X", "y", "why"),
    [
        ([{("a",), ("b",)}], [["x", "y"]], "sequence 0: a set is not a sequence; expected a list of items"),
        ([[["a"], ["b"]]], [{"x", "y"}], "sequence 0: the labels are a set, expected a list"),
        ({(("a",), ("b",))}, [["x", "y"]], "X is a set, whose order varies between runs"),
    ],
)
def test_what_needs_an_order_is_not_a_set(X: Any, y: Any, why: str) -> None:
    with pytest.raises(TypeError, match=f"^{why}"):
        ItemExtractor()(X, y)


def test_sets_are_taken_by_the_bytes_of_their_strings() -> None:
    given = {"b", "\U0001f600", "\uff41", "a", "\xe9"}
    extract = ItemExtractor()
    extract([[given, {"k": given}]])
    first = sorted(given, key=str.encode)
    assert extract.attributes.strings() == [*first, *(f"k:{name}" for name in first)]
    assert in_order(given) == sorted(given)


def test_a_wrong_element_of_a_set_is_named() -> None:
    with pytest.raises(TypeError, match="sequence 0, position 1: the name of an attribute is of type int"):
        ItemExtractor()([[["a"], {1}]])
