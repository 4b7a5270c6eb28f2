// Figures that readers turn. For each, the page holds a still picture and its data, see book/figures/turns.py.
// This script replaces the picture. It is a classic script, as browsers refuse modules and fetch() to a page that was
// opened from a file. A kind is a function (data, frame) -> draw(width) in turn.kinds. draw() draws the whole picture.
"use strict";
(() => { // names of this file stay in it
const turn = window.turn = { kinds: {} };
const HUES = { relu: "#0072B2", abs: "#D55E00", other: "#777777" }; // as in book/figures/figures.py
let count = 0; // of figures, for ids

// ---- elements and numbers

function element(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(c => c != null));
  return made;
}
const html = turn.html = (name, attributes, ...children) =>
  element(document.createElement(name), attributes, children);
const svg = turn.svg = (name, attributes, ...children) =>
  element(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const list = turn.list = (length, of) => Array.from({ length }, (_, i) => of(i));
const clamp = turn.clamp = (v, low, high) => Math.min(high, Math.max(low, v));
const number = turn.number = (v, digits = 2) => // with a proper minus sign, and never "−0.0"
  (Number(v.toFixed(digits)) ? v : Math.abs(v)).toFixed(digits).replace("-", "−");
turn.thousands = v => Math.round(v).toLocaleString("en-US");
// two digits, for scales of many sizes
turn.short = v => v >= 100 ? turn.thousands(v) : String(Number(v.toPrecision(2)));
turn.unpack = (base64, Type) => // numbers that Python packed, little-endian as all browsers' machines
  new Type(Uint8Array.from(atob(base64), c => c.charCodeAt(0)).buffer);

// ---- colours

const SCALES = {
  cividis: ["#00224e", "#434e6c", "#7d7c78", "#bcad6c", "#fee838"],
  signed: ["#053061", "#4393c3", "#f7f7f7", "#d6604d", "#67001f"],
  classes: ["#542788", "#f7f7f7", "#b35806"],
};
const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const rgb = turn.rgb = (scale, share) => { // share from 0 to 1; grey where there is no number
  if (!Number.isFinite(share)) return [136, 136, 136];
  const anchors = SCALES[scale], place = clamp(share, 0, 1) * (anchors.length - 1);
  const low = Math.min(Math.floor(place), anchors.length - 2), part = place - low;
  const [a, b] = [channels(anchors[low]), channels(anchors[low + 1])];
  return a.map((v, i) => Math.round(v + part * (b[i] - v)));
};

// ---- panels

// A rectangle of the picture with its axes. at: {left, top, width, height}; x, y: [first, last] of the data.
turn.panel = (at, { x, y, xlabel, ylabel, xticks = [], yticks = [], title, frame = false }) => {
  const scale = (ends, from, to) => v => from + (v - ends[0]) / (ends[1] - ends[0]) * (to - from);
  const X = scale(x, at.left, at.left + at.width), Y = scale(y, at.top + at.height, at.top);
  const bottom = at.top + at.height, nodes = [];
  const words = (...of) => nodes.push(turn.word(...of));
  const line = (x1, y1, x2, y2) => nodes.push(turn.rule(x1, x2, y1, y2, "turn-axis"));
  const area = look => turn.box(at.left, at.top, at.width, at.height, look);
  if (frame) nodes.push(area("turn-frame"));
  else { line(at.left, bottom, at.left + at.width, bottom); line(at.left, at.top, at.left, bottom); }
  for (const [value, text, look = "turn-mid"] of ticks(xticks)) {
    line(X(value), bottom, X(value), bottom + 4);
    words(X(value), bottom + 17, text, look);
  }
  for (const [value, text] of ticks(yticks)) {
    line(at.left - 4, Y(value), at.left, Y(value));
    words(at.left - 7, Y(value) + 4, text, "turn-end");
  }
  if (xlabel) words(at.left + at.width / 2, bottom + (xticks.length ? 34 : 18), xlabel, "turn-mid");
  if (ylabel) words(0, 0, ylabel, "turn-mid",
    { transform: `translate(${at.left - (at.gap || 34)} ${at.top + at.height / 2}) rotate(-90)` });
  if (title) words(at.left, at.top - 8, title, "turn-head");
  const back = (ends, from, to) => p => ends[0] + (p - from) / (to - from) * (ends[1] - ends[0]);
  const clip = svg("clipPath", { id: `turn-clip-${++count}` }, area());
  return {
    ...at, X, Y, x, y, nodes: [clip, ...nodes],
    unX: back(x, at.left, at.left + at.width), unY: back(y, bottom, at.top),
    has: (px, py) => px >= at.left && px <= at.left + at.width && py >= at.top && py <= bottom,
    upright: (v, kind) => turn.rule(X(v), X(v), at.top, bottom, kind),
    dot: (x, y, r, look) => turn.dot(X(x), Y(y), r, look),
    line: (points, look) => turn.path(points.map(([x, y]) => [X(x), Y(y)]), look),
    arrow: (x1, y1, x2, y2, look) => turn.arrow(X(x1), Y(y1), X(x2), Y(y2), look),
    word: (x, y, ...of) => turn.word(X(x), Y(y) + 4, ...of),
    inside: (...children) => svg("g", { "clip-path": `url(#${clip.id})` }, ...children),
  };
};
const ticks = list => list.map(t => Array.isArray(t) ? t : [t, number(t, Number.isInteger(t) ? 0 : 1)]);

// Places for two panels: next to each other, or below each other where the page is as narrow as a phone.
turn.two = (width, heights, share = 0.5) => {
  const left = 44, top = 26, foot = 42, narrow = width < 560, room = width - left - (narrow ? 12 : 74);
  const first = { left, top, width: narrow ? room : share * room };
  const second = narrow ? { ...first } : { left: left + first.width + 62, top, width: (1 - share) * room };
  first.height = second.height = heights(first.width, 0);
  if (narrow) { second.top += first.height + foot + 30; second.height = heights(room, 1); }
  return { first, second, height: second.top + second.height + foot };
};

// Shapes. look: classes of book.css, or attributes.
const drawn = (name, attributes, look) =>
  svg(name, { ...attributes, ...typeof look === "string" ? { class: look } : look });
turn.path = (points, look) => drawn("path",
  { d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), fill: "none" }, look);
turn.shape = (d, x, y, look) => drawn("path", { d, transform: `translate(${x} ${y})` }, look);
turn.dot = (cx, cy, r, look) => drawn("circle", { cx, cy, r }, look);
turn.box = (x, y, width, height, look) => drawn("rect", { x, y, width, height }, look);
turn.rule = (x1, x2, y1, y2, look) => drawn("line", { x1, x2, y1, y2 }, look);
turn.word = (x, y, text, kinds = "", more = {}) => svg("text", { x, y, class: `turn-word ${kinds}`, text, ...more });
turn.arrow = (x1, y1, x2, y2, look) => {
  const angle = Math.atan2(y2 - y1, x2 - x1),
    tip = turned => `L${x2 - 9 * Math.cos(angle + turned)} ${y2 - 9 * Math.sin(angle + turned)}`;
  return drawn("path", { d: `M${x1} ${y1}L${x2} ${y2}${tip(0.4)}M${x2} ${y2}${tip(-0.4)}`, fill: "none" }, look);
};

// A map as an image: values by rows from the lowest y up, side x side; low and high are the ends of the colours.
turn.map = (panel, values, side, low, high, scale) => {
  const canvas = html("canvas", { width: side, height: side }), pen = canvas.getContext("2d");
  const pixels = pen.createImageData(side, side);
  for (let row = 0; row < side; row++) for (let column = 0; column < side; column++) {
    const colour = rgb(scale, (values[row * side + column] - low) / (high - low));
    pixels.data.set([...colour, 255], 4 * ((side - 1 - row) * side + column)); // images begin at the top
  }
  pen.putImageData(pixels, 0, 0);
  return svg("image", { href: canvas.toDataURL(), x: panel.left, y: panel.top, width: panel.width, height: panel.height,
    preserveAspectRatio: "none" });
};

// The points of an even grid on a panel, rows from the lowest y up.
turn.grid = ({ x, y }, side) => list(side * side, i => [
  x[0] + (x[1] - x[0]) * (i % side) / (side - 1), y[0] + (y[1] - y[0]) * Math.floor(i / side) / (side - 1)]);

// Where values on such a grid are 0: marching squares, one piece of the line a square, or two.
turn.zeros = (panel, values, side, look) => {
  const pieces = [], at = (r, c) => values[r * side + c];
  const px = c => panel.left + panel.width * c / (side - 1), py = r => panel.top + panel.height * (1 - r / (side - 1));
  for (let r = 0; r + 1 < side; r++) for (let c = 0; c + 1 < side; c++) {
    const corners = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]], found = [];
    corners.forEach(([r1, c1], k) => {
      const [r2, c2] = corners[(k + 1) % 4], a = at(r1, c1), b = at(r2, c2);
      if (a > 0 === b > 0) return;
      const t = a / (a - b);
      found.push(`${px(c1 + t * (c2 - c1)).toFixed(1)} ${py(r1 + t * (r2 - r1)).toFixed(1)}`);
    });
    for (let k = 0; k + 1 < found.length; k += 2) pieces.push(`M${found[k]}L${found[k + 1]}`);
  }
  return drawn("path", { d: pieces.join(""), fill: "none" }, look);
};

