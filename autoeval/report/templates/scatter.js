"use strict";
const SVG = "http://www.w3.org/2000/svg", REACH = 28, STAR = "M0-11 2.6-3.6 10.5-3.4 4.2 1.4 6.5 8.9 0 4.4-6.5 8.9-4.2 1.4-10.5-3.4-2.6-3.6Z";
// Marks of the sources, about two units wide, and their colours: neighbours differ, however many there are.
const MARKS = [
  "M-1 0A1 1 0 1 0 1 0 1 1 0 1 0-1 0Z", "M-1-.5-.5-1 0-.5.5-1 1-.5.5 0 1 .5.5 1 0 .5-.5 1-1 .5-.5 0Z",
  "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z", "M0-1.2 1.2 0 0 1.2-1.2 0Z", "M-.9-.9H.9V.9H-.9Z",
  "M-1-1H1L0 1Z", "M-1 1H1L0-1Z", "M1-1V1L-1 0Z", "M-1-1V1L1 0Z",
];
const mark = (k) => ({ d: MARKS[k % MARKS.length], fill: `hsl(${(215 + 97 * k) % 360} 65% 48%)` });

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const first = Math.ceil(low / step), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, k) => ((first + k) * step).toFixed(digits));
}
function extent(values) {
  const known = values.filter((v) => v !== null), low = Math.min(...known), high = Math.max(...known);
  const margin = 0.04 * (high - low || Math.abs(high) || 1);
  return [low - margin, high + margin];
}

