/* A small strip chart on a canvas: the last seconds of one number.

     const chart = createChart(canvas, {label: "force", unit: "N", seconds: 8});
     chart.add(time, value); chart.draw(); chart.clear();

   Colours are those of the page: --ink, --soft, --line and --curve. */

export function createChart(canvas, {label, unit, seconds = 8, factor = 1}) {
  let times = [], values = [];
  const colour = name => getComputedStyle(canvas).getPropertyValue(name).trim() || "#666";
  return {
    add(time, value) {
      times.push(time);
      values.push(factor * value);
      let drop = 0;
      while (times[drop] < time - seconds) drop++;
      if (drop > 60) {
        times = times.slice(drop);
        values = values.slice(drop);
      }
    },
    clear() {
      times = [];
      values = [];
    },
    draw() {
      const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight, pen = canvas.getContext("2d");
      if (!w || !h) return;
      if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
      }
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, w, h);
      const end = times.length ? times[times.length - 1] : 0, most = Math.max(1e-9, ...values.map(Math.abs));
      const lowest = Math.min(0, ...values), highest = Math.max(0, ...values), span = Math.max(highest - lowest, 1e-6 * most, 1e-9);
      const top = 20, x = t => w - 4 - (end - t) / seconds * (w - 8), y = v => h - 5 - (v - lowest) / span * (h - top - 8);
      pen.strokeStyle = colour("--line");
      pen.beginPath();
      pen.moveTo(0, y(0));
      pen.lineTo(w, y(0));
      pen.stroke();
      pen.strokeStyle = colour("--curve");
      pen.lineWidth = 1.6;
      pen.beginPath();
      times.forEach((t, i) => (i ? pen.lineTo(x(t), y(values[i])) : pen.moveTo(x(t), y(values[i]))));
      pen.stroke();
      pen.font = "12px system-ui, sans-serif";
      pen.fillStyle = colour("--soft");
      pen.textAlign = "left";
      pen.fillText(label, 4, 13);
      pen.textAlign = "right";
      pen.fillStyle = colour("--ink");
      const last = values.length ? values[values.length - 1] : 0;
      pen.fillText(`${shown(Math.abs(last) < Math.max(1e-3 * most, 5e-3) ? 0 : last)} ${unit}`, w - 4, 13);
    },
  };
}

/* m² for m2. */
export const unitText = unit => unit.replace(/([a-z])([23])\b/g, (_, letter, power) => letter + {2: "²", 3: "³"}[power]);

/* Three digits or so; no minus before zero. */
export function shown(value) {
  const size = Math.abs(value), digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size === 0 ? 2 : 3;
  const text = size !== 0 && size < 0.001 ? value.toPrecision(2) : value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "\u2212");
}
