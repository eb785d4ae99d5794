/* Small things that every view needs: elements, numbers for people, requests. */

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return made;
}

export const fill = (element, ...children) => {
  element.replaceChildren(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return element;
};

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
