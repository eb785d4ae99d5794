/* A hand on an exported object (`palpate export --to js`): forces in, motion out. No drawing and no DOM: Node runs it too.

     import * as door from "./model.js";
     import { createFeel } from "palpate/feel";
     const feel = createFeel(door);
     feel.press(feel.directions[0], 1);      // push with its full force; 0 takes the hand off
     feel.pull([x, y, z]);                   // a spring from the hand's place to a point of the world; null: let go
     feel.advance(0.016);                    // so many seconds pass
     feel.now();                             // {time, status, hand, force, power, work, coordinate, speed}

   Options of createFeel(model, {parameters, strength}): `strength` (N or N m) of a push; without it the one that moves
   the object well in a second is found. Each of `directions` is {name, keys, size, unit}. */

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (a, k) => a.map(x => k * x);
const sum = (...vectors) => vectors[0].map((_, i) => vectors.reduce((total, v) => total + v[i], 0));
const length = a => Math.sqrt(dot(a, a));
/* R of nine numbers, row by row. */
export const turned = (R, v) => [0, 3, 6].map(i => R[i] * v[0] + R[i + 1] * v[1] + R[i + 2] * v[2]);
export const turnedBack = (R, v) => [0, 1, 2].map(i => R[i] * v[0] + R[i + 3] * v[1] + R[i + 6] * v[2]);

const LONGEST_S = 0.1; /* of one advance: a page that slept does not catch up */
const REACH = {rad: 0.5, m: 0.35}, TRIED_S = 1.0, STRETCH_M = 0.25, HOLD = 2 * Math.PI * 1.5, HELD_N = 40, CARRIED_M_S = 0.5, LIFT_RAD_S = 0.4, LEVER_M = 0.25, FALLS_S = 0.3, FALLEN = 0.02, MOST = {N: 400, "N m": 200};
const NOTHING = [0, 0, 0, 0, 0, 0];

/* The rotation and origin of the body in a world whose z points up. */
export function placed(about, pose) {
  const g = about.outline.ground, columns = [0, 1, 2].map(j => turned(g, [pose[j], pose[3 + j], pose[6 + j]]));
  return {R: [0, 1, 2].flatMap(i => columns.map(c => c[i])), r: turned(g, pose.slice(9, 12))};
}

