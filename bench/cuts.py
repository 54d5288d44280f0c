"""Minimum cuts of grids beside PyMaxflow, expansion beside gco-wrapper, if they are installed.

    python -m bench.cuts [--size 1000] [--repetitions 5] [--only blobs]

Binary grids: scores of single pixels are noise or blobs (smooth regions) with noise, strong or weak against
the scores of neighbors, or there are a few seeds only. "building" is what turns arrays into a network:
PyMaxflow has calls for grids, and one for single edges, which is what graphs of other shapes need; its rate
is measured on a small grid. Many labels: noisy regions, Potts and truncated linear tables with weights of
edges. All get the same numbers, in turn, on one thread; seconds of the processor, so that other programs
count less. PyMaxflow (GPL) and gco (research only) are measured, never used.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from scipy.ndimage import gaussian_filter

from bench.measure import interleaved, plain, write
from crfkit import Graph
from crfkit.arrays import Floats, Ids
from crfkit.graphs import scopes
from crfkit.inference.methods import Expansion, MinCut
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials

LABELS = 21


@dataclass(frozen=True)
class Image:
    """A grid: costs of the labels of pixels, weights of the pairs of neighbors, their table of costs."""

    shape: tuple[int, int]
    cost: Floats  #: [pixels, labels]
    pair: Ids  #: [pairs, 2]
    weight: Floats  #: [pairs]
    table: Floats  #: [labels, labels]

    def potentials(self) -> GraphPotentials:
        labels = len(self.table)
        graph = Graph({"pixel": labels}, look=["pixel"], near=["pixel", "pixel"])
        batch = graph.batch(sizes={"pixel": len(self.cost)}, scopes={"near": self.pair})
        made = batch.potentials(look=-self.cost, near=Table(-self.table, scale=self.weight))
        assert made.problem.variables == len(self.cost)
        return made

    def energy(self, label: Ids) -> float:
        own = self.cost[np.arange(len(label)), label].sum()
        return float(own + (self.weight * self.table[label[self.pair[:, 0]], label[self.pair[:, 1]]]).sum())


def pairs_of(size: int) -> Ids:
    return np.concatenate(scopes.grid([(size, size)]))


def blobs(rng: np.random.Generator, size: int, width: float) -> Floats:
    made = gaussian_filter(rng.normal(size=(size, size)), width)
    return np.asarray(made / made.std())


def binary_images(size: int) -> dict[str, Image]:
    rng = np.random.default_rng(0)
    noise, smooth = rng.normal(size=(size, size)), blobs(rng, size, 15.0)
    seeds = np.where(rng.random((size, size)) < 0.001, 50.0 * noise, 0.0)
    kinds = {
        "noise, strong": (noise, 0.1),
        "noise, medium": (noise, 0.5),
        "noise, weak": (noise, 1.0),
        "blobs, strong": (0.5 * smooth + noise, 0.5),
        "blobs, weak": (0.2 * smooth + 0.5 * noise, 1.0),
        "seeds": (seeds, 1.0),
    }
    pair = pairs_of(size)
    made = {}
    for name, (slope, strength) in kinds.items():
        cost = np.stack([np.maximum(-slope, 0.0), np.maximum(slope, 0.0)], axis=-1).reshape(-1, 2)
        weight = strength * rng.uniform(0.5, 1.5, len(pair))
        made[name] = Image((size, size), cost, pair, weight, 1.0 - np.eye(2))
    return made


def many_labels(size: int) -> dict[str, Image]:
    rng = np.random.default_rng(1)
    regions = np.stack([blobs(rng, size, size / 25) for _ in range(LABELS)]).argmax(axis=0).ravel()
    names = np.arange(LABELS)
    pair = pairs_of(size)
    weight = np.round(rng.uniform(0.5, 1.5, len(pair)), 3)  # gco counts in thousandths
    potts = rng.normal(size=(len(regions), LABELS)) - 1.0 * (regions[:, None] == names)
    seen = regions + rng.normal(size=len(regions)) * 4.0
    linear = 0.5 * np.minimum(np.abs(seen[:, None] - names), 8.0)
    distance = np.abs(np.subtract.outer(names, names)).astype(float)
    made = {}
    for name, cost, table in (
        ("potts", potts, 1.0 - np.eye(LABELS)),
        ("truncated linear", linear, 0.5 * np.minimum(distance, 4.0)),
    ):
        cost = np.round(cost - cost.min(axis=1, keepdims=True), 3)
        made[name] = Image((size, size), cost, pair, weight, table)
    return made


def pymaxflow_network(maxflow: Any, image: Image) -> tuple[Any, Any]:
    """Return its network of a grid, by its calls for grids."""
    (height, width), inner = image.shape, image.shape[0] * (image.shape[1] - 1)
    network = maxflow.GraphFloat(height * width, len(image.pair))
    nodes = network.add_grid_nodes(image.shape)
    network.add_grid_tedges(
        nodes, image.cost[:, 1].reshape(image.shape), image.cost[:, 0].reshape(image.shape)
    )
    right, down = np.zeros((2, height, width))
    right[:, :-1] = image.weight[:inner].reshape(height, width - 1)
    down[:-1] = image.weight[inner:].reshape(height - 1, width)
    to_right, to_down = np.zeros((2, 3, 3))
    to_right[1, 2] = to_down[2, 1] = 1.0
    network.add_grid_edges(nodes, right, structure=to_right, symmetric=True)
    network.add_grid_edges(nodes, down, structure=to_down, symmetric=True)
    return network, nodes


def pymaxflow_cut(maxflow: Any, image: Image) -> Ids:
    network, nodes = pymaxflow_network(maxflow, image)
    network.maxflow()
    label: Ids = network.get_grid_segments(nodes).ravel().astype(np.int32)
    return label


def pymaxflow_edges(maxflow: Any, image: Image) -> None:
    """Build its network edge by edge."""
    network = maxflow.GraphFloat(len(image.cost), len(image.pair))
    network.add_nodes(len(image.cost))
    for v, (zero, one) in enumerate(image.cost.tolist()):
        network.add_tedge(v, one, zero)
    for (u, v), weight in zip(image.pair.tolist(), image.weight.tolist(), strict=True):
        network.add_edge(u, v, weight, weight)


def ours(image: Image, method: Any) -> Ids:
    label: Ids = method.best(image.potentials(), 1).label[0]
    return label


def gco_expansion(gco: Any, image: Image) -> Ids:
    label = gco.cut_general_graph(image.pair, image.weight, image.cost, image.table, n_iter=-1)
    return np.asarray(label, dtype=np.int32)


def peer(console: Console, name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        console.print(f"{name} is not installed: it is left out")
        return None


def measure(
    images: dict[str, Image], calls: dict[str, Callable[[Image], Any]], options: argparse.Namespace
) -> list[dict[str, Any]]:
    rows = []
    for name, image in images.items():
        if options.only not in name:
            continue
        bound: dict[str, Callable[[], Any]] = {who: partial(call, image) for who, call in calls.items()}
        timings = interleaved(bound, repetitions=options.repetitions, clock=process_time)
        for who, timing in timings.items():
            row = {"image": name, "who": who, "timing": plain(timing), "spread": timing.spread}
            if not who.endswith("building"):
                row["energy"] = image.energy(bound[who]())
            print(f"{name:18} {who:34} {timing.median:8.3f} s  {row.get('energy', '')}", flush=True)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=1000, help="width of the binary grids")
    parser.add_argument("--only", default="", help="images whose name has this in it")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    console = Console()
    maxflow, gco = peer(console, "maxflow"), peer(console, "gco")
    cuts: dict[str, Callable[[Image], Any]] = {
        "crfkit": lambda image: ours(image, MinCut()),
        "crfkit, building": lambda image: image.potentials(),
    }
    moves: dict[str, Callable[[Image], Any]] = {"crfkit": lambda image: ours(image, Expansion())}
    if maxflow:
        cuts["PyMaxflow"] = partial(pymaxflow_cut, maxflow)
        cuts["PyMaxflow, building"] = partial(pymaxflow_network, maxflow)
    if gco:
        moves["gco"] = partial(gco_expansion, gco)
    rows = measure(binary_images(options.size), cuts, options)
    if maxflow:
        one_by_one: dict[str, Callable[[Image], Any]] = {
            "crfkit, building": lambda image: image.potentials(),
            "PyMaxflow edge by edge, building": partial(pymaxflow_edges, maxflow),
        }
        small = {"small grid": binary_images(options.size // 4)["noise, medium"]}
        rows += measure(small, one_by_one, options)
    rows += measure(many_labels(options.size // 2), moves, options)
    console.print(f"written to {write('cuts', rows)}")


if __name__ == "__main__":
    main()
