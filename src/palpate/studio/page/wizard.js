/* For someone who has no experiment file: choose recordings, correct what was guessed, write the file. */

import { ask, fill, h, hold, release, replace } from "./dom.js";

const UNITS = ["", "deg", "rad", "m", "mm", "cm", "N", "N m", "N mm", "mN", "kN", "lbf", "kgf", "m/s2", "rad/s", "deg/s", "g"];
const SIGNS = {signals: {"on-object": "it is what the hand does to the object", "on-hand": "it is what the object does to the hand"},
  wrench: {"on-other-side": "it is what the handle passes on to the object", "on-handle": "it is what moves the handle"}};
const DEG = Math.PI / 180;

/* R = Rz(yaw) Ry(pitch) Rx(roll), row by row, and back. */
export function rotation([roll, pitch, yaw]) {
  const [a, b, c] = [yaw, pitch, roll].map(x => x * DEG), [ca, sa, cb, sb, cc, sc] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b), Math.cos(c), Math.sin(c)];
  const rows = [[ca * cb, ca * sb * sc - sa * cc, ca * sb * cc + sa * sc], [sa * cb, sa * sb * sc + ca * cc, sa * sb * cc - ca * sc], [-sb, cb * sc, cb * cc]];
  return rows.map(row => row.map(x => Math.round(x * 1e9) / 1e9 + 0));
}
export function angles(R) {
  const pitch = Math.asin(Math.max(-1, Math.min(1, -R[2][0])));
  return [Math.atan2(R[2][1], R[2][2]), pitch, Math.atan2(R[1][0], R[0][0])].map(x => Math.round(x / DEG * 1e4) / 1e4 + 0);
}