/* x of the smallest size with A x = b (A has fewer rows than columns), by the normal equations of the rows. */
function smallest(A, b) {
  const n = A.length, rows = A.map((a, i) => [...A.map(c => a.reduce((t, x, k) => t + x * c[k], 0)), b[i]]);
  const most = Math.max(...rows.map((row, i) => row[i]), 1e-300);
  rows.forEach((row, i) => { row[i] += 1e-12 * most; });
  for (let k = 0; k < n; k++) {
    for (let i = k + 1; i < n; i++) {
      const factor = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  const y = new Array(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    let left = rows[i][n];
    for (let j = i + 1; j < n; j++) left -= rows[i][j] * y[j];
    y[i] = left / rows[i][i];
  }
  return A[0].map((_, k) => A.reduce((t, a, i) => t + a[k] * y[i], 0));
}

export function createFeel(model, {parameters = {}, strength = null} = {}) {
  const {about, create} = model, object = create({parameters}), n = about.accelerations.length, positions = about.positions;
  const hand = about.outline.hand, single = n === 1 && about.components.length === 1, wrench = new Float64Array(6);
  const pressed = new Map();
  let time = 0, work = 0, power = 0, target = null, mass = 1, hold = null, left = 0;

  const where = (state = object.motion.state) => {
    const {R, r} = placed(about, object.pose(state));
    return {R, r, hand: sum(r, turned(R, hand))};
  };
  const handVelocity = R => {
    const v = object.twist();
    return turned(R, sum([v[0], v[1], v[2]], cross([v[3], v[4], v[5]], hand)));
  };
  const unit = (i, size) => Array.from({length: 6}, (_, k) => (k === i ? size : 0));
  const atHand = f => [...f, ...cross(hand, f)];

  /* Freedoms that fall unless somebody holds them: of what stands on a floor or is carried, those that weight moves. */
  function fallen() {
    if (about.outline.floor === null && n < 6) return [];
    const s = Float64Array.from(about.state, x => x.value), probe = create({parameters: object.parameters});
    return about.accelerations.flatMap((x, i) => {
      const at = n === 6 ? -1 : about.state.findIndex((y, k) => k < positions && `${y.name}_acceleration` === x.name);
      if (n === 6) return [{i, at}];
      if (at < 0) return [];
      const pushed = size => {
        const t = s.slice();
        t[at] += size;
        probe.reset(t);
        for (let s = 0; s < FALLS_S; s += about.dt) probe.step(NOTHING);
        return probe.motion.state[at] - t[at];
      };
      return Math.abs(pushed(0)) > FALLEN || pushed(FALLEN) > 0.5 * FALLEN ? [{i, at}] : [];
    });
  }

  /* Directions of pushing: along its one freedom, or at the hand ahead, aside and up. */
  function ways() {
    if (single) {
      const i = about.components[0], [forth, back] = about.way, unitName = about.wrench.units[i];
      return [
        {name: forth, keys: ["ArrowRight", "ArrowUp"], unit: unitName, of: () => unit(i, 1), opposite: 1},
        {name: back, keys: ["ArrowLeft", "ArrowDown"], unit: unitName, of: () => unit(i, -1), opposite: 0},
      ];
    }
    const ahead = scaled(about.outward, -1);
    const axes = R => {
      const up = turnedBack(R, [0, 0, 1]), level = sum(ahead, scaled(up, -dot(ahead, up)));
      const a = length(level) > 0.1 ? scaled(level, 1 / length(level)) : [0, 1, 2].map(i => (i === 0 ? 1 : 0));
      return [a, cross(a, up), up];
    };
    const names = [["ahead", "ArrowUp", 0, 1], ["back", "ArrowDown", 0, -1], ["right", "ArrowRight", 1, 1],
      ["left", "ArrowLeft", 1, -1], ["up", "PageUp", 2, 1], ["down", "PageDown", 2, -1]];
    return names.map(([name, key, k, sign], i) => ({
      name, keys: [key], unit: "N", of: R => atHand(scaled(axes(R)[k], sign)), opposite: i % 2 ? i - 1 : i + 1,
    }));
  }
  const held = fallen(), directions = ways();

  /* The wrench that keeps what would fall where `hold` wants it: it works on the held speeds only. A force f and a
     moment LEVER_M m at the hand work with J' (f, m) on the speeds, J the hand's twist of each with its turn times
     LEVER_M; J (J' J)^-1 q is the smallest that works with q. */
  function holding() {
    const s = object.motion.state, still = Float64Array.from(s, (x, i) => (i < positions ? x : i < positions + n ? 0 : x));
    const J = Array.from({length: n}, (_, i) => {
      const moving = still.slice();
      moving[positions + i] = 1;
      const v = object.twist(moving), omega = [v[3], v[4], v[5]];
      return [...sum([v[0], v[1], v[2]], cross(omega, hand)), ...scaled(omega, LEVER_M)];
    });
    const pushes = held.map(({i}) => smallest(J, J.map((_, k) => (k === i ? 1 : 0)))).map(x => {
      const f = x.slice(0, 3);
      return [...f, ...sum(cross(hand, f), scaled(x.slice(3), LEVER_M))];
    });
    const a0 = object.accelerationAt(NOTHING), moved = pushes.map(w => object.accelerationAt(w));
    const asked = held.map(({i, at}, k) => {
      const off = n === 6 ? offHold()[i] : hold[k] - s[at];
      return HOLD * HOLD * off - 2 * HOLD * s[positions + i] - a0[i];
    });
    const B = held.map(({i}) => moved.map(a => a[i] - a0[i])), q = smallest(B, asked);
    return pushes[0].map((_, k) => q.reduce((total, x, j) => total + x * pushes[j][k], 0));
  }
  /* From where a free body is to where it is held: in the world, and the turn in its own axes. */
  function offHold() {
    const {R, r} = where(), column = (M, j) => [M[j], M[3 + j], M[6 + j]];
    const turn = scaled(sum(...[0, 1, 2].map(j => cross(column(R, j), column(hold.R, j)))), 0.5);
    return [...sum(hold.r, scaled(r, -1)), ...turnedBack(R, turn)];
  }
  function hang() {
    const {R, r} = where();
    hold = !held.length ? null : n === 6 ? {R, r} : held.map(({at}) => object.motion.state[at]);
  }

  /* Where the object goes in a second of this push, every 20 ms: its position, or the hand's place. */
  function path(direction, size, beyond = null, enough = 0) {
    const probe = create({parameters: object.parameters}), steps = Math.round(TRIED_S / about.dt), every = Math.max(1, Math.round(0.02 / about.dt));
    const places = [];
    let push = null, far = 0;
    for (let i = 0; i < steps && far <= enough; i++) {
      if (i % every === 0) {
        const {R, r} = placed(about, probe.pose()), place = single ? [probe.motion.state[0], 0, 0] : sum(r, turned(R, hand));
        push = scaled(direction.of(R), size);
        if (beyond) far = Math.max(far, length(sum(place, scaled(beyond[places.length], -1))));
        places.push(place);
      }
      probe.step(push);
    }
    return beyond ? far : places;
  }
  /* The push that moves it well, within a person's strength; 0: a stop or a lock is in the way. */
  function strong(direction, alone) {
    if (strength !== null) return strength;
    const most = MOST[direction.unit], swings = single || about.outline.floor !== null ? 1 : 0.5 * length(hand);
    const wanted = Math.min(single ? REACH[about.state[0].unit] || 0.4 : REACH.m, swings);
    let size = 0.05;
    while (size < most && path(direction, size, alone, wanted) <= wanted) size *= 2.5;
    return size < most ? Number(size.toPrecision(1)) : 0;
  }
  /* A push of two opposite directions is one number. What moves nothing is no direction. */
  function measure() {
    const alone = held.length ? null : path(directions[0], 0), rest = object.accelerationAt(NOTHING), {R} = where();
    for (let i = directions.length - 2; i >= 0; i -= 2) {
      const [a, b] = directions.slice(i, i + 2), moved = object.accelerationAt(a.of(R)).some((x, k) => Math.abs(x - rest[k]) > 1e-9);
      if (!moved && directions.length > 2) directions.splice(i, 2);
      else a.size = b.size = held.length ? HELD_N : Math.max(strong(a, alone), strong(b, alone)) || MOST[a.unit];
    }
    const F = directions[0].size || 1;
    const lever = single && directions[0].unit === "N m" ? Math.max(Math.hypot(hand[0], hand[1]), 0.02) : 1;
    const probe = object.accelerationAt(scaled(directions[0].of(R), F));
    const fastest = Math.max(...probe.map((x, i) => Math.abs(x - rest[i])), 1e-9);
    mass = F / lever / (fastest * lever);
    return F / lever;
  }
  const pullMost = measure();
  hang();

  /* The wrench of keys and of the spring from the hand to the pointer, which stretches STRETCH_M for the full force. */
  function applied() {
    const here = where(), total = new Array(6).fill(0), add = w => w.forEach((x, i) => { total[i] += x; });
    if (hold !== null) add(holding());
    if (n === 6) return add6(total);
    for (const [i, share] of pressed) add(scaled(directions[i].of(here.R), share * directions[i].size));
    if (target !== null) {
      const k = 2 * pullMost / STRETCH_M, off = sum(target, scaled(here.hand, -1)), v = handVelocity(here.R);
      let f = sum(scaled(off, k), scaled(v, -2 * Math.sqrt(k * mass)));
      const size = length(f);
      if (size > 3 * pullMost) f = scaled(f, 3 * pullMost / size);
      add(atHand(turnedBack(here.R, f)));
    }
    add6(total);
  }
  const add6 = total => wrench.set(total);

  /* Up and down lift what is held; a free body goes where keys and pointer lead it. */
  function carry() {
    if (hold === null) return;
    if (n < 6) {
      const lift = name => pressed.get(directions.findIndex(d => d.name === name)) || 0;
      hold[hold.length - 1] += LIFT_RAD_S * (lift("up") - lift("down")) * about.dt;
      return;
    }
    for (const [i, share] of pressed) {
      const f = turned(hold.R, directions[i].of(hold.R).slice(0, 3));
      hold.r = sum(hold.r, scaled(f, CARRIED_M_S * share * about.dt));
    }
    if (target !== null) hold.r = sum(target, scaled(turned(hold.R, hand), -1));
  }

  return {
    model, about, object, directions, held: held.length > 0, carried: n === 6, single,
    /* Push along one of `directions` (or its place in the list) with a share of its force. */
    press(direction, share) {
      const i = typeof direction === "number" ? direction : directions.indexOf(direction);
      if (share === 0) pressed.delete(i);
      else pressed.set(i, share);
    },
    pull(point) { target = point; },
    /* Nobody pushes any more; what is carried stays where it is. */
    letGo() {
      pressed.clear();
      target = null;
      hang();
    },
    reset(state) {
      this.letGo();
      object.reset(state);
      time = work = power = left = 0;
      wrench.fill(0);
      hang();
    },
    /* Other parameters, as `set` of the object; throws what it throws. */
    set(values) { object.set(values); },
    advance(seconds) {
      left += Math.min(seconds, LONGEST_S);
      while (left >= about.dt) {
        carry();
        applied();
        const before = object.twist();
        object.step(wrench);
        const after = object.twist();
        power = 0;
        for (let i = 0; i < 6; i++) power += 0.5 * wrench[i] * (before[i] + after[i]);
        work += power * about.dt;
        time += about.dt;
        left -= about.dt;
      }
    },
    where,
    wrench,
    now() {
      const here = where(), s = object.motion.state, f = turned(here.R, [wrench[0], wrench[1], wrench[2]]);
      const v = handVelocity(here.R), at = single ? about.components[0] : -1;
      return {
        time, power, work, status: object.motion.status, hand: here.hand,
        force: single ? wrench[at] : length(f), forceUnit: single ? about.wrench.units[at] : "N",
        vector: single && at > 2 ? scaled(v, length(v) > 1e-9 ? wrench[at] / length(v) : 0) : f,
        coordinate: s[0], unit: about.state[0].unit, speed: single ? s[1] : length(v),
        speedUnit: single ? `${about.state[0].unit}/s` : "m/s",
      };
    },
  };
}