class Scatter {
  constructor(figure) {
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.plot = figure.querySelector(".plot");
    this.note = figure.querySelector(".note");
    this.label = figure.querySelector(".label");
    this.svg = figure.querySelector("svg");
    this.select = figure.querySelector("select");
    this.chosen = new Set();
    this.fillSelect();
    this.fillLegend(figure.querySelector(".legend"));
    this.select.addEventListener("change", () => this.draw());
    for (const kind of ["pointermove", "pointerdown"])
      this.svg.addEventListener(kind, (event) => this.point(event));
    // A finger leaves when it is lifted; the label stays then, to be read.
    this.svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.show(null));
    this.svg.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.plot.clientWidth !== this.width && this.draw()).observe(this.plot);
    this.draw();
  }
  fillSelect() {
    const groups = new Map();
    for (const name of Object.keys(this.data.scores)) {
      const family = name.split("@")[0];
      groups.set(family, [...(groups.get(family) ?? []), name]);
    }
    for (const [family, names] of groups) {
      let parent = this.select;
      if (names.length > 1) {
        parent = document.createElement("optgroup");
        parent.label = family;
        this.select.append(parent);
      }
      for (const name of names) parent.append(new Option(name, name));
    }
  }
  fillLegend(legend) {
    legend.append("labelled:");
    this.data.sources.forEach((name, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const icon = element("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" });
      element("path", { ...mark(k), transform: "scale(5)" }, icon);
      button.append(icon, name);
      button.addEventListener("click", () => {
        if (!this.chosen.delete(k)) this.chosen.add(k);
        button.setAttribute("aria-pressed", String(this.chosen.has(k)));
        this.draw();
      });
      legend.append(button);
    });
    const { cloud, estimate, level } = this.data, keys = [];
    if (cloud) keys.push(["cloud", cloud.about, { cx: 0, cy: 0, r: 3.5 }]);
    keys.push(["band", `${level} prediction interval`, { x: -7, y: -6, width: 14, height: 12 }], ["line", "", { d: "M-7 0H7", "stroke-width": 2 }]);
    if (estimate) keys.push(["here", "the estimate with its interval", { d: STAR, transform: "scale(.6)" }]);
    this.keys = {};
    for (const [kind, text, attributes] of keys) {
      const key = document.createElement("span"), icon = element("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" });
      element({ cloud: "circle", band: "rect" }[kind] ?? "path", { class: kind, ...attributes }, icon);
      const words = document.createElement("span");
      words.textContent = text;
      key.className = "key";
      key.append(icon, words);
      legend.append(key);
      this.keys[kind] = key;
    }
  }
  draw() {
    const { data } = this, score = data.scores[this.select.value], star = data.estimate;
    this.width = this.plot.clientWidth;
    if (!this.width) return;
    const height = Math.round(Math.min(500, Math.max(300, this.width * 0.62)));
    const left = 48, right = this.width - 10, top = 10, bottom = height - 44;
    const here = star && star.value !== null && score.estimate !== null ? [score.estimate] : [];
    const behind = score.cloud ?? [], tops = here.length ? [star.value, star.upper ?? 0] : [];
    if (behind.length) tops.push(...data.cloud.y);
    const [x0, x1] = extent([...score.values, ...behind, ...here]);
    const y0 = 0, y1 = Math.max(...data.points.map((p) => p.y ?? 0), ...tops, 1e-6) * 1.06;
    const x = (v) => left + ((v - x0) / (x1 - x0)) * (right - left);
    const y = (v) => bottom - ((Math.min(Math.max(v, y0), y1) - y0) / (y1 - y0)) * (bottom - top);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren();
    this.axes(x, y, { x0, x1, y0, y1, left, right, top, bottom });
    behind.forEach((v, k) => element("circle", { class: "cloud", cx: x(v), cy: y(data.cloud.y[k]), r: 2.2 }, this.svg));
    this.trace(score, x, y);
    this.explain(score, behind, here);
    this.marks = [];
    this.points(score, x, y);
    if (here.length) this.star(score, x, y);
    this.note.textContent = score.note;
    this.show(null);
  }
  axes(x, y, f) {
    const text = (content, attributes) => (element("text", attributes, this.svg).textContent = content);
    for (const v of ticks(f.x0, f.x1, Math.max(3, this.width / 75))) {
      element("path", { class: "grid", d: `M${x(v)} ${f.top}V${f.bottom}` }, this.svg);
      text(v, { x: x(v), y: f.bottom + 18, "text-anchor": "middle" });
    }
    for (const v of ticks(f.y0, f.y1, 7)) {
      element("path", { class: "grid", d: `M${f.left} ${y(v)}H${f.right}` }, this.svg);
      text(v, { x: f.left - 8, y: y(v) + 4, "text-anchor": "end" });
    }
    text(this.select.value, { x: (f.left + f.right) / 2, y: f.bottom + 38, "text-anchor": "middle" });
    const middle = (f.top + f.bottom) / 2;
    text(this.data.axis, { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` });
  }
  trace(score, x, y) {
    if (!score.line) return;
    const { line } = score, path = (values) => values.map((v, k) => `${x(line.x[k])} ${y(v)}`);
    if (line.lower) {
      const outline = [...path(line.lower), ...path(line.upper).reverse()];
      this.svg.prepend(element("path", { class: "band", d: `M${outline.join("L")}Z` }));
    }
    element("path", { class: "line", d: `M${path(line.y).join("L")}` }, this.svg);
  }
  explain(score, behind, here) {
    const shown = { cloud: behind.length, here: here.length, band: score.line?.lower, line: score.line };
    for (const [kind, key] of Object.entries(this.keys)) key.hidden = !shown[kind];
    this.keys.line.lastChild.textContent = score.about;
  }
  points(score, x, y) {
    const { data } = this, order = data.points.map((p, k) => k);
    order.sort((a, b) => data.points[a].own - data.points[b].own);
    for (const k of order) {
      const p = data.points[k], value = score.values[k];
      if (value === null || p.y === null) continue;
      const faded = this.chosen.size && !this.chosen.has(p.source);
      const shape = element("path", {
        ...mark(p.source), "vector-effect": "non-scaling-stroke",
        class: (p.own ? "own" : "sample") + (faded ? " faded" : ""),
        transform: `translate(${x(value)} ${y(p.y)}) scale(${p.own ? 7.5 : 4})`,
      }, this.svg);
      const lines = [data.sources[p.source], p.what, `${data.unit} ${p.set}`].filter(Boolean);
      lines.push(`${this.select.value} ${value.toPrecision(4)}`, `${data.target} ${p.y.toFixed(data.digits)}`);
      if (!faded) this.marks.push({ shape, x: x(value), y: y(p.y), text: lines.join("\n") });
    }
  }
  star(score, x, y) {
    const { estimate: { value, lower, upper }, digits } = this.data, at = score.estimate;
    const known = Number.isFinite(lower) && Number.isFinite(upper);
    if (known) element("path", { d: `M${x(at)} ${y(lower)}V${y(upper)}`, class: "reach" }, this.svg);
    const shape = element("path", { d: STAR, class: "here", transform: `translate(${x(at)} ${y(value)})` }, this.svg);
    const text = `estimate for the unlabelled images\n${this.select.value} ${at.toPrecision(4)}\n${this.data.target} ${value.toFixed(digits)}${known ? `, ${lower.toFixed(digits)} to ${upper.toFixed(digits)}` : ""}`;
    this.marks.push({ shape, x: x(at), y: y(value), text });
  }
  point(event) {
    const frame = this.svg.getBoundingClientRect(), scale = this.width / frame.width;
    const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
    const far = (mark) => Math.hypot(mark.x - px, mark.y - py);
    const near = this.marks.reduce((a, b) => (a && far(a) <= far(b) ? a : b), null);
    this.show(near && far(near) < REACH ? near : null);
  }
  step(event) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way || !this.marks.length) return;
    event.preventDefault();
    const sorted = [...this.marks].sort((a, b) => a.x - b.x);
    const next = sorted.indexOf(this.current) + way;
    this.show(sorted[(next + sorted.length) % sorted.length]);
  }
  show(mark) {
    this.current?.shape.classList.remove("near");
    this.current = mark;
    this.label.hidden = !mark;
    if (!mark) return;
    mark.shape.classList.add("near");
    this.label.textContent = mark.text;
    const { style } = this.label, w = this.label.offsetWidth, h = this.label.offsetHeight;
    style.left = `${Math.max(0, Math.min(mark.x + 14, this.width - w))}px`;
    style.top = `${mark.y > h + 16 ? mark.y - h - 14 : mark.y + 16}px`;
  }
}
for (const figure of document.querySelectorAll(".scatter")) new Scatter(figure);
