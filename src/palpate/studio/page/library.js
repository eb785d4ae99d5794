/* The Library view: results in the folder, side by side, and their pages. */

import { ask, between, fill, h, replace, shown, unitText } from "./dom.js";

const LOOK_MS = 5000;

export function createLibrary(container, studio) {
  const list = h("div", {class: "card"}), one = h("div", {class: "card", hidden: true}), compared = h("div", {class: "card", hidden: true}), page = h("div", {class: "card", hidden: true});
  container.append(list, one, compared, page);
  const chosen = new Set();
  let listed = "", asked = 0, comparing = 0, looked = -LOOK_MS;

  async function draw() {
    const mine = ++asked;
    if (performance.now() - looked > LOOK_MS || listed === "") {
      looked = performance.now();
      await studio.list();
    }
    if (mine !== asked || !studio.folder) return;
    const {results, folder, pages} = studio.folder, key = JSON.stringify([results, pages]);
    if (key === listed) return;
    listed = key;
    const day = t => new Date(1000 * t).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "short"});
    fill(list, h("h2", {}, `Results in ${folder}`), results.length ? h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Results"}, h("table", {},
      h("thead", {}, h("tr", {}, h("td", {}), ["title", "folder", "verdict", "when", "pages"].map(t => h("th", {scope: "col"}, t)))),
      h("tbody", {}, results.map(r => h("tr", {},
        h("td", {}, r.error ? null : h("input", {type: "checkbox", "aria-label": `Compare ${r.title}, ${r.folder}`, checked: chosen.has(r.file), onchange: e => { e.target.checked ? chosen.add(r.file) : chosen.delete(r.file); compare(); }})),
        h("td", {}, r.error ? h("span", {}, r.error) : h("b", {}, r.title)), h("td", {class: "soft"}, r.folder),
        h("td", {}, r.error ? h("span", {class: "badge bad"}, "cannot be read") : h("span", {class: `badge ${r.passed ? "good" : "bad"}`, title: (r.reasons || []).join("; ")}, r.passed ? "passed" : "failed")),
        h("td", {class: "soft"}, day(r.changed)),
        h("td", {}, (r.pages || []).map(p => h("button", {type: "button", class: "quiet", onclick: () => open(`${r.folder === "." ? "" : `${r.folder}/`}${p}`)}, p.replace(".html", ""))))))))) : h("p", {class: "soft"}, "None yet: save one in Fit, or run palpate identify here."),
    pages.length ? h("p", {class: "small"}, "Other pages: ", pages.map(p => h("button", {type: "button", class: "quiet", onclick: () => open(p)}, p))) : null,
    results.length > 1 ? h("p", {class: "soft small"}, "Tick two or more takes of one object to compare them.") : null);
  }

  async function compare() {
    one.hidden = chosen.size !== 1 || !studio.file;
    if (!one.hidden) fill(one, h("button", {type: "button", id: "validate", onclick: () => frame(`/api/page/validate?${picked()}&file=${encodeURIComponent(studio.file)}`, `on ${studio.file}`)}, `Validate it on ${studio.file}`),
      h("span", {class: "soft small"}, " the chosen model on these recordings, as palpate validate does"));
    compared.hidden = chosen.size < 2;
    if (compared.hidden) return;
    const mine = ++comparing;
    try {
      const data = await ask("/api/compare", {results: [...chosen]}), labels = Object.keys(data.results);
      if (mine !== comparing) return;
      fill(compared, h("div", {class: "row"}, h("h2", {style: "margin:0"}, "Side by side"), h("button", {type: "button", class: "quiet", id: "comparison", onclick: () => frame(`/api/page/compare?${picked()}`, "Comparison")}, "as a page")), h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Results side by side"}, h("table", {id: "compared"},
        h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "parameter"), labels.map(l => h("th", {class: "n", scope: "col"}, l)), data.one_object ? ["mean", "its interval", "spread between takes"].map(t => h("th", {class: "n", scope: "col"}, t)) : null, h("th", {scope: "col"}, "unit"))),
        h("tbody", {}, Object.entries(data.parameters).map(([name, e]) => h("tr", {class: data.differing.includes(name) ? "hit" : null},
          h("td", {}, h("b", {}, name), data.differing.includes(name) ? [" ", h("span", {class: "badge warn"}, name in data.apart ? `${Math.round(100 * data.apart[name])} % apart` : "differs")] : null),
          labels.map(l => h("td", {class: "n"}, e.each[l] ? shown(e.each[l].value, e.each[l].ci95) : "–")),
          data.one_object ? [e.pooled ? shown(e.pooled.value, e.pooled.ci95) : "–", e.pooled ? between(e.pooled.ci95) : "–", e.pooled ? shown(e.pooled.between_takes) : "–"].map(t => h("td", {class: "n"}, t)) : null, h("td", {}, unitText(e.unit))))))),
      data.one_object ? null : h("p", {id: "not-pooled"}, h("b", {}, "Nothing is pooled: "), "these are not takes of one object, so that a mean of their numbers would be nobody's."),
      data.warnings.length ? h("ul", {class: "plain small"}, data.warnings.map(w => h("li", {}, w))) : null);
    } catch (error) {
      if (mine === comparing) fill(compared, h("h2", {}, "Side by side"), h("p", {role: "alert"}, error.message), apart());
    }
  }

  /* Numbers of results that have nothing to do with each other, each for itself. */
  function apart() {
    const each = studio.folder.results.filter(r => chosen.has(r.file) && r.parameters), names = [...new Set(each.flatMap(r => Object.keys(r.parameters)))];
    const cell = e => (e ? `${shown(e.value, e.ci95)} ${unitText(e.unit)}` : "–");
    return h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "Results side by side"}, h("table", {id: "compared"},
      h("thead", {}, h("tr", {}, h("th", {scope: "col"}, "parameter"), each.map(r => h("th", {class: "n", scope: "col"}, r.folder)))),
      h("tbody", {}, names.map(n => h("tr", {}, h("td", {}, h("b", {}, n)), each.map(r => h("td", {class: "n"}, cell(r.parameters[n]))))))));
  }

  const picked = () => [...chosen].map(r => `result=${encodeURIComponent(r)}`).join("&");
  const open = path => frame(`/files/${path.split("/").map(encodeURIComponent).join("/")}`, path);
  function frame(href, title) {
    page.hidden = false;
    replace(page, h("div", {class: "row"}, h("h2", {style: "margin:0"}, title), h("a", {href, target: "_blank", rel: "noopener"}, "in a tab of its own"), h("button", {type: "button", class: "quiet", onclick: () => { page.hidden = true; replace(page); }}, "Close")),
      h("p", {class: "soft", role: "status"}, "working …"), h("iframe", {src: href, title, sandbox: "allow-scripts", onload: () => page.querySelector("[role=status]")?.remove()}));
    page.scrollIntoView({behavior: "smooth", block: "start"});
  }

  return {draw};
}
