"""Training to the optimum: every optimizer, beside CRFsuite, on the same features and the same objective.

    python -m bench.train [--data conll2000,ptb] [--optimizers lbfgs,dual] [--quick] [--no-peer]

Penalized likelihood, L2 alone; CRFsuite's c2 = 1 is l2 = 2. Each run has a process of its own
(`bench.train_child`), one after the other: objective against seconds and passes, time to CRFsuite's end
point and to within 0.1 % of it, peak memory, score on test data; and one evaluation against CRFsuite's.
Writes train.json, train.md and train_<data>.png to bench/results. Needs the corpora (CRFKIT_DATA), for
CRFsuite `pip install python-crfsuite`, for plots `pip install matplotlib`. Ctrl-C keeps what is done.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from bench import measure
from bench.child import Task
from bench.corpora import CORPORA, Corpus
from bench.runs import PEER, Row, chosen, run, table, text
from crfkit.training.choose import NAMES

DATA = "conll2000,conll2000all,ptb,brown10,brown472,conll2002"
USUAL = "lbfgs,plbfgs,dual,exponentiated,newton,pcg,rprop,sgd,adagrad"
OTHERS = ("owlqn", "sgd-l1", "perceptron", "pa", "arow")  # for L1, or for another loss


def tasks(corpus: Corpus, options: argparse.Namespace) -> list[tuple[Task, float]]:
    """What to run on a corpus, and after how many seconds of training to end it by force."""
    made: list[tuple[Task, float]] = []
    if options.peer and not corpus.all_pairs and corpus.peer_iterations != 0:
        iterations = corpus.peer_iterations or (15 if options.quick else None)
        made.append((Task("peer", corpus.name, iterations=iterations), options.peer_seconds))
    repetitions = 3 if options.quick else 9
    made.append((Task("evaluation", corpus.name, repetitions=repetitions), 1200.0))
    shared = {"seconds": options.seconds, "threads": options.threads, "gap": options.gap}
    trained = [Task("optimizer", corpus.name, name, **shared) for name in options.optimizers]
    return made + [(task, 4 * options.seconds + 300) for task in trained]


def first_below(row: Row, objective: float) -> tuple[float | None, float | None]:
    """Seconds and passes until the objective is no more than this."""
    below = ((s, p) for s, p, f in row["curve"] if f is not None and f <= objective * (1 + 1e-9))
    return next(below, (None, None))


def seconds_per_evaluation(peer: Row) -> float | None:
    """Median over iterations, the first one left out: it has the making of features as well."""
    steps = zip(peer["curve"], peer["curve"][1:], strict=False)
    each = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in steps if b[1] > a[1]]
    return statistics.median(each) if each else None


def judge(corpus: Corpus, rows: list[Row]) -> None:
    """Add times to the target and ratios to CRFsuite to the rows of a corpus."""
    curves = [row for row in rows if row["curve"]]
    found = [f for row in curves for _, _, f in row["curve"] if f is not None]
    if not found:
        return
    peer: Row = next((row for row in curves if row["what"] == PEER), {})
    each = seconds_per_evaluation(peer) if peer else None
    ended = peer.get("ended", False)
    if ended:
        target, source, whole = peer["objective"], "where CRFsuite ended in this run", peer["seconds"]
    elif corpus.reference is not None:
        target, source, whole = corpus.reference, f"where {corpus.reference_of} ended once, as noted", None
        if each and corpus.peer:  # it is deterministic, so the rest of its evaluations can be foretold
            whole = peer["curve"][-1][0] + each * (corpus.peer.evaluations - peer["passes"])
    else:
        target, source, whole = min(found), "the best of these runs", None
    for row in curves:
        row.update(target=target, target_is=source, best=min([*found, target]), foretold=not ended)
        for name, bound in (("target", target), ("near", 1.001 * target)):
            row[f"{name}_seconds"], row[f"{name}_passes"] = first_below(row, bound)
        for name, other in (("target", whole), ("near", peer.get("near_seconds"))):
            ours = None if row is peer else row[f"{name}_seconds"]
            row[f"{name}_times_peer"] = other / ours if other and ours else None
    for row in rows:
        if "by_threads" in row:
            row["peer_seconds"] = each
            timings = row["by_threads"].items()
            row["times_peer"] = {t: each / x["median"] if each else None for t, x in timings}


HEAD = "data|method|threads|seconds|passes|objective|s to target|× peer|s to 0.1 %|× peer|peak MB|score|end"
EVALUATION = "data|labels|weights|ms, 1 thread|ms, 2 threads|CRFsuite ms|× 1 thread|× 2 threads"


def tables(rows: list[Row]) -> str:
    """All results as Markdown."""
    about, trained, timed = measure.machine(), [], []
    for row in rows:
        if "by_threads" in row:
            ms = [1e3 * row["by_threads"][t]["median"] for t in "12"]
            other, ratio = row.get("peer_seconds"), row.get("times_peer", {})
            timed.append([row["corpus"], str(row["labels"]), f"{row['weights']:,}", *map(text, ms)])
            timed[-1] += [text(other and 1e3 * other), *(text(ratio.get(t), ".1f", "×") for t in "12")]
        if row["what"] == "evaluation":
            continue
        guess = "×~" if row.get("foretold") else "×"
        threads = 1 if row["what"] == PEER else row["threads"] or "all"
        cells = [row["corpus"], row["what"], str(threads), text(row.get("seconds"))]
        cells += [text(row.get("passes"), ".0f"), text(row.get("objective"), ".2f")]
        cells += [text(row.get("target_seconds"))]
        cells += [text(row.get("target_times_peer"), ".1f", guess), text(row.get("near_seconds"))]
        cells += [text(row.get("near_times_peer"), ".1f", "×"), text(row.get("peak_mb"), ".0f")]
        cells += [text(row.get("score"), ".4f"), str(row.get("stopped") or row.get("why")).split(":")[0]]
        trained.append(cells)
    lines = [f"{about['processor']}, {about['cores']} cores, commit {about['commit']}, {about['date']}.", ""]
    lines += ["Ratios are the seconds of CRFsuite, which has one thread, by ours (~: foretold from a run"]
    lines += ["cut short). Scores are of the test data: F1 of segments, accuracy of tags. Targets:", ""]
    targets = {row["corpus"]: row for row in rows if "target" in row}
    lines += [f"- {name}: {row['target']:.2f}, {row['target_is']}" for name, row in targets.items()]
    lines += table(HEAD, 2, trained)
    lines += ["## One evaluation of loss and gradient", *table(EVALUATION, 1, timed)]
    return "\n".join(lines)


COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31")


def plot(corpus: Corpus, rows: list[Row], path: Path) -> None:
    """Objective above the best known, against seconds and against passes (Sha & Pereira 2003, figure 2)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    curves = [row for row in rows if "best" in row]
    best, target = curves[0]["best"], curves[0]["target"]
    floor = 1e-6 * best
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), sharey=True, layout="constrained")
    colors = iter(COLORS * 3)
    for row in curves:
        peer = row["what"] == PEER
        style = {"color": "black", "ls": "--"} if peer else {"color": next(colors)}
        above = [(s, max(p, 0.5), f - best) for s, p, f in row["curve"] if f is not None]
        drawn = [point for point in above if point[2] > floor]  # what comes after is as good as the best
        for axis, x in zip(axes, (0, 1), strict=True):
            line = [point[x] for point in drawn], [point[2] for point in drawn]
            axis.plot(*line, label="CRFsuite" if peer else row["what"], lw=1.8, **style)
            axis.plot(*(part[-1:] for part in line), marker="o", ms=4.5, color=style["color"])
    for axis, name in zip(axes, ("seconds of training", "passes over the data"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=name)
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(which="major", color="0.9")
        axis.spines[["top", "right"]].set_visible(False)
        for height, what in ((1.001 * target - best, "target + 0.1 %"), (target - best, "target")):
            if height > floor:
                axis.axhline(height, color="0.55", lw=0.9, ls=":", zorder=0)
                across = axis.get_yaxis_transform()
                axis.text(0.01, height, what, color="0.4", fontsize=8, va="bottom", transform=across)
    axes[0].set_ylabel(f"objective above the best known ({best:,.1f})")
    axes[1].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(f"{corpus.title}: L2-penalized likelihood, l2 = {corpus.l2:g}", fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def report(rows: list[Row], console: Console) -> None:
    """Write everything there is so far."""
    by_corpus = {name: [row for row in rows if row["corpus"] == name] for name in CORPORA}
    for name, own in by_corpus.items():
        judge(CORPORA[name], own)
    written = [measure.write("train", rows), measure.RESULTS / "train.md"]
    written[1].write_text(tables(rows), encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        for name in {row["corpus"]: None for row in rows if "best" in row}:
            written.append(measure.RESULTS / f"train_{name}.png")
            plot(CORPORA[name], by_corpus[name], written[-1])
    else:
        console.print("no plots: pip install matplotlib")
    console.print("written to", ", ".join(map(str, written)), soft_wrap=True)


def _show(status: Status, name: str, what: str) -> None:
    status.update(escape(name + what))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=DATA, help=f"all, or some of {','.join(CORPORA)} (%(default)s)")
    parser.add_argument("--optimizers", default=USUAL, help="all, or some (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="CRFsuite for 15 iterations, others for 30 s")
    parser.add_argument("--seconds", type=float, help="of training, for each optimizer (300, quick: 30)")
    parser.add_argument("--peer", action=argparse.BooleanOptionalAction, default=True, help="run CRFsuite")
    parser.add_argument("--peer-seconds", type=float, default=1800.0, help="for CRFsuite (%(default)s)")
    parser.add_argument("--threads", type=int, help="of the optimizers (all cores)")
    parser.add_argument("--gap", type=float, help="relative gap at which dual methods end (their default)")
    options = parser.parse_args(arguments)
    corpora = [CORPORA[name] for name in chosen(options.data, list(CORPORA), "corpus")]
    options.optimizers = chosen(options.optimizers, [x for x in NAMES if x not in OTHERS], "optimizer")
    options.seconds = options.seconds or (30.0 if options.quick else 300.0)
    console, rows, interrupted = Console(stderr=True), list[Row](), False
    if missing := [path for corpus in corpora for path in corpus.missing]:
        console.print(f"{missing[0]} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    plan = [(task, limit) for corpus in corpora for task, limit in tasks(corpus, options)]
    with console.status("") as status:
        try:
            for i, (task, limit) in enumerate(plan, start=1):
                name = f"[{i}/{len(plan)}] {task.corpus}, {task.optimizer or task.kind}: "
                row = run(task, limit, partial(_show, status, name))
                rows.append(row)
                numbers = f"{row['seconds']:.1f} s, {text(row['objective'])}; " if row["curve"] else ""
                outcome = row.get("stopped") or row.get("why")
                console.print(f"{name}{numbers}{outcome}", markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            interrupted = True
    report(rows, console)
    print(tables(rows))
    raise SystemExit(130 if interrupted else 0)


if __name__ == "__main__":
    main()
