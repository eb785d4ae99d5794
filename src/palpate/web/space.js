/* Points, lines and words in space: the plain data of a figure (traces `scatter3d`, mm) drawn by three.js.

     const drawn = drawSpace(element, {data, layout});     // null where the browser has no WebGL
     drawn.play(); drawn.dispose();

   Traces with `meta.moves` are fixed to the body; `layout.meta` = {times, poses, at} says how it moved: for each time (s)
   twelve numbers, rotation row by row and origin (mm), from where the figure shows it, at the time `at`. Names in the legend show and hide. */

import * as THREE from "three";
import { shown } from "palpate/charts";

const decoders = {f4: Float32Array, f8: Float64Array};

/* Numbers of a trace: a list, or base64 of floats. */
export function numbers(x) {
  if (Array.isArray(x)) return x.map(v => (v === null ? NaN : v));
  const bytes = Uint8Array.from(atob(x.bdata), c => c.charCodeAt(0));
  return Array.from(new decoders[x.dtype](bytes.buffer));
}

function label(text, colour, size) {
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), font = "48px system-ui, sans-serif";
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(text).width) + 8;
  canvas.height = 60;
  pen.font = font;
  pen.fillStyle = colour;
  pen.fillText(text, 4, 46);
  const sprite = new THREE.Sprite(new THREE.SpriteMaterial({map: new THREE.CanvasTexture(canvas), depthTest: false, transparent: true}));
  sprite.scale.set(size * canvas.width / canvas.height, size, 1);
  sprite.center.set(-0.05, 0.5);
  return sprite;
}

