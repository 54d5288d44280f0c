"""Small models that read raw text."""

from __future__ import annotations

from crfkit import ChainCRF, SemiCRF
from tests.cases.documents import DOCS

MODEL = ChainCRF(tokenizer="words", sentences="rule").fit(DOCS).model_
SEGMENTS = SemiCRF(tokenizer="words").fit(DOCS).model_
PLAIN = ChainCRF().fit([["5", "Main", "St"], ["7", "Elm"]], [["NO", "ST", "ST"], ["NO", "ST"]]).model_
TEXT = "Ana Ruiz saw New York. In Oslo, Eva ran."
