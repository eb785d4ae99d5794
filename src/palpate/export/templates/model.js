@about@
/* What a step has met; the highest that applies. */
export const STATUS = Object.freeze(@statuses@);
export const STATUS_NAMES = Object.freeze(Object.keys(STATUS));
/* Name, units and values of all that there is; SI and rad. */
export const about = Object.freeze(@data@);

const STATE = about.state, PARAMETERS = about.parameters, BODIES = @bodies@, LIMITS = @limits@, QUATERNION = @quaternion@;
const WITHIN = @within@, DT = about.dt, KEEP = @keep@, RANGE = @range@;
@defines@
/* Written before it is read, in every step: nothing of a model is kept here. */
const OUT = new Float64Array(NS + N), NOTHING = new Float64Array(6), FOUND = new Float64Array(N);
const SLOWED = new Float64Array(NS), CUT = new Float64Array(6);

@kernels@

@step@

/* Whether a body of positive density can have these ten: its spread of mass about the centre is positive definite. */
function isSolid(phi) {
  const m = phi[0], half = 0.5 * (phi[4] + phi[7] + phi[9]);
  if (!(m > 0)) return false;
  const a = half - phi[4] - phi[1] * phi[1] / m, b = half - phi[7] - phi[2] * phi[2] / m;
  const c = half - phi[9] - phi[3] * phi[3] / m, d = -phi[5] - phi[1] * phi[2] / m;
  const e = -phi[6] - phi[1] * phi[3] / m, f = -phi[8] - phi[2] * phi[3] / m;
  const least = 1e-13 * ((phi[1] * phi[1] + phi[2] * phi[2] + phi[3] * phi[3]) / m + (a + b + c) / 3);
  const l11 = a - least;
  if (!(l11 > 0)) return false;
  const l21 = d / l11, l31 = e / l11, l22 = b - least - d * l21;
  if (!(l22 > 0)) return false;
  const l32 = f - e * l21;
  return c - least - e * l31 - l32 * l32 / l22 > 0;
}

/* The first parameter that no object can have, and why; null: all are possible. */
export function impossible(values) {
  for (let i = 0; i < PARAMETERS.length; i++) {
    const {name, least, open} = PARAMETERS[i];
    if (!Number.isFinite(values[i])) return {name, why: "is no finite number"};
    if (least !== null && !(open ? values[i] > least : values[i] >= least)) {
      return {name, why: `must be ${open ? "above" : "at least"} ${least}`};
    }
    if (BODIES.includes(i - 9) && !isSolid(values.slice(i - 9, i + 1))) {
      return {name: PARAMETERS[i - 9].name, why: "and the nine below it belong to no body of positive density"};
    }
  }
  return null;
}

/* Whether the object can be in this state: finite, within its reach, its quaternion one. No step is taken from others. */
export function possible(s) {
  let sum = 0, square = 0;
  for (let i = 0; i < NS; i++) sum += s[i];
  if (!Number.isFinite(sum) || s.length !== NS) return false;
  for (let i = 0; i < WITHIN.length; i++) {
    const [at, low, high] = WITHIN[i];
    if (!(low <= s[at] && s[at] <= high)) return false;
  }
  if (QUATERNION < 0) return true;
  for (let i = QUATERNION; i < QUATERNION + 4; i++) square += s[i] * s[i];
  return Math.abs(square - 1) < 2e-3;
}

/* One step without a wrench, on which the speeds fade; springs and weight never speed it up, nor turn it round. */
function brake(p, s) {
  let sum = 0, along = 0, had = 0, has = 0;
  SLOWED.set(s);
  for (let i = NQ; i < NQ + N; i++) SLOWED[i] = KEEP * s[i];
  const goes = advance(p, SLOWED, NOTHING) !== STATUS.NOT_FINITE;
  for (let i = 0; i < NS + N; i++) sum += OUT[i];
  for (let i = NQ; i < NQ + N; i++) {
    along += OUT[i] * SLOWED[i];
    had += SLOWED[i] * SLOWED[i];
    has += OUT[i] * OUT[i];
  }
  if (!goes || !Number.isFinite(sum) || !(along > 0)) {
    OUT.set(s);
    OUT.fill(0, NQ, NQ + N);
  } else if (has > had) {
    const part = Math.sqrt(had / has);
    for (let i = 0; i < NS; i++) {
      OUT[i] = i < NQ || i >= NQ + N ? s[i] + part * (OUT[i] - s[i]) : part * OUT[i];
    }
    if (QUATERNION >= 0) {
      let size = 0;
      for (let i = QUATERNION; i < NQ; i++) size += OUT[i] * OUT[i];
      size = Math.sqrt(size);
      for (let i = QUATERNION; i < NQ; i++) OUT[i] /= size;
    }
  }
  sum = 0;
  for (let i = 0; i < N; i++) {
    OUT[NS + i] = (OUT[NQ + i] - s[NQ + i]) / DT;
    sum += OUT[NS + i];
  }
  if (!Number.isFinite(sum)) OUT.fill(0, NS);
}