export function drawSpace(container, {data, layout}) {
  let renderer;
  try {
    renderer = new THREE.WebGLRenderer({antialias: true, alpha: true, preserveDrawingBuffer: true}); /* for print */
  } catch {
    container.textContent = "This browser draws nothing in three dimensions (no WebGL).";
    return null;
  }
  const world = new THREE.Scene(), moving = new THREE.Group(), camera = new THREE.PerspectiveCamera(35, 1, 1, 1e6);
  const style = name => getComputedStyle(container).getPropertyValue(name).trim() || "#666";
  const view = document.createElement("div"), legend = document.createElement("div"), size = span(layout.scene);
  const axes = ["x", "y", "z"], low = axes.map(k => layout.scene[`${k}axis`].range[0]), high = axes.map(k => layout.scene[`${k}axis`].range[1]);
  const middle = new THREE.Vector3(...low.map((x, i) => (x + high[i]) / 2));
  view.className = "space-view";
  legend.className = "space-legend";
  container.replaceChildren(view, legend);
  view.append(renderer.domElement);
  renderer.domElement.setAttribute("role", "img");
  renderer.domElement.setAttribute("aria-label", container.getAttribute("aria-label") || "a scene in three dimensions");
  view.tabIndex = 0;
  view.setAttribute("role", "group");
  view.setAttribute("aria-label", "turn it with the arrow keys, + and \u2212 zoom");
  camera.up.set(0, 0, 1);
  moving.matrixAutoUpdate = false;
  world.add(moving);
  world.add(new THREE.HemisphereLight(0xffffff, 0x999999, 2.5));

  const labels = [];
  for (const trace of data) {
    const group = new THREE.Group(), [x, y, z] = axes.map(k => numbers(trace[k]));
    const colour = (trace.line || trace.marker || {}).color || style("--ink"), tint = colour === "#222222" ? style("--ink") : colour;
    const points = x.map((_, i) => new THREE.Vector3(x[i], y[i], z[i])), known = points.filter(p => Number.isFinite(p.x));
    if (trace.mode.includes("lines")) {
      const pairs = points.slice(1).flatMap((p, i) => (Number.isFinite(p.x) && Number.isFinite(points[i].x) ? [points[i], p] : []));
      const thick = (trace.line.width || 1) > 4;
      if (thick) {
        for (let i = 0; i < pairs.length; i += 2) {
          const along = pairs[i + 1].clone().sub(pairs[i]), bar = new THREE.Mesh(new THREE.CylinderGeometry(size / 250, size / 250, along.length(), 8), new THREE.MeshLambertMaterial({color: tint}));
          bar.position.copy(pairs[i]).addScaledVector(along, 0.5);
          bar.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.clone().normalize());
          group.add(bar);
        }
      } else group.add(new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(pairs), new THREE.LineBasicMaterial({color: tint})));
    }
    if (trace.mode.includes("markers")) {
      const sizes = trace.marker.size, ball = new THREE.SphereGeometry(1, 12, 8), material = new THREE.MeshLambertMaterial({color: tint});
      points.forEach((p, i) => {
        const radius = (Array.isArray(sizes) ? sizes[i] : sizes) * size / 700;
        if (!Number.isFinite(p.x) || !radius) return;
        const mesh = new THREE.Mesh(ball, material);
        mesh.position.copy(p);
        mesh.scale.setScalar(radius);
        group.add(mesh);
      });
    }
    if (trace.mode.includes("text")) points.forEach((p, i) => {
      if (!trace.text[i] || !Number.isFinite(p.x)) return;
      const sprite = label(trace.text[i], style("--ink"), size / 28);
      sprite.position.copy(p);
      labels.push(sprite);
      group.add(sprite);
    });
    group.visible = trace.visible !== "legendonly" && known.length > 0;
    (trace.meta && trace.meta.moves ? moving : world).add(group);
    if (!trace.showlegend || !trace.name) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(group.visible));
    const dot = document.createElement("span");
    dot.className = "space-dot";
    dot.style.background = tint;
    button.append(dot, ` ${trace.name}`);
    button.addEventListener("click", () => {
      group.visible = !group.visible;
      button.setAttribute("aria-pressed", String(group.visible));
      draw();
    });
    legend.append(button);
  }
  floor();

  function span(scene) {
    return Math.max(...["x", "y", "z"].map(k => scene[`${k}axis`].range[1] - scene[`${k}axis`].range[0]));
  }
  /* A grid with its measure, so that sizes can be read. */
  function floor() {
    const cell = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find(c => size / c < 12) || 5000, count = 2 * Math.ceil(size / cell / 1.4);
    const grid = new THREE.GridHelper(count * cell, count, style("--line"), style("--line"));
    grid.rotation.x = Math.PI / 2;
    grid.position.set(Math.round(middle.x / cell) * cell, Math.round(middle.y / cell) * cell, low[2]);
    world.add(grid);
    const words = document.createElement("span");
    words.className = "space-scale";
    words.textContent = `a square is ${cell >= 1000 ? `${cell / 1000} m` : `${cell} mm`} wide`;
    legend.append(words);
  }
  const controls = new THREE.OrbitControls(camera, renderer.domElement);
  Object.assign(controls, {enablePan: false, enableZoom: false});
  renderer.domElement.style.touchAction = "pan-y"; /* the page scrolls */
  controls.target.copy(middle);
  const eye = layout.scene.camera.eye;
  camera.position.copy(middle).add(new THREE.Vector3(eye.x, eye.y, eye.z).normalize().multiplyScalar(1.7 * size));
  camera.far = 30 * size;
  camera.near = size / 50;
  controls.update();
  let asked = 0;
  /* Names that would cover each other: the nearest is shown, the others when the view is turned. */
  function name() {
    const shown = [], half = view.clientHeight / 2, at = new THREE.Vector3();
    const near = labels.map(sprite => [sprite, sprite.getWorldPosition(new THREE.Vector3()).distanceTo(camera.position)]).sort((a, b) => a[1] - b[1]);
    for (const [sprite, far] of near) {
      at.setFromMatrixPosition(sprite.matrixWorld).project(camera);
      const scale = half / Math.tan(camera.fov * Math.PI / 360) / far, w = sprite.scale.x * scale, h = 0.7 * sprite.scale.y * scale;
      const box = [at.x * half * camera.aspect, at.y * half, w, h];
      sprite.visible = !shown.some(b => Math.abs(b[1] - box[1]) < (b[3] + h) / 2 && box[0] < b[0] + b[2] && b[0] < box[0] + w);
      if (sprite.visible && sprite.parent.visible) shown.push(box);
    }
  }
  const render = () => {
    world.updateMatrixWorld();
    camera.updateMatrixWorld();
    name();
    renderer.render(world, camera);
  };
  const draw = () => {
    if (!asked) asked = requestAnimationFrame(() => { asked = 0; render(); });
  };
  controls.addEventListener("change", draw);
  view.addEventListener("keydown", e => {
    const offset = camera.position.clone().sub(middle), r = offset.length(), angle = Math.atan2(offset.y, offset.x), height = Math.asin(offset.z / r);
    const turn = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[e.key], zoom = {"+": 0.9, "-": 1.1}[e.key];
    if (!turn && !zoom) return;
    e.preventDefault();
    const a = angle + (turn ? turn[0] : 0), h = Math.min(1.5, Math.max(-1.5, height + (turn ? turn[1] : 0)));
    camera.position.set(Math.cos(a) * Math.cos(h), Math.sin(a) * Math.cos(h), Math.sin(h)).multiplyScalar(r * (zoom || 1)).add(middle);
    controls.update();
    draw();
  });
  const fit = () => {
    const w = view.clientWidth, h = view.clientHeight;
    if (!w || !h) return;
    renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    renderer.setSize(w, h, false);
    camera.aspect = w / h;
    camera.fov = w < h ? 50 : 35;
    camera.updateProjectionMatrix();
    render();
  };
  const watcher = new ResizeObserver(fit);
  watcher.observe(view);

  /* --- how it moved --- */
  const given = layout.meta, motion = given ? {times: numbers(given.times), poses: numbers(given.poses), at: given.at} : null;
  let playing = false, at = 0, last = null;
  function place(time) {
    const {times, poses} = motion;
    let i = 0;
    while (i < times.length - 1 && times[i + 1] <= time) i++;
    const p = poses.slice(12 * i, 12 * i + 12);
    moving.matrix.set(p[0], p[1], p[2], p[9], p[3], p[4], p[5], p[10], p[6], p[7], p[8], p[11], 0, 0, 0, 1);
    bar.value = (time - times[0]) / (times.at(-1) - times[0] || 1);
    clock.textContent = `${shown(time)} s`;
    draw();
  }
  const bar = document.createElement("input"), button = document.createElement("button"), clock = document.createElement("span");
  function tick(stamp) {
    if (!playing) return;
    at += last === null ? 0 : Math.min((stamp - last) / 1000, 0.1);
    last = stamp;
    if (at >= motion.times.at(-1)) stop();
    place(Math.min(at, motion.times.at(-1)));
    if (playing) requestAnimationFrame(tick);
  }
  function stop() {
    playing = false;
    button.textContent = "Play";
  }
  function play() {
    if (at >= motion.times.at(-1)) at = motion.times[0];
    playing = true;
    last = null;
    button.textContent = "Pause";
    requestAnimationFrame(tick);
  }
  if (motion) {
    const row = document.createElement("div");
    row.className = "space-replay";
    Object.assign(bar, {type: "range", min: 0, max: 1, step: 0.001, value: 0});
    bar.setAttribute("aria-label", "time of the recording");
    bar.addEventListener("input", () => {
      stop();
      at = motion.times[0] + Number(bar.value) * (motion.times.at(-1) - motion.times[0]);
      place(at);
    });
    Object.assign(button, {type: "button", textContent: "Play"});
    button.addEventListener("click", () => (playing ? stop() : play()));
    row.append(button, bar, clock);
    container.append(row);
    at = motion.at;
    place(at);
  }
  fit();
  return {play, dispose() { watcher.disconnect(); controls.dispose(); renderer.dispose(); container.replaceChildren(); }};
}
