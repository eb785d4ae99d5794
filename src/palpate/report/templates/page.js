const config = {displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"]};
const night = {
  "#222222": "#f0f2f4", "#222": "#f0f2f4", "#333": "#d5dade", "#444": "#c9ced3", "#888": "#8c949c", "#999": "#99a1a9",
  "#fff": "#14171a", "#fafafa": "#1a1e22", "#e8e8e8": "#2a3036", "#dddddd": "#3d444b", "#bbbbbb": "#5a626a",
  "#0072b2": "#4fb0ea", "#d55e00": "#ff914d", "#009e73": "#33c79d", "#cc79a7": "#e6a3c8", "#e69f00": "#f4ba3c",
  "#8c564b": "#c9978b", "#5b3a9e": "#b09ae8", "#c0392b": "#ff8f80", "#2e8b57": "#62d095", "#2f5fd0": "#86a8ff",
  "#5fbf9f": "#4fc4a0"
};
const scheme = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;
function themed(x) {
  if (printing || !scheme.matches) return x;
  if (typeof x === "string") {
    if (x.length > 400) return x;
    return x.replace("rgba(255,255,255", "rgba(20,23,26").replace(/#[0-9a-f]{3,6}\b/gi, c => night[c] || c);
  }
  if (Array.isArray(x)) return typeof x[0] === "number" ? x : x.map(themed);
  if (x === null || typeof x !== "object" || "bdata" in x) return x;
  return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, themed(v)]));
}
function made(id) {
  const place = document.getElementById(id);
  const layout = Object.assign({}, themed(figures[id].layout));
  if (printing) layout.width = 680;
  else if (place.clientWidth < 560) {
    // little room: what hovers explains itself, and ticks get fewer
    layout.margin = Object.assign({}, layout.margin, {l: 52, r: 8});
    if (layout.legend && layout.legend.orientation !== "h") {
      layout.legend = Object.assign({}, layout.legend, {orientation: "h", x: 0, xanchor: "left", y: -0.25, yanchor: "top"});
    }
  }
  return [place, themed(figures[id].data), layout];
}
const folded = place => place.closest("details:not([open])") !== null;
// figures in space wait for their module; an object to push is set up when it comes into sight
let inSpace = null;
const spaces = {};
function beginSpace(drawSpace) { inSpace = drawSpace; drawAll(); }
function mountPushed(id, load, options) {
  const place = document.getElementById(id), watcher = new IntersectionObserver(async seen => {
    if (place.dataset.drawn || !seen.some(e => e.isIntersecting)) return;
    place.dataset.drawn = "yes";
    watcher.disconnect();
    const [{mount}, model] = await load();
    place.panel = mount(place, {model, ...options});
  }, {rootMargin: "300px"});
  watcher.observe(place);
}
function draw(id) {
  const place = document.getElementById(id), space = "scene" in figures[id].layout;
  if (place.dataset.drawn || folded(place) || (space && !inSpace)) return;
  place.dataset.drawn = "yes";
  if (space) {
    place.style.height = "auto";
    spaces[id] = inSpace(place, themed(figures[id]));
    return;
  }
  const [where, data, layout] = made(id);
  Plotly.newPlot(where, data, layout, config);
}
const names = Object.keys(figures);
const drawAll = () => names.forEach(draw);
const redraw = () => names.forEach(id => {
  if (!document.getElementById(id).dataset.drawn) return;
  if ("scene" in figures[id].layout) {
    if (spaces[id]) spaces[id].dispose();
    spaces[id] = inSpace(document.getElementById(id), themed(figures[id]));
    return;
  }
  const [p, d, l] = made(id);
  Plotly.react(p, d, l, config);
});
// one figure at a time, so that the page can be read and scrolled meanwhile
(function next(i) { if (i < names.length) { draw(names[i]); setTimeout(next, 0, i + 1); } })(0);
document.querySelectorAll("details").forEach(d => d.addEventListener("toggle", drawAll));
scheme.addEventListener("change", redraw);
window.matchMedia("(max-width: 600px)").addEventListener("change", redraw);
window.addEventListener("beforeprint", () => { drawAll(); printing = true; redraw(); });
window.addEventListener("afterprint", () => { printing = false; redraw(); });
const reach = () => document.querySelectorAll(".wide").forEach(w => {
  if (w.scrollWidth > w.clientWidth) w.setAttribute("tabindex", "0"); else w.removeAttribute("tabindex");
});
reach();
window.addEventListener("resize", reach);
