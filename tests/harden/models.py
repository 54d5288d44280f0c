"""Damaged and hostile model files.

`Bytes`: small models of each kind are cut, flipped, spliced and overwritten with numbers that hurt.
`Fields`: crfkit's own files are changed behind their sums, one field at a time. Every outcome must be a model
that answers all questions, or a ValueError that names the source.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from crfkit.models import SequenceModel
from crfkit.models.files import read_model_bytes
from crfkit.models.files.native import any_model_of
from crfkit.models.graph_model import GraphModel
from tests.cases import foreign_models
from tests.cases.foreign_models import MALLET, crfpp_binary
from tests.cases.models import crfsuite_model
from tests.harden.answers import ask, commands
from tests.harden.case import FailureError, Input, Outcome
from tests.harden.fields import Damages
from tests.harden.seeds import SEEDS, seed

NUMBERS = [0, 1, 2, 7, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 1 << 24, 4096]
TEXTS = [b"-1", b"99999999999999999999", b"nan", b"inf", b"1e999", b"\0", b"\xff", b"\n", b"\n\n", b":", b"#"]


def mutate(seed: bytes, rng: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 12])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(9)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            at = at // 4 * 4
            data[at : at + 4] = rng.choice([*NUMBERS, len(data), rng.randrange(len(data) + 1)]).to_bytes(
                4, "little"
            )
        elif kind == 4:
            del data[at : at + rng.randrange(1, 40)]
        elif kind == 5:
            begin = rng.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + rng.randrange(60)]
        elif kind == 6:
            data[at:at] = rng.choice(TEXTS)
        elif kind == 7 and len(data) < 1 << 16:
            begin = rng.randrange(len(data) + 1)
            data[begin : begin + 8] = data[at : at + 8]
        else:
            data[at : at + rng.randrange(1, 30)] = bytes(rng.randrange(1, 30))
        data = data or bytearray(b"x")
    return bytes(data)


def opened(data: bytes, source: str) -> SequenceModel | GraphModel:
    """Open a model; an error must name the source."""
    try:
        return any_model_of(data, source) if data[8:9] == b"{" else read_model_bytes(data, source=source)
    except ValueError as error:
        if source not in str(error):
            raise FailureError(f"the error does not name the file: {error}") from error
        raise


def judged(data: bytes) -> Outcome:
    """Open a model and ask it everything."""
    try:
        model = opened(data, "variant.file")
    except ValueError:
        return Outcome.REFUSED
    ask(model)
    return Outcome.ACCEPTED


#: Kinds of files: crfkit's own, of sequences and graphs, and those of other programs.
KINDS: dict[str, Callable[[], bytes]] = {
    "crfkit": lambda: seed("chain"),
    "graph": lambda: seed("graph"),
    "crfsuite": crfsuite_model,
    "crfpp text": foreign_models.crfpp_text,
    "crfpp binary": crfpp_binary,
    "wapiti": foreign_models.wapiti_text,
    "wapiti memm": lambda: foreign_models.wapiti_text(kind=1),
    "mallet": MALLET.encode,
}


class Bytes:
    """Files of all kinds in turn, damaged anywhere."""

    def __init__(self) -> None:
        self._seeds = {name: make() for name, make in KINDS.items()}

    def make(self, i: int, chance: random.Random) -> Input:
        name = [*self._seeds][i % len(self._seeds)]
        return Input(name, mutate(self._seeds[name], chance))

    def judge(self, data: bytes) -> Outcome:
        return judged(data)


@cache
def _damages(name: str) -> Damages:
    return Damages(seed(name))


class Fields:
    """One field of crfkit's own file damaged behind sums that fit; one input in `often` goes to commands too.

    Parameters
    ----------
    folder : Path
        For files that commands read and write.
    often : int
    names : list of str
        Of seeds; default: all.
    """

    def __init__(self, folder: Path, often: int = 20, names: tuple[str, ...] = tuple(SEEDS)) -> None:
        self.folder, self.often, self.names = folder, often, names
        self.judged = 0

    def make(self, i: int, chance: random.Random) -> Input:
        name = self.names[i % len(self.names)]
        damages = _damages(name)
        field = chance.choice(damages.fields)
        damage = chance.choice(damages.of(field) + damages.lies(field))
        return Input(f"{name}, {damage.name}", damage.apply(chance))

    def judge(self, data: bytes) -> Outcome:
        self.judged += 1
        if self.judged % self.often == 0:
            path = self.folder / "variant.crf"
            path.write_bytes(data)
            commands(path, self.folder)
        return judged(data)
