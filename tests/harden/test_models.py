"""Some hundred damaged models of each kind in every run of the suite; `make harden` tries more."""

from __future__ import annotations

from pathlib import Path

import pytest

from crfkit.models.store import unpack
from tests.harden.answers import ask
from tests.harden.case import Outcome, chance
from tests.harden.fields import Damages
from tests.harden.models import KINDS, Bytes, Fields, judged, opened
from tests.harden.seeds import SEEDS, seed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SEEDS)
def test_sound_models_answer(name: str) -> None:
    ask(opened(seed(name), name))


def test_files_damaged_anywhere() -> None:
    trials = Bytes()
    made = [trials.make(i, chance("model files", 3, i)) for i in range(150 * len(KINDS))]
    seen = {name: [judged(data) for other, data in made if other == name] for name in KINDS}
    for name, outcomes in seen.items():
        assert Outcome.REFUSED in outcomes, name
        assert Outcome.ACCEPTED in outcomes or name in ("crfkit", "graph"), (
            f"{name}: some should still be sound"
        )


def test_fields_damaged_behind_their_sums(tmp_path: Path) -> None:
    trials = Fields(tmp_path, often=50)
    seen = [trials.judge(trials.make(i, chance("model fields", 3, i)).data) for i in range(8 * len(SEEDS))]
    assert {*seen} == {Outcome.ACCEPTED, Outcome.REFUSED}


@pytest.mark.parametrize("name", ["chain", "graph tables"])
def test_damage_lies_behind_the_sums(name: str) -> None:
    damages = Damages(seed(name))
    assert {"w", ("training", "notes"), ("format",)} <= {*damages.fields}
    changed = 0
    for i, field in enumerate(damages.fields):
        draw = chance(name, 0, i)
        one = draw.choice(damages.of(field))
        data = one.apply(draw)
        unpack(data, one.name)
        changed += data != damages.data
    assert changed > 0.9 * len(damages.fields)


def test_lies_of_the_header_are_refused() -> None:
    damages = Damages(seed("chain"))
    lies = [one for one in damages.lies("w") if one.name not in ("w: called F64", "w: called I64")]
    assert len(lies) > 20
    for one in lies:
        with pytest.raises(ValueError, match="damaged"):
            unpack(one.apply(chance("lies", 0, 0)), "variant.file")
