/* The scene of a recording: markers, frames and wrench arrows that play, on the stage of palpate/scene. */

import { createStage } from "palpate/scene";
import { ask, fill, h, seconds } from "./dom.js";

const AXES = [0xc03020, 0x2a8a3a, 0x2a5fd0], MARKER = 0x8a5a2b, FORCE = 0xd03b1f, MOMENT = 0x7a3fb0;

/* Group of markers, frames and arrows of one scene; `show(i)` puts it as it was in frame i. */
function drawing(T, data) {
  const root = new T.Group(), body = new T.Group(), arrows = [];
  const spread = Math.max(0.1, ...(data.markers ? data.markers.points : [[0.5, 0, 0]]).map(p => Math.hypot(...p))), small = 0.012 * spread + 0.004;
  root.add(body);
  (data.markers ? data.markers.points : []).forEach(p => {
    const ball = new T.Mesh(new T.SphereGeometry(small, 12, 8), new T.MeshLambertMaterial({color: MARKER}));
    ball.position.set(...p);
    body.add(ball);
  });
  Object.values(data.frames).forEach(M => {
    [0, 1, 2].forEach(j => {
      const at = new T.Vector3(M[0][3], M[1][3], M[2][3]), along = new T.Vector3(M[0][j], M[1][j], M[2][j]);
      body.add(new T.ArrowHelper(along, at, 0.14 * spread, AXES[j], 0.04 * spread, 0.02 * spread));
    });
  });
  const largest = key => Math.max(1e-9, ...data.wrenches.flatMap(w => w[key].map(v => Math.hypot(...v))));
  const sizes = {force: 0.8 * spread / largest("force"), moment: 0.5 * spread / largest("moment")};
  data.wrenches.forEach(w => {
    const M = data.frames[w.frame] || [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]];
    [["force", FORCE], ["moment", MOMENT]].forEach(([key, colour]) => {
      const arrow = new T.ArrowHelper(new T.Vector3(0, 0, 1), new T.Vector3(M[0][3], M[1][3], M[2][3]), 0.1, colour, 0.03, 0.02);
      body.add(arrow);
      arrows.push(i => {
        const v = w[key][i], x = new T.Vector3(...[0, 1, 2].map(r => M[r][0] * v[0] + M[r][1] * v[1] + M[r][2] * v[2])), far = x.length() * sizes[key];
        arrow.visible = far > 0.02 * spread;
        if (arrow.visible) {
          arrow.setDirection(x.normalize());
          arrow.setLength(far, Math.min(0.25 * far, 0.06 * spread), 0.03 * spread);
        }
      });
    });
  });
  return {
    root,
    show(i) {
      body.visible = data.seen[i];
      const [w, x, y, z] = data.quaternion[i];
      body.position.set(...data.position[i]);
      body.quaternion.set(x, y, z, w);
      arrows.forEach(turn => turn(i));
    },
  };
}

/* The frame in which most is going on: of those that were seen, that of the largest force. */
function strongest(data) {
  const size = i => data.wrenches.reduce((sum, w) => sum + Math.hypot(...w.force[i]), 0), seen = data.t.map((_, i) => i).filter(i => data.seen[i]);
  return seen.reduce((best, i) => (size(i) > size(best) ? i : best), seen[0] || 0);
}

export function createPlayer(container, studio) {
  const holder = h("div", {class: "space"}), slide = h("input", {type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time shown in the scene", style: "flex:1"});
  const play = h("button", {type: "button"}, "Play"), now = h("output", {class: "small", style: "min-width:64px"});
  let stage = null, drawn = null, placed = null, data = null, key = "", running = false, last = 0, t = 0, loading = false;
  fill(container, h("h3", {}, "In space"), holder, h("div", {class: "row", style: "margin-top:6px"}, play, slide, now),
    h("p", {class: "soft small", style: "margin:4px 0 0"}, "Markers, frames (x red, y green, z blue), force (orange) and moment (violet) at the load cells."));
  slide.addEventListener("input", () => { stop(); show(Number(slide.value)); });
  play.addEventListener("click", () => (running ? stop() : start()));

  async function draw() {
    const {state} = studio, next = `${state.file} ${state.segments ? state.segments.static : ""} ${state.scene}`;
    if (next === key || loading || !state.scene) {
      container.hidden = !state.scene;
      return;
    }
    loading = true;
    key = next;
    const seen = await ask("/api/scene", {file: state.file, from: state.span[0], to: state.span[1]}).catch(() => null);
    loading = false;
    if (key !== next) return; /* another file by now */
    data = seen;
    container.hidden = !data || !data.position;
    if (container.hidden) return;
    if (stage === null) {
      stage = createStage(holder, {label: "Markers, frames and wrenches of the recording"});
      const loop = () => { /* draws only what has changed */
        if (holder.clientWidth) stage.draw();
        requestAnimationFrame(loop);
      };
      if (stage !== null) loop();
    }
    if (stage === null) {
      fill(holder, h("p", {class: "soft"}, "This browser draws nothing in three dimensions (no WebGL)."));
      return;
    }
    if (placed) placed.remove();
    drawn = drawing(stage.three, data);
    placed = stage.put(drawn.root);
    slide.min = data.t[0];
    slide.max = data.t[data.t.length - 1];
    show(data.t[strongest(data)]);
    stage.frame();
  }

  function show(time) {
    if (!data || !drawn) return;
    t = time;
    let i = 0, j = data.t.length - 1;
    while (j - i > 1) {
      const m = (i + j) >> 1;
      if (data.t[m] <= time) i = m;
      else j = m;
    }
    drawn.show(i);
    placed.touch();
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
