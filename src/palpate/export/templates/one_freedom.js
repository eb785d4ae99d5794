const SAID = new Float64Array(6), GIVEN = new Float64Array(3 + M), ONE = new Float64Array(1);
const MEMORY = OUT.subarray(2, 2 + M), WAY = {position: 0, speed: 0, pressed: 0, touched: false, status: 0};

const sameSide = (a, b) => a > 0 === b > 0 && a < 0 === b < 0;

/* What the kernels are given: position, speed, what elements remember, and the position `ahead`. */
function give(q, v, ahead) {
  GIVEN[0] = q;
  GIVEN[1] = v;
  GIVEN.set(MEMORY, 2);
  GIVEN[2 + M] = ahead;
}

/* The new speed if the stops are as pressed as at the position `ahead`; how much that is, and the status, in WAY. */
function towards(p, q, v, ahead, w, dt) {
  give(q, v, ahead);
  k_smooth(p, GIVEN, w, SAID);
  const loss = SAID[1], slow = -SLOW < v && v < SLOW;
  let inertia = SAID[2], damping = 0;
  WAY.pressed = 0;
  WAY.status = STATUS.NOT_FINITE;
  if (!(inertia > 0)) return 0;
  let stiff = dt * dt * SAID[3] - RESOLVED * inertia;
  stiff = 0 > stiff ? 0 : stiff;
  let momentum = inertia * v + dt * SAID[0];
  if (SAID[4] > 0) {
    momentum += dt * SAID[4] * (ahead - q);
    inertia += dt * dt * SAID[4];
  }
  if (!slow) damping = loss / v;
  if (damping < 0) momentum -= dt * loss;
  GIVEN[1] = 0;
  k_dry(p, GIVEN, w, ONE);
  let held = ONE[0];
  WAY.pressed = SAID[5];
  WAY.status = SAID[5] !== 0 ? STATUS.AT_LIMIT : STATUS.OK;
  if (Math.abs(momentum) <= dt * held) {
    if (WAY.status === STATUS.OK) WAY.status = STATUS.STICKING;
    return 0;
  }
  GIVEN[1] = v;
  if (FADES) {
    k_dry(p, GIVEN, w, ONE);
    held = ONE[0];
  }
  if (slow) {
    k_creep(p, GIVEN, ONE);
    damping = ONE[0];
  }
  const lost = Math.abs(momentum) < dt * held ? Math.abs(momentum) : dt * held;
  return (momentum - (momentum < 0 ? -lost : lost)) / (inertia + stiff + dt * (0 > damping ? 0 : damping));
}

/* Position and speed after a time dt, whether a stop was touched, and the status: all in WAY. */
function part(p, w, dt) {
  const q = WAY.position, v = WAY.speed;
  let there = q + dt * v, speed = v;
  WAY.touched = false;
  for (let i = 0; i < TOUCHES; i++) {
    const ahead = there < LOW ? LOW : there > HIGH ? HIGH : there;
    speed = towards(p, q, v, ahead, w, dt);
    there = q + dt * speed;
    if (!STOPS) break;
    give(q, v, there);
    k_press(p, GIVEN, ONE);
    if (WAY.pressed !== 0 || ONE[0] !== 0) WAY.touched = true;
    if (sameSide(ONE[0], WAY.pressed)) break;
  }
  if (!(LOW <= there && there <= HIGH)) { /* a linkage that is stretched stops the object, and gives nothing back */
    there = there < LOW ? LOW : HIGH;
    speed = (there - q) / dt;
    WAY.status = STATUS.AT_LIMIT;
  }
  if (M && WAY.status !== STATUS.NOT_FINITE) {
    give(q, v, there);
    k_remember(p, GIVEN, MEMORY);
  }
  WAY.position = there;
  WAY.speed = speed;
}

/* A step from the state s: the next one and the accelerations behind it, in OUT. */
function advance(p, s, w) {
  const begin = () => {
    WAY.position = s[0];
    WAY.speed = s[1];
    for (let i = 0; i < M; i++) MEMORY[i] = s[2 + i];
  };
  begin();
  part(p, w, DT);
  if (WAY.touched && (s[1] !== 0 || WAY.speed !== 0) && WAY.status !== STATUS.NOT_FINITE) {
    let pressed = false;
    begin();
    for (let i = 0; i < PARTS; i++) {
      part(p, w, DT / PARTS);
      pressed = pressed || WAY.touched;
    }
    if (pressed) WAY.status = STATUS.AT_LIMIT;
  }
  OUT[0] = WAY.position;
  OUT[1] = WAY.speed;
  OUT[NS] = (WAY.speed - s[1]) / DT;
  return WAY.status;
}
