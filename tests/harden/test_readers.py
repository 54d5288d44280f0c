"""Some hundred variants of each kind of text in every run of the suite; `make harden` tries more."""

from itertools import count

import pytest

from tests.harden.case import Outcome, chance
from tests.harden.readers import READERS, All

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", sorted(READERS))
def test_texts_are_read_or_refused(name: str) -> None:
    reader = READERS[name]
    seen = [reader.judge(reader.make(chance(name, 7, i))) for i in range(200)]
    refused = seen.count(Outcome.REFUSED)
    assert 0 < refused < len(seen), "the seeds should sometimes be valid"


def test_every_reader_has_its_turn() -> None:
    made = (All().make(i, chance("texts", 0, i)) for i in count())
    assert {next(made).name for _ in READERS} == {*READERS}
