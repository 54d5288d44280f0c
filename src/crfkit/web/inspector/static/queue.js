// A sentence is labeled here and sent whole: spans of tokens, and tokens that stay open.
const UNSURE = 0.7;
let busy = false;
let state = null;

function start() {
  busy = false;
  const form = document.getElementById("answer");
  if (!form || form.dataset.ready) return;
  form.dataset.ready = "1";
  const given = JSON.parse(form.dataset.sentence);
  const spans = given.spans.map(([a, b, label, p], i) => ({ a, b, label, p, shares: given.shares[i] ?? {}, first: label }));
  state = { ...given, form, spans, open: new Set(given.open), from: 0, to: 1, offered: [] };
  const doubt = spans.find((one) => one.p !== null && one.p < UNSURE) ?? spans[0];
  if (doubt) [state.from, state.to] = [doubt.a, doubt.b];
  draw();
  document.getElementById("words").focus({ preventScroll: true });
}

const spanAt = (t) => state.spans.find((one) => one.a <= t && t < one.b);
const chosen = () => state.spans.find((one) => one.a === state.from && one.b === state.to);
const make = (name, classes = "", text = "") => {
  const one = document.createElement(name);
  if (classes) one.className = classes;
  if (text) one.textContent = text;
  return one;
};
const share = (p) => (p >= 1 ? "1" : p >= 0.995 ? ">.99" : p < 0.005 ? "<.01" : p.toFixed(2).slice(1));

function draw() {
  const place = document.getElementById("words");
  const colors = new Map(state.labels);
  const word = (t) => {
    const one = make("span", state.open.has(t) ? "open" : "", state.words[t]);
    one.dataset.t = t;
    return one;
  };
  place.replaceChildren();
  [place.dataset.from, place.dataset.to] = [state.from, state.to];
  for (let t = 0; t < state.words.length; ) {
    place.append(state.gaps[t]);
    const span = spanAt(t);
    const marked = make(span ? "mark" : "span", span ? colors.get(span.label) ?? "o" : "");
    const end = span ? span.b : t + 1;
    if (span?.p !== null && span?.p < UNSURE) marked.classList.add("unsure");
    if (span && !(state.from === span.a && state.to === span.b) && state.from < span.b && span.a < state.to) marked.classList.add("part");
    const inner = make("bdi");
    const first = t;
    for (; t < end; t++) {
      if (t > first) inner.append(state.gaps[t]);
      inner.append(word(t));
    }
    marked.append(inner);
    if (span) {
      const tag = make("b");
      tag.dir = "ltr";
      tag.append(make("bdi", "", span.label));
      if (span.p !== null) tag.append(make("i", "", share(span.p)));
      marked.append(tag);
    }
    if (span ? state.from === span.a && state.to === span.b : state.from <= first && first < state.to) marked.classList.add("now");
    place.append(marked);
  }
  for (let t = state.from; t < state.to; t++) {
    const inside = spanAt(t);
    if (inside && !chosen()) place.querySelector(`[data-t="${t}"]`).classList.add("now");
  }
  offer(colors);
}

/** Show the labels that what is chosen may get; of very many the most probable ones have digits. */
function offer(colors) {
  const span = chosen();
  const shares = span?.shares ?? {};
  let names = state.labels.map(([name]) => name);
  if (names.length > state.keys) {
    names = [...names].sort((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0)).slice(0, state.keys);
  }
  if (span && !names.includes(span.label)) names[Math.min(names.length, state.keys - 1)] = span.label;
  state.offered = names;
  const words = state.words.slice(state.from, state.to).join(" ");
  const told = document.getElementById("chosen");
  told.replaceChildren(make("bdi", "strong", words), ` ${span ? "is" : "has no label"}`);
  const place = document.getElementById("labels");
  const key = (digit, name, label, color, p) => {
    const one = make("button", `labelkey ${color}`);
    one.type = "button";
    one.setAttribute("aria-pressed", String(label === null ? !span && !isOpen() : span?.label === label));
    one.append(make("kbd", "", digit), make("i"), name);
    if (p !== undefined) one.append(make("span", "num", share(p)));
    one.addEventListener("click", () => give(label));
    return one;
  };
  place.replaceChildren(...names.map((name, i) => key(String(i + 1), name, name, colors.get(name) ?? "o", shares[name])));
  if (state.none) place.append(key("0", "none", null, "o"));
  const all = make("input", "pick");
  all.id = "all-labels";
  all.setAttribute("aria-label", "Another label");
  all.setAttribute("list", "label-names");
  all.placeholder = "another label …";
  all.maxLength = 80;
  all.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.getElementById("words").focus();
    if (event.key !== "Enter") return;
    event.preventDefault();
    const name = all.value.trim();
    if (name && name !== "O") give(name);
    document.getElementById("words").focus({ preventScroll: true });
  });
  const known = make("datalist");
  known.id = "label-names";
  known.append(...state.labels.map(([name]) => new Option(name, name)));
  place.append(all, known);
}
const isOpen = () => range().every((t) => state.open.has(t));
const range = () => Array.from({ length: state.to - state.from }, (_, i) => state.from + i);

