"""
Do annotations fit the tokens?
==============================

People mark characters, models label tokens. A span that cuts a token is expanded to it, and the report
shows which ones. Nothing is dropped without a word.
"""

from crfkit import ChainCRF, Doc

docs = [
    Doc("Ana Ruiz lives in New York.", spans=[(0, 8, "PER"), (19, 25, "LOC")]),  # "ew Yor" cuts both words
    Doc("In Oslo, Ana saw Leo Diaz.", spans=[(3, 7, "LOC"), (9, 12, "PER"), (17, 25, "PER")]),
]
crf = ChainCRF(tokenizer="words").fit(docs)

# %%
crf.training_.alignment
