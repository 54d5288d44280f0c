"""The inspector in Chromium: every page, by mouse and by keyboard alone, in both schemes and on a phone."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crfkit import ChainCRF
from crfkit.web.inspector.app import PAGES
from crfkit.web.inspector.create import create_inspector
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened
from crfkit.web.inspector.store import Store
from tests.cases.inspector import addresses, model
from tests.cases.pictures import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium")
    with api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an app, as the command does, on a free port."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def inspector(folder: Path, **more: Any) -> Any:
    """Return an inspector of two models of addresses, with data and a pool."""
    (X, _), (DX, dy) = addresses()
    pool = Material("raw.txt", X[1000:1200], X[1000:1200])
    return create_inspector(
        Opened(model(1000), "addresses.crf"),
        Opened(model(300), "small.crf"),
        data=Material("dev.txt", DX, DX, dy),
        pool=pool,
        labels=folder / "raw.labels.sqlite",
        edit=True,
        **more,
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(inspector(tmp_path_factory.mktemp("labels"))) as made:
        yield made


def until(page: Any, expression: str, limit: float = 10.0) -> None:
    """Wait for something; Playwright's own way needs eval, which the policy of the pages forbids."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        with contextlib.suppress(Exception):  # the page is being replaced
            if page.evaluate(expression):
                return
        time.sleep(0.02)
    raise AssertionError(expression)


