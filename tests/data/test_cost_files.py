"""toulbar2's cost functions, and Bayes nets in BIF: against tables by hand, and what is refused."""

from __future__ import annotations

import io
import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from crfkit import graphs, inference
from crfkit.errors import DataError

WCSP = "toy 3 3 4 100\n2 3 2\n2 0 1 5 2\n0 0 1\n1 2 100\n1 2 0 2\n0 4\n1 0\n2 2 1 0 1\n1 1 7\n0 3 0\n"
CFN: dict[str, Any] = {
    "problem": {"name": "toy", "mustbe": "<100.0"},
    "variables": {"a": 2, "b": ["x", "y", "z"], "c": 2},
    "functions": {
        "ab": {"scope": ["a", "b"], "defaultcost": 5, "costs": [0, "x", 1, 1, 2, 100]},
        "c": {"scope": ["c"], "costs": [4, 0]},
        "cb": {"scope": ["c", "b"], "costs": [0, 0, 0, 0, 7, 0]},
        "all": {"scope": [], "costs": [3]},
    },
}
BIF = """network unknown { property made by hand; }
// the grass is wet
variable rain { type discrete [ 2 ] { yes, no }; }
variable wet { type discrete [ 3 ] { dry, damp, soaked }; }
variable sprinkler { type discrete [ 2 ] { on, off }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( sprinkler | rain ) { (yes) 0.01, 0.99; default 0.4, 0.6; }
probability ( wet | sprinkler, rain ) {
  (on, yes) 0.0, 0.1, 0.9; (off, yes) 0.1, 0.4, 0.5; (on, no) 0.1, 0.6, 0.3; (off, no) 0.9, 0.1, 0.0;
}
"""


def read(text: str, format: str) -> Any:
    return graphs.load(io.BytesIO(text.encode()), format=format)


def cost(a: int, b: int, c: int) -> float:
    first = {(0, 0): 1.0, (1, 2): np.inf}.get((a, b), 5.0)
    return first + [4.0, 0.0][c] + (7.0 if (c, b) == (1, 1) else 0.0) + 3.0


@pytest.mark.parametrize(("text", "format"), [(WCSP, "wcsp"), (json.dumps(CFN), "cfn")])
def test_costs_of_all_labelings(text: str, format: str) -> None:
    scores = read(text, format)
    costs = [cost(a, b, c) for a, b, c in product(range(2), range(3), range(2))]
    total = float(inference.log_partition(scores))
    assert total == pytest.approx(np.log(np.sum(np.exp(-np.array(costs)))), rel=1e-12)
    assert -float(inference.decode(scores).score) == pytest.approx(min(costs))
    assert inference.count(scores) == np.isfinite(costs).sum()


def test_values_that_are_maximized() -> None:
    turned = json.loads(json.dumps(CFN).replace("<100.0", ">-100.0"))
    for function in turned["functions"].values():
        step = len(function["scope"]) + 1 if "defaultcost" in function else 1
        function["costs"] = [-x if i % step == step - 1 else x for i, x in enumerate(function["costs"])]
        if "defaultcost" in function:
            function["defaultcost"] *= -1
    right = float(inference.log_partition(read(WCSP, "wcsp")))
    assert float(inference.log_partition(read(json.dumps(turned), "cfn"))) == pytest.approx(right)


def test_a_bayes_net() -> None:
    p = inference.marginals(read(BIF, "bif"))
    rain, given = np.array([0.2, 0.8]), np.array([[0.01, 0.99], [0.4, 0.6]])
    wet = np.array(
        [[[0.0, 0.1, 0.9], [0.1, 0.6, 0.3]], [[0.1, 0.4, 0.5], [0.9, 0.1, 0.0]]]
    )  # on, off x yes, no
    right = np.einsum("r,rs,srw->w", rain, given, wet)
    assert float(p.log_partition) == pytest.approx(0.0, abs=1e-12)
    for found, true in zip(p["variable"], (rain, right, rain @ given), strict=True):
        np.testing.assert_allclose(found, true, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "format", "what"),
    [
        (WCSP.replace("1 2 0 2", "1 5 0 2"), "wcsp", "line 6: a variable of function 1 is 5, expected"),
        (WCSP.replace("5 2\n", "-1 2\n", 1).replace("-1 2", "5 -1"), "wcsp", "global constraint"),
        (WCSP[:-6], "wcsp", "ends where"),
        (WCSP + "9", "wcsp", "there is more behind 4 cost functions"),
        ("{", "cfn", "is not JSON"),
        ("[]", "cfn", "has no object 'problem'"),
        (json.dumps(CFN).replace('"z"]', "0]").replace('"x", 1', '"q", 1'), "cfn", "function 'ab'"),
        (json.dumps(CFN).replace("[4, 0]", "[4]"), "cfn", "has 1 costs, expected 2"),
        (json.dumps(CFN).replace("<100.0", "100"), "cfn", "mustbe is '100'"),
        (BIF.replace("| rain", "| snow"), "bif", "line 7: variable 'snow' is not declared"),
        (BIF.replace("default 0.4, 0.6;", ""), "bif", "lacks 2 probabilities"),
        (BIF.replace("0.2, 0.8", "0.2"), "bif", "has 1 numbers, expected 2"),
        (BIF.replace("[ 3 ]", "[ 4 ]"), "bif", "has 3 states, expected 4"),
        (BIF[:-5], "bif", "ends where"),
    ],
)
def test_what_is_refused(text: str, format: str, what: str) -> None:
    with pytest.raises(DataError, match=what.replace("[", r"\[")):
        read(text, format)


def test_they_are_not_written(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="wcsp is read only; write one of uai, lg, fg, opengm"):
        graphs.save(read(WCSP, "wcsp"), tmp_path / "m.wcsp")
