/* The Feel view: push and pull what was identified; another take, or the truth, beside it. */

import { fill, h, replace } from "./dom.js";

export function createFeelView(container, studio) {
  const nothing = h("div", {class: "card"}), head = h("div", {class: "card"}), holder = h("div", {class: "card"});
  container.append(nothing, head, holder);
  const note = h("p", {class: "soft small", id: "feel-note"});
  let panel = null, key = "", beside = "", mounting = 0;

  /* Results of the same kind of object: at least half of the parameters are the same. */
  const alike = (a, b) => 2 * Object.keys(a).filter(n => n in b).length >= Math.max(Object.keys(a).length, Object.keys(b).length);
  const source = (file, revision) => `/api/model.js?file=${encodeURIComponent(file)}&v=${revision}`;

  async function draw() {
    const {state, folder} = studio, full = state && state.result && state.result.current ? state.result : null;
    const ready = Boolean(state && state.answer) && !(full && !full.model);
    nothing.hidden = ready;
    head.hidden = holder.hidden = !ready;
    if (!ready) {
      fill(nothing, h("p", {}, state === null ? "Open an experiment in Data first: what was identified can then be pushed here." : full ? "The data do not tell all of its numbers: there is no model to push. The Fit view says what is missing." : "There is no model yet."));
      return;
    }
    const next = JSON.stringify([state.file, state.revision, beside, Boolean(state.result && state.result.current)]);
    if (next === key) return;
    key = next;
    const mine = ++mounting, models = (folder ? folder.results : []).filter(r => r.model && alike(r.parameters, state.answer.parameters)), references = Object.keys((state.result && state.result.references) || {});
    fill(head, h("h2", {}, `Push it: ${state.title}`), h("p", {class: "soft small"}, "With the mouse, a finger, the arrow keys or a gamepad. Let go and see what it does. The sliders go beyond the intervals."),
      h("label", {class: "small"}, "Beside it ", h("select", {id: "beside", value: beside, onchange: e => { beside = e.target.value; draw(); }},
        h("option", {value: ""}, "nothing"), references.map(r => h("option", {value: `reference:${r}`}, r)),
        models.map(r => h("option", {value: `result:${r.file}`}, `${r.title}, ${r.folder}`)))), note);
    const answer = state.result && state.result.current ? state.result : state.answer;
    const intervals = Object.fromEntries(Object.entries(answer.parameters).filter(([, e]) => e.ci95).map(([n, e]) => [n, e.ci95]));
    try {
      const [{mount}, model] = await Promise.all([import("palpate/panel"), import(source(state.file, `${state.revision}-${mounting}`))]);
      const other = beside ? await import(`/api/model.js?file=${encodeURIComponent(state.file)}&beside=${encodeURIComponent(beside)}&v=${state.revision}`) : null;
      if (mine !== mounting) return;
      hide();
      note.textContent = model.note;
      panel = mount(replace(holder), {model, intervals, beside: other ? {label: beside.replace(/^\w+:/, ""), model: other} : null});
    } catch (error) {
      replace(holder, h("p", {role: "alert"}, error.message));
    }
  }

  function hide() {
    if (panel) panel.dispose();
    panel = null;
    key = panel === null && container.hidden ? "" : key;
    if (container.hidden) replace(holder);
  }

  return {draw, hide, get panel() { return panel; }};
}
