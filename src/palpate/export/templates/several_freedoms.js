const THERE = OUT.subarray(0, NQ), U = OUT.subarray(NQ, NQ + N), MEMORY = OUT.subarray(NQ + N, NS);
const SAID = new Float64Array(SAYS), AFTER = new Float64Array(2), PRESSED = new Float64Array(STOPS);
const Z = row(2 * N + 2, N), C = row(2 * N + 2 + DRY * N, N), G = row(2 * N + 2 + 2 * DRY * N, DRY);
const [FREE, MOST, SLIPPING] = [0, 1, 2].map(i => part(2 * N + 2 + DRY * (2 * N + DRY + i), DRY));
const F = new Float64Array(DRY), X = new Float64Array(DRY), SIDE = new Float64Array(DRY), OLD = new Float64Array(DRY);
const SIZE = new Float64Array(DRY), BOUND = new Float64Array(DRY), ROWS = new Float64Array(DRY * (DRY + 1));
const A = Array.from({length: DRY}, () => new Float64Array(DRY)), HELD = new Int32Array(DRY);

function part(start, length) {
  return SAID.subarray(start, start + length);
}

/* For each dry element, `length` of what the system said. */
function row(start, length) {
  return Array.from({length: DRY}, (_, i) => part(start + i * length, length));
}

/* X of A X = B, in place, from rows [A | B] of `width` numbers; false where A is singular. Gauss with row pivoting. */
function solve(a, n, width) {
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i * width + k]) > Math.abs(a[best * width + k])) best = i;
    for (let j = 0; j < width; j++) {
      const x = a[k * width + j];
      a[k * width + j] = a[best * width + j];
      a[best * width + j] = x;
    }
    if (!(Math.abs(a[k * width + k]) > 0)) return false;
    for (let i = k + 1; i < n; i++) {
      const factor = a[i * width + k] / a[k * width + k];
      if (factor !== 0) for (let j = k + 1; j < width; j++) a[i * width + j] -= factor * a[k * width + j];
    }
  }
  for (let c = n; c < width; c++) {
    for (let i = n - 1; i >= 0; i--) {
      let x = a[i * width + c];
      for (let j = i + 1; j < n; j++) x -= a[i * width + j] * a[j * width + c];
      a[i * width + c] = x / a[i * width + i];
    }
  }
  return true;
}

function dot(a, b) {
  let found = 0;
  for (let i = 0; i < DRY; i++) found += a[i] * b[i];
  return found;
}

const sign = x => (x > 0 ? 1 : x < 0 ? -1 : 0);
const cut = (x, most) => (x < -most ? -most : x > most ? most : x);

/* Impulses F of dry friction by principal pivoting (Murty 1974); false if that fails, and F is as it was. */
function pivoted() {
  let slack = 0;
  for (let i = 0; i < DRY; i++) {
    SIZE[i] = G[i][i] > 0 ? G[i][i] : 1;
    for (let j = 0; j < DRY; j++) A[i][j] = i === j ? G[i][j] + CREEP * SIZE[i] : G[i][j];
    SIDE[i] = Math.abs(F[i]) < BOUND[i] ? 0 : sign(F[i]);
    slack = Math.abs(FREE[i]) > slack ? Math.abs(FREE[i]) : slack;
  }
  slack *= SETTLED;
  for (let turn = 0; turn < PIVOTS; turn++) {
    let count = 0, wrong = -1;
    for (let i = 0; i < DRY; i++) {
      X[i] = SIDE[i] * BOUND[i];
      if (SIDE[i] === 0) HELD[count++] = i;
    }
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) ROWS[i * (count + 1) + j] = A[HELD[i]][HELD[j]];
      ROWS[i * (count + 1) + count] = FREE[HELD[i]] - dot(A[HELD[i]], X);
    }
    if (!solve(ROWS, count, count + 1)) return false;
    for (let i = 0; i < count; i++) X[HELD[i]] = ROWS[i * (count + 1) + count];
    OLD.set(SIDE);
    for (let i = 0; i < DRY; i++) {
      const off = OLD[i] === 0 ? (Math.abs(X[i]) - BOUND[i]) * SIZE[i] : -(FREE[i] - dot(A[i], X)) * OLD[i];
      if (off > slack) {
        wrong = i;
        if (turn < DRY) SIDE[i] = OLD[i] === 0 ? sign(X[i]) : 0;
      }
    }
    if (wrong < 0) {
      for (let i = 0; i < DRY; i++) F[i] = cut(X[i], BOUND[i]);
      return true;
    }
    if (turn >= DRY) SIDE[wrong] = OLD[wrong] === 0 ? sign(X[wrong]) : 0;
  }
  return false;
}

