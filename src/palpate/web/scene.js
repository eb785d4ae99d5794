/* The object in three dimensions, drawn from its outline by three.js.

     const stage = createStage(container);                 // null where the browser has no WebGL
     const drawn = stage.add(model, {tint: "model"});      // a copy of the object; shift: [x, y, z] beside others
     drawn.show(object);                                   // as the object is now: or show(object, state)
     stage.arrow(from, vector);                            // the force, m; a null vector hides it
     stage.frame(); stage.draw(); stage.dispose();
     stage.onDrag(point => ..., () => ...);                // where the hand was dragged to, in the world; let go

   Everything is in a world whose z points up. Drag beside the object to turn the view, wheel or pinch to zoom. */

import * as THREE from "three";
import { placed } from "palpate/feel";

const TINTS = {
  light: {body: 0xb9824f, grip: 0xd9a400, wheel: 0x3c4248, frame: 0x9aa4ad, link: 0x5b6670, ghost: 0x2f77c9, arrow: 0xd03b1f, floor: 0xc6ccd2},
  dark: {body: 0xc4915f, grip: 0xf0be2e, wheel: 0x8b949d, frame: 0x5c666f, link: 0xa9b4be, ghost: 0x5da2f0, arrow: 0xff7b5c, floor: 0x3a4148},
};
const vector = v => new THREE.Vector3(v[0], v[1], v[2]);
const Z = new THREE.Vector3(0, 0, 1);

/* Eigenvalues and axes (columns) of a symmetric 3 x 3 matrix by Jacobi's rotations (Golub and Van Loan, 8.5). */
export function principal(A) {
  const a = A.map(row => [...row]), V = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  for (let sweep = 0; sweep < 20; sweep++) {
    for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
      if (Math.abs(a[p][q]) < 1e-18) continue;
      const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
      const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1)), c = 1 / Math.sqrt(t * t + 1), s = t * c;
      for (let k = 0; k < 3; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
      for (let k = 0; k < 3; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
      for (let k = 0; k < 3; k++) [V[k][p], V[k][q]] = [c * V[k][p] - s * V[k][q], s * V[k][p] + c * V[k][q]];
    }
  }
  return {values: [0, 1, 2].map(i => a[i][i]), axes: V};
}

/* The homogeneous box with these ten inertial parameters: its middle, sides (m) and axes; null: there is none. */
export function boxOf(phi) {
  const [m, hx, hy, hz, xx, xy, xz, yy, yz, zz] = phi;
  if (!(m > 0)) return null;
  const c = [hx / m, hy / m, hz / m], half = (xx + yy + zz) / 2;
  const first = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
  const spread = first.map((row, i) => row.map((x, j) => (i === j ? half - x : -x) / m - c[i] * c[j]));
  const {values, axes} = principal(spread);
  return {at: c, size: values.map(v => Math.sqrt(Math.max(12 * v, 1e-6))), axes};
}

function geometry(solid) {
  if (solid.kind === "box") return new THREE.BoxGeometry(...solid.size);
  if (solid.kind === "ball") return new THREE.SphereGeometry(solid.size[0], 24, 16);
  if (solid.kind === "inertia") return new THREE.BoxGeometry(1, 1, 1);
  return new THREE.CylinderGeometry(solid.size[0], solid.size[0], solid.size[1], 40);
}

