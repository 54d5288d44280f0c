"""Expressions that somebody wrote to take long, in recipes and constraints, on texts that make them."""

from __future__ import annotations

import json
import random
import re

from crfkit import Chain
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.features.dialects import parse_recipe
from crfkit.structures.constraints import Forbid
from tests.cases.hostile_patterns import random_expression
from tests.harden.case import FailureError, Input, Outcome

TEXTS = ("a" * 3000 + "!", "ab" * 1500 + "\0", "a", "", "é" * 2000 + "b", "aaa bbb ccc")
WHERE = ("regex", "is", "match", "test", "constraint")


class Patterns:
    """A random expression, where a recipe or a constraint may have one: it answers soon, or is refused."""

    def make(self, i: int, chance: random.Random) -> Input:
        drawn = [chance.choice(WHERE), random_expression(chance, chance.choice([2, 4, 6]))]
        return Input(": ".join(drawn), json.dumps(drawn).encode())

    def judge(self, data: bytes) -> Outcome:
        where, expression = json.loads(data)
        quoted = json.dumps(expression, ensure_ascii=False)
        try:
            if where == "constraint":
                Chain(
                    [text[:200] or "-" for text in TEXTS], constraints=[Forbid(re.compile(expression), "a")]
                )
                return Outcome.ACCEPTED
            if where in ("regex", "is"):
                recipe = parse_recipe(f"{where}(word, {quoted})[0]", "crfkit")
            else:
                recipe = parse_recipe(f"u:%{where[0]}[ 0,0,{quoted}]\n", "wapiti")
            rows = Columns.from_rows([[(text,)] for text in TEXTS], names=["word"])
            Extractor(recipe, label=None)(rows, 1)
        except (ValueError, re.error) as error:
            if not str(error):
                raise FailureError("an error without a message") from error
            return Outcome.REFUSED
        return Outcome.ACCEPTED