/* F within +-BOUND such that each speed, FREE - G F, is zero or has the sign of its F, which is then at its bound. */
function dryImpulses() {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let settled = true;
    for (let j = 0; j < DRY; j++) {
      if (G[j][j] > 0) {
        const x = cut(F[j] + (FREE[j] - dot(G[j], F)) / G[j][j], BOUND[j]);
        settled = settled && Math.abs(x - F[j]) <= SETTLED * BOUND[j];
        F[j] = x;
      }
    }
    if (settled || DRY === 1 || (sweep === TURN && pivoted())) return;
  }
}

/* The new speeds with dry friction, from what the system said: u, Z, C, G = C Z, C u and the largest impulses. */
function hold() {
  BOUND.set(MOST);
  F.fill(0);
  dryImpulses();
  if (FADES) {
    for (let i = 0; i < DRY; i++) BOUND[i] = Math.abs(F[i]) < BOUND[i] ? BOUND[i] : SLIPPING[i];
    dryImpulses();
  }
  for (let i = 0; i < DRY; i++) for (let j = 0; j < N; j++) U[j] -= F[i] * Z[i][j];
  for (let i = 0; i < DRY; i++) {
    let along = -1, count = 0;
    for (let j = 0; j < N; j++) {
      if (C[i][j] !== 0) {
        along = j;
        count++;
      }
    }
    if (Math.abs(F[i]) < BOUND[i] && count === 1) U[along] = 0; /* held, and exactly so */
  }
}

const stay = s => {
  for (let i = 0; i < NQ; i++) THERE[i] = s[i];
  U.fill(0);
};

/* Kinetic energy after a step is at most what was there, the work, and what was given back; false: not finite. */
function bounded(p, s) {
  const had = SAID[N];
  for (let turn = 0; turn < 3; turn++) {
    k_account(p, s, THERE, U, SAID, AFTER);
    const kinetic = AFTER[0], taken = AFTER[1];
    let share;
    if (kinetic + taken <= had) return true;
    if (!Number.isFinite(kinetic + taken)) return false;
    if (turn === 2) {
      const left = had - taken;
      if (!(left > 0)) { /* not even at rest would it be here */
        stay(s);
        return true;
      }
      share = Math.sqrt(left / kinetic);
    } else {
      const root = Math.sqrt(taken * taken + 4 * kinetic * had);
      share = taken > 0 ? 2 * had / (taken + root) : (root - taken) / (2 * kinetic);
    }
    for (let i = 0; i < N; i++) U[i] = share * U[i];
    if (turn < 2) k_move(p, s, U, THERE);
  }
  return true;
}

/* Which of the stops are pressed at these positions, bit by bit. */
function touching(p) {
  let found = 0;
  k_pressed(p, THERE, PRESSED);
  for (let i = 0; i < STOPS; i++) if (PRESSED[i] > 0) found |= 1 << i;
  return found;
}

/* A step from the state s: the next one and the accelerations behind it, in OUT. */
function advance(p, s, w) {
  let status = STATUS.OK, touched = 0, still = true;
  for (let i = 0; i < N; i++) U[i] = s[NQ + i];
  if (STOPS) {
    k_move(p, s, U, THERE);
    touched = touching(p);
  }
  for (let i = 0; i < TOUCHES; i++) {
    k_system(p, s, THERE, w, SAID);
    for (let j = 0; j < N; j++) U[j] = SAID[j];
    if (DRY) hold();
    k_move(p, s, U, THERE);
    if (!STOPS) break;
    const before = touched;
    touched = touching(p);
    if (touched === before) break;
  }
  if (touched) status = STATUS.AT_LIMIT;
  if (!bounded(p, s)) return STATUS.NOT_FINITE;
  if (DRY) {
    let resting = true;
    for (let i = 0; i < N; i++) resting = resting && Math.abs(U[i]) < REST && Math.abs(U[i] - s[NQ + i]) < REST * DT;
    if (resting) stay(s);
  }
  if (LIMITS.some(([i, low, high]) => !(low <= THERE[i] && THERE[i] <= high))) { /* it lies there */
    stay(s);
    status = STATUS.AT_LIMIT;
  }
  for (let i = 0; i < N; i++) still = still && U[i] === 0;
  if (DRY && still && status === STATUS.OK) status = STATUS.STICKING;
  if (M) k_remember(p, s, THERE, MEMORY);
  for (let i = 0; i < N; i++) OUT[NS + i] = (U[i] - s[NQ + i]) / DT;
  return status;
}