/** Take what lies over the chosen tokens away; what sticks out stays. */
function clear() {
  const { from, to } = state;
  state.spans = state.spans.flatMap((one) => {
    if (one.b <= from || to <= one.a) return [one];
    const left = one.a < from ? [{ ...one, b: from, p: null, shares: {} }] : [];
    return one.b > to ? [...left, { ...one, a: to, p: null, shares: {} }] : left;
  });
}
function give(label) {
  const before = chosen();
  clear();
  range().forEach((t) => state.open.delete(t));
  if (label !== null) {
    const shares = before?.shares ?? {};
    state.spans.push({ a: state.from, b: state.to, label, p: null, shares, first: before?.first });
    state.spans.sort((one, other) => one.a - other.a);
  }
  draw();
}
function leaveOpen() {
  const open = isOpen();
  clear();
  range().forEach((t) => (open ? state.open.delete(t) : state.open.add(t)));
  draw();
}
function move(step) {
  const t = step > 0 ? state.to : state.from - 1;
  if (t < 0 || t >= state.words.length) return;
  const span = spanAt(t);
  [state.from, state.to] = span ? [span.a, span.b] : [t, t + 1];
  draw();
}
function stretch(step) {
  state.to = Math.min(Math.max(state.to + step, state.from + 1), state.words.length);
  draw();
}
function doubt(step) {
  const doubts = state.spans.filter((one) => one.p !== null && one.p < UNSURE);
  const next = step > 0 ? doubts.find((one) => one.a >= state.to) : doubts.findLast((one) => one.b <= state.from);
  if (!next) return false;
  [state.from, state.to] = [next.a, next.b];
  draw();
  return true;
}
function send(action) {
  if (busy) return;
  busy = true;
  const fields = state.form.elements;
  const label = (spans, t) => spans.find(([a, b]) => a <= t && t < b)?.[2] ?? null;
  const given = state.spans.map(({ a, b, label }) => [a, b, label]);
  const kept = state.words.filter((_, t) => !state.open.has(t) && label(given, t) === label(JSON.parse(state.form.dataset.sentence).spans, t));
  fields.spans.value = JSON.stringify(given);
  fields.open.value = JSON.stringify([...state.open].sort((a, b) => a - b));
  fields.kept.value = kept.length;
  fields.action.value = action;
  window.htmx.trigger(state.form, "submit");
}

document.addEventListener("submit", (event) => {
  if (event.target.id === "answer" && event.submitter?.dataset.action) {
    event.preventDefault();
    event.stopImmediatePropagation();
    send(event.submitter.dataset.action);
  }
}, true);
document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-open]") && state?.form.isConnected) leaveOpen();
  const word = event.target.closest?.("#words [data-t]");
  if (!word) return;
  const t = Number(word.dataset.t);
  const span = spanAt(t);
  if (event.shiftKey) [state.from, state.to] = [Math.min(state.from, t), Math.max(state.to, t + 1)];
  else if (span && (state.from !== span.a || state.to !== span.b)) [state.from, state.to] = [span.a, span.b];
  else [state.from, state.to] = [t, t + 1]; // a second click takes one token of a span
  draw();
  document.getElementById("words").focus({ preventScroll: true });
});
document.addEventListener("keydown", (event) => {
  if (!state?.form.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.getElementById("help").open || event.target.closest?.("input, textarea, select")) return;
  const inside = event.target.id === "words" || event.target === document.body || event.target.id === "main";
  const key = event.key.toLowerCase();
  let done = true;
  if (inside && event.key === "Tab") done = doubt(event.shiftKey ? -1 : 1);
  else if (event.key === "Home") { [state.from, state.to] = spanAt(0) ? [0, spanAt(0).b] : [0, 1]; draw(); }
  else if (event.key === "ArrowRight") event.shiftKey ? stretch(1) : move(1);
  else if (event.key === "ArrowLeft") event.shiftKey ? stretch(-1) : move(-1);
  else if (/^[1-9]$/.test(key) && state.offered[key - 1]) give(state.offered[key - 1]);
  else if (key === "0" && state.none) give(null);
  else if (key === "x") leaveOpen();
  else if (key === "l") document.getElementById("all-labels")?.focus();
  else if (inside && event.key === "Enter") send("label");
  else if (key === "s") send("skip");
  else if (key === "u") send("undo");
  else done = false;
  if (done) event.preventDefault();
});
document.addEventListener("htmx:afterSettle", start);
document.addEventListener("htmx:responseError", () => { busy = false; });
document.addEventListener("htmx:sendError", () => { busy = false; });
start();
