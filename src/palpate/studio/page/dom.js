/* Small things that every view needs: elements, numbers for people, requests. */

/* What `h` was told of an element: acts by event, and the value that a field has by the state. */
const told = new WeakMap();

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag), {value, checked, ...others} = attributes;
  told.set(made, {acts: {}, stated: {}});
  for (const [name, x] of Object.entries(others)) {
    if (x === null || x === undefined || x === false) continue;
    if (name.startsWith("on")) listen(made, name.slice(2), x);
    else made.setAttribute(name, x === true ? "" : x);
  }
  made.append(...listed(children));
  if (value !== undefined && value !== null) made.value = told.get(made).stated.value = String(value);
  if (checked !== undefined) made.checked = told.get(made).stated.checked = Boolean(checked);
  return made;
}

const listed = children => children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false);

function listen(element, event, act) {
  const {acts} = told.get(element);
  if (!(event in acts)) element.addEventListener(event, e => acts[event] && acts[event](e));
  acts[event] = act;
}

/* Give an element these children. What is there already is changed where it differs and never made anew, so that focus, an open list, a drag and what somebody is typing stay. */
export function fill(element, ...children) {
  const next = listed(children).map(c => (c instanceof Node ? c : document.createTextNode(c)));
  let at = element.firstChild;
  const drop = () => {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  };
  next.forEach((child, i) => {
    while (at && !same(at, child) && !next.slice(i + 1).some(c => same(at, c))) drop();
    if (at && same(at, child)) {
      const mine = at;
      at = at.nextSibling;
      patch(mine, child);
    } else element.insertBefore(child, at);
  });
  while (at) drop();
  return element;
}

/* Other children, all new: for what draws into the elements that it made. */
export const replace = (element, ...children) => {
  element.replaceChildren(...listed(children));
  return element;
};

const named = x => `${x.nodeName} ${x.type || ""} ${x.id || x.getAttribute("aria-label") || ""}`;
const same = (a, b) => a === b || (a.nodeType === 3 && b.nodeType === 3) || (told.has(a) && told.has(b) && named(a) === named(b));

function patch(old, made) {
  if (old === made) return;
  if (old.nodeType === 3) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  for (const {name} of [...old.attributes]) if (!made.hasAttribute(name) && name !== "open") old.removeAttribute(name); /* people open details */
  for (const {name, value} of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const was = told.get(old), now = told.get(made);
  Object.keys(was.acts).forEach(event => { was.acts[event] = now.acts[event] || null; });
  Object.entries(now.acts).forEach(([event, act]) => listen(old, event, act));
  fill(old, ...made.childNodes);
  was.stated = now.stated;
  if (!edited(old)) Object.entries(now.stated).forEach(([key, value]) => { if (old[key] !== value) old[key] = value; });
}

/* Fields that somebody is typing into, and those whose change is on its way to the file, are not touched. */
const typed = new WeakSet(), sent = new WeakMap();
document.addEventListener("input", e => typed.add(e.target), true);
["change", "focusout"].forEach(event => document.addEventListener(event, e => typed.delete(e.target), true));
const edited = field => typed.has(field) || sent.get(field) > 0;
export const hold = field => sent.set(field, (sent.get(field) || 0) + 1);
export const release = field => sent.set(field, sent.get(field) - 1);

/* A number with as many digits as its interval deserves; four without one. */
export function shown(value, interval = null) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (interval && interval[1] > interval[0]) {
    const half = (interval[1] - interval[0]) / 2, places = Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(half))));
    return value.toFixed(places).replace("-", "−");
  }
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

export const between = interval => interval ? `${shown(interval[0], interval)} … ${shown(interval[1], interval)}` : "–";
export const seconds = t => (Math.round(t * 1000) / 1000).toString();
export const unitText = unit => unit.replace(/(?<=[a-z])2\b/g, "²").replace(/(?<=[a-z])3\b/g, "³");
export const capital = text => text ? text[0].toUpperCase() + text.slice(1) : text;

/* Ask the server. What it refuses is an Error with its sentence and `status`. */
export async function ask(name, given = null) {
  let response;
  try {
    response = await fetch(name, given === null ? {} : {
      method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(given),
    });
  } catch {
    throw Object.assign(new Error("The studio does not answer: was it ended? What was saved is in the experiment file."), {status: 0});
  }
  const type = response.headers.get("content-type") || "";
  const body = type.includes("json") ? await response.json() : {error: await response.text()};
  if (!response.ok) throw Object.assign(new Error(body.error), {status: response.status});
  return body;
}