turn.quantile = (values, share) => {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  return sorted.length ? sorted[Math.floor(share * (sorted.length - 1))] : NaN;
};

// A colour bar below a panel: a strip with the two ends in words.
turn.bar = (panel, top, scale, low, high) => {
  const stops = SCALES[scale].map((colour, i, all) =>
    svg("stop", { offset: i / (all.length - 1), "stop-color": colour }));
  const id = `turn-bar-${++count}`, width = panel.width * 0.5, left = panel.left + panel.width * 0.25;
  return [svg("linearGradient", { id }, ...stops),
    turn.box(left, top, width, 9, { fill: `url(#${id})` }), turn.word(left - 6, top + 9, low, "turn-end"),
    turn.word(left + width + 6, top + 9, high)];
};

// The mark of an architecture by the book's colour law, see figures.style.
turn.mark = (name, x, y) => {
  const fill = HUES[name.startsWith("Abs") ? "abs" : name.startsWith("ReLU") ? "relu" : "other"];
  const d = name.endsWith("-Neg") ? "M0 -4.1L4.1 3.6H-4.1Z" : name.endsWith("2") ? "M-3.6 -3.6h7.2v7.2h-7.2z" : "";
  const look = { fill, "fill-opacity": 0.65 };
  return d ? turn.shape(d, x, y, look) : turn.dot(x, y, 3.6, look);
};

