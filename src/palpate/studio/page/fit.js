/* The Fit view: numbers, verdict, curves, and what can be changed; which of quick and full answer is shown, it says. */

import uPlot from "uplot";
import { ask, between, capital, fill, h, replace, shown, unitText } from "./dom.js";
import { createTimeline } from "./timeline.js";

const MEANING = {uncertain: "the interval is wide beside the value", "prior-dominated": "the prior says more than the data", "not-identifiable": "the data do not show it", fixed: "held"};

export function createFit(container, studio) {
  const nothing = h("div", {class: "card"}, h("p", {}, "Open an experiment in Data first."));
  const table = h("div", {class: "card"}), verdict = h("div", {class: "card"}), charts = h("div", {class: "card"}), laws = h("div", {class: "card"});
  const model = h("div", {class: "card"}), variants = h("div", {class: "card"}), all = h("div", {hidden: true});
  const line = createTimeline(charts, {tracks: studio.tracks, onSegments: studio.segments, label: "Measured and estimated", height: 150});
  all.append(h("div", {class: "grid"}, h("div", {}, table, charts), h("div", {}, verdict, model, variants, laws)));
  container.append(nothing, all);
  let lawsOf = "", drawn = "", asked = 0;

  function draw() {
    const {state} = studio, ready = Boolean(state && state.answer);
    nothing.hidden = ready;
    all.hidden = !ready;
    if (!ready) {
      fill(nothing, h("p", {}, state === null ? "Open an experiment in Data first." : state.work.phase === "failed" ? state.work.message : `${capital(state.work.step || "reading")} …`));
      return;
    }
    numbers();
    const rows = Object.values(state.answer.rms)[0] || {}, headings = Object.entries(rows).flatMap(([name, e]) => [
      {key: `row:${name}`, title: name, unit: unitText(e.unit), lines: ["measured", "estimated"], about: "", shown: true},
      {key: `left:${name}`, title: `what is left of ${name}`, unit: unitText(e.unit), lines: ["measured − estimated"], about: "", shown: Object.keys(rows).length === 1}]);
    line.show(headings, state.span);
    line.segments(studio.borders(), state.reference);
    const key = JSON.stringify([state.file, state.revision, state.answer.parameters]);
    if (key !== drawn) {
      drawn = key;
      line.reload();
      drawLaws();
    }
    judged(state);
    controls(state);
    drawVariants(state);
  }

  function numbers() {
    const {state} = studio;
    if (!state || !state.answer || container.hidden) return;
    const answer = studio.current(), words = state.result ? state.result.parameters : {}, references = Object.entries((state.result && state.result.references) || {});
    const kind = answer.kind === "full" ? h("span", {class: "badge good"}, "full answer") : h("span", {class: "badge warn", id: "kind"}, studio.quick ? `quick answer, ${studio.quick.ms.toFixed(0)} ms` : "quick answer");
    const how = answer.kind === "full" ? "Values and total 95 % intervals: noise, prior, systematic and model parts."
      : answer.total ? "Values by the borders as they are now; intervals with the systematic and model parts of the last full run. The full answer follows when you let go."
        : "Values by the borders as they are now; intervals of the noise alone. Zones, clocks and verdict follow with the full answer.";
    const rms = Object.entries(answer.rms).filter(([k]) => ["train", "test"].includes(k));
    fill(table, h("div", {class: "row"}, h("h2", {style: "margin:0"}, state.title), kind), h("p", {class: "soft small", style: "margin:4px 0 8px"}, how),
      h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Parameters"}, h("table", {id: "parameters"}, h("thead", {}, h("tr", {},
        ["parameter", "value", "95 % interval", "unit", ...references.map(([label]) => label), "status"].map((t, i) => h("th", {class: i === 1 || i === 2 ? "n" : null, scope: "col"}, t)))),
      h("tbody", {}, Object.entries(answer.parameters).map(([name, e]) => h("tr", {"data-name": name},
        h("td", {}, h("b", {}, name), words[name] && words[name].words ? h("span", {class: "soft"}, ` ${words[name].words}`) : null),
        h("td", {class: "n"}, shown(e.value, e.ci95)), h("td", {class: "n"}, between(e.ci95)), h("td", {class: "u"}, unitText(e.unit)),
        references.map(([, values]) => h("td", {class: "n soft"}, values[name] === undefined ? "" : shown(values[name], e.ci95))),
        h("td", {class: "soft", title: MEANING[e.status] || ""}, e.status)))))),
      h("p", {class: "small", id: "rms"}, "RMS error: ", rms.map(([k, of], i) => `${i ? "; " : ""}${k} ${Object.entries(of).map(([row, e]) => `${Object.keys(of).length > 1 ? `${row} ` : ""}${e.value === null ? "–" : Number(e.value.toPrecision(3))} ${unitText(e.unit)}`).join(", ")}`).join("")));
  }

  function judged(state) {
    const {result, full} = state, fresh = result && result.current, failed = full && full.state === "failed";
    const next = fresh ? [...new Set([...result.findings.map(f => capital(f.remedy)), result.weakest_direction && result.weakest_direction.text].filter(Boolean))] : [];
    fill(verdict,
      fresh ? h("div", {class: `verdict ${result.verdict.passed ? "good" : "bad"}`, id: "verdict"}, result.verdict.passed ? "Passed" : "Failed") : h("div", {class: "verdict", id: "verdict"}, failed ? "No result" : "Full answer is on its way …"),
      failed ? h("p", {}, full.message) : null,
      !fresh && full && full.state === "running" ? h("p", {class: "soft small"}, `${full.step} `, h("progress", {max: 1, value: full.done, "aria-label": "identifying"})) : null,
      fresh && result.verdict.reasons.length ? h("ul", {class: "plain"}, result.verdict.reasons.map(r => h("li", {}, r))) : null,
      fresh && result.warnings.length ? h("details", {}, h("summary", {}, `To know (${result.warnings.length})`), h("ul", {class: "plain small"}, result.warnings.map(w => h("li", {}, w)))) : null,
      next.length ? [h("h3", {style: "margin-top:10px"}, "To know it better"), h("ul", {class: "plain small"}, next.slice(0, 6).map(t => h("li", {}, t)))] : null,
      fresh ? h("div", {class: "row", style: "margin-top:10px"}, h("button", {type: "button", class: "main", id: "save", onclick: save}, "Save the result"),
        result.report ? h("a", {href: `/api/report?file=${encodeURIComponent(state.file)}`, target: "_blank", rel: "noopener"}, "Full report") : null, h("span", {class: "soft small", id: "saved", role: "status"}, saved.of === `${state.file} ${state.revision}` ? saved.text : "")) : null);
  }
  let saved = {of: "", text: ""};
  async function save() {
    const {file, revision} = studio.state, of = `${file} ${revision}`;
    try {
      saved = {of, text: `Written: ${(await ask("/api/save", {file})).written.join(", ")}`};
      await studio.list();
    } catch (error) {
      saved = {of, text: error.message};
    }
    judged(studio.state);
  }

  /* --- what can be changed: each change on the state as it is when its turn has come --- */
  const number = (id, value, key, unit, more = {}) => h("input", {id, type: "number", step: "any", value, ...more,
    onchange: e => studio.change({[key]: e.target.value === "" ? null : `${Number(e.target.value)} ${unit}`}, e.target)});
  const row = (...children) => h("div", {class: "row small", style: "margin-top:6px"}, children);
  const used = (name, wanted) => ({elements}) => {
    const without = elements.filter(e => (e.name === name ? !wanted : !e.used)).map(e => e.name);
    return {without: without.length ? without : null};
  };
  async function search(name, wanted, field) {
    await studio.write("search", {name, wanted}, field);
    studio.settle();
  }
  function controls(state) {
    const {elements, prior, fixed} = state, names = Object.keys(state.answer.parameters).filter(n => !(n in fixed) && !/^(c_[xyz]|bias)/.test(n));
    fill(model, h("h2", {}, "Model"),
      h("fieldset", {class: "small", style: "border:0;padding:0;margin:0 0 10px"}, h("legend", {class: "soft"}, "Effects in it"), elements.map(e => h("div", {class: "row"}, h("label", {class: "check"},
        h("input", {type: "checkbox", id: `e-${e.name}`, checked: e.used, title: e.kept || null, "aria-disabled": e.kept ? "true" : null, "aria-describedby": e.kept ? `k-${e.name}` : null,
          onclick: x => { if (e.kept) x.preventDefault(); }, onchange: x => studio.change(used(e.name, x.target.checked), x.target)}),
        ` ${e.name}`, h("span", {class: "soft"}, ` ${e.type.replaceAll("-", " ")} on ${e.acts_on}`)), e.kept ? h("span", {class: "soft kept", id: `k-${e.name}`}, `stays: ${e.kept}`) : null, e.zone && e.used ? h("label", {class: "soft"}, h("input", {type: "checkbox", id: `z-${e.name}`, checked: e.estimated, onchange: x => search(e.name, x.target.checked, x.target)}), " search for its zone") : null))),
      row(h("label", {for: "bandwidth"}, "Bandwidth"), number("bandwidth", state.asked_bandwidth_hz ?? "", "filtering.bandwidth", "Hz", {min: 0.5, disabled: state.published || state.method === "joint",
        placeholder: state.bandwidth_hz ? `${Number(state.bandwidth_hz.toPrecision(3))}` : ""}), h("span", {class: "soft"}, state.method === "joint" ? "Hz; a joint estimate takes the signals as they are" : state.published ? "Hz; not with the published filters" : "Hz; empty: chosen from noise and spectrum")),
      state.method === null ? null : row(h("label", {for: "method"}, "Estimate"), h("select", {id: "method", value: state.method, "aria-describedby": "method-about", onchange: e => studio.change(e.target.value === "joint" ? {method: "joint", "filtering.bandwidth": null} : {method: null}, e.target)},
        h("option", {value: "balance"}, "by the balance of forces"), h("option", {value: "joint"}, "jointly with the motion")), h("span", {class: "soft", id: "method-about"}, "jointly: all instruments at once; the narrowest intervals where masses, gains and places are as stated")),
      state.compensate === null ? null : row(h("label", {}, h("input", {type: "checkbox", id: "compensate", checked: state.compensate, "aria-describedby": "compensate-about", onchange: e => studio.change({compensate: e.target.checked ? true : null}, e.target)}), " take out what gives way"),
        h("span", {class: "soft", id: "compensate-about"}, "lag and softness between hand, sensor and object, where the data show them")),
      state.method === "joint" || state.compensate ? h("p", {class: "soft small", id: "full-only"}, "Only the full answer does this: quick numbers are without it, with intervals of the noise alone.") : null,
      prior ? row(h("span", {}, "Prior"), h("label", {}, "mass ", number("prior-mass", prior.mass, "prior.mass", "kg"), " kg"),
        h("label", {}, "known to ", number("prior-spread", Math.round(100 * prior.spread), "prior.spread", "%", {step: 5}), " %")) : null,
      row(h("span", {}, "Hold"), h("select", {id: "hold", "aria-label": "Parameter to hold at a value"}, names.map(n => h("option", {value: n}, n))), h("input", {id: "held", type: "number", step: "any", "aria-label": "Value to hold it at, SI"}),
        h("button", {type: "button", id: "hold-it", onclick: holdIt}, "Hold it")),
      Object.entries(fixed).map(([n, v]) => h("div", {class: "row small"}, `${n} held at ${v} `, h("button", {type: "button", class: "quiet", onclick: () => studio.change({[`fixed.${n}`]: null})}, "let it go"))));
  }
  async function holdIt() {
    const name = model.querySelector("#hold"), value = model.querySelector("#held");
    if (value.value !== "" && await studio.change({[`fixed.${name.value}`]: Number(value.value)}) === 200) value.value = "";
  }

  function drawVariants(state) {
    variants.hidden = !state.variants;
    if (variants.hidden) return;
    const ranking = rankings.get(state.file);
    const rows = ranking && !ranking.error ? ranking.variants.filter((v, i) => i < 8 || v.name === ranking.chosen) : [];
    fill(variants, h("h2", {}, "Variants"), h("p", {class: "soft small"}, "Other models of the same recordings, by how well they predict what they have not seen."),
      h("button", {type: "button", id: "rank", onclick: rank}, fitting.has(state.file) ? "Fitting them …" : ranking ? "Compare again" : "Compare variants"),
      ranking && ranking.error ? h("p", {role: "alert"}, ranking.error) : null,
      rows.length ? h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Variants"}, h("table", {}, h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "variant"), h("th", {class: "n", scope: "col"}, `unseen, ${unitText(ranking.unit)}`), h("th", {class: "n", scope: "col"}, "numbers"), h("td", {}))),
        h("tbody", {}, rows.map(v => h("tr", {class: v.name === ranking.chosen ? "hit" : null}, h("td", {}, v.name, v.name === ranking.chosen ? h("div", {class: "soft"}, "simplest as good as the best") : null),
          h("td", {class: "n"}, v.cross_validated_rms.toPrecision(4)), h("td", {class: "n"}, v.numbers), h("td", {}, h("button", {type: "button", "aria-label": `Adopt ${v.name}`, onclick: () => adopt(v.name)}, "Adopt"))))))) : null);
  }
  const rankings = new Map(), fitting = new Set();
  async function rank() {
    const {file} = studio.state;
    if (fitting.has(file)) return;
    fitting.add(file);
    drawVariants(studio.state);
    rankings.set(file, await ask("/api/variants", {file}).catch(error => ({error: error.message})));
    fitting.delete(file);
    drawVariants(studio.state);
  }
  async function adopt(name) {
    const {file} = studio.state;
    if (await studio.write("adopt", {name}) === 200) rankings.delete(file);
    studio.settle();
  }

  /* --- laws --- */
  async function drawLaws() {
    const mine = ++asked, of = await ask("/api/laws", {file: studio.state.file}).catch(() => null), key = JSON.stringify(of);
    if (mine !== asked || key === lawsOf) return;
    lawsOf = key;
    laws.hidden = of === null;
    if (of === null) return;
    const hold = h("div", {class: "plot", role: "img", "aria-label": "Spring and dry friction over the coordinate"}), damp = h("div", {class: "plot", role: "img", "aria-label": "Damping over the coordinate"});
    const ways = Object.entries(of.damping);
    replace(laws, h("h2", {}, "Spring and damping"), h("div", {class: "laws"},
      h("figure", {}, h("figcaption", {}, `holding it, ${of.unit}; the band is dry friction`), hold),
      h("figure", {}, h("figcaption", {}, `damping, ${of.damping_unit}`), h("div", {class: "legend"}, ways.map(([w], i) => h("span", {}, h("i", {style: `background:${["#1d5fbf", "#b4530a"][i]}`}), w))), damp)));
    const style = getComputedStyle(document.documentElement), soft = style.getPropertyValue("--soft").trim(), rule = style.getPropertyValue("--line").trim();
    const plot = (holder, series, data, bands = []) => {
      const made = new uPlot({width: holder.clientWidth || 320, height: 170, legend: {show: false}, cursor: {show: false}, scales: {x: {time: false}}, bands, series: [{}, ...series],
      axes: [{size: 34, stroke: soft, grid: {stroke: rule}, ticks: {show: false}, values: (_, t) => t.map(x => `${x}${of.x_unit === "deg" ? "°" : ` ${of.x_unit}`}`)}, {size: 52, stroke: soft, grid: {stroke: rule}, ticks: {show: false}}]}, [of.x, ...data], holder);
      new ResizeObserver(() => { if (holder.clientWidth && holder.clientWidth !== made.width) made.setSize({width: holder.clientWidth, height: 170}); }).observe(holder);
    };
    plot(hold, [{stroke: "#1d5fbf", width: 2}, {stroke: "#8888", width: 1}, {stroke: "#8888", width: 1}], [of.hold, of.hold.map((y, i) => y + of.dry[i]), of.hold.map((y, i) => y - of.dry[i])], [{series: [2, 3], fill: "#8884"}]);
    plot(damp, ways.map((_, i) => ({stroke: ["#1d5fbf", "#b4530a"][i], width: 2})), ways.map(([, y]) => y));
  }

  return {draw, numbers};
}
