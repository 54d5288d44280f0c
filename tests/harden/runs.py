"""Checkpoints and folders of blocks with one field damaged behind sums that fit."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from tests.cases.damaged_runs import fuzz_blocks, fuzz_checkpoint
from tests.harden.case import Input, Outcome

KINDS = {"checkpoint": fuzz_checkpoint, "blocks": fuzz_blocks}


class Runs:
    """A run that resumes, or opens its data, from damaged files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, i: int, chance: random.Random) -> Input:
        drawn = [chance.choice(sorted(KINDS)), chance.getrandbits(64)]
        return Input(f"{drawn[0]}", json.dumps(drawn).encode())

    def judge(self, data: bytes) -> Outcome:
        kind, seed = json.loads(data)
        place = self.folder / kind
        place.mkdir(exist_ok=True)
        told = KINDS[kind](np.random.default_rng(seed), place)
        return Outcome.ACCEPTED if told.endswith(": a model") else Outcome.REFUSED
