/* The object to push: scene, pads, charts, sliders and replay in one element of a page.

     import * as door from "./model.js";
     import { mount } from "palpate/panel";
     const panel = mount(element, {model: door, intervals: {b_v: [4.1, 5.2]}, replay, beside: {label: "second take", model: other}});
     panel.feel; panel.stage; panel.dispose();

   `sliders`: names of the parameters that have one; null: all. `intervals`: parameter -> lowest and highest value that the data allow. `beside`: another model that is pushed with
   the same hand. `replay`: {start, names, windows: [{times, measured, simulated}]}, names of positions of the state and
   for each of them a list over `times` (s). Everything works by mouse, touch, keyboard or gamepad. */

import { createFeel } from "palpate/feel";
import { createStage } from "palpate/scene";
import { createChart, shown, unitText } from "palpate/charts";

const DEG = 180 / Math.PI, STICK = 0.15, AWAKE_S = 9, SAID_S = 1.5;
const inDegrees = unit => unit.startsWith("rad") ? [DEG, unit.replace("rad", "deg")] : [1, unit];
const KEYS = {ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", PageUp: "Page Up", PageDown: "Page Down"};
const WORDS = ["", "held by dry friction", "against an end stop", "beyond the sensor's range", "lost, braked", ""];

/* For readouts: what is next to nothing is nothing. */
const read = x => shown(Math.abs(x) < 0.005 ? 0 : x);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function mount(container, {model, sliders = null, intervals = {}, replay = null, beside = null, strength = null} = {}) {
  const {about} = model, feel = createFeel(model, {strength});
  const other = beside === null ? null : createFeel(beside.model, {strength: feel.directions[0].size});
  const feels = other === null ? [feel] : [feel, other], [factor, unit] = inDegrees(about.state[0].unit);
  const view = element("div", {class: "feel-view", tabindex: 0, role: "application",
    "aria-label": `${about.name}: push it with the arrow keys${feel.directions.length > 2 ? ", Page Up and Page Down" : ""}`});
  const readout = element("p", {class: "feel-now"}), said = element("p", {class: "feel-said", role: "status"});
  container.classList.add("feel");
  container.append(view);
  const stage = createStage(view, {label: `${about.name}, drawn from its mechanism; sizes that the model does not know are typical`});
  if (stage === null) view.append(element("p", {class: "feel-none"}, "This browser draws nothing in three dimensions (no WebGL); pushing, charts and numbers work."));
  const drawn = stage && stage.add(model), ghost = stage && (replay || other) && stage.add(other ? other.model : model, {tint: "ghost"});
  const pads = () => (navigator.getGamepads ? [...navigator.getGamepads()].filter(x => x) : []);
  const sleeping = () => !playing && clock > awake && !pads().length; /* a gamepad tells nobody that it is moved */
  let mode = "", playing = false, at = 0, clock = 0, awake = AWAKE_S, lastSaid = -SAID_S, phase = "", frame = 0, last = null, seen = true;

  /* --- pushing --- */
  const push = element("div", {class: "feel-pads", role: "group", "aria-label": "Push"});
  const press = (i, share) => {
    awake = clock + AWAKE_S;
    if (mode !== "push") choose("push");
    feels.forEach(f => f.press(i, share));
    padButtons[i].classList.toggle("on", share > 0);
    wake();
  };
  const padButtons = feel.directions.map((d, i) => {
    const button = element("button", {type: "button", class: "feel-pad"},
      element("span", {class: "feel-key", "aria-hidden": "true"}, KEYS[d.keys[0]]), ` ${d.name}`);
    const off = () => press(i, 0);
    button.addEventListener("pointerdown", e => { button.setPointerCapture(e.pointerId); press(i, hard); });
    ["pointerup", "pointercancel", "blur"].forEach(name => button.addEventListener(name, off));
    button.addEventListener("keydown", e => {
      if (e.key === " " || e.key === "Enter") { e.preventDefault(); press(i, hard); }
    });
    button.addEventListener("keyup", e => { if (e.key === " " || e.key === "Enter") off(); });
    button.addEventListener("contextmenu", e => e.preventDefault());
    push.append(button);
    return button;
  });
  const share = element("input", {type: "range", min: 0.1, max: 3, step: 0.1, value: 1, "aria-label": "how hard, times the usual push"});
  const letGo = element("button", {type: "button", class: "feel-main", onclick: () => {
    feels.forEach(f => f.letGo());
    padButtons.forEach(b => b.classList.remove("on"));
    say("let go");
    wake();
  }}, feel.held ? "Stop pushing" : "Let go");
  const again = element("button", {type: "button", onclick: () => {
    feels.forEach(f => f.reset());
    charts.forEach(c => c.clear());
    if (stage) frameAll();
    say("back at the start");
    wake();
  }}, "Start again");
  push.append(element("label", {class: "feel-hard"}, "force ", share), letGo, again);
  share.addEventListener("input", () => { hard = Number(share.value); });
  let hard = 1;
  const keys = new Map();
  view.addEventListener("keydown", e => {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    if (e.shiftKey && stage && e.key.startsWith("Arrow")) {
      stage.turn({ArrowLeft: -0.1, ArrowRight: 0.1}[e.key] || 0, {ArrowUp: 0.1, ArrowDown: -0.1}[e.key] || 0);
    } else if (stage && (e.key === "+" || e.key === "-")) stage.zoom(e.key === "+" ? 1 / 1.1 : 1.1);
    else if (e.key === " " || e.key === "Escape") letGo.click();
    else if (e.key === "Home") again.click();
    else {
      const i = feel.directions.findIndex(d => d.keys.includes(e.key));
      if (i < 0) return;
      if (!keys.has(e.key)) { keys.set(e.key, i); press(i, hard); }
    }
    e.preventDefault();
    wake();
  });
  const up = key => { if (keys.has(key)) { press(keys.get(key), 0); keys.delete(key); } };
  view.addEventListener("keyup", e => up(e.key));
  view.addEventListener("blur", () => [...keys.keys()].forEach(up));
  let stick = false;
  function gamepad() {
    const [pad] = pads();
    if (!pad) return;
    const axis = i => (Math.abs(pad.axes[i] || 0) > STICK ? pad.axes[i] : 0);
    const shares = feel.single ? [axis(0), -axis(0)] : [-axis(1), axis(1), axis(0), -axis(0), -axis(3), axis(3)];
    const any = shares.some(x => x !== 0) || pad.buttons.some(b => b.pressed);
    if (!any && !stick) return;
    stick = any;
    shares.forEach((x, i) => press(i, Math.max(0, x) * hard));
    if (pad.buttons[0] && pad.buttons[0].pressed) letGo.click();
  }
  if (stage) {
    stage.onDrag(
      point => { feels.forEach(f => f.pull(point)); awake = clock + AWAKE_S; wake(); },
      () => { feels.forEach(f => f.letGo()); say("let go"); },
      () => { if (mode !== "push") choose("push"); return feel.where().hand; },
    );
    stage.controls.addEventListener("change", () => wake());
  }

  /* --- charts --- */
  const now = feel.now(), [rate, rateUnit] = inDegrees(now.speedUnit);
  const specs = [{label: feel.single && now.forceUnit === "N m" ? "moment" : "force", unit: now.forceUnit},
    feel.single ? {label: about.main || about.state[0].name, unit, factor} : {label: "speed of the hand", unit: rateUnit, factor: rate},
    {label: "power", unit: "W"}];
  const canvases = specs.map(s => element("canvas", {class: "feel-chart", role: "img", "aria-label": `${s.label} over the last seconds`}));
  const charts = canvases.map((canvas, i) => createChart(canvas, specs[i]));
  const plots = element("div", {class: "feel-charts"}, ...canvases);

  /* --- parameters --- */
  const changes = element("details", {class: "feel-parameters"}, element("summary", {}, "Change its parameters"));
  const refused = element("p", {class: "feel-refused", role: "status"}), rows = [];
  for (const p of about.parameters.filter(x => sliders === null || sliders.includes(x.name))) {
    const [low, high] = intervals[p.name] || [p.value, p.value], half = Math.max(high - p.value, p.value - low, 0);
    const far = Math.max(1.5 * Math.abs(p.value), 4 * half, 1e-6);
    const least = p.least === null ? p.value - far : p.least, most = p.value + far, span = most - least;
    const input = element("input", {type: "range", min: least, max: most, step: span / 500, value: p.value, id: `feel-${p.name}`});
    const place = x => `${(100 * Math.min(1, Math.max(0, (x - least) / span))).toFixed(2)}%`;
    input.style.setProperty("--low", place(low));
    input.style.setProperty("--high", place(high));
    input.style.setProperty("--at", place(p.value));
    const output = element("output", {for: `feel-${p.name}`});
    const told = () => {
      output.textContent = `${shown(Number(input.value))} ${unitText(p.unit)}`;
      input.setAttribute("aria-valuetext", `${shown(Number(input.value))} ${unitText(p.unit)}; identified ${shown(p.value)}${half ? `, between ${shown(low)} and ${shown(high)}` : ""}`);
    };
    const change = () => {
      try {
        feel.set(Object.fromEntries(rows.map(row => [row.name, row.value()])));
        refused.textContent = "";
      } catch (error) {
        refused.textContent = `No object has these: ${error.message}. It moves as before.`;
      }
      told();
      awake = clock + AWAKE_S;
      wake();
    };
    input.addEventListener("input", change);
    rows.push({name: p.name, value: () => (input.dataset.moved ? Number(input.value) : p.value), reset() { input.value = p.value; delete input.dataset.moved; told(); }});
    input.addEventListener("input", () => { input.dataset.moved = "yes"; }, {capture: true});
    told();
    changes.append(element("div", {class: "feel-slider"}, element("label", {for: `feel-${p.name}`}, p.name, p.words ? element("small", {}, ` ${p.words}`) : ""), input, output));
  }
  changes.append(refused, element("p", {class: "quiet"}, "The mark is the identified value, the band what the data allow. "),
    element("button", {type: "button", onclick: () => { rows.forEach(r => r.reset()); feel.set(Object.fromEntries(about.parameters.map(p => [p.name, p.value]))); refused.textContent = ""; wake(); }}, "As identified"));

  /* --- replay --- */
  const windows = replay ? replay.windows : [], bar = element("div", {class: "feel-replay", role: "group", "aria-label": "Replay"});
  let shownWindow = 0, scrub = null, play = null, which = null;
  const places = replay ? replay.names.map(name => about.state.findIndex(x => x.name === name)) : [];
  const stateAt = (lists, time, times) => {
    const state = about.state.map(x => x.value);
    let i = 0;
    while (i < times.length - 2 && times[i + 1] <= time) i++;
    const part = Math.min(1, Math.max(0, (time - times[i]) / (times[i + 1] - times[i] || 1)));
    places.forEach((place, k) => { if (place >= 0) state[place] = lists[k][i] + part * (lists[k][i + 1] - lists[k][i]); });
    return state;
  };
  if (windows.length) {
    play = element("button", {type: "button", class: "feel-main", onclick: () => {
      choose("replay");
      if (!playing && at >= windows[shownWindow].times.at(-1) - windows[shownWindow].times[0]) { at = 0; which.value = shownWindow = 0; }
      playing = !playing; play.textContent = playing ? "Pause" : "Play";
      wake();
    }}, "Play");
    scrub = element("input", {type: "range", min: 0, max: 1, step: 0.001, value: 0, "aria-label": "time of the replay",
      oninput: () => { choose("replay"); playing = false; play.textContent = "Play"; at = Number(scrub.value) * (windows[shownWindow].times.at(-1) - windows[shownWindow].times[0]); wake(); }});
    which = element("select", {"aria-label": "piece of the recording", onchange: () => { shownWindow = Number(which.value); at = 0; choose("replay"); wake(); }},
      ...windows.map((w, i) => element("option", {value: i}, `from ${w.times[0].toFixed(1)} s`)));
    bar.append(element("strong", {}, "Replay "), play, scrub, which,
      element("span", {class: "feel-legend"}, element("span", {class: "feel-dot"}), " measured ", element("span", {class: "feel-dot feel-dot-model"}), " model under the measured force"));
  }
  const wide = about.outline.solids.reduce((most, s) => Math.max(most, Math.abs(s.at[0]) + (s.size[0] || 0), Math.abs(s.at[1]) + (s.size[1] || 0)), 0.3);
  function choose(next) {
    if (mode === next) return;
    mode = next;
    if (mode === "push") { playing = false; if (play) play.textContent = "Play"; }
    if (!stage) return;
    const apart = mode === "replay" || other ? 0.62 * wide : 0;
    drawn.root.position.set(-apart, 0, 0);
    if (ghost) {
      ghost.root.visible = mode === "replay" || other !== null;
      ghost.root.position.set(apart, 0, 0);
    }
    frameAll();
  }
  function frameAll() {
    show();
    stage.frame(about.outline.floor);
  }

  /* --- words --- */
  function say(text) {
    lastSaid = clock;
    said.textContent = `${text[0].toUpperCase()}${text.slice(1)}: ${words(feel.now())}.`;
  }
  function words(x) {
    const state = WORDS[x.status] ? `, ${WORDS[x.status]}` : "";
    const place = feel.single ? `${about.main || about.state[0].name} at ${read(factor * x.coordinate)} ${unit}` : `the hand at ${read(x.speed)} m/s`;
    return `${place}${feel.single ? `, ${read(rate * x.speed)} ${rateUnit}` : ""}, ${read(x.force)} ${x.forceUnit}${state}`;
  }

  /* --- time --- */
  const follow = point => { if (about.outline.floor !== null || feel.held) stage.follow(point); };
  function show() {
    if (!stage) return;
    if (mode === "replay") {
      const w = windows[shownWindow], time = w.times[0] + at, measured = stateAt(w.measured, time, w.times);
      drawn.show(feel.object, measured);
      follow(feel.where(measured).hand);
      if (ghost) ghost.show(feel.object, stateAt(w.simulated, time, w.times));
      stage.arrow([0, 0, 0], null);
    } else {
      drawn.show(feel.object);
      if (ghost && other) ghost.show(other.object);
      const x = feel.now(), size = 0.25 * stage.size / (2 * feel.directions[0].size);
      stage.arrow(x.hand.map((h, i) => h + drawn.root.position.getComponent(i)), x.vector.map(f => f * size));
      follow(x.hand);
    }
  }
  function tick(stamp) {
    frame = 0;
    const seconds = last === null ? 0.016 : Math.min((stamp - last) / 1000, 0.1);
    last = stamp;
    clock += seconds;
    gamepad();
    if (mode === "push") {
      feels.forEach(f => f.advance(seconds));
      const x = feel.now();
      [x.force, feel.single ? x.coordinate : x.speed, x.power].forEach((v, i) => { charts[i].add(x.time, v); charts[i].draw(); });
      readout.textContent = words(x);
      if (Math.abs(x.speed) > 1e-4) awake = clock + AWAKE_S / 3;
      const next = `${Math.abs(x.speed) > 1e-3 ? "moving" : "at rest"}${WORDS[x.status] ? `, ${WORDS[x.status]}` : ""}`;
      if (next !== phase && clock > lastSaid + SAID_S) { phase = next; say(Math.abs(x.speed) > 1e-3 ? "moving" : "at rest"); }
    } else {
      const length = windows[shownWindow].times.at(-1) - windows[shownWindow].times[0];
      if (playing) at += seconds;
      if (at >= length && playing && shownWindow < windows.length - 1) {
        at = 0;
        which.value = ++shownWindow;
      } else if (at >= length) {
        at = length;
        playing = false;
        play.textContent = "Play";
      }
      scrub.value = at / length;
      const w = windows[shownWindow], place = stateAt(w.measured, w.times[0] + at, w.times), model = stateAt(w.simulated, w.times[0] + at, w.times);
      const first = places.find(i => i >= 0), [f, u] = inDegrees(about.state[first].unit);
      readout.textContent = `${shown(w.times[0] + at)} s: measured ${read(f * place[first])}, model ${read(f * model[first])} ${u} (${about.state[first].name})`;
    }
    show();
    if (stage) stage.draw();
    if (seen && !sleeping()) wake();
    else last = null;
  }
  function wake() {
    if (!frame && seen) frame = requestAnimationFrame(tick);
  }
  const watcher = new IntersectionObserver(entries => { seen = entries.some(e => e.isIntersecting); last = null; wake(); });
  watcher.observe(container);
  const connected = () => wake();
  window.addEventListener("gamepadconnected", connected);
  window.addEventListener("resize", connected);
  container.append(readout, said, push, plots, ...(windows.length ? [bar] : []), changes,
    element("p", {class: "quiet"}, `Drag the object to pull it; drag beside it to turn the view. With the keyboard: click or tab to the picture, arrow keys push, Shift and arrow keys turn the view, + and \u2212 zoom, Space lets go, Home starts again. ${feel.held ? "It would fall if nobody held it, so it is held where it is. " : ""}${feel.carried ? "Keys and mouse carry it; the force is what that takes." : `One push is ${feel.directions.filter((_, i) => i % 2 === 0).map(d => `${shown(d.size)} ${d.unit}`).filter((x, i, all) => all.indexOf(x) === i).join(", ")}.`}`));
  choose("push");
  wake();
  return {
    feel, stage, choose,
    dispose() {
      cancelAnimationFrame(frame);
      watcher.disconnect();
      window.removeEventListener("gamepadconnected", connected);
      window.removeEventListener("resize", connected);
      if (stage) stage.dispose();
      container.replaceChildren();
    },
  };
}
