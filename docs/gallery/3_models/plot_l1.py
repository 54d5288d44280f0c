"""
Fewer features by an L1 penalty
===============================

A larger L1 penalty sets more weights to exactly 0. Accuracy falls late: most features are not needed.
"""

from crfkit import ChainCRF, datasets, view

made = datasets.make_addresses(500)
rows = {}
for l1 in (0.03, 0.3, 1.0, 3.0):
    crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[-1..1]", tokenizer="blanks", l1=l1, l2=0.01).fit(
        made.train
    )
    rows[f"l1 = {l1}"] = [crf.score(made.test), int((crf.model_.w != 0).sum()), crf.model_.w.size]

# %%
view.scores(["accuracy", "weights that are not 0", "weights"], rows, bar=0, title="L1 path")
