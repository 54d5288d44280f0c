"""`crfkit serve` under load: requests per second of the server's processor, waiting, memory, start.

    python -m bench.serve [--quick]

The model and the sentence of 25 tokens are those of `bench.sentence`. Three servers run side by side on
loopback: `crfkit serve` as it is; the same app, in which python-crfsuite tags with features made by Python;
and a null route, which reads and writes the same JSON without a model, guards or a log. wrk (Debian has it)
sends to one after the other, round after round. What counts is requests per second of the server's own
processor time, so that a busy machine hurts all alike. Requests at a fixed rate come from a client here,
whose times begin when a request was due, not when it was sent.

Writes serve.json and serve.md to bench/results. Needs CRFKIT_DATA, wrk and `pip install python-crfsuite`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.measure import RESULTS, machine, write
from bench.sentence import FOLDER, OURS, PEER, SENTENCE, make_model, sentences
from crfkit.models import SequenceModel

PORTS = {"crfkit serve": 8471, "python-crfsuite": 8472, "null route": 8473}
CONNECTIONS = 32
BATCH = 100
RATE = 1000  # requests offered a second
REQUESTS = 200_000  # over which memory is watched

Row = dict[str, Any]


@contextmanager
def servers() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Run the three servers; give their processes, and end them."""
    port = PORTS["crfkit serve"]
    ours = ["-m", "crfkit", "serve", f"esp={OURS}", "--port", str(port), "--drain", "0"]
    commands = {
        "crfkit serve": [*ours, "--access-log", os.devnull],
        "python-crfsuite": ["-m", "bench.serve_child", "peer", str(PORTS["python-crfsuite"])],
        "null route": ["-m", "bench.serve_child", "null", str(PORTS["null route"])],
    }
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            running[name] = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
        for name in running:
            wait_for(PORTS[name])
        yield running
    finally:
        for one in running.values():
            one.terminate()
        for one in running.values():
            one.wait(20)


def wait_for(port: int, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=2).read()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"no server on port {port}")


