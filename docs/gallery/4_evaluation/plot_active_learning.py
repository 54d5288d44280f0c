"""
Active learning against chance
==============================

Sentences that the model is most unsure of, labeled first, teach it faster than sentences picked at random.
"""

import numpy as np

from crfkit import ChainCRF, datasets, view

made = datasets.make_addresses(1000)
pool, test = made.train, made.test
X = [doc.text.split() for doc in pool]


def learn(chosen):
    return ChainCRF(features="lower(word)[-1..1]; shape(word)[0]", tokenizer="blanks").fit(
        [pool[i] for i in chosen]
    )


unsure, random = list(range(50)), np.random.default_rng(0).permutation(len(pool))
rows = {}
for n in (50, 100, 150, 200):
    crf = learn(unsure)
    rows[f"{n} labeled"] = [crf.score(test), learn(random[:n]).score(test)]
    known = set(unsure)
    unsure += [i for i in np.argsort(-crf.uncertainty(X)).tolist() if i not in known][:50]

# %%
view.scores(["unsure first", "at random"], rows, bar=0, title="Accuracy")
