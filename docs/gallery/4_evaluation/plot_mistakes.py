"""
The worst sentences
===================

Mistakes in their sentences: what was missed, invented, or got another label.
"""

from crfkit import ChainCRF, datasets, view
from crfkit.metrics.pictures import mistake_pictures

addresses = datasets.load_addresses()
crf = ChainCRF(features="lower(word)[-1..1]; shape(word)[0]", tokenizer="blanks").fit(addresses.train)
report = crf.evaluate(addresses.test)
wrong = report.errors(None, words=[doc.text.split() for doc in addresses.test])

# %%
view.cell(*mistake_pictures(report, wrong, 3, list(crf.classes_)))
