/* The page: which experiment, which view, what the server says; views draw themselves from its state. */

import { ask, fill, h, hold, release } from "./dom.js";
import { createStates } from "./states.js";
import { createData } from "./data.js";
import { createFit } from "./fit.js";
import { createFeelView } from "./feelview.js";
import { createLibrary } from "./library.js";

const BUSY_MS = 600, IDLE_MS = 2500, KEYS_MS = 500;
const at = id => document.getElementById(id);
history.replaceState(null, "", location.pathname + location.hash); /* the cookie has the token now */

const states = createStates(ask);
const studio = {
  file: null, state: null, folder: null,
  quick: null, /* the answer to borders that are not written yet */
  draft: null, /* those borders, and the written ones that they began from */
  moving: false, /* a border is held */

  /* What is shown stays until the other file is there; a border that is held is let go first. */
  async open(file) {
    const mine = ++opening;
    if (studio.moving) studio.segments(studio.draft.segments, true);
    target = file;
    let state = null;
    try {
      if (file !== null) state = await states.read(file, () => ask("/api/open", {file}));
      notice("");
    } catch (error) {
      if (mine !== opening) return;
      notice(error.message);
      target = studio.file;
      files();
      return;
    }
    if (mine !== opening) return;
    Object.assign(studio, {file, state, quick: null, draft: null, moving: false});
    location.hash = encodeURI(`${current}${file ? `/${file}` : ""}`);
    files();
    draw();
    poll();
  },

  /* Write into the file that is shown; what is refused becomes a notice. `field` stays as it was set until then. */
  async write(name, given = {}, field = null) {
    const {file} = studio.state;
    let status = 200;
    if (field) hold(field);
    try {
      await states.write(file, name, given);
      if (studio.draft === null) notice("");
    } catch (error) {
      status = error.status;
      notice(error.message, status === 409 ? ["Show the newer version", studio.reload] : name === "segments" ? ["Undo it", studio.reload] : null);
    }
    if (field) release(field);
    return status;
  },
  settle() {
    if (studio.file !== null) studio.state = states.of(studio.file);
    draw();
    poll();
  },

  /* The numbers that are shown, and of which kind they are. */
  current() {
    const {state, quick} = studio;
    if (quick) return {...quick, kind: "quick"};
    if (state && state.result && state.result.current && state.work.phase === "ready") return {parameters: state.result.parameters, rms: state.result.rms, kind: "full", total: true};
    return state && state.answer ? {...state.answer, kind: "quick"} : null;
  },

  /* changes: dotted key -> value, or a function of the state that gives them. */
  async change(changes, field = null) {
    const status = await studio.write("change", state => ({changes: typeof changes === "function" ? changes(state) : changes}), field);
    studio.settle();
    return status;
  },

  async reload() {
    Object.assign(studio, {quick: null, draft: null});
    await studio.write("reload");
    studio.settle();
  },

  async list() {
    studio.folder = await ask("/api/folder").catch(error => { notice(error.message); return studio.folder; });
    files();
  },

  tracks: (keys, from, to, pixels) => ask("/api/lines", {file: studio.state.file, keys, from, to, pixels}),

  /* Borders as they are shown: those that somebody has set, until they are written or taken back. */
  borders: () => (studio.draft ? studio.draft.segments : studio.state.segments || {}),
  get dragging() { return studio.moving || (studio.draft !== null && states.writing(studio.file)); },

  /* A border moves (done false) or is stepped by keys ("soon"): ask for numbers; let go (true): write it. What is refused stays, so that the next border can put it right. */
  async segments(segments, done) {
    const {file} = studio.state, base = studio.draft ? studio.draft.base : JSON.stringify(studio.state.segments);
    studio.draft = {segments, base};
    studio.moving = done !== true;
    clearTimeout(soon);
    const [kind, begin, end] = Object.entries(segments).flatMap(([k, spans]) => spans.filter(([a, b]) => b <= a).map(([a, b]) => [k, a, b]))[0] || [];
    if (kind) { /* half of a pair is typed */
      notice(`${kind.replace("_", "-")}, ${begin} to ${end} s, ends before it begins: it is written once its other end is set.`, ["Undo it", studio.reload]);
      return;
    }
    if (done === "soon") soon = setTimeout(() => studio.segments(segments, true), KEYS_MS);
    estimate(file, segments);
    if (studio.moving) return;
    const status = await studio.write("segments", {segments});
    if (file === studio.file && studio.draft !== null) {
      if (status === 409 || (status === 200 && studio.draft.segments === segments)) Object.assign(studio, {draft: null, quick: null});
      else if (status === 200) studio.draft.base = JSON.stringify(states.of(file).segments);
      if (status === 200 && studio.draft === null) notice("");
    }
    studio.settle();
  },

  show,
  notice,
};
let opening = 0, target = null, wanted = null, soon = null, current = "data", timer = null;