class Watched:
    """A page, and whatever it said, or asked for elsewhere."""

    def __init__(self, browser: Any, address: str, scheme: str = "light", wide: int = 1280) -> None:
        self.address = address
        self.context = browser.new_context(color_scheme=scheme, viewport={"width": wide, "height": 800})
        self.page = self.context.new_page()
        self.heard: list[str] = []
        self.page.on("console", lambda one: self.heard.append(f"console: {one.text}"))
        self.page.on("pageerror", lambda one: self.heard.append(f"error: {one}"))
        self.page.on("dialog", self.dialog)
        self.page.on("request", self.request)

    def dialog(self, one: Any) -> None:
        self.heard.append("dialog")
        one.dismiss()

    def request(self, one: Any) -> None:
        if not one.url.startswith(self.address + "/"):
            self.heard.append(f"request: {one.url[:80]}")

    def open(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.page

    def keys(self, *several: str) -> None:
        for key in several:
            self.page.keyboard.press(key)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()


@pytest.mark.parametrize("wide", [390, 1280])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_violation(chromium: Any, address: str, page: str, scheme: str, wide: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with Watched(chromium, address, scheme, wide) as seen:
        shown = seen.open(f"/{page}?text=128+N+Main+St+Apt+4+St+Paul+MN+55101&find=main")
        found = axe.run(shown).response["violations"]
        assert [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found] == []
        assert shown.evaluate("document.documentElement.scrollWidth") <= wide
        assert seen.heard == []


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_text_runs_nothing(chromium: Any, bad: str, tmp_path: Path) -> None:
    bad = bad.encode("utf-8", "replace").decode()
    words = [*bad.split(), "end"]
    X, y = [words] * 2, [[f"B-{bad}"] * (len(words) - 1) + ["O"]] * 2
    one = ChainCRF(features="w[0]").fit(X, y).model_
    data = Material(bad, X, X, [["O"] * len(words)] * 2)
    app = create_inspector(
        Opened(one, bad),
        Opened(one, bad),
        data=data,
        pool=Material(bad, X, X),
        labels=tmp_path / "l",
        edit=True,
    )
    with served(app) as at, Watched(chromium, at) as seen:
        for page in PAGES:
            shown = seen.open(f"/{page}?n=1")
            shown.wait_for_timeout(50)
        shown = seen.open("/sentence")
        shown.fill("#text", f"{bad} end")
        shown.wait_for_selector("#lattice:not([hidden]) svg")
        shown = seen.open("/model")
        shown.fill("#find", bad[:40])
        shown.wait_for_timeout(300)
        assert seen.heard == []


def test_a_text_is_redrawn_as_it_is_typed(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/sentence")
        page.fill("#text", "12 Main St")
        page.wait_for_selector("#marked mark >> nth=2")
        assert "text=12+Main+St" in page.url
        page.type("#text", " Springfield", delay=20)
        until(page, "document.querySelectorAll('#lattice svg a.node').length > 3")
        page.wait_for_url("**text=12+Main+St+Springfield*")
        until(page, "document.querySelector('#told').textContent.includes('4 tokens')")
        assert page.input_value("#text") == "12 Main St Springfield"
        assert page.evaluate("document.activeElement.id") == "text"
        page.reload()
        assert page.input_value("#text") == "12 Main St Springfield"
        assert seen.heard == []


def test_a_label_is_fixed_and_released_by_mouse(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/sentence?text=12+Main+St+Springfield")
        page.click("#lattice a[data-t='1']:not(.node)")
        until(page, "document.querySelector('#h-why').textContent.includes('Main')")
        page.click("#why a[aria-label^='Fix Main to'] >> nth=1")
        page.wait_for_selector(".pin")
        assert page.locator("#lattice rect.taken").count() == 1
        assert "fixed=" in page.url
        page.click(".pin a")
        until(page, "!document.querySelector('.pin')")
        page.go_back()
        page.wait_for_selector(".pin")
        assert seen.heard == []


def test_the_lattice_by_keyboard_alone(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/sentence?text=12+Main+St+Springfield&at=0")
        page.wait_for_load_state("networkidle")
        seen.keys("ArrowRight")
        now = "document.activeElement.dataset.t + ':' + (document.activeElement.dataset.y ?? '')"
        assert page.evaluate(now) == "0:"
        seen.keys("ArrowRight", "ArrowRight")
        assert page.evaluate(now) == "2:"
        seen.keys("ArrowDown")
        label = page.evaluate("document.activeElement.dataset.y")
        assert label is not None
        seen.keys("f")
        page.wait_for_selector(".pin")
        assert page.evaluate(now) == f"2:{label}"
        seen.keys("Escape")
        until(page, "!document.querySelector('.pin')")
        seen.keys("/")
        assert page.evaluate("document.activeElement.id") == "text"
        seen.keys("Escape", "?")
        assert page.evaluate("document.querySelector('#help').open")
        seen.keys("Escape", "Alt+2")
        page.wait_for_url("**/errors")
        seen.keys("j", "j")
        assert page.evaluate("document.activeElement.textContent") == "Open lattice"
        seen.keys("Enter")
        page.wait_for_url("**/sentence?n=*")
        assert seen.heard == []


def test_errors_by_cell_and_slider(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/errors")
        page.click(".confused td.w a >> nth=0")
        page.wait_for_selector(".confused a[aria-current]")
        assert "gold=" in page.url
        assert page.locator("#mistakes li").count() >= 1
        before = page.inner_text("#curve .words")
        page.focus("#kept")
        seen.keys(*["ArrowLeft"] * 40)
        until(page, f"document.querySelector('#curve .words').innerText !== {before!r}")
        until(page, "document.querySelector('#kept-told').textContent === '60 %'")
        assert "coverage=60" in page.url
        assert seen.heard == []


def test_models_are_searched_and_compared(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/model")
        seen.keys("/")
        page.keyboard.type("main")
        page.wait_for_selector("#found table.heat")
        assert "find=main" in page.url
        page.select_option("#label", "ZipCode")
        until(page, "document.querySelector('#h-strong').textContent.includes('ZipCode')")
        page = seen.open("/compare")
        page.click(".switch a:has-text('Both wrong, alike')")
        page.wait_for_url("**who=alike*")
        assert page.locator("#mistakes li").count() >= 1
        assert seen.heard == []


def test_sixty_labels_by_keyboard_raise_the_score(chromium: Any, tmp_path: Path) -> None:
    """Each sentence gets its gold labels by digits and names of labels, and is sent by Enter."""
    (X, y), (DX, dy) = addresses()
    gold = {" ".join(words): labels for words, labels in zip(X, y, strict=True)}
    pool = Material("raw.txt", X[800:1040], X[800:1040])
    app = create_inspector(
        model(30), data=Material("dev.txt", DX, DX, dy), pool=pool, labels=tmp_path / "l.sqlite", edit=True
    )
    with served(app) as at, Watched(chromium, at) as seen:
        page = seen.open("/queue")
        page.wait_for_selector("#words [data-t]")
        for n in range(60):
            page.wait_for_selector("#words[data-from]")
            words = page.evaluate("JSON.parse(document.querySelector('#answer').dataset.sentence).words")
            label(seen, gold[" ".join(words)])
            key = page.input_value("#answer [name=key]")
            seen.keys("Enter")
            until(page, f"document.querySelector('#answer [name=key]')?.value !== '{key}'")
            assert f"{n + 1} labeled" in page.inner_text("main")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            page = seen.open("/queue")
            if page.get_attribute("#progress", "data-running") == "0":
                break
            time.sleep(0.2)
        store = Store(tmp_path / "l.sqlite")
        runs = {run.answers: run.score or 0.0 for run in store.runs()}
        for one in store.latest().values():
            made = [label for a, b, label in one.spans for _ in range(a, b)]
            assert made == gold[" ".join(one.words)]
        store.close()
        assert runs[60] > runs[0] + 0.05
        page = seen.open("/model")
        until(page, "document.querySelector('#live-state').textContent.includes('Learned from')")
        assert page.locator("#live svg").count() >= 1
        assert seen.heard == []


LABELS = """[...document.querySelectorAll('#words [data-t]')].map(
  one => one.closest('mark')?.querySelector('b bdi').textContent ?? null)"""
OFFERED = """Object.fromEntries([...document.querySelectorAll('.labelkey')].map(
  one => [one.childNodes[2].textContent, one.querySelector('kbd').textContent]))"""


def label(seen: Watched, wanted: list[str]) -> None:
    """Give each token its label by keys alone: digits, or the name where it has none."""
    page = seen.page
    if page.evaluate(LABELS) == wanted:
        return
    seen.keys("Home")
    for t, name in enumerate(wanted):
        first, end = (int(page.get_attribute("#words", f"data-{one}")) for one in ("from", "to"))
        assert first == t
        if page.evaluate(LABELS)[t] != name or end > t + 1:
            seen.keys(*["Shift+ArrowLeft"] * (end - t - 1))
            digit = page.evaluate(OFFERED).get(name)
            if digit:
                seen.keys(digit)
            else:
                seen.keys("l")
                page.keyboard.type(name)
                seen.keys("Enter")
        seen.keys("ArrowRight")
    assert page.evaluate(LABELS) == wanted


def test_keys_of_the_queue(chromium: Any, address: str) -> None:
    with Watched(chromium, address) as seen:
        page = seen.open("/queue")
        page.wait_for_selector("#words .now")
        first = page.inner_text("#chosen")
        seen.keys("Tab")
        assert page.evaluate("document.activeElement.id") == "words"
        assert page.inner_text("#chosen") != first
        seen.keys("Shift+ArrowRight")
        both = page.evaluate("document.querySelector('#chosen bdi').textContent.split(' ').length")
        assert both >= 2
        seen.keys("2")
        name = page.inner_text(".labelkey[aria-pressed=true]")
        assert page.locator("#words mark.now").count() == 1
        assert page.inner_text("#words mark.now b bdi") in name
        seen.keys("x")
        assert page.locator("#words .open").count() == both
        key = page.input_value("#answer [name=key]")
        seen.keys("s")
        until(page, f"document.querySelector('#answer [name=key]').value !== '{key}'")
        page.wait_for_selector("#words .now")
        seen.keys("u")
        until(page, f"document.querySelector('#answer [name=key]').value === '{key}'")
        assert seen.heard == []


def test_fifty_tokens_and_25_labels_are_redrawn_quickly(chromium: Any) -> None:
    """From the key that is pressed to the new lattice on the page, pause included: the third of twelve.

    The others wait for whatever else the machine does.
    """
    import random

    rng = random.Random(0)
    words = [f"word{n}" for n in range(60)]
    X = [[rng.choice(words) for _ in range(20)] for _ in range(60)]
    y = [[f"L{(hash_of(word) + t) % 25:02}" for t, word in enumerate(each)] for each in X]
    one = ChainCRF(features="w[-1..1]", max_iterations=8).fit(X, y).model_
    assert len(one.structure.labels) == 25
    with served(create_inspector(one)) as at, Watched(chromium, at) as seen:
        page = seen.open("/sentence")
        page.fill("#text", " ".join(rng.choice(words) for _ in range(50)))
        until(page, "document.querySelector('#told').textContent.includes('50 tokens')")
        took = page.evaluate("""async () => {
          const text = document.getElementById('text'), times = [];
          for (let n = 0; n < 12; n++) {
            const before = document.getElementById('lattice');
            text.value = text.value.replace(/^\\S+/, 'word' + (n + 1));
            const begun = performance.now();
            text.dispatchEvent(new Event('input', {bubbles: true}));
            await new Promise(done => {
              const look = () =>
                document.getElementById('lattice') !== before ? done() : requestAnimationFrame(look);
              look();
            });
            times.push(performance.now() - begun);
            await new Promise(done => setTimeout(done, 60));
          }
          return times.sort((a, b) => a - b);
        }""")
        assert took[2] <= 150.0, took
        assert seen.heard == []


def hash_of(word: str) -> int:
    return sum(map(ord, word))


def test_two_pages_of_one_pool(chromium: Any, address: str) -> None:
    """The second answer for a sentence is refused in words, and nothing of the first is lost."""
    with Watched(chromium, address) as a, Watched(chromium, address) as b:
        for one in (a, b):
            one.open("/queue").wait_for_selector("#words .now")
        a.keys("Enter")
        until(a.page, "document.querySelector('main').textContent.includes('1 labeled')")
        b.keys("Enter")
        b.page.wait_for_selector("[role=alert]")
        assert "another inspector has labeled this sentence in the meantime" in b.page.inner_text(
            "[role=alert]"
        )
        a.page.wait_for_selector("#words .now")
        a.keys("u")
        until(a.page, "document.querySelector('main').textContent.includes('0 labeled')")


def test_pages_work_without_script(chromium: Any, address: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/sentence?text=12+Main+St")
    page.click("#lattice a[aria-label='why Main']")
    assert "Main" in page.inner_text("#h-why")
    page.fill("#text", "99 Oak Ave")
    page.click("noscript >> button, #edit button")
    assert "Oak" in page.inner_text("#marked")
    context.close()
