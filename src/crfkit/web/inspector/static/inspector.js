// What every page does: keys, links that redraw, the lattice by arrow keys. State is in the address.
const main = () => document.getElementById("main");
const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
const say = (text) => { document.getElementById("said").textContent = text; };

/** Go to another state of this page: only what is in main is drawn anew. */
export async function show(address, push = true) {
  await window.htmx.ajax("GET", address, { target: "#main", select: "#main", swap: "outerHTML show:none" });
  if (push) history.pushState({}, "", address);
}
window.addEventListener("popstate", () => location.reload());

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = link.getAttribute("href") ?? "";
  if (!address.startsWith("?") || !main().contains(link)) return;
  event.preventDefault();
  const { t, y } = link.dataset;
  const again = t === undefined ? null : `#lattice a[data-t="${t}"]${y === undefined ? ":not([data-y])" : `[data-y="${y}"]`}`;
  show(location.pathname + address).then(() => again && document.querySelector(again)?.focus());
});

document.getElementById("copy")?.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("The browser does not let pages copy; the address is in its bar.");
  }
});
const help = document.getElementById("help");
document.getElementById("keys").addEventListener("click", () => help.showModal());

document.addEventListener("keydown", (event) => {
  if (event.altKey && /^Digit[1-5]$/.test(event.code)) {
    event.preventDefault();
    document.querySelectorAll(".tabs a")[Number(event.code[5]) - 1]?.click();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") { event.preventDefault(); help.showModal(); }
  if (event.key === "/") { event.preventDefault(); document.querySelector("#text, .search input")?.focus(); }
  if (document.querySelector("#lattice a")) lattice(event);
  if (document.querySelector("#mistakes")) list(event);
});

/** Move in the lattice: its links are one stop of the Tab key. */
function lattice(event) {
  const links = [...document.querySelectorAll("#lattice a")];
  const now = links.includes(document.activeElement) ? document.activeElement : null;
  const t = Number((now ?? document.getElementById("at") ?? {}).dataset?.t ?? document.getElementById("at")?.value ?? 0);
  const top = (link) => link.getBoundingClientRect().top;
  const column = (i) => links.filter((one) => Number(one.dataset.t) === i).sort((a, b) => top(a) - top(b));
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step !== undefined) {
    const next = column(t + (now ? step : 0));
    if (!next.length) return;
    event.preventDefault();
    const same = now?.dataset.y === undefined ? next[0] : next.find((one) => one.dataset.y === now.dataset.y);
    focus(same ?? next.find((one) => one.querySelector(".taken")) ?? next[0]);
  } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const here = column(t);
    const i = here.indexOf(now) + (event.key === "ArrowUp" ? -1 : 1);
    if (!now || !here[i]) return;
    event.preventDefault();
    focus(here[i]);
  } else if (event.key.toLowerCase() === "f") {
    const node = now?.dataset.y !== undefined ? now : column(t).find((one) => one.querySelector(".taken"));
    if (node) { event.preventDefault(); press(node); }
  } else if (event.key === " " && now) {
    event.preventDefault();
    press(now);
  } else if (event.key === "Escape") {
    const address = new URL(location.href);
    if (!address.searchParams.has("fixed")) return;
    address.searchParams.delete("fixed");
    show(address.pathname + address.search);
  }
}
const press = (link) => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
function focus(link) {
  document.querySelectorAll("#lattice a").forEach((one) => one.setAttribute("tabindex", one === link ? "0" : "-1"));
  link.focus();
  link.scrollIntoView({ block: "nearest", inline: "nearest" });
}
function ready() {
  const links = [...document.querySelectorAll("#lattice a")];
  if (links[0]?.hasAttribute("tabindex")) return; // htmx says several times that it is done
  const at = document.getElementById("at")?.value;
  const one = links.find((link) => link.dataset.t === at && link.dataset.y === undefined) ?? links[0];
  links.forEach((link) => link.setAttribute("tabindex", link === one ? "0" : "-1"));
  const box = document.querySelector("#lattice .scroll");
  const band = box?.querySelector(".band");
  if (band && box.scrollWidth > box.clientWidth) {
    const far = band.getBoundingClientRect().left - box.getBoundingClientRect().left;
    if (far < 0 || far > box.clientWidth - 80) box.scrollLeft += far - box.clientWidth / 3;
  }
}

/** Move in a list of sentences. */
function list(event) {
  const step = { j: 1, k: -1 }[event.key];
  const links = [...document.querySelectorAll("#mistakes a[data-open]")];
  if (!step || !links.length) return;
  event.preventDefault();
  const i = links.indexOf(document.activeElement);
  (links[i + step] ?? links[i < 0 ? 0 : i]).focus();
}

document.addEventListener("htmx:afterSettle", ready);
ready();
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