/* One copy of the object. */
function drawing(model, colours, ghost) {
  const {about} = model, root = new THREE.Group(), still = new THREE.Group(), body = new THREE.Group(), bars = new THREE.Group();
  const g = about.outline.ground, swivels = [], boxes = [];
  still.matrixAutoUpdate = body.matrixAutoUpdate = bars.matrixAutoUpdate = false;
  const ground = new THREE.Matrix4().set(g[0], g[1], g[2], 0, g[3], g[4], g[5], 0, g[6], g[7], g[8], 0, 0, 0, 0, 1);
  still.matrix.copy(ground);
  bars.matrix.copy(ground);
  root.add(still, body, bars);
  for (const solid of about.outline.solids) {
    const material = new THREE.MeshLambertMaterial({color: ghost && solid.part !== "frame" ? colours.ghost : colours[solid.part], side: THREE.DoubleSide});
    if (solid.part === "frame") Object.assign(material, {transparent: true, opacity: 0.45});
    const shape = geometry(solid), mesh = new THREE.Mesh(shape, material);
    mesh.add(new THREE.LineSegments(new THREE.EdgesGeometry(shape, 30), new THREE.LineBasicMaterial({color: colours.link, transparent: true, opacity: 0.5})));
    mesh.userData.tint = ghost && solid.part !== "frame" ? "ghost" : solid.part;
    mesh.userData.grip = solid.part !== "frame";
    mesh.position.set(...solid.at);
    if (solid.kind === "cylinder") mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), vector(solid.axis).normalize());
    if (solid.kind === "inertia") boxes.push(mesh);
    if (solid.swivel) {
      const pivot = new THREE.Group();
      pivot.position.set(...solid.at);
      mesh.position.set(-solid.trail, 0, 0);
      pivot.add(mesh);
      body.add(pivot);
      swivels.push([pivot, about.state.findIndex(x => x.name === solid.swivel)]);
    } else (solid.part === "frame" ? still : body).add(mesh);
  }
  const first = about.parameters.findIndex(p => p.map === "inertia");
  const links = about.outline.links.map(({points}) => Array.from({length: Math.max(points - 1, 0)}, () => {
    const bar = new THREE.Mesh(new THREE.BoxGeometry(1, 0.025, 0.015), new THREE.MeshLambertMaterial({color: ghost ? colours.ghost : colours.link}));
    bar.userData.tint = ghost ? "ghost" : "link";
    bars.add(bar);
    return bar;
  }));
  const pins = about.outline.links.flatMap(({points}) => Array.from({length: points}, () => {
    const pin = new THREE.Mesh(new THREE.CylinderGeometry(0.018, 0.018, 0.03, 16), new THREE.MeshLambertMaterial({color: colours.wheel}));
    pin.userData.tint = "wheel";
    pin.rotation.x = Math.PI / 2;
    bars.add(pin);
    return pin;
  }));
  return {
    root, body,
    show(object, state = object.motion.state) {
      const {R, r} = placed(about, object.pose(state));
      body.matrix.set(R[0], R[1], R[2], r[0], R[3], R[4], R[5], r[1], R[6], R[7], R[8], r[2], 0, 0, 0, 1);
      swivels.forEach(([pivot, i]) => { pivot.rotation.z = state[i]; });
      let pin = 0;
      object.links(state).forEach((points, k) => points.forEach(([x, y], i) => {
        pins[pin++].position.set(x, y, about.outline.links_at);
        if (!i) return;
        const [u, v] = points[i - 1], bar = links[k][i - 1];
        bar.position.set((x + u) / 2, (y + v) / 2, about.outline.links_at);
        bar.rotation.z = Math.atan2(y - v, x - u);
        bar.scale.x = Math.max(Math.hypot(x - u, y - v), 1e-6);
      }));
      if (boxes.length && first >= 0) {
        const values = Object.values(object.parameters).slice(first, first + 10), box = boxOf(values);
        boxes.forEach(mesh => {
          mesh.visible = box !== null;
          if (box === null) return;
          const [a, b, c] = [0, 1, 2].map(j => new THREE.Vector3(box.axes[0][j], box.axes[1][j], box.axes[2][j]));
          if (a.clone().cross(b).dot(c) < 0) c.negate();
          mesh.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(a, b, c));
          mesh.position.set(...box.at);
          mesh.scale.set(...box.size);
        });
      }
    },
  };
}

