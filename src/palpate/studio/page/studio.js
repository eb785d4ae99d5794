/* The page: which experiment, which view, what the server says; views draw themselves from its state. */

import { ask, fill, h } from "./dom.js";
import { createData } from "./data.js";
import { createFit } from "./fit.js";
import { createFeelView } from "./feelview.js";
import { createLibrary } from "./library.js";

const BUSY_MS = 600, IDLE_MS = 2500;
const at = id => document.getElementById(id);
history.replaceState(null, "", location.pathname + location.hash); /* the cookie has the token now */

const studio = {
  file: null, state: null, folder: null, quick: null, /* the answer to borders that are not written yet */
  dragging: false,

  async open(file) {
    studio.file = file;
    studio.quick = null;
    if (file !== null) await studio.take(() => ask("/api/open", {file}));
    else studio.state = null;
    location.hash = `${current}${file ? `/${file}` : ""}`;
    files();
    draw();
    poll();
  },

  /* Do something that answers with the state; what is refused becomes a notice. */
  async take(act) {
    try {
      const state = await act();
      if (state && state.file === studio.file) studio.state = state;
      notice("");
      return true;
    } catch (error) {
      notice(error.message, error.status === 409 ? ["Show the newer version", () => studio.reload()] : null);
      return false;
    }
  },

  /* The numbers that are shown, and of which kind they are. */
  current() {
    const {state, quick} = studio;
    if (quick) return {...quick, kind: "quick"};
    if (state && state.result && state.result.current && state.work.phase === "ready") return {parameters: state.result.parameters, rms: state.result.rms, kind: "full", total: true};
    return state && state.answer ? {...state.answer, kind: "quick"} : null;
  },

  /* One after the other, each on the version that the one before has made. */
  change(changes) {
    queue = queue.then(async () => {
      await studio.take(() => ask("/api/change", {file: studio.file, revision: studio.state.revision, changes}));
      draw();
      poll();
    });
    return queue;
  },

  async reload() {
    studio.quick = null;
    await studio.take(() => ask("/api/reload", {file: studio.file}));
    draw();
    poll();
  },

  async list() {
    studio.folder = await ask("/api/folder").catch(error => { notice(error.message); return studio.folder; });
    files();
  },

  tracks: (keys, from, to, pixels) => ask("/api/lines", {file: studio.file, keys, from, to, pixels}),

  /* A border moves: ask for numbers, one request at a time; let go: write them. */
  async segments(segments, done) {
    studio.state = {...studio.state, segments};
    wanted = {segments, done: done || (wanted !== null && wanted.done)};
    if (answering) return;
    answering = true;
    studio.dragging = true;
    while (wanted !== null) {
      const {segments: now, done: last} = wanted;
      wanted = null;
      try {
        studio.quick = await ask("/api/answer", {file: studio.file, segments: now});
        refusal = "";
      } catch (error) {
        refusal = error.message;
      }
      views.fit.numbers();
      views.data.numbers();
      if (last && wanted === null) {
        if (refusal && !/no fit yet/.test(refusal)) notice(refusal, ["Undo it", () => studio.reload()]);
        else {
          const written = await studio.take(() => ask("/api/segments", {file: studio.file, revision: studio.state.revision, segments: now}));
          if (written) studio.quick = null;
        }
        studio.dragging = false;
        draw();
      }
    }
    answering = false;
    poll();
  },

  show,
  notice,
};
let queue = Promise.resolve(), wanted = null, answering = false, refusal = "", current = "data", timer = null;

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
  location.hash = `${name}${studio.file ? `/${studio.file}` : ""}`;
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
  if (studio.file !== null && !studio.dragging) {
    try {
      const state = await ask(`/api/state?file=${encodeURIComponent(studio.file)}`);
      if (!studio.dragging && state.file === studio.file) {
        studio.state = state;
        if (state.changed_elsewhere === "changed") await studio.reload();
        else if (state.changed_elsewhere) notice(state.changed_elsewhere);
        if (silent) notice("");
        silent = false;
        draw();
      }
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

function files() {
  const {experiments = []} = studio.folder || {};
  fill(at("file"), h("option", {value: ""}, experiments.length ? "choose, or start anew" : "none yet"),
    experiments.map(name => h("option", {value: name, selected: name === studio.file}, name)));
  at("file").value = studio.file || "";
}
at("file").addEventListener("change", e => studio.open(e.target.value || null));
at("undo").addEventListener("click", async () => {
  await studio.take(() => ask("/api/undo", {file: studio.file, revision: studio.state.revision}));
  draw();
  poll();
});
document.addEventListener("keydown", e => {
  if ((e.ctrlKey || e.metaKey) && e.key === "z" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName) && !at("undo").hidden) at("undo").click();
});

window.studio = Object.assign(studio, {views});
const [view, ...path] = decodeURIComponent(location.hash.slice(1)).split("/");
await studio.list();
const first = path.join("/") || studio.folder?.open;
show(views[view] ? view : "data");
if (first) await studio.open(first);
files();
