// The kinds of figures that turn; the network in the page has its own file. See turn.js for the frame.
"use strict";
(() => {
const { kinds, svg, html, list, panel, two, word, dot, rule, number, thousands, short, clamp, unpack, HUES } = turn;
const REPLAY = "python -m support records replay ";
const radians = degrees => degrees * Math.PI / 180;

// ---- every dot is a run
// data: x {ends, ticks, label}, panels [title], rows [label], groups [{panel, row, shift, name, values, places,
// seeds, keys, bar, label}], unit. A key may name two runs, "KEY KEY", where a dot is their difference.
kinds.runs = (data, frame) => {
  const dots = data.groups.flatMap(g =>
    g.values.map((value, i) => ({ ...g, value, place: g.places[i], seed: g.seeds[i], keys: g.keys[i].split(" ") })));
  dots.sort((a, b) => a.panel - b.panel || a.row - b.row || a.shift - b.shift || a.value - b.value);
  let drawn = [];
  const told = d => [d.label || d.name, data.panels[d.panel],
    ...data.rows[d.row] === d.name ? [] : [data.rows[d.row]], `seed ${d.seed}`].join(", ");
  const finding = d => `${told(d)}: ${number(d.value, 1)}${data.unit.startsWith("%") ? "" : " "}${data.unit}`;
  const run = frame.slider({ label: "Run", max: dots.length - 1, value: 0,
    words: i => finding(dots[i]), shown: i => `${i + 1} of ${dots.length}` });
  frame.hover((px, py) => {
    let best = -1, least = 14 ** 2; // of the dots within reach the nearest
    drawn.forEach(([x, y], i) => {
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    if (best >= 0 && best !== run.value) { run.set(best); frame.change(); }
  });
  frame.numbers(["run", data.unit, "key"], dots.map(d => [told(d), number(d.value, 1), d.keys.join(" and ")]));
  return width => {
    const stacked = width < 560 || data.panels.length === 1, rows = data.rows.length, high = 44 * rows;
    const names = 10 + 6.6 * Math.max(...data.rows.map(r => r.length)), numbers = 44;
    const room = stacked ? width - names - numbers : (width - names - 2 * numbers - 24) / 2;
    const places = data.panels.map((_, i) =>
      ({ left: names + (stacked ? 0 : i * (room + numbers + 24)), top: 28 + (stacked ? i * (high + 78) : 0),
      width: room, height: high }));
    const panels = data.panels.map((title, i) =>
      panel(places[i], { x: data.x.ends, y: [rows - 0.5, -0.5], title, xticks: data.x.ticks,
      xlabel: data.x.label, yticks: i && !stacked ? [] : data.rows.map((r, k) => [k, r]) }));
    const nodes = panels.flatMap(p => p.nodes),
      at = d => [panels[d.panel].X(d.value), panels[d.panel].Y(d.row + d.shift - 0.32 * (d.place - 0.5))];
    if (data.x.zero !== undefined) for (const p of panels) nodes.push(p.upright(data.x.zero, "turn-axis"));
    drawn = dots.map(at);
    dots.forEach((d, i) => nodes.push(turn.mark(d.name, ...drawn[i])));
    for (const g of data.groups) {
      const p = panels[g.panel], y = p.Y(g.row + g.shift + g.drop), [mean, low, high] = g.bar;
      nodes.push(rule(p.X(low), p.X(high), y, y, "turn-bar"), rule(p.X(mean), p.X(mean), y - 5, y + 5, "turn-bar"),
        word(p.left + p.width + 6, p.Y(g.row + g.shift) + 4, number(mean, data.digits)));
    }
    const d = dots[run.value], [x, y] = drawn[run.value];
    nodes.push(dot(x, y, 9, { class: "turn-chosen" }));
    frame.show(width, places.at(-1).top + high + 44, nodes);
    frame.say(finding(d) + ".");
    frame.extra.replaceChildren(commands(d.keys.map((key, i) => [key, d.keys.length > 1 ? data.parts[i] : ""])));
  };
};
const commands = keys => html("p", { class: "turn-commands" }, "Train again and compare: ",
  ...keys.flatMap(([key, what]) =>
  [html("br"), html("code", { text: REPLAY + key }), what ? ` (${what})` : ""]));

// ---- a wedge, a step, and the outputs that die
// data: angles of the outputs' weight vectors from the middle of the wedge, in radians; half_angle and step at first.
const killedShare = (half, step) => { // the formula of chapter 2
  if (step * Math.cos(half) >= 1) return 1;
  const alpha = Math.acos(step * Math.cos(half));
  return (Math.PI - half - alpha + Math.max(0, half - alpha)) / Math.PI;
};
const dead = (angle, half, step) => Math.cos(Math.abs(angle) - half) <= step * Math.cos(half);
kinds.wedge = (data, frame) => {
  const half = frame.slider({ label: "Half angle of the wedge", max: 89, value: data.half_angle,
    words: v => `${v} degrees` });
  const size = frame.slider({ label: "Size of the step", max: 1.6, step: 0.02, value: data.step,
    words: v => `${number(v)} lengths of a weight vector` });
  const outputs = data.angles.map(a => Math.atan2(Math.sin(a), Math.cos(a))),
    sizes = list(81, i => i * 0.02);
  return width => {
    const t = radians(half.value), s = size.value, at = two(width, (w, i) => i ? 190 : w * 0.68, 0.58);
    const plane = panel(at.first, { x: [-2.75, 1.25], y: [-1.36, 1.36], frame: true,
      title: "weight vectors after the step" });
    const share = panel(at.second, { x: [0, 1.6], y: [0, 1.04], xticks: [0, 0.5, 1, 1.5], yticks: [0, 0.5, 1],
      xlabel: "size of the step", ylabel: "share dead", title: "how many are dead" });
    const sector = (from, to, far, look) => plane.line([[0, 0], // the directions between two angles
      ...list(41, i => from + (to - from) * i / 40).map(a =>
        [far * Math.cos(a), far * Math.sin(a)])], look);
    const states = outputs.map(a => dead(a, t, 0) ? "born" : dead(a, t, s) ? "killed" : "alive");
    const of = state => states.filter(found => found === state).length;
    const dots = outputs.map((a, i) => {
      const x = plane.X(Math.cos(a) - s), y = plane.Y(Math.sin(a));
      if (states[i] === "born") return svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7, class: "turn-ink" });
      return dot(x, y, 4, states[i] === "killed" ? { fill: HUES.abs } :
        { fill: "none", stroke: HUES.relu, "stroke-width": 2 });
    });
    const count = of("born") + of("killed");
    frame.show(width, at.height, [
      plane.nodes, plane.inside(sector(Math.PI / 2 + t, 3 * Math.PI / 2 - t, 6, { class: "turn-shade" }),
        sector(-t, t, 1, { fill: HUES.relu, "fill-opacity": 0.35 }),
        plane.arrow(0, -1.2, -s, -1.2, { class: "turn-stroke" }), ...dots),
      plane.word(0.05, -1.2, "the step"), plane.word(-2.7, 1.2, "dead here"),
      plane.word(1.2, 1.2, "blue: hidden vectors", { "text-anchor": "end" }),
      share.nodes, share.line(sizes.map(v => [v, killedShare(t, v)]), { class: "turn-stroke", "stroke-width": 2 }),
      share.upright(s, "turn-guide"),
      share.dot(s, count / outputs.length, 6, { fill: HUES.abs }),
      share.word(1.6, 0.1, "line: formula, dot: count", { "text-anchor": "end" }),
    ]);
    frame.say(`${count} of ${outputs.length} outputs are dead: ${of("born")} were born dead (squares), ` +
      `${of("killed")} were killed by the step (filled dots). ` +
      `The formula says ${number(100 * killedShare(t, s), 0)}%.`);
    frame.numbers(["size of the step", "counted", "formula"], sizes.filter((_, i) => i % 10 === 0).map(v =>
      [number(v, 1), `${outputs.filter(a => dead(a, t, v)).length} of ${outputs.length}`,
        `${number(100 * killedShare(t, v), 0)}%`]));
  };
};

// ---- the map of step size against first preactivation
// data: networks, scalings, curvatures, preactivations, seeds; accuracy (uint16, hundredths of a percent, the highest
// bit set for a run that diverged) and keys
// (8 bytes each) in that order; marks: scaling -> [curvature, preactivation] of the published setting.
kinds.phase = (data, frame) => {
  const accuracy = unpack(data.accuracy, Uint16Array), keys = unpack(data.keys, Uint8Array);
  const rows = data.curvatures.length, columns = data.preactivations.length, seeds = data.seeds.length;
  const logs = list => list.map(Math.log10), x = logs(data.preactivations), y = logs(data.curvatures);
  let pointed = null; // a cell that the reader points at; else the one under the cross counts
  const reset = () => { pointed = null; };
  const network = frame.choice({ label: "Network", options: data.networks.map(n => [n, n]), value: data.network });
  const pixels = frame.choice({ label: "Pixels", options: data.scalings.map(s => [s, s]), value: data.scalings[0],
    onchange: () => { reset(); scale.set(0); } });
  const factor = v => v < 1 ? `1/${factor(1 / v)}` : number(v, v < 10 ? 1 : 0);
  const scale = frame.slider({ label: "Multiply the inputs by", min: -2.6, max: 2.6, step: 0.05, value: 0,
    words: v => v === 0 ? "1 (as published)" : factor(10 ** v), onchange: reset });
  const runs = (row, column) => data.seeds.map((seed, i) => {
    const n = data.networks.indexOf(network.value), s = data.scalings.indexOf(pixels.value);
    const at = (((n * data.scalings.length + s) * rows + row) * columns + column) * seeds + i;
    return { seed, accuracy: accuracy[at] % 32768 / 100, diverged: accuracy[at] > 32767,
      key: Array.from(keys.slice(8 * at, 8 * at + 8), b => b.toString(16).padStart(2, "0")).join("") };
  });
  const mean = (row, column) => runs(row, column).reduce((sum, r) => sum + r.accuracy, 0) / seeds;
  const nearest = (list, value) => list.map((v, i) => [Math.abs(v - value), i]).sort((a, b) => a[0] - b[0])[0][1];
  const cross = () => {
    const [curvature, size] = data.marks[pixels.value].map(Math.log10);
    return [size + scale.value, curvature + 2 * scale.value];
  };
  const cell = () => pointed || [nearest(y, cross()[1]), nearest(x, cross()[0])];
  let map = null;
  const point = (x1, y1) => { pointed = [nearest(y, y1), nearest(x, x1)]; };
  frame.hover((px, py) => { if (map.has(px, py)) { point(map.unX(px), map.unY(py)); frame.change(); } });
  const cursor = frame.handle({ label: "Square of the map", shape: svg("path", { class: "turn-cell" }),
    panel: () => map, step: 1,
    get: () => { const [row, column] = cell(); return [x[column], y[row]]; }, set: point });
  return width => {
    const wide = Math.min(width - 70, 430), high = wide * 0.8;
    map = panel({ left: 58, top: 26, width: wide, height: high, gap: 48 },
      { x: [x[0] - 0.5, x.at(-1) + 0.5], y: [y[0] - 0.5, y.at(-1) + 0.5], frame: true,
      xticks: x.map((v, i) => [v, short(data.preactivations[i])]),
        yticks: y.map((v, i) => [v, short(data.curvatures[i])]),
      xlabel: "size of the first preactivations", ylabel: "step size",
        title: `${network.value}, ${pixels.value} pixels` });
    const w = map.width / columns, h = map.height / rows, nodes = [map.nodes];
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
      const value = mean(r, c), lost = runs(r, c).some(run => run.diverged), left = map.X(x[c]) - w / 2,
        top = map.Y(y[r]) - h / 2;
      nodes.push(svg("rect", { x: left, y: top, width: w + 0.5, height: h + 0.5,
        fill: `rgb(${turn.rgb("cividis", value / 100)})` }),
        svg("text", { x: left + w / 2, y: top + h / 2 + 4, "text-anchor": "middle", class: "turn-word",
          style: `fill:${value > 50 ? "#111" : "#fff"}`, text: number(value, 0) + (lost ? " •" : "") }));
    }
    const [cx, cy] = cross(), at = [map.X(cx), map.Y(cy)];
    const arms = "M-8 -8L8 8M-8 8L8 -8", off = cx < map.x[0] || cx > map.x[1] || cy < map.y[0] || cy > map.y[1];
    nodes.push(map.inside(map.line([-6, 6].map(v => [cx + v, cy + 2 * v]),
      { stroke: "#fff", "stroke-width": 2, "stroke-dasharray": "6 5" }),
      ...[["#000", 6], ["#fff", 3]].map(([stroke, wide]) =>
        svg("path", { d: arms, transform: `translate(${at})`, stroke, "stroke-width": wide, fill: "none" }))));
    const [row, column] = cell(), found = runs(row, column), box = cursor.node.lastChild;
    box.setAttribute("d", `M${-w / 2} ${-h / 2}h${w}v${h}h${-w}z`);
    const named = (curvature, size) => `step size ${short(curvature)}, first preactivations ${short(size)}`;
    const where = named(data.curvatures[row], data.preactivations[column]);
    cursor.place(`${where}: ${number(mean(row, column), 0)}%`);
    nodes.push(turn.bar(map, map.top + map.height + 46, "cividis", "0%", "100% right"));
    frame.show(width, map.top + map.height + 60, nodes);
    const times = scale.value === 0 ? "1" : factor(10 ** scale.value);
    const setting = `Inputs multiplied by ${times}: ${named(10 ** cy, 10 ** cx)}${off ? ", off the map" : ""}`;
    frame.say(`${pointed ? "The square" : `${setting}. The nearest square`} (${where}): ` +
      `${network.value} gets ${number(mean(row, column), 0)}% right.`);
    frame.extra.replaceChildren(commands(found.map(r =>
      [r.key, `seed ${r.seed}, ${number(r.accuracy, 1)}%${r.diverged ? ", diverged" : ""}`])));
    frame.numbers(["step size", ...data.preactivations.map(v => `preactivations ${short(v)}`)],
      data.curvatures.map((v, r) => [short(v), ...x.map((_, c) => `${number(mean(r, c), 0)}%`)]));
  };
};

// ---- a line turned against classes
// data: means [[x, y]], covariances [[xx, xy, yy]], points [[x, y, class]], own: [{label, degrees, class}], half.
kinds.line = (data, frame) => {
  const angle = frame.slider({ label: "Direction of the weights", max: 180,
    value: Math.round(data.own[0].degrees), words: v => `${v} degrees` });
  for (const own of data.own) frame.button(`Go to ${own.label}`,
    () => { angle.set(Math.round(own.degrees)); frame.change(); });
  const distances = degrees => data.means.map(([x, y], i) => { // z = m / s along the normal
    const c = Math.cos(radians(degrees)), s = Math.sin(radians(degrees)), [xx, xy, yy] = data.covariances[i];
    return (c * x + s * y) / Math.sqrt(c * c * xx + 2 * c * s * xy + s * s * yy);
  });
  return width => {
    const a = radians(angle.value), z = distances(angle.value), size = z.map(Math.abs),
      near = size.filter(v => v < 1).length;
    const first = size.indexOf(Math.min(...size)), [x0, x1, y0, y1] = data.ends;
    const at = two(width, (w, i) => i ? 250 : w * (y1 - y0) / (x1 - x0), 0.5); // equal units
    const plane = panel(at.first, { x: [x0, x1], y: [y0, y1], frame: true, title: "hidden vectors, seen in a plane" });
    const far = 2 * Math.max(x1 - x0, y1 - y0), along = [-Math.sin(a), Math.cos(a)], reach = 0.16 * (x1 - x0);
    const bars = panel(at.second, { x: [0, 6], y: [9.6, -0.6], xticks: [0, 1, 2, 3, 4, 5, 6],
      yticks: z.map((_, i) => [i, String(i)]),
      xlabel: "distance to the line (SDs)", ylabel: "class", title: "distance of each class" });
    const look = i => ({ fill: i === first ? HUES.abs : "#8a8a8a" });
    frame.show(width, at.height, [
      plane.nodes, plane.inside(...data.points.map(([x, y, c]) =>
        plane.dot(x, y, 2, { ...look(c), "fill-opacity": 0.45 })),
        plane.line([-far, far].map(t => [t * along[0], t * along[1]]), { class: "turn-stroke", "stroke-width": 2.5 }),
        plane.arrow(0, 0, reach * Math.cos(a), reach * Math.sin(a), { class: "turn-stroke" })),
      data.means.map(([x, y], i) => [plane.dot(x, y, 9, { class: "turn-disc" }),
        plane.word(x, y, String(i), { "text-anchor": "middle", class: "turn-word turn-head",
          ...(i === first ? { style: `fill:${HUES.abs}` } : {}) })]),
      bars.nodes, bars.inside(...size.map((v, i) =>
        svg("rect", { x: bars.X(0), y: bars.Y(i) - 8, width: Math.min(bars.X(v), bars.X(7)) - bars.X(0), height: 16,
        ...look(i) }))),
      bars.upright(1, "turn-guide"),
    ]);
    const own = data.own.find(o => Math.abs(o.degrees - angle.value) < 0.51);
    frame.say(`${own ? `This is ${own.label}. ` : ""}The nearest class is ${first}, ${number(size[first])} SDs away. ` +
      `Within one SD: ${near} of ${size.length} classes.`);
    frame.numbers(["class", "distance (SDs)", "side"],
      z.map((v, i) => [String(i), number(Math.abs(v)), v > 0 ? "ahead" : "behind"]));
  };
};

// ---- whitening, rotated
// data: mean, weight (W) and its inverse root of the exact network before it turns, whose columns are the half axes of
// the ellipses; points, a probe, half the side of the plane, largest weight, degrees.
const WEIGHTS = ["w₁₁", "w₁₂", "w₂₁", "w₂₂"];
kinds.whitening = (data, frame) => {
  const turned = frame.slider({ label: "Turn the weights by", max: 90, value: data.degrees,
    words: v => `${v} degrees` });
  let probe = data.probe, plane = null;
  const { root, mean: [mx, my], half } = data, axes = [0, 1].map(j => Math.atan2(root[1][j], root[0][j]));
  const handle = frame.handle({ label: "A point of the plane", panel: () => plane, step: half / 25,
    get: () => probe, set: (x, y) => { probe = [clamp(x, ...plane.x), clamp(y, ...plane.y)]; } });
  return width => {
    const a = radians(turned.value), [c, s] = [Math.cos(a), Math.sin(a)],
      W = [0, 1].map(k => data.weight[0].map((_, j) =>
      k ? s * data.weight[0][j] + c * data.weight[1][j] : c * data.weight[0][j] - s * data.weight[1][j]));
    const D = Math.hypot(...W.map(row => row[0] * (probe[0] - mx) + row[1] * (probe[1] - my)));
    const at = two(width, (w, i) => i ? 190 : w, 0.56), ratio = at.first.height / at.first.width;
    plane = panel(at.first, { x: [mx - half, mx + half], y: [my - half * ratio, my + half * ratio], frame: true,
      title: "the same distances" });
    const rim = list(73, i => [Math.cos(i * Math.PI / 36), Math.sin(i * Math.PI / 36)]);
    const ellipse = d => plane.line(rim.map(([p, q]) =>
      [mx + d * (root[0][0] * p + root[0][1] * q), my + d * (root[1][0] * p + root[1][1] * q)]),
      { stroke: HUES.abs, "stroke-width": 2 });
    const rows = W.map(row => {
      const length = Math.hypot(...row), to = row.map(v => v / length ** 2),
        along = [-row[1] / length, row[0] / length];
      return [plane.line([-3, 3].map(t => [mx + t * half * along[0], my + t * half * along[1]]),
        { class: "turn-guide" }),
        plane.arrow(mx, my, mx + to[0], my + to[1], { class: "turn-stroke" })];
    });
    const bars = panel(at.second, { x: [-1.15, 1.15].map(v => v * data.largest), y: [3.6, -0.6], xticks: [[0, "0"]],
      yticks: WEIGHTS.map((t, i) => [i, t]), title: "other weights" });
    const values = W.flat(), before = data.weight.flat();
    const off = Math.min(...axes.map(t => {
      const d = Math.abs(Math.atan2(W[0][1], W[0][0]) - t) % Math.PI;
      return Math.min(d, Math.PI - d);
    })) * 180 / Math.PI;
    frame.show(width, at.height, [plane.nodes, plane.inside(
      ...data.points.map(([x, y]) => plane.dot(x, y, 1.6, { fill: "#8a8a8a", "fill-opacity": 0.5 })),
        ...[1, 2, 3].map(ellipse), ...rows.flat()),
      bars.nodes, bars.upright(0, "turn-axis"),
      values.map((v, i) => [svg("rect",
        { x: Math.min(bars.X(0), bars.X(v)), y: bars.Y(i) - 10, width: Math.abs(bars.X(v) - bars.X(0)), height: 20,
        fill: HUES.abs }),
        rule(bars.X(before[i]), bars.X(before[i]), bars.Y(i) - 14, bars.Y(i) + 14, "turn-bar")]),
      word(bars.left, bars.top + bars.height + 36, "bars: now, lines: before the turn")]);
    handle.place(`point ${number(probe[0], 1)}, ${number(probe[1], 1)}, distance ${number(D)}`);
    frame.say(`Turned by ${turned.value} degrees: the distance at the dot is ${number(D)}, whatever the turn. ` +
      `The rows lie ${number(off, 0)} degrees from the principal axes.`);
    frame.numbers(["weight", "before", "now"], values.map((v, i) => [WEIGHTS[i], number(before[i], 3), number(v, 3)]));
  };
};

// ---- the volume element through training
// data: networks [{width, weights: float32 (epochs, width, 4)}], of a unit its two weights, its bias, and what it adds
// to the output "class 1 minus class 0"; offsets (epochs) of that output; epochs, half, segment, shown.
const SIDE = 56;
kinds.volume = (data, frame) => {
  const networks = data.networks.map(n => ({ ...n, numbers: unpack(n.weights, Float32Array) })), kept = new Map();
  const width = frame.choice({ label: "Hidden units", options: networks.map((n, i) => [String(i), String(n.width)]),
    value: String(data.shown) });
  const epoch = frame.slider({ label: "Training step", max: data.epochs.length - 1,
    value: data.epochs.length - 1,
    words: i => data.epochs[i] ? `epoch ${thousands(data.epochs[i])}` : "before training" });
  const ends = data.segment.map(p => [...p]), side = [-data.half, data.half],
    between = t => ends[0].map((v, j) => v + t * (ends[1][j] - v));
  let plane = null;
  const handles = ends.map((end, i) =>
    frame.handle({ label: `${i ? "End" : "Start"} of the line`, panel: () => plane, step: 0.05,
    get: () => end, set: (...place) => place.forEach((v, k) => { end[k] = clamp(v, ...side); }) }));
  const at = (n, e) => { // log-volume and margin of a network at an epoch
    const { numbers, width, offsets } = networks[n], part = numbers.subarray(e * width * 4, (e + 1) * width * 4);
    const units = list(width, i => Array.from(part.subarray(4 * i, 4 * i + 4)));
    return ([x, y]) => turn.sigmoidLayer(units, offsets[e], x, y);
  };
  const looked = (n, e) => { // maps are kept: a slider comes back to them
    const key = `${n} ${e}`;
    if (!kept.has(key)) {
      const found = turn.grid({ x: side, y: side }, SIDE).map(at(n, e));
      kept.set(key, { volume: found.map(f => f.volume), margin: found.map(f => f.margin) });
    }
    return kept.get(key);
  };
  const ranges = networks.map(() => null); // one colour scale for all steps of a network, so that they compare
  const range = n => ranges[n] = ranges[n] ||
    (all => [turn.quantile(all, 0.02), turn.quantile(all, 1)])([0,
    data.epochs.length - 1].flatMap(e => looked(n, e).volume));
  return pixels => {
    const n = Number(width.value), e = epoch.value, [low, high] = range(n), { volume, margin } = looked(n, e),
      here = at(n, e);
    const places = two(pixels, (w, i) => i ? 210 : Math.min(w, 420), 0.5);
    places.first.width = Math.min(places.first.width, places.first.height);
    plane = panel(places.first, { x: side, y: side, frame: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      title: "log-volume" });
    const line = list(121, i => i / 120), found = line.map(t => here(between(t)));
    const values = found.map(f => f.volume), mean = (values[0] + values.at(-1)) / 2, crossings = [];
    for (let i = 1; i < line.length; i++) {
      const [a, b] = [found[i - 1].margin, found[i].margin];
      if (a > 0 !== b > 0) { const t = line[i - 1] + a / (a - b) / 120; crossings.push([t, here(between(t)).volume]); }
    }
    const span = [Math.floor(Math.min(low, ...values)), Math.ceil(Math.max(high, ...values))];
    const profile = panel(places.second, { x: [0, 1], y: span, xticks: [[0, "start"], [0.5, "½"], [1, "end"]],
      yticks: [span[0], (span[0] + span[1]) / 2, span[1]], title: "along the line (nats)" });
    frame.show(pixels, places.height + 34,
      [plane.nodes, turn.map(plane, volume, SIDE, low, high, "cividis"),
      turn.zeros(plane, margin, SIDE, { stroke: "#fff" }),
      plane.line(ends, { stroke: HUES.abs, "stroke-width": 3 }),
        turn.bar(plane, plane.top + plane.height + 30, "cividis", number(low, 1), `${number(high, 1)} nats`),
      profile.nodes, profile.line(line.map((t, i) => [t, values[i]]), { stroke: HUES.abs, "stroke-width": 2.5 }),
      profile.line([[0, values[0]], [1, values.at(-1)]], { class: "turn-guide" }),
      crossings.map(([t, v]) => [profile.upright(t, "turn-axis"), profile.dot(t, v, 5, { class: "turn-ink" })]),
      word(profile.left + profile.width, profile.top + profile.height + 34, "upright line: the boundary",
        { "text-anchor": "end" })]);
    handles.forEach((h, i) => h.place(ends[i].map(v => number(v)).join(", ")));
    const when = (data.epochs[e] ? `At epoch ${thousands(data.epochs[e])}` : "Before training") +
      ` (${networks[n].width} units)`;
    const effect = crossings.length && crossings[0][1] - mean;
    frame.say(crossings.length === 1
      ? `${when} the line crosses the boundary once. There the log-volume is ` +
        `${number(Math.abs(effect), 1)} nats ${effect < 0 ? "below" : "above"} the mean of the two ends.`
      : `${when} the line ` +
        `${crossings.length ? `crosses the boundary ${crossings.length} times` : "does not cross the boundary"}. ` +
        `The log-volume goes from ${number(Math.min(...values), 1)} to ${number(Math.max(...values), 1)} nats.`);
    frame.numbers(["place on the line", "log-volume (nats)", "class"],
      line.filter((_, i) => i % 10 === 0).map((t, i) =>
        [number(t), number(values[10 * i]), found[10 * i].margin > 0 ? "1" : "0"]));
  };
};
})();