// ---- the frame of a figure

class Frame {
  constructor(figure, data) {
    this.id = `turn-${++count}`;
    this.caption = figure.querySelector("figcaption");
    this.controls = html("div", { class: "turn-controls" });
    this.title = svg("title", { id: `${this.id}-title`, text: figure.querySelector("img").alt });
    this.picture = svg("g");
    this.handles = svg("g");
    this.svg = svg("svg", { role: "img", "aria-labelledby": this.title.id }, this.title, this.picture, this.handles);
    this.output = html("output", { "aria-live": "polite", class: "turn-output" });
    this.extra = html("div", { class: "turn-extra" });
    this.table = html("table");
    const legend = html("p", { class: "turn-legend" }, ...(data.legend || []).map(([mark, words]) =>
      html("span", {}, html("i", { class: `turn-mark turn-${mark}` }), words)));
    this.details = html("details", { ontoggle: () => this.fill() },
      html("summary", { text: "The numbers of this picture" }),
      html("div", { class: "turn-table", tabindex: 0, role: "group", "aria-label": "Numbers" }, this.table));
    this.body = html("div", { class: "turn-body" }, this.controls, this.svg, legend, this.output, this.extra,
      this.details);
    this.redraw = turn.kinds[figure.dataset.kind](data, this);
  }
  change() { // draws once a frame of the screen
    this.waiting = this.waiting || requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }
  draw() { this.redraw(clamp(this.body.clientWidth || 640, 280, 720)); }
  show(width, height, nodes) {
    this.svg.setAttribute("viewBox", `0 0 ${width} ${Math.ceil(height)}`);
    this.svg.setAttribute("width", width);
    this.picture.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
  }
  say(text) {
    if (this.output.textContent === text) return; // or screen readers repeat it
    this.output.textContent = this.title.textContent = text;
  }
  numbers(head, rows) { this.content = [head, rows]; this.fill(); }
  fill() { // only while it is open: a table of hundreds of rows would slow a slider down
    if (!this.details.open || !this.content) return;
    const [head, rows] = this.content, row = (cells, top) => html("tr", {}, ...cells.map((text, i) =>
      top || !i ? html("th", { text, scope: top ? "col" : "row" }) : html("td", { text })));
    this.table.replaceChildren(html("thead", {}, row(head, true)), html("tbody", {}, ...rows.map(r => row(r))));
  }
  control(label, node, onchange, ...more) {
    node.id = `${this.id}-${this.controls.childElementCount}`;
    node.addEventListener("input", () => { if (onchange) onchange(); this.change(); });
    this.controls.append(html("div", { class: "turn-control" }, html("label", { for: node.id, text: label }), node,
      ...more));
  }
  // A native range: the keyboard works it. words(value) is read out and shown, or shown(value) instead.
  slider({ label, min = 0, max, step = 1, value, words = number, shown = words, onchange }) {
    const text = html("span", { class: "turn-value" });
    const input = html("input", { type: "range", min, max, step, value });
    const tell = () => {
      text.textContent = shown(Number(input.value));
      input.setAttribute("aria-valuetext", words(Number(input.value)));
    };
    input.addEventListener("input", tell);
    this.control(label, input, onchange, text);
    tell();
    return {
      get value() { return Number(input.value); },
      set(v) { input.value = v; tell(); },
      limit(low, high) { input.min = low; input.max = high; },
    };
  }
  choice({ label, options, value, onchange }) { // options: value or [value, words]
    const select = html("select", {}, ...options.map(o => [o].flat()).map(([v, text = v]) =>
      html("option", { value: v, text, selected: v === value })));
    this.control(label, select, onchange);
    return { get value() { return select.value; } };
  }
  button(text, onclick) {
    return this.controls.appendChild(html("button", { type: "button", text, onclick }));
  }
  point(event) { // the place of a pointer in the units of the picture
    const box = this.svg.getBoundingClientRect(), scale = this.svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }
  hover(found) {
    for (const kind of ["pointermove", "pointerdown"])
      this.svg.addEventListener(kind, event => found(...this.point(event)));
  }
  // A handle on panel(): set(x, y) moves it, get() tells its place. Arrow keys move it by a step, with Shift by five.
  // press() answers Enter and the space bar.
  handle({ label, panel, get, set, step, press, shape }) {
    this.svg.setAttribute("role", "group"); // an image has no parts that can be reached by keyboard
    const node = svg("g", { tabindex: 0, role: "slider", "aria-label": label, class: "turn-handle" },
      turn.dot(0, 0, 20, "turn-reach"), shape || turn.dot(0, 0, 8, "turn-knob"));
    const held = on => node.classList.toggle("turn-held", on); // by the pointer: shows no mark of the focus
    node.addEventListener("blur", () => held(false));
    node.addEventListener("pointerdown", event => {
      held(true);
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
      node.focus({ preventScroll: true });
    });
    node.addEventListener("pointermove", event => {
      if (!node.hasPointerCapture(event.pointerId)) return;
      const [px, py] = this.point(event);
      set(panel().unX(px), panel().unY(py));
      this.change();
    });
    node.addEventListener("keydown", event => {
      held(false);
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by && !(press && (event.key === "Enter" || event.key === " "))) return;
      event.preventDefault(); // or the page would scroll
      const far = step * (event.shiftKey ? 5 : 1);
      if (by) set(...get().map((v, k) => v + far * by[k])); else press();
      this.change();
    });
    this.handles.append(node);
    return {
      node,
      place(words) {
        const [x, y] = get();
        node.setAttribute("transform", `translate(${panel().X(x)} ${panel().Y(y)})`);
        node.setAttribute("aria-valuetext", words);
        node.setAttribute("aria-valuenow", Number(x.toFixed(3)));
      },
      hide(hidden) { node.style.display = hidden ? "none" : ""; },
    };
  }
}

turn.start = figure => {
  const kind = figure.dataset.kind, image = figure.querySelector("img");
  if (!turn.kinds[kind] || !image) return;
  const frame = new Frame(figure, JSON.parse(figure.querySelector("script").textContent));
  image.replaceWith(frame.caption, frame.body); // what to do comes first
  frame.caption.prepend(html("strong", { class: "turn-lead", text: "Try it. " }));
  figure.querySelector(".turn-still")?.remove();
  figure.turn = frame; // for tests
  let width = 0;
  new ResizeObserver(() => {
    if (frame.body.clientWidth !== width) { width = frame.body.clientWidth; frame.change(); }
  }).observe(frame.body);
  frame.draw();
};

document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.turn")) {
    try { turn.start(figure); } catch (error) { console.error(error); } // the still picture stays
  }
});
})();