def processor(pid: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Megabytes that a process has in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def script(folder: Path, body: bytes) -> Path:
    """Write what wrk sends."""
    made = folder / f"{len(body)}.lua"
    text = body.decode().replace("\\", "\\\\").replace("'", "\\'")
    made.write_text(
        f"wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.body = '{text}'\n"
    )
    return made


def load(pid: int, port: int, sent: Path, seconds: float, path: str = "/v1/models/esp/tag") -> Row:
    """Send as fast as answers come; return how many came, and what they cost."""
    before = processor(pid)
    out = subprocess.run(
        [
            *(
                "wrk",
                "-t1",
                f"-c{CONNECTIONS}",
                f"-d{seconds}s",
                "--latency",
                "--timeout",
                "20s",
                "-s",
                str(sent),
            ),
            f"http://127.0.0.1:{port}{path}",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = processor(pid) - before
    if "Non-2xx" in out or "Socket errors" in out:
        raise SystemExit(f"requests failed: {out}")
    found = re.search(r"(\d+) requests in ([\d.]+)s", out)
    assert found is not None
    times = dict(re.findall(r"(50|99)%\s+([\d.]+\w+)", out))
    count = int(found[1])
    return {"requests": count, "per_second": count / float(found[2]), "us": 1e6 * used / count, **times}


def throughput(running: dict[str, Any], body: bytes, folder: Path, rounds: int, seconds: float) -> list[Row]:
    """Load one server after the other, round after round."""
    sent = script(folder, body)
    found: dict[str, list[Row]] = {name: [] for name in running}
    for _ in range(rounds):
        for name, one in running.items():
            found[name].append(load(one.pid, PORTS[name], sent, seconds))
    return [
        {
            "server": name,
            "us": statistics.median(row["us"] for row in rows),
            "per_second": statistics.median(row["per_second"] for row in rows),
            "p50": rows[-1].get("50"),
            "p99": rows[-1].get("99"),
        }
        for name, rows in found.items()
    ]


async def offered(port: int, body: bytes, rate: int, seconds: float) -> list[float]:
    """Send at a fixed rate, whatever comes back; return the seconds of each request from when it was due."""
    head = b"POST /v1/models/esp/tag HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    idle: asyncio.Queue[Any] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        idle.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    times: list[float] = []

    async def one(due: float) -> None:
        reader, writer = await idle.get()
        writer.write(head + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        size = re.search(rb"content-length: (\d+)", answer)
        assert size is not None
        await reader.readexactly(int(size[1]))
        times.append(time.perf_counter() - due)
        idle.put_nowait((reader, writer))

    begin = time.perf_counter()
    tasks = []
    for n in range(int(rate * seconds)):
        due = begin + n / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    return times


def started(rounds: int) -> float:
    """Return the median of the seconds from the start of the process to its first answer."""
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        command = [sys.executable, "-m", "crfkit", "serve", f"esp={OURS}", "--port", "8474", "--drain", "0"]
        one = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(8474)
            found.append(time.perf_counter() - begin)
        finally:
            one.terminate()
            one.wait(20)
    return statistics.median(found)


def in_process() -> float:
    """Return microseconds for each sentence of a batch in process, by `Model.predict`."""
    model = SequenceModel.load(OURS)
    batch = [words for words, _ in sentences("testa")[:BATCH]]
    model.predict(batch, threads=1)
    rounds = []
    for _ in range(50):
        begin = time.process_time()
        model.predict(batch, threads=1)
        rounds.append(time.process_time() - begin)
    return 1e6 * statistics.median(rounds) / BATCH


def table(rows: list[Row], more: dict[str, str]) -> str:
    about = machine()
    lines = [f"{about['processor']}, {about['cores']} cores, commit {about['commit']}, {about['date']}."]
    lines += [
        "",
        "| what | server | us of processor | a second | p50 | p99 |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for row in rows:
        lines.append(
            f"| {row['what']} | {row['server']} | {row['us']:.1f} | {row['per_second']:,.0f} "
            f"| {row['p50']} | {row['p99']} |"
        )
    lines += ["", *(f"- {name}: {value}" for name, value in more.items())]
    return "\n".join([*lines, ""])


def watched(one: subprocess.Popen[bytes], sent: Path) -> str:
    """Return how memory grows over many requests, after the first tenth."""
    port, count, first = PORTS["crfkit serve"], 0, 0.0
    while count < REQUESTS:
        count += load(one.pid, port, sent, 2)["requests"]
        if not first and count >= REQUESTS // 10:
            first = memory(one.pid)
    return f"{first:.1f} MB after a tenth, {memory(one.pid):.1f} MB after {count:,} requests"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="short rounds, and no memory")
    options = parser.parse_args()
    console = Console(stderr=True)
    if not FOLDER.exists() or not shutil.which("wrk") or not PEER:
        console.print("needs CRFKIT_DATA, wrk (apt-get install wrk) and pip install python-crfsuite")
        raise SystemExit(2)
    make_model(console)
    rounds, seconds = (3, 2) if options.quick else (5, 4)
    single = json.dumps({"tokens": [SENTENCE]}, ensure_ascii=False).encode()
    batch = [words for words, _ in sentences("testa")[:BATCH]]
    many = json.dumps({"tokens": batch}, ensure_ascii=False).encode()
    spans = json.dumps({"tokens": [SENTENCE], "spans": True}, ensure_ascii=False).encode()
    more: dict[str, str] = {}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name, servers() as running:
        folder = Path(name)
        for what, body in (("25 tokens", single), (f"{BATCH} sentences", many)):
            rows += [{"what": what, **row} for row in throughput(running, body, folder, rounds, seconds)]
        ours = {"crfkit serve": running["crfkit serve"]}
        rows += [{"what": "25 tokens, spans", **row} for row in throughput(ours, spans, folder, 1, seconds)]
        times = sorted(asyncio.run(offered(PORTS["crfkit serve"], single, RATE, 3 if options.quick else 10)))
        p50, p99 = (1e3 * times[int(len(times) * part)] for part in (0.5, 0.99))
        more[f"{RATE:,} requests a second offered"] = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms"
        if not options.quick:
            more["memory"] = watched(running["crfkit serve"], script(folder, single))
    us = {(row["what"], row["server"]): row["us"] for row in rows}
    one = "25 tokens"
    more["of the null route, 25 tokens"] = f"{100 * us[one, 'null route'] / us[one, 'crfkit serve']:.0f} %"
    more["against python-crfsuite, 25 tokens"] = (
        f"{us[one, 'python-crfsuite'] / us[one, 'crfkit serve']:.1f}x"
    )
    inside, outside = in_process(), us[f"{BATCH} sentences", "crfkit serve"] / BATCH
    more[f"of Model.predict in process, {BATCH} sentences"] = (
        f"{100 * inside / outside:.0f} % ({inside:.1f} us in process, {outside:.1f} us behind the service)"
    )
    more["ready after"] = f"{started(3):.2f} s"
    text = table(rows, more)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "serve.md").write_text(text, encoding="utf-8")
    print(text)
    console.print(f"written to {write('serve', [*rows, more])} and {RESULTS / 'serve.md'}")


if __name__ == "__main__":
    main()
