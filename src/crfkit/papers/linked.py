"""Linked documents: words, links and classes; read from files, or generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.papers.experiment import Given

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Linked:
    """Documents, their words, and links between them."""

    name: str
    classes: tuple[str, ...]
    label: NDArray[np.int32]  #: [V]
    words: Any  #: sparse [V, K], 1 where a document has a word
    links: NDArray[np.int32]  #: [M, 2] from, to; each once, without loops
    site: NDArray[np.int32] | None = None  #: [V] documents of different sites are not linked
    sites: tuple[str, ...] = ()
    split: Mapping[str, Mask] = field(default_factory=dict)  #: "train" and "test" of a published split

    def random(self, share: int, seed: int) -> tuple[Mask, Mask]:
        """Return which documents are labeled, this percentage, and which are asked for: the others."""
        known = np.zeros(len(self.label), dtype=np.bool_)
        order = np.random.default_rng(seed).permutation(len(known))
        known[order[: len(known) * share // 100]] = True
        return known, ~known


def linked(given: Given, name: str) -> Linked:
    """Return a set of the folder linked: cora, citeseer or webkb."""
    from scipy.sparse import csr_array

    found = np.load(given.file(f"linked/{name}/{name}.npz"), allow_pickle=False)
    label = found["labels"].astype(np.int32)
    ids = found["feat_indices"]
    words = csr_array(
        (np.ones(len(ids)), ids, found["feat_indptr"]), shape=(len(label), int(found["n_features"]))
    )
    links = np.unique(found["edges"][found["edges"][:, 0] != found["edges"][:, 1]], axis=0)
    split = {}
    if "planetoid_train" in found:
        split = {
            part: np.isin(np.arange(len(label)), found[f"planetoid_{part}"]) for part in ("train", "test")
        }
    site: NDArray[np.int32] | None = None
    sites: tuple[str, ...] = ()
    if "university" in found:
        site = found["university"].astype(np.int32)
        sites = tuple(map(str, found["university_names"].tolist()))
    classes = tuple(map(str, found["class_names"].tolist()))
    return Linked(name, classes, label, words, links.astype(np.int32), site, sites, split)


def generated(documents: int = 300, classes: int = 3) -> Linked:
    """Return documents whose links mostly join documents of one class, and whose words say little."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    label = rng.integers(0, classes, documents).astype(np.int32)
    chance = np.where(np.arange(30) // 10 == label[:, None] % 3, 0.2, 0.08)
    words = csr_array((rng.random((documents, 30)) < chance).astype(np.float64))
    pairs = rng.integers(0, documents, (12 * documents, 2))
    same = label[pairs[:, 0]] == label[pairs[:, 1]]
    kept = pairs[(pairs[:, 0] != pairs[:, 1]) & (rng.random(len(pairs)) < np.where(same, 0.4, 0.05))]
    links = np.unique(kept, axis=0).astype(np.int32)
    site = np.arange(documents, dtype=np.int32) * 2 // documents
    split = {"train": np.arange(documents) < documents // 10, "test": np.arange(documents) >= documents // 2}
    names = tuple(f"class {c}" for c in range(classes))
    apart = site[links[:, 0]] == site[links[:, 1]]
    return Linked("generated", names, label, words, links[apart], site, ("one", "two"), split)
