"""
Clean an image
==============

Noise flipped pixels of a drawing. A grid CRF has learned from eight others how much neighbors agree.
"""

import numpy as np

from crfkit import GridCRF, view


def noisy(seed, shape=(20, 26)):
    rng = np.random.default_rng(seed)
    rows, columns = np.indices(shape)
    middle, radius = rng.integers(8, 12), rng.integers(4, 8)
    truth = ((rows - middle) ** 2 + (columns - middle - 3) ** 2 < radius**2).astype(int)
    return (truth + rng.normal(scale=0.6, size=shape))[..., None], truth


X, y = zip(*[noisy(seed) for seed in range(9)])
crf = GridCRF().fit(list(X[:8]), list(y[:8]))
names = ["ground", "figure"]
view.grid((X[8][..., 0] > 0.5).astype(int).ravel(), y[8].shape, labels=names, title="Each pixel by itself")

# %%
view.grid(np.ravel(crf.predict([X[8]])[0]), y[8].shape, labels=names, title="With its neighbors")
