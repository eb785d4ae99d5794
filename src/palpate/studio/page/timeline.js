/* Charts on one time line, and segments that are dragged or moved by keys.

     const line = createTimeline(container, {tracks: async (keys, from, to, pixels) => [...], onSegments});
     line.show(headings, [from, to]); line.segments({train: [[1, 2]], ...}); line.reload(); line.cursor(t);

   onSegments(segments, done): while a border moves (done false), with each step of a key ("soon"), and when it is let go (true). */

import uPlot from "uplot";
import { h, fill, replace, seconds, shown } from "./dom.js";

export const KINDS = ["static", "quasi_static", "train", "test"];
export const WORD = {static: "static", quasi_static: "quasi-static", train: "train", test: "test"};
const ABOUT = {
  static: "at rest, nobody touches it", quasi_static: "moved slowly, all the way",
  train: "moved as people do: the fit", test: "likewise; never used in the fit",
};
const GUTTER = 92, RIGHT = 12, LEAST_S = 0.05, PALETTE = ["#1d5fbf", "#b4530a", "#0f766e", "#9b2c6f", "#6d5b00", "#5b3fb0"];
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function createTimeline(container, {tracks, onSegments, onCursor = () => {}, height = 118, label = "Recording"}) {
  let whole = [0, 1], limits = [0, 1], view = [0, 1], headings = [], segments = {}, open = new Set(), touched = new Set(), charts = new Map(), asked = 0, pending = null, locked = false;
  const tools = h("div", {class: "tools", role: "group", "aria-label": `${label}: time shown`});
  const where = h("output", {class: "where"});
  const charted = h("div", {class: "charts"}), lanes = h("div", {class: "lanes", role: "group", "aria-label": "Segments"});
  const table = h("div", {class: "spans"}), choice = h("details", {class: "choice"});
  const button = (text, name, act) => h("button", {type: "button", title: name, "aria-label": name, onclick: act}, text);
  tools.append(
    button("−", "Zoom out", () => zoom(2)), button("+", "Zoom in", () => zoom(0.5)),
    button("←", "Earlier", () => pan(-0.4)), button("→", "Later", () => pan(0.4)),
    button("All", "Whole recording", () => look(whole)), where,
  );
  container.append(tools, lanes, charted, choice, table);

  /* --- what is seen --- */
  const span = () => view[1] - view[0];
  function look([a, b]) {
    const least = Math.min(0.2, whole[1] - whole[0]);
    const wide = Math.min(Math.max(b - a, least), whole[1] - whole[0]);
    const begin = Math.min(Math.max(a, whole[0]), whole[1] - wide);
    view = [begin, begin + wide];
    where.textContent = `${seconds(view[0])} to ${seconds(view[1])} s`;
    charts.forEach(c => c.setScale("x", {min: view[0], max: view[1]}));
    place();
    reload();
  }
  const zoom = (factor, at = (view[0] + view[1]) / 2) => look([at - (at - view[0]) * factor, at + (view[1] - at) * factor]);
  const pan = share => look([view[0] + share * span(), view[1] + share * span()]);

  async function reload() {
    const mine = ++asked;
    clearTimeout(pending);
    await new Promise(done => { pending = setTimeout(done, 25); });
    if (mine !== asked || !charted.clientWidth) return;
    const keys = headings.filter(x => open.has(x.key)).map(x => x.key), margin = 0.5 * span();
    if (!keys.length) return;
    const from = Math.max(view[0] - margin, whole[0]), to = Math.min(view[1] + margin, whole[1]);
    const drawn = await tracks(keys, from, to, Math.round(charted.clientWidth * (to - from) / span())).catch(() => []);
    if (mine !== asked) return;
    drawn.forEach(draw);
  }

  function draw(track) {
    const heading = headings.find(x => x.key === track.key), holder = charted.querySelector(`[data-key="${CSS.escape(track.key)}"] .plot`);
    if (!heading || !holder || !track.lines.length) return;
    const data = [track.t, ...track.lines.flatMap(x => [x.low, x.high || x.low])];
    let chart = charts.get(track.key);
    if (chart) {
      chart.setData(data, false);
      chart.setScale("x", {min: view[0], max: view[1]});
      return;
    }
    const series = track.lines.flatMap((line, i) => {
      const stroke = PALETTE[i % PALETTE.length];
      const width = line.name === "estimated" ? 1.6 : 1.2;
      return [{label: line.name, stroke, width, points: {show: false}}, {label: `${line.name} `, stroke, width, points: {show: false}}];
    });
    const bands = track.lines.map((_, i) => ({series: [2 * i + 2, 2 * i + 1], fill: PALETTE[i % PALETTE.length] + "55"}));
    chart = new uPlot({
      width: holder.clientWidth, height, padding: [8, RIGHT, 0, 0], legend: {show: false}, series: [{}, ...series], bands,
      cursor: {sync: {key: "studio"}, drag: {x: true, y: false, setScale: false}, points: {show: false}},
      scales: {x: {time: false, min: view[0], max: view[1]}, y: {range: padded}},
      axes: [
        {size: 26, stroke: colour("--soft"), grid: {stroke: colour("--line"), width: 1}, ticks: {show: false}, values: (_, ticks) => ticks.map(seconds)},
        {size: GUTTER, space: 24, stroke: colour("--soft"), grid: {stroke: colour("--line"), width: 1}, ticks: {show: false}},
      ],
      hooks: {
        drawClear: [paint],
        setSelect: [u => {
          if (u.select.width < 6) return;
          const ends = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
          look(ends);
        }],
        setCursor: [u => {
          if (u.cursor.idx === null || u.cursor.idx === undefined || u.cursor.left < 0) return;
          readout(holder.parentNode, heading, track.lines.map((x, i) => [x.name, u.data[2 * i + 1][u.cursor.idx]]));
          onCursor(u.data[0][u.cursor.idx]);
        }],
      },
    }, data, holder);
    chart.over.addEventListener("dblclick", () => look(whole));
    chart.over.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.shiftKey) return;
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, chart.posToVal(e.offsetX, "x"));
    }, {passive: false});
    charts.set(track.key, chart);
  }
  const padded = (_, low, high) => {
    if (low === null || high === null) return [-1, 1];
    const more = 0.06 * (high - low) || Math.abs(high) || 1;
    return [low - more, high + more];
  };
  const readout = (figure, heading, values) => {
    figure.querySelector(".now").textContent = values.slice(0, 6).map(([n, v]) => `${values.length > 1 ? `${n} ` : ""}${shown(v)}`).join(", ") + ` ${heading.unit}`;
  };

  /* Segments behind the curves. */
  function paint(u) {
    const {ctx, bbox} = u;
    ctx.save();
    KINDS.forEach(kind => (segments[kind] || []).forEach(([a, b]) => {
      const left = Math.max(u.valToPos(a, "x", true), bbox.left), right = Math.min(u.valToPos(b, "x", true), bbox.left + bbox.width);
      if (right <= left) return;
      ctx.fillStyle = colour(`--${kind}`) + "1c";
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }));
    ctx.restore();
  }

  /* --- segments --- */
  const x = t => `calc(${GUTTER}px + (100% - ${GUTTER + RIGHT}px) * ${(t - view[0]) / span()})`;
  const inside = t => Math.min(Math.max(t, Math.ceil(100 * limits[0]) / 100), Math.floor(100 * limits[1]) / 100);
  const round = t => Math.round(t * 100) / 100;

  function moved(kind, i, ends, done) {
    segments = {...segments, [kind]: segments[kind].map((s, j) => (j === i ? ends : s))};
    place();
    charts.forEach(c => c.redraw(false));
    onSegments(segments, done);
  }
  const border = (kind, i, end, t, done) => {
    const [a, b] = segments[kind][i];
    moved(kind, i, end === 0 ? [round(Math.min(inside(t), b - LEAST_S)), b] : [a, round(Math.max(inside(t), a + LEAST_S))], done);
  };
  function listed(kind, spans) {
    segments = {...segments, [kind]: spans};
    place();
    onSegments(segments, true);
  }
  const add = (kind, ends) => listed(kind, [...(segments[kind] || []), ends]);
  function remove(kind, i) {
    listed(kind, segments[kind].filter((_, j) => j !== i));
    if (document.activeElement === document.body) table.querySelector(`[data-kind=${kind}] > button`).focus(); /* nobody is thrown to the page's top */
  }
  const seconds_at = (e, lane) => {
    const box = lane.getBoundingClientRect(), wide = box.width - GUTTER - RIGHT;
    return view[0] + (e.clientX - box.left - GUTTER) / wide * span();
  };

  /* Follow a pointer that goes down here; `act(begin)` gives what to do with a time, until the pointer goes up or is taken away. */
  const follow = act => down => {
    if (locked || down.button) return;
    down.preventDefault();
    down.stopPropagation();
    const target = down.currentTarget, lane = target.closest(".lane");
    if (target.getAttribute("role") === "slider") target.focus();
    target.setPointerCapture(down.pointerId);
    let t = seconds_at(down, lane);
    const move = act(t), moves = e => move(t = seconds_at(e, lane), false), ended = new AbortController();
    const ends = e => {
      ended.abort();
      move(e.type === "pointerup" ? seconds_at(e, lane) : t, true);
    };
    target.addEventListener("pointermove", moves, {signal: ended.signal});
    ["pointerup", "pointercancel"].forEach(name => target.addEventListener(name, ends, {signal: ended.signal}));
  };
  const drawn = kind => follow(begin => {
    let made = null;
    return (t, done) => {
      const [a, b] = [round(inside(Math.min(begin, t))), round(inside(Math.max(begin, t)))], ends = [a, Math.max(b, round(a + LEAST_S))];
      if (made === null && b - a < 0.02 * span()) return;
      if (made === null) {
        made = (segments[kind] || []).length;
        segments = {...segments, [kind]: [...(segments[kind] || []), ends]};
      }
      moved(kind, made, ends, done);
    };
  });
  const shifted = (kind, i) => follow(begin => {
    const [a, b] = segments[kind][i];
    let moves = false; /* a click moves nothing */
    return (t, done) => {
      const by = Math.min(Math.max(t - begin, limits[0] - a), limits[1] - b);
      moves = moves || Math.abs(by) > 0.002 * span();
      if (moves) moved(kind, i, [round(a + by), round(b + by)], done);
    };
  });
  function stepped(e, kind, i, end) {
    const step = {ArrowLeft: -0.1, ArrowRight: 0.1, ArrowDown: -0.1, ArrowUp: 0.1, PageDown: -5, PageUp: 5}[e.key];
    if (e.key === "Delete" && !locked) return remove(kind, i);
    if (step === undefined || locked) return undefined;
    e.preventDefault();
    border(kind, i, end, segments[kind][i][end] + step * (e.shiftKey ? 10 : 1), "soon");
    return undefined;
  }

  const handle = (kind, i, end) => {
    const t = segments[kind][i][end];
    return h("span", {
      class: `edge edge-${end}`, role: "slider", tabindex: 0, "aria-label": `${WORD[kind]} ${i + 1}, ${end ? "end" : "begin"}`, "aria-orientation": "horizontal", hidden: t < view[0] || t > view[1],
      "aria-valuemin": seconds(limits[0]), "aria-valuemax": seconds(limits[1]), "aria-valuenow": seconds(t), "aria-valuetext": `${seconds(t)} s`,
      onkeydown: e => stepped(e, kind, i, end),
      onpointerdown: follow(begin => {
        const was = segments[kind][i][end];
        return (now, done) => border(kind, i, end, was + now - begin, done);
      }),
    });
  };
  const block = (kind, ends, i) => {
    const [a, b] = [Math.max(ends[0], view[0]), Math.min(ends[1], view[1])];
    return h("div", {class: "seg", hidden: b <= a, style: `left:${x(a)};width:calc((100% - ${GUTTER + RIGHT}px) * ${Math.max(b - a, 0) / span()})`, onpointerdown: shifted(kind, i)}, handle(kind, i, 0), handle(kind, i, 1));
  };
  /* A pair is typed one end after the other: it may be no stretch in between. */
  const input = (kind, i, end) => {
    const [a, b] = segments[kind][i];
    return h("input", {
      type: "number", step: 0.1, value: seconds(segments[kind][i][end]), "aria-label": `${WORD[kind]} ${i + 1}, ${end ? "end" : "begin"}, s`, "aria-invalid": b > a ? null : "true", disabled: locked,
      onchange: e => {
        const t = round(inside(Number(e.target.value))), ends = segments[kind][i].map((was, j) => (j === end ? t : was));
        if (e.target.value !== "" && Number.isFinite(t)) moved(kind, i, ends, true);
        else place();
      },
    });
  };
  function place() {
    fill(lanes, KINDS.map(kind => h("div", {class: "lane", "data-kind": kind, onpointerdown: drawn(kind)},
      h("span", {class: "lane-name", title: ABOUT[kind]}, WORD[kind]), (segments[kind] || []).map((ends, i) => block(kind, ends, i)))));
    fill(table, KINDS.map(kind => h("fieldset", {class: "span-kind", "data-kind": kind},
      h("legend", {title: ABOUT[kind]}, WORD[kind]),
      (segments[kind] || []).map((_, i) => h("div", {class: "span-row"},
        input(kind, i, 0), h("span", {}, "to"), input(kind, i, 1), h("span", {}, "s"),
        h("button", {type: "button", class: "quiet", "aria-label": `Remove ${WORD[kind]} ${i + 1}`, disabled: locked, onclick: () => remove(kind, i)}, "×"))),
      h("button", {type: "button", class: "quiet", disabled: locked, "aria-label": `Add ${WORD[kind]}`, onclick: () => add(kind, free())}, "+ add"))));
  }
  /* A stretch in the middle of what is seen that no segment holds, else the middle. */
  function free() {
    const all = KINDS.flatMap(k => segments[k] || []).sort((a, b) => a[0] - b[0]), wide = 0.2 * span();
    const [low, high] = [inside(view[0]), inside(view[1])];
    let at = low, best = null;
    for (const [a, b] of [...all, [high, high]]) {
      if (a - at > (best ? best[1] - best[0] : LEAST_S) && a <= high) best = [at, a];
      at = Math.max(at, b);
    }
    const [a, b] = best || [view[0] + 0.4 * span(), view[0] + 0.6 * span()];
    return [round(a), round(Math.min(b, a + Math.max(wide, LEAST_S)))];
  }

  /* --- which charts --- */
  function layout() {
    charts.forEach(c => c.destroy());
    charts.clear();
    replace(charted, headings.filter(x => open.has(x.key)).map(x => h("figure", {"data-key": x.key},
      h("figcaption", {}, h("b", {}, x.title), `, ${x.unit === "1" ? "no unit" : x.unit}`, x.about ? h("span", {class: "soft"}, ` · ${x.about}`) : null, h("span", {class: "now"})),
      legend(x), h("div", {class: "plot", role: "img", "aria-label": `${x.title} over time`}))));
    const hidden = headings.length > 2;
    choice.hidden = !hidden;
    fill(choice, h("summary", {}, `Channels (${open.size} of ${headings.length} shown)`), h("button", {type: "button", class: "quiet", onclick: () => {
      headings.forEach(x => { open.add(x.key); touched.add(x.key); });
      layout();
      reload();
    }}, "show all"), headings.map(x => h("label", {class: "check"},
      h("input", {type: "checkbox", checked: open.has(x.key), onchange: e => {
        touched.add(x.key);
        if (e.target.checked) open.add(x.key);
        else open.delete(x.key);
        layout();
        reload();
      }}), ` ${x.title}, ${x.unit}`, h("span", {class: "soft"}, ` ${x.about}`))));
  }
  const legend = x => x.lines.length < 2 || x.lines.length > 6 ? null : h("div", {class: "legend"}, x.lines.map((name, i) =>
    h("span", {}, h("i", {style: `background:${PALETTE[i % PALETTE.length]}`}), name)));

  new ResizeObserver(() => {
    charts.forEach((c, key) => {
      const holder = charted.querySelector(`[data-key="${CSS.escape(key)}"] .plot`);
      if (holder && holder.clientWidth && holder.clientWidth !== c.width) c.setSize({width: holder.clientWidth, height});
    });
    reload();
  }).observe(charted);

  return {
    show(next, ends) {
      const known = new Set(headings.map(x => x.key)), same = next.length === headings.length && next.every((x, i) => x.key === headings[i].key && x.about === headings[i].about);
      next.forEach(x => {
        if (!known.has(x.key) && x.shown) open.add(x.key);
        if (known.has(x.key) && !x.shown && !touched.has(x.key)) open.delete(x.key); /* once there is something better */
      });
      [...open].forEach(key => { if (!next.some(x => x.key === key)) open.delete(key); });
      headings = next;
      const moves = ends[0] !== whole[0] || ends[1] !== whole[1];
      whole = ends;
      if (!same) layout();
      if (moves) look(whole);
      else if (!same) reload();
    },
    segments(next, within = null) {
      segments = next;
      limits = within || limits;
      locked = within === null;
      place();
      charts.forEach(c => c.redraw(false));
    },
    reload,
    look,
    get view() { return view; },
  };
}
