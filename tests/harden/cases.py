"""All cases of `python -m tests.harden`."""

from __future__ import annotations

from tests.harden.case import Case
from tests.harden.kills import Kills
from tests.harden.models import Bytes, Fields
from tests.harden.readers import All

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    Case("texts", "random bytes against readers and templates", lambda _: All(), share=2.0),
    Case("model files", "model files of all programs, damaged anywhere", lambda _: Bytes(), share=3.0),
    Case("model fields", "one field of a model file, behind its sums", Fields, share=8.0),
    Case("kills", "SIGKILL during training and saving", Kills, seconds=30.0, sanitized=False),
)
