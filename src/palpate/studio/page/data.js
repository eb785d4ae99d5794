/* The Data view: channels on one time line, faults, segments, the scene that plays; the wizard where there is no file. */

import { between, capital, fill, h, shown, unitText } from "./dom.js";
import { createTimeline } from "./timeline.js";
import { createWizard } from "./wizard.js";
import { createPlayer } from "./player.js";

export function createData(container, studio) {
  const start = h("div", {}), bench = h("div", {hidden: true});
  const title = h("h2", {}), problem = h("div", {}), found = h("div", {class: "card"}), live = h("div", {class: "card"});
  const charts = h("div", {class: "card"}), text = h("details", {class: "card"}), space = h("div", {class: "card", hidden: true});
  const wizard = createWizard(start, studio);
  const player = createPlayer(space, studio);
  const line = createTimeline(charts, {tracks: studio.tracks, onSegments: studio.segments, onCursor: t => player.at(t), label: "Recording"});
  bench.append(title, problem, h("div", {class: "grid"}, h("div", {}, charts), h("div", {}, live, space, found, text)));
  container.append(start, bench);
  let file = null;

  function draw() {
    const {state} = studio;
    start.hidden = state !== null;
    bench.hidden = state === null;
    if (state === null) {
      wizard.draw();
      return;
    }
    if (file !== state.file) {
      file = state.file;
      player.reset();
    }
    fill(title, state.title || state.file, " ", h("span", {class: "soft small"}, state.object ? `${state.object}, ${state.file}` : ""));
    const failed = state.work.phase === "failed";
    fill(problem, failed ? h("div", {class: "card"}, h("h3", {}, "This cannot be used as it is"), h("p", {}, state.work.message),
      h("p", {class: "soft small"}, "Nothing was lost: the file is as it was. Correct it here, in an editor, or put the recording back, then "),
      h("button", {type: "button", onclick: () => studio.reload()}, "Read it again")) : null);
    charts.hidden = !state.tracks.length;
    if (state.tracks.length) {
      line.show(state.tracks, state.span);
      line.segments(studio.borders(), state.reference || null);
    }
    findings(state);
    numbers();
    space.hidden = !state.segments || state.stage === "handle";
    if (!space.hidden) player.draw();
    fill(text, h("summary", {}, "The experiment file"), h("pre", {tabindex: 0, "aria-label": "The experiment file"}, state.text));
  }

  function findings(state) {
    fill(found, h("h3", {}, state.findings.length ? "Found in the recordings" : "Nothing wrong was found in the recordings"),
      state.findings.length ? h("ul", {class: "plain small"}, state.findings.map(f => h("li", {},
        h("span", {class: `badge ${f.severity === "fatal" ? "bad" : "warn"}`}, f.severity === "fatal" ? "fault" : "note"), " ",
        f.place && !f.evidence.startsWith(f.place) ? h("b", {}, `${f.place}: `) : null, f.evidence, f.remedy ? `. ${capital(f.remedy)}` : ""))) : null);
  }

  /* The main numbers beside the charts, so that a border can be judged where it is dragged. */
  function numbers() {
    const answer = studio.current();
    live.hidden = !answer;
    if (!answer) return;
    const rows = Object.entries(answer.parameters).slice(0, 14);
    fill(live, h("h3", {}, "Numbers ", h("span", {class: `badge ${answer.kind === "full" ? "good" : "warn"}`}, answer.kind === "full" ? "full" : studio.quick ? `quick, ${studio.quick.ms.toFixed(0)} ms` : "quick")),
      h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Numbers"}, h("table", {}, h("tbody", {}, rows.map(([name, e]) => h("tr", {},
        h("td", {}, name), h("td", {class: "n"}, shown(e.value, e.ci95)), h("td", {class: "n soft"}, between(e.ci95)), h("td", {class: "soft u"}, unitText(e.unit))))))),
      h("p", {class: "soft small"}, `95 % intervals ${answer.kind === "full" ? "in total" : answer.total ? "with the systematic and model parts of the last full run" : "of the noise alone, until the full run has ended"}. `,
        h("button", {type: "button", class: "quiet", onclick: () => studio.show("fit")}, "All in Fit →")));
  }

  return {draw, numbers, hide: () => player.stop()};
}