export function createStage(container, {label = "The object in three dimensions"} = {}) {
  let renderer;
  try {
    renderer = new THREE.WebGLRenderer({antialias: true, alpha: true, preserveDrawingBuffer: true}); /* for print */
  } catch {
    return null; /* no WebGL here: what is said in words and charts must do */
  }
  const dark = window.matchMedia("(prefers-color-scheme: dark)"), colours = () => (dark.matches ? TINTS.dark : TINTS.light);
  const world = new THREE.Scene(), camera = new THREE.PerspectiveCamera(38, 1, 0.01, 200), copies = [];
  camera.up.copy(Z);
  renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
  const canvas = renderer.domElement;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  container.append(canvas);
  const sun = new THREE.DirectionalLight(0xffffff, 2.2);
  sun.position.set(2, -3, 5);
  world.add(new THREE.HemisphereLight(0xffffff, 0x8a8f96, 1.6), sun);
  const controls = new THREE.OrbitControls(camera, canvas);
  Object.assign(controls, {enablePan: false, enableDamping: false, minDistance: 0.1, maxDistance: 40, enableZoom: false});
  canvas.style.touchAction = "pan-y"; /* the page scrolls; what is pulled does not */
  const arrow = new THREE.ArrowHelper(Z, new THREE.Vector3(), 1, colours().arrow, 0.1, 0.06);
  arrow.visible = false;
  world.add(arrow);
  let grid = null, size = 1, cellSize = 1, wanted = true, drag = null, anchor = null;
  const themed = () => {
    const tints = colours();
    world.traverse(x => { if (x.userData.tint) x.material.color.set(tints[x.userData.tint]); });
    arrow.setColor(new THREE.Color(tints.arrow));
    if (grid) grid.material.color.set(tints.floor);
    wanted = true;
  };
  dark.addEventListener("change", themed);
  controls.addEventListener("change", () => { wanted = true; });
  const fit = () => {
    const w = container.clientWidth, h = container.clientHeight;
    if (!w || !h) return;
    renderer.setSize(w, h, false);
    camera.aspect = w / h;
    camera.updateProjectionMatrix();
    wanted = true;
  };
  fit();
  const watcher = new ResizeObserver(fit);
  watcher.observe(container);
  canvas.addEventListener("wheel", e => { /* only with a key: the page scrolls */
    if (!e.ctrlKey) return;
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.1 : 1 / 1.1);
  }, {passive: false});
  function zoom(factor) {
    camera.position.sub(controls.target).multiplyScalar(factor).add(controls.target);
    wanted = true;
  }
  function turn(about, up) {
    const offset = camera.position.clone().sub(controls.target), r = offset.length();
    const angle = Math.atan2(offset.y, offset.x) + about, height = Math.min(1.5, Math.max(-0.2, Math.asin(offset.z / r) + up));
    camera.position.set(Math.cos(angle) * Math.cos(height), Math.sin(angle) * Math.cos(height), Math.sin(height)).multiplyScalar(r).add(controls.target);
    camera.lookAt(controls.target);
    wanted = true;
  }

  const ray = new THREE.Raycaster(), plane = new THREE.Plane(), pointer = new THREE.Vector2();
  const aim = e => {
    const box = canvas.getBoundingClientRect();
    pointer.set((e.clientX - box.left) / box.width * 2 - 1, 1 - (e.clientY - box.top) / box.height * 2);
    ray.setFromCamera(pointer, camera);
  };
  const hit = e => {
    aim(e);
    return ray.intersectObjects(copies.map(c => c.body), true).some(h => h.object.userData.grip);
  };
  function onDrag(moved, ended, begun = () => null) {
    canvas.addEventListener("touchstart", e => { if (e.touches.length === 1 && hit(e.touches[0])) e.preventDefault(); }, {passive: false});
    canvas.addEventListener("pointerdown", e => {
      if (e.button !== 0 || !hit(e)) return;
      const at = begun();
      if (!at) return;
      controls.enabled = false;
      canvas.setPointerCapture(e.pointerId);
      /* across the view through the hand, but level for what turns about or moves along the ground */
      const across = camera.getWorldDirection(new THREE.Vector3());
      if (Math.abs(across.z) > 0.35) across.set(0, 0, 1);
      plane.setFromNormalAndCoplanarPoint(across, vector(at));
      const start = new THREE.Vector3();
      drag = ray.ray.intersectPlane(plane, start) ? {id: e.pointerId, off: vector(at).sub(start)} : null;
    });
    canvas.addEventListener("pointermove", e => {
      if (!drag || e.pointerId !== drag.id) return;
      aim(e);
      const to = new THREE.Vector3();
      if (ray.ray.intersectPlane(plane, to)) moved(to.add(drag.off).toArray());
    });
    const end = e => {
      if (!drag || e.pointerId !== drag.id) return;
      drag = null;
      controls.enabled = true;
      ended();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
  }

  return {
    canvas, world, camera, controls, zoom, turn, onDrag, three: THREE,
    add(model, {tint = "body", shift = [0, 0, 0]} = {}) {
      const copy = drawing(model, colours(), tint !== "body");
      copy.root.position.set(...shift);
      world.add(copy.root);
      copies.push(copy);
      wanted = true;
      return {...copy, show(...given) { copy.show(...given); wanted = true; }};
    },
    /* What somebody else draws with `three`, put into sight like a copy; `touch` when it has changed. */
    put(root) {
      const copy = {root, body: root};
      world.add(root);
      copies.push(copy);
      wanted = true;
      return {
        touch() { wanted = true; },
        remove() {
          world.remove(root);
          copies.splice(copies.indexOf(copy), 1);
          wanted = true;
        },
      };
    },
    /* Put all that is drawn into sight, the floor below it; `floor`: its height, m. */
    frame(floor = null) {
      world.updateMatrixWorld(true);
      const box = new THREE.Box3();
      copies.filter(c => c.root.visible).forEach(c => box.expandByObject(c.root));
      const middle = box.getCenter(new THREE.Vector3()), extent = box.getSize(new THREE.Vector3());
      size = Math.max(extent.length(), 0.05);
      if (grid) world.remove(grid);
      const power = 10 ** Math.floor(Math.log10(size / 4)), cell = power * [1, 2, 5, 10].find(x => x * power >= size / 4), cells = 2 * Math.ceil(2.5 * size / cell);
      cellSize = cell;
      anchor = null;
      grid = new THREE.GridHelper(cells * cell, cells, colours().floor, colours().floor);
      grid.material.vertexColors = false;
      grid.material.color.set(colours().floor);
      grid.rotation.x = Math.PI / 2;
      grid.position.set(0, 0, floor === null ? box.min.z - 0.02 * size : floor);
      world.add(grid);
      controls.target.copy(middle);
      const from = new THREE.Vector3(0.6, -1, 0.5).normalize(), corner = new THREE.Vector3();
      let far = 0.4 * size, inside = false;
      while (!inside && far < 10 * size) { /* as near as lets every corner be in sight */
        far *= 1.05;
        camera.position.copy(middle).addScaledVector(from, far);
        camera.lookAt(middle);
        camera.updateMatrixWorld(true);
        inside = [0, 1, 2, 3, 4, 5, 6, 7].every(i => {
          corner.set(i & 1 ? box.min.x : box.max.x, i & 2 ? box.min.y : box.max.y, i & 4 ? box.min.z : box.max.z).project(camera);
          return Math.abs(corner.x) < 0.86 && Math.abs(corner.y) < 0.86;
        });
      }
      camera.near = size / 100;
      camera.far = 60 * size;
      camera.updateProjectionMatrix();
      controls.update();
      wanted = true;
    },
    get size() { return size; },
    /* The camera follows what moves away from where it was framed. */
    follow(point) {
      if (anchor === null) anchor = controls.target.clone().sub(vector(point));
      const by = vector(point).add(anchor).sub(controls.target), far = by.length(), most = 0.2 * size;
      if (far < most) return;
      by.multiplyScalar((far - most) / far);
      camera.position.add(by);
      controls.target.add(by);
      if (grid) grid.position.set(Math.round(controls.target.x / cellSize) * cellSize, Math.round(controls.target.y / cellSize) * cellSize, grid.position.z);
      wanted = true;
    },
    arrow(from, along) {
      const v = along === null ? new THREE.Vector3() : vector(along), far = v.length();
      arrow.visible = far > 1e-4 * size;
      if (arrow.visible) {
        arrow.position.set(...from);
        arrow.setDirection(v.normalize());
        arrow.setLength(far, Math.min(0.06 * size, 0.4 * far), 0.035 * size);
      }
      wanted = true;
    },
    draw() {
      if (!wanted) return;
      wanted = false;
      renderer.render(world, camera);
    },
    dispose() {
      watcher.disconnect();
      dark.removeEventListener("change", themed);
      controls.dispose();
      renderer.dispose();
      canvas.remove();
    },
  };
}