export function createWizard(container, studio) {
  let chosen = null, made = null, problem = "", busy = false;
  const options = {header: "", rate: ""};

  function draw() {
    const {folder} = studio;
    if (folder === null) return;
    chosen = chosen || new Set(folder.chosen);
    if (made) form();
    else begin(folder);
  }

  function begin(folder) {
    fill(container,
      folder.experiments.length ? h("div", {class: "card"}, h("h2", {}, "Open an experiment"), h("ul", {class: "pick"}, folder.experiments.map(name => h("li", {},
        h("button", {type: "button", onclick: () => studio.open(name)}, name))))) : null,
      h("div", {class: "card"}, h("h2", {}, folder.experiments.length ? "Or start from recordings" : "Start from your recordings"),
        h("p", {class: "soft"}, "Choose the files of one take: a table of angle and torque; or a tracker's poses, markers or an IMU, with the load cells. palpate looks at them and says what it takes each column for; you correct it."),
        folder.recordings.length ? h("ul", {class: "pick"}, folder.recordings.map(r => h("li", {}, h("label", {},
          h("input", {type: "checkbox", id: `pick-${r.file}`, checked: chosen.has(r.file), onchange: e => { e.target.checked ? chosen.add(r.file) : chosen.delete(r.file); }}),
          ` ${r.file}`, h("span", {class: "soft small"}, `  ${r.bytes > 1e6 ? `${(r.bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(r.bytes / 1e3)} kB`}`)))))
          : h("p", {}, `The folder ${folder.folder} holds no recording that palpate reads. Put CSV, MAT, C3D, TRC, HDF5 or ROS bag files into it, and reload this page.`),
        h("details", {}, h("summary", {}, "The table has no header or no times"), h("div", {class: "row"},
          h("label", {}, "Columns ", h("input", {placeholder: "t,angle,torque", value: options.header, onchange: e => { options.header = e.target.value; }})),
          h("label", {}, "Samples a second ", h("input", {type: "number", min: 0, value: options.rate, onchange: e => { options.rate = e.target.value; }})))),
        problem ? h("p", {role: "alert"}, problem) : null,
        h("p", {}, h("button", {type: "button", class: "main", id: "look", disabled: !folder.recordings.length, onclick: look}, busy ? "Looking at them …" : "Look at them"))));
  }

  async function look() {
    if (busy) return;
    busy = true;
    draw();
    try {
      problem = "";
      made = await ask("/api/guess", {files: [...chosen], header: options.header, rate: options.rate === "" ? null : Number(options.rate)});
      [unsaid, stated, turns].forEach(x => x.clear());
      replace(container);
    } catch (error) {
      problem = error.message;
    }
    busy = false;
    draw();
    container.querySelector("h2")?.focus();
  }

  /* One change after the other, each on the text that the one before has made. */
  let queue = Promise.resolve();
  function change(changes) {
    const {guesses} = made; /* of one look at the recordings: after another, or Back, nothing waits for this */
    queue = queue.then(async () => {
      if (!made || made.guesses !== guesses) return;
      const {file, text, tree} = made, answer = await ask("/api/draft", {file, text, changes: changes(tree)}).catch(error => ({refused: error.message}));
      if (!made || made.guesses !== guesses) return;
      problem = answer.refused || "";
      if (!answer.refused) made = {...made, ...answer};
      form();
    });
    return queue;
  }
  const unsaid = new Set(), stated = new Set(); /* places that no recording shows: not yet stated by anybody, and stated */
  const turns = new Map(); /* of a pose, as typed: at a right angle a matrix does not tell them apart */
  const open = () => (unsaid.size ? `say where it sits: ${[...unsaid].join(", ")}` : "");

  async function create() {
    await queue;
    if (busy || !made || made.problem || open()) {
      container.querySelector("#wrong")?.focus();
      return;
    }
    busy = true;
    const name = container.querySelector("#name").value.trim(), file = made.file.includes("/") ? `${made.file.replace(/[^/]*$/, "")}${name}` : name;
    try {
      const state = await ask("/api/create", {file, text: made.text});
      made = null;
      problem = "";
      await studio.list();
      await studio.open(state.file);
    } catch (error) {
      problem = error.message;
      draw();
    } finally {
      busy = false;
    }
  }

  /* --- the form --- */
  const at = (tree, path) => path.split(".").reduce((x, k) => (x === null || x === undefined ? undefined : x[k]), tree);
  const why = key => made.guesses.filter(g => g.key === key).map(g => g.why)[0];
  const id = key => `w-${key.replaceAll(/[^\w]/g, "-")}`;
  const field = (label, control, reason, key) => h("div", {class: "field"}, key ? h("label", {for: id(key)}, label) : h("span", {}, label), control, reason ? h("div", {class: "why"}, reason) : null);
  const send = (field, changes) => {
    hold(field);
    return change(changes).then(() => { release(field); if (made) form(); });
  };
  const select = (key, value, choices, more = {}) => h("select", {id: id(key), value, onchange: e => send(e.target, () => ({[key]: e.target.value || null})), ...more}, choices.map(([v, text]) => h("option", {value: v}, text)));

  function columns(key, part) {
    const source = Object.keys(made.columns).find(f => f.endsWith(part.file)) || part.file, known = (made.columns[source] || []).map(c => c.name), place = `recordings.${key}`;
    const inHeader = column => { const unit = (made.columns[source] || []).find(c => c.name === column)?.unit; return unit && unit !== "1" ? `${unit}, stated` : "none stated"; };
    const rows = Object.entries(part.columns || {}).map(([name, column]) => {
      const path = `${place}.columns.${name}`, unit = column.unit || "", list = Array.isArray(column.column) ? null : column.column;
      if (list === null) return null;
      return h("div", {class: "column"}, h("label", {for: id(`${path}.column`)}, name),
        select(`${path}.column`, list, [...new Set([list, ...known])].map(n => [n, n])),
        select(`${path}.unit`, unit, [...new Set([unit, ...UNITS])].map(u => [u, u || inHeader(list)]), {"aria-label": `Unit of ${name}`}),
        why(`${place}.${name}`) ? h("div", {class: "why soft small", style: "grid-column:1/-1"}, why(`${place}.${name}`)) : null);
    });
    return h("div", {}, why(place) ? h("p", {class: "soft small", style: "margin:2px 0 6px"}, why(place)) : null, h("div", {class: "columns"}, rows));
  }

  function sign(key, part, kind) {
    const value = part.sign || (kind === "signals" ? "on-object" : "on-other-side"), path = `recordings.${key}.sign`;
    return field(kind === "signals" ? "The force" : "Forces", select(path, value, Object.entries(SIGNS[kind])), why(path) || why("wrench"), path);
  }

  function pose(path, label, reason, known = false) {
    const given = at(made.tree, path);
    if (!given || !given.rotation) return null;
    const say = yes => { stated[yes ? "add" : "delete"](label); };
    if (known || stated.has(label)) unsaid.delete(label);
    else unsaid.add(label);
    if (!turns.has(path)) turns.set(path, angles(given.rotation));
    const turned = turns.get(path);
    const numbers = (key, values, names, unit, changes) => h("div", {class: "row", role: "group", "aria-label": `${label}, ${key}`}, names.map((n, i) => h("label", {class: "small"}, `${n} `,
      h("input", {type: "number", step: "any", id: id(`${path}.${key}.${i}`), value: Number(values[i]) || 0, onchange: e => { say(true); send(e.target, changes(i, Number(e.target.value) || 0)); }}))), h("span", {class: "soft small"}, unit));
    return field(label, h("div", {},
      numbers("translation", given.translation, ["x", "y", "z"], "m", (i, v) => tree => ({[`${path}.translation`]: at(tree, path).translation.map((x, j) => (j === i ? v : x))})),
      numbers("rotation", turned, ["about x", "y", "z"], "deg, first x, then y, then z", (i, v) => {
        turned[i] = v;
        const R = rotation(turned);
        return () => ({[`${path}.rotation`]: R});
      }), known ? null : h("label", {class: "small"}, h("input", {type: "checkbox", id: id(`${path}.stated`), checked: stated.has(label), onchange: e => { say(e.target.checked); form(); }}), " it really is as it stands here")), reason);
  }

  /* Which markers move with the object, and which three tell where the load cell is. */
  function markers(tree) {
    const known = (made.columns[Object.keys(made.columns).find(f => f.endsWith(tree.recordings.mocap.file))] || []).map(c => c.name), sensor = tree.markers.sensor;
    const names = [...new Set([...tree.markers.body, ...known])], word = name => name.replace(/.*:/, "");
    return [
      field("On the object", h("div", {class: "row small", role: "group", "aria-label": "Markers on the object"}, names.map(n => h("label", {}, h("input", {type: "checkbox", checked: tree.markers.body.includes(n),
        onchange: e => send(e.target, now => ({"markers.body": names.filter(x => (x === n ? e.target.checked : now.markers.body.includes(x)))}))}), ` ${word(n)}`))), "Markers that move with it, and no others: untick those on the frame or the wall"),
      sensor ? field("On the load cell", h("div", {class: "row small", role: "group", "aria-label": "Markers on the load cell"}, [0, 1, 2].map(i => select(`markers.sensor.${i}`, sensor.markers[i], names.map(n => [n, word(n)]), {"aria-label": `Marker ${i + 1} on the load cell`,
        onchange: e => send(e.target, now => ({"markers.sensor.markers": now.markers.sensor.markers.map((m, j) => (j === i ? e.target.value : m))}))}))), "The second is the corner, x runs to the third, the first is towards −y") : null,
      sensor ? pose("markers.sensor.offset", "Their frame", "Pose of these markers' frame in the load cell's, from the drawing") : null,
    ];
  }

  function form() {
    unsaid.clear();
    const {tree} = made, parts = Object.entries(tree.recordings || {}).flatMap(([key, part]) => (Array.isArray(part) ? part.map((p, i) => [`${key}.${i}`, p, key]) : [[key, part, key]]));
    const sensors = at(tree, "poses.sensor"), told = new Set(["object", ...parts.flatMap(([k]) => [`recordings.${k}`])]);
    const others = made.guesses.filter(g => !told.has(g.key) && !/^(recordings|segments|imu_pose|wrench|markers)/.test(g.key));
    const poses = [
      Array.isArray(sensors) ? sensors.map((_, i) => pose(`poses.sensor.${i}`, `Load cell ${i + 1}`, "Where it sits in the frame of the poses: no recording shows it, take it from the drawing"))
        : pose("poses.sensor", "Load cell", "Where it sits in the frame of the poses (of an encoder: of the hinge, z along its axis): no recording shows it, take it from the drawing"),
      pose("imu_pose", "IMU", why("imu_pose"), true),
    ], marked = tree.markers ? markers(tree) : null, wrong = made.problem || problem || open();
    fill(container, h("div", {class: "card"}, h("h2", {tabindex: -1}, "This is what palpate takes your recordings for"),
      h("p", {class: "soft"}, "Each line says why. Correct what is wrong: a wrong unit or sign makes wrong numbers. Segments come next, on the time line."),
      field("It is a", select("object", tree.object || "", [...(tree.object ? [] : [["", "choose"]]), ...made.objects.map(o => [o, o])]), why("object"), "object"),
      marked,
      parts.map(([key, part, kind]) => h("div", {}, h("h3", {style: "margin-top:16px"}, part.file),
        columns(key, part), kind === "signals" || kind === "wrench" ? sign(key, part, kind) : null,
        part.time ? field("Time", h("span", {}, Object.entries(part.time).map(([k, v]) => `${k} ${v}`).join(", ")), why(`recordings.${key}.time`)) : null)),
      poses,
      others.map(g => field(g.key, h("span", {}, g.value), g.why)),
      h("p", {role: "alert", class: "small", id: "wrong", tabindex: -1}, wrong ? [h("span", {class: "badge bad"}, "not yet"), ` ${wrong}`] : []),
      h("div", {class: "row", style: "margin-top:14px"}, h("label", {}, "Name ", h("input", {id: "name", value: made.name ?? made.file.replace(/.*\//, ""), oninput: e => { made.name = e.target.value; }})),
        h("button", {type: "button", class: "main", id: "create", "aria-describedby": "wrong", onclick: create}, "Write the experiment file"),
        h("button", {type: "button", onclick: () => { made = null; problem = ""; replace(container); draw(); }}, "Back"))),
    h("details", {class: "card"}, h("summary", {}, "The file as it will be written"), h("pre", {tabindex: 0, "aria-label": "The file as it will be written"}, made.text)));
  }

  return {draw};
}
