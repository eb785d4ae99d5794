/* The scene of a recording: markers, frames and wrench arrows that play; drawn by palpate's own stage. */

import { ask, fill, h, seconds } from "./dom.js";

export function createPlayer(container, studio) {
  const holder = h("div", {class: "space"}), slide = h("input", {type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time shown in the scene", style: "flex:1"});
  const play = h("button", {type: "button"}, "Play"), now = h("output", {class: "small", style: "min-width:64px"});
  let space = null, data = null, key = "", running = false, last = 0, t = 0, loading = false;
  fill(container, h("h3", {}, "In space"), holder, h("div", {class: "row", style: "margin-top:6px"}, play, slide, now));
  slide.addEventListener("input", () => { stop(); show(Number(slide.value)); });
  play.addEventListener("click", () => (running ? stop() : start()));

  async function draw() {
    const {state} = studio, next = `${state.file} ${state.revision} ${state.work.phase}`;
    if (next === key || loading || state.work.phase === "working" || container.hidden) return;
    loading = true;
    key = next;
    data = await ask("/api/scene", {file: state.file, from: state.span[0], to: state.span[1]}).catch(() => null);
    loading = false;
    container.hidden = !data || !data.position;
    if (container.hidden) return;
    const {createSpace} = await import("palpate/space");
    if (space === null) space = createSpace(holder, {label: "Markers, frames and wrenches of the recording"});
    if (space === null) {
      fill(holder, h("p", {class: "soft"}, "This browser draws nothing in three dimensions (no WebGL)."));
      return;
    }
    space.load(data);
    slide.min = data.t[0];
    slide.max = data.t[data.t.length - 1];
    show(data.t[Math.floor(data.t.length / 3)]);
  }

  function show(time) {
    if (!data || !space || !data.position) return;
    t = time;
    let i = 0, j = data.t.length - 1;
    while (j - i > 1) {
      const m = (i + j) >> 1;
      if (data.t[m] <= time) i = m;
      else j = m;
    }
    space.show(i);
    slide.value = time;
    now.textContent = `${seconds(Math.round(time * 10) / 10)} s`;
  }
  function start() {
    running = true;
    play.textContent = "Pause";
    last = performance.now();
    requestAnimationFrame(step);
  }
  function stop() {
    running = false;
    play.textContent = "Play";
  }
  function step(at) {
    if (!running || !data) return;
    const end = data.t[data.t.length - 1], next = t + Math.min((at - last) / 1000, 0.1);
    last = at;
    show(next > end ? data.t[0] : next);
    requestAnimationFrame(step);
  }
  return {draw, at: time => { if (!running) show(time); }, stop, reset() { key = ""; data = null; stop(); }};
}