/* The object at rest with the parameters that were identified, or others by name; throws a RangeError for impossible ones. */
export function create({parameters = {}, wrenchLimit = RANGE} = {}) {
  const p = Float64Array.from(PARAMETERS, x => x.value), s = Float64Array.from(STATE, x => x.value);
  const acceleration = new Float64Array(N), motion = {status: STATUS.OK, state: s, acceleration};
  const limit = Float64Array.from(wrenchLimit, x => (x === null ? Infinity : x));
  if (limit.length !== 6 || !limit.every(x => x > 0)) throw new RangeError("wrenchLimit must be six positive numbers");

  /* One step of `about.dt` under a wrench (six numbers); the same object each time: copy what you keep. */
  function step(wrench) {
    let sum = 0, beyond = false;
    acceleration.fill(0);
    motion.status = STATUS.NOT_FINITE;
    if (!possible(s)) return motion;
    for (let i = 0; i < 6; i++) {
      const x = wrench[i];
      sum += x;
      CUT[i] = x > limit[i] ? limit[i] : x < -limit[i] ? -limit[i] : x;
      beyond = beyond || CUT[i] !== x;
    }
    if (Number.isFinite(sum)) {
      motion.status = advance(p, s, CUT);
      sum = 0;
      for (let i = 0; i < NS + N; i++) sum += OUT[i];
    }
    if (motion.status === STATUS.NOT_FINITE || !Number.isFinite(sum)) {
      brake(p, s);
      motion.status = STATUS.NOT_FINITE;
      beyond = false;
    }
    for (let i = 0; i < NS; i++) s[i] = OUT[i];
    for (let i = 0; i < N; i++) acceleration[i] = OUT[NS + i];
    if (beyond) motion.status = STATUS.SATURATED;
    return motion;
  }

  /* Back to rest, or to this state; throws a RangeError where the object cannot be. */
  function reset(state) {
    const other = Float64Array.from(state === undefined ? STATE.map(x => x.value) : state);
    if (!possible(other)) throw new RangeError("the object cannot be in this state");
    s.set(other);
    acceleration.fill(0);
    motion.status = STATUS.OK;
  }

  /* Other parameters, by name, from now on; throws a RangeError, and nothing changes, where no object has them. */
  function set(values) {
    const other = p.slice();
    for (const [name, value] of Object.entries(values)) {
      const at = PARAMETERS.findIndex(x => x.name === name);
      if (at < 0) throw new RangeError(`there is no parameter ${name}, only ${PARAMETERS.map(x => x.name).join(", ")}`);
      other[at] = value;
    }
    const wrong = impossible(other);
    if (wrong !== null) throw new RangeError(`${wrong.name} ${wrong.why}`);
    p.set(other);
  }

  /* The acceleration at this instant, for another integrator: dry friction slips at its level, and is zero at rest. */
  function accelerationAt(wrench) {
    k_forward(p, s, wrench, FOUND);
    return FOUND.slice();
  }

  const told = (kernel, count, state) => {
    const y = new Float64Array(count);
    kernel(p, state, y);
    return y;
  };
  set(parameters);
  return {
    motion, step, reset, set, accelerationAt,
    get parameters() { return Object.fromEntries(PARAMETERS.map((x, i) => [x.name, p[i]])); },
    /* Where each coordinate is that has a position, by name; here and below: now, or in another state. */
    coordinates(state = s) {
      const y = told(k_coordinates, about.coordinates.length, state);
      return Object.fromEntries(about.coordinates.map((x, i) => [x.name, y[i]]));
    },
    /* Nine numbers of the body's rotation, row by row, and the three of its origin, m, in the frame of the outline. */
    pose(state = s) { return told(k_pose, 12, state); },
    /* Velocity of the body's origin (m/s) and turning (rad/s), in the body frame: what the wrench works on. */
    twist(state = s) { return told(k_twist, 6, state); },
    /* For each linkage of the outline the points of its bars, x and y in m, in the frame of the outline. */
    links(state = s) {
      const y = told(k_links, about.outline.links.reduce((n, x) => n + 2 * x.points, 0), state);
      let at = 0;
      return about.outline.links.map(x => Array.from({length: x.points}, () => [y[at++], y[at++]]));
    },
  };
}