/* Numbers of borders that move, one request at a time: the last ones count. */
async function estimate(file, segments) {
  const busy = wanted !== null;
  wanted = {file, segments};
  while (!busy && wanted !== null) {
    const mine = wanted, answer = await ask("/api/answer", mine).catch(() => null); /* writing it says what is wrong */
    if (answer !== null && studio.file === mine.file && studio.draft !== null) {
      studio.quick = answer;
      views.fit.numbers();
      views.data.numbers();
    }
    if (mine === wanted) wanted = null;
  }
}

const views = {data: createData(at("data"), studio), fit: createFit(at("fit"), studio), feel: createFeelView(at("feel"), studio), library: createLibrary(at("library"), studio)};

function notice(text, action = null) {
  fill(at("notice"), text ? [h("span", {}, text), action && h("button", {type: "button", onclick: action[1]}, action[0]),
    h("button", {type: "button", class: "quiet", onclick: () => notice("")}, "Close")] : []);
}

/* --- views --- */
const tabs = [...document.querySelectorAll("[role=tab]")];
function show(name) {
  current = name;
  tabs.forEach(tab => {
    const mine = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", mine);
    tab.tabIndex = mine ? 0 : -1;
    at(tab.getAttribute("aria-controls")).hidden = !mine;
  });
  location.hash = encodeURI(`${name}${studio.file ? `/${studio.file}` : ""}`);
  Object.entries(views).forEach(([key, view]) => { if (key !== name && view.hide) view.hide(); });
  draw();
}
tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => show(tab.getAttribute("aria-controls")));
  tab.addEventListener("keydown", e => {
    const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1}[e.key];
    if (to === undefined) return;
    e.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    show(next.getAttribute("aria-controls"));
  });
});

/* --- the state --- */
function draw() {
  status();
  views[current].draw();
}

function status() {
  const {state} = studio, said = [];
  at("undo").hidden = !(state && state.undo);
  document.title = state && state.title ? `${state.title} – palpate studio` : "palpate studio";
  if (!state) return fill(at("doing"));
  const {work, full} = state;
  if (work.phase === "working") said.push(`${work.step || "reading"} … `, h("progress", {max: 1, value: work.done || null, "aria-label": "reading"}));
  else if (work.phase === "ready" && full && full.state === "running") said.push(`quick answer; full: ${full.step} … `, h("progress", {max: 1, value: full.done, "aria-label": "identifying"}));
  else if (work.phase === "ready" && full && full.state === "done") said.push(`${state.file}: saved, full answer ${full.passed ? "passed" : "failed"}`);
  else if (work.phase === "failed") said.push("something is wrong: see below");
  const text = said.map(s => (typeof s === "string" ? s : s.getAttribute("aria-label") + s.value)).join("");
  if (text !== studio.said) fill(at("doing"), said);
  studio.said = text;
  return undefined;
}

async function poll() {
  clearTimeout(timer);
  const {file} = studio;
  if (file !== null) {
    try {
      const state = await states.read(file, () => ask(`/api/state?file=${encodeURIComponent(file)}`));
      if (file === studio.file) follow(state);
    } catch (error) {
      silent = silent || error.status === 0;
      notice(error.message);
    }
  }
  const {state} = studio, busy = state && (state.work.phase === "working" || (state.full && state.full.state === "running"));
  clearTimeout(timer);
  timer = setTimeout(poll, busy ? BUSY_MS : IDLE_MS);
}
let silent = false;

/* Show a state; borders that somebody else has moved since take the place of those that could not be written. */
function follow(state) {
  studio.state = state;
  const waits = states.writing(state.file) || studio.moving;
  if (studio.draft && !waits && JSON.stringify(state.segments) !== studio.draft.base) Object.assign(studio, {draft: null, quick: null});
  if (state.changed_elsewhere === "changed" && !waits && !studio.draft) studio.reload();
  else if (state.changed_elsewhere && state.changed_elsewhere !== "changed") notice(state.changed_elsewhere);
  if (silent) notice("");
  silent = false;
  draw();
}

function files() {
  const {experiments = []} = studio.folder || {};
  fill(at("file"), h("option", {value: ""}, experiments.length ? "choose, or start anew" : "none yet"), experiments.map(name => h("option", {value: name}, name)));
  if (at("file").value !== (target || "")) at("file").value = target || "";
}
at("file").addEventListener("change", e => studio.open(e.target.value || null));
at("undo").addEventListener("click", async () => {
  if (studio.draft) return studio.reload();
  await studio.write("undo");
  return studio.settle();
});
document.addEventListener("keydown", e => {
  if ((e.ctrlKey || e.metaKey) && e.key === "z" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName) && !at("undo").hidden) at("undo").click();
});

window.studio = Object.assign(studio, {views});
function place() {
  try {
    return decodeURI(location.hash.slice(1)).split("/");
  } catch { /* typed by hand */
    return [];
  }
}
const [view, ...path] = place();
await studio.list();
const first = path.join("/") || studio.folder?.open;
show(views[view] ? view : "data");
if (first) await studio.open(first);
files();
