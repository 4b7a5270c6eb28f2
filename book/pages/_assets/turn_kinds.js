// The kinds of figures that turn, except the network in the page. See turn.js for the frame.
"use strict";
(() => {
const { kinds, svg, html, list, panel, two, word, dot, box, shape, rule, number, thousands, short, clamp, unpack } =
  turn;
const { PI, cos, sin } = Math, polar = (angle, size = 1) => [size * cos(angle), size * sin(angle)];
const radians = degrees => degrees * PI / 180, inDegrees = v => `${v} degrees`;
const SIDE = 56; // points a side of a map
const percent = v => `${number(v, 0)}%`;

// ---- dots are runs
// data: x {ends, ticks, label}, panels [title], rows [label], groups [{panel, row, shift, name, values, places,
// seeds, keys, bar, label}], unit. A key may name two runs, "KEY KEY", where a dot is their difference.
kinds.runs = (data, frame) => {
  const dots = data.groups.flatMap(g =>
    g.values.map((value, i) => ({ ...g, value, place: g.places[i], seed: g.seeds[i], keys: g.keys[i].split(" ") })));
  dots.sort((a, b) => a.panel - b.panel || a.row - b.row || a.shift - b.shift || a.value - b.value);
  let drawn = [];
  const told = d => [d.label || d.name, data.panels[d.panel],
    ...data.rows[d.row] === d.name ? [] : [data.rows[d.row]], `seed ${d.seed}`].join(", ");
  const unit = `${data.unit.startsWith("%") ? "" : " "}${data.unit}`;
  const finding = d => `${told(d)}: ${number(d.value, 1)}${unit}` +
    (d.bar[1] === d.bar[0] ? `, expected ${number(d.bar[0], data.digits)}${unit}` : "");
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
    const panels = data.panels.map((title, i) => panel(
      { left: names + (stacked ? 0 : i * (room + numbers + 24)), top: 28 + (stacked ? i * (high + 78) : 0),
        width: room, height: high }, { x: data.x.ends, y: [rows - 0.5, -0.5], title, xticks: data.x.ticks,
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
    nodes.push(dot(x, y, 9, "turn-chosen"));
    frame.show(width, panels.at(-1).top + high + 44, nodes);
    frame.say(finding(d) + ".");
    frame.extra.replaceChildren(commands(d.keys.map((key, i) => [key, d.keys.length > 1 ? data.parts[i] : ""])));
  };
};
const commands = keys => html("p", { class: "turn-commands" },
  `To train ${keys.length > 1 ? "these runs" : "this run"} again and compare, type in a terminal: `,
  ...keys.flatMap(([key, what]) =>
    [html("br"), html("code", { text: `python -m book records replay ${key}` }), what && ` (${what})`]));

// ---- a wedge, a step, and the outputs that die
// data: angles of the outputs' weight vectors from the middle of the wedge, -pi to pi; half_angle and step at first.
const killedShare = (half, step) => { // the formula of chapter 2
  if (step * cos(half) >= 1) return 1;
  const alpha = Math.acos(step * cos(half));
  return (PI - half - alpha + Math.max(0, half - alpha)) / PI;
};
const dead = (angle, half, step) => cos(Math.abs(angle) - half) <= step * cos(half);
kinds.wedge = (data, frame) => {
  const half = frame.slider({ label: "Half angle of the wedge", max: 89, value: data.half_angle,
    words: inDegrees });
  const size = frame.slider({ label: "Size of the step", max: 1.6, step: 0.02, value: data.step,
    words: v => `${number(v)} × the length of a weight vector` });
  const outputs = data.angles, sizes = list(81, i => i * 0.02);
  return width => {
    const t = radians(half.value), s = size.value, at = two(width, (w, i) => i ? 190 : w * 0.68, 0.58);
    const plane = panel(at.first, { x: [-2.75, 1.25], y: [-1.36, 1.36], frame: true,
      title: "weight vectors after the step" });
    const share = panel(at.second, { x: [0, 1.6], y: [0, 1.04], xticks: [0, 0.5, 1, 1.5], yticks: [0, 0.5, 1],
      xlabel: "size of the step", title: "share of dead outputs" });
    const sector = (from, to, far, kind) => plane.line([[0, 0], // the directions between two angles
      ...list(41, i => polar(from + (to - from) * i / 40, far))], kind);
    const states = outputs.map(a => dead(a, t, 0) ? "born" : dead(a, t, s) ? "killed" : "alive");
    const of = state => states.filter(found => found === state).length;
    const dots = outputs.map((a, i) => {
      const x = plane.X(cos(a) - s), y = plane.Y(sin(a));
      return states[i] === "born" ? box(x - 3.5, y - 3.5, 7, 7, "turn-ink")
        : dot(x, y, 4, states[i] === "killed" ? "turn-disc" : "turn-ring");
    });
    const count = of("born") + of("killed"), last = 1 / cos(t);
    frame.show(width, at.height, [
      plane.nodes, plane.inside(sector(PI / 2 + t, 3 * PI / 2 - t, 6, "turn-shade"),
        sector(-t, t, 1, "turn-wedge"), ...dots),
      s < 0.05 ? [] : [plane.arrow(0, -1.2, -s, -1.2, "turn-stroke"), plane.word(0.05, -1.2, "the step")],
      share.nodes, share.line(sizes.map(v => [v, killedShare(t, v)]), "turn-stroke"),
      share.upright(s, "turn-axis"), share.dot(s, count / outputs.length, 6, "turn-disc"),
      last > 1.6 ? [] : [share.upright(last, "turn-guide"), share.word(last - 0.03, 0.06,
        `all dead from ${number(last)} on`, "turn-end turn-halo")],
    ]);
    frame.say(`${count} of ${outputs.length} outputs are dead: initially (squares) ${of("born")}, ` +
      `killed by the step (filled dots) ${of("killed")}. The formula gives ${percent(100 * killedShare(t, s))}.`);
    frame.numbers(["size of the step", "counted", "formula"], sizes.filter((_, i) => i % 10 === 0).map(v =>
      [number(v, 1), `${outputs.filter(a => dead(a, t, v)).length} of ${outputs.length}`,
        percent(100 * killedShare(t, v))]));
  };
};

// ---- the map of step size against first preactivation
// data: networks, pair (two of them, side by side, or the lead of the first), scalings, curvatures, preactivations,
// seeds; accuracy (uint16, hundredths of a percent, the highest bit set for a run that diverged) and keys (16 letters
// each) in that order; marks: scaling -> [curvature, preactivation] of the published setting.
kinds.phase = (data, frame) => {
  const accuracy = unpack(data.accuracy, Uint16Array), rows = data.curvatures.length,
    columns = data.preactivations.length, seeds = data.seeds.length;
  const logs = list => list.map(Math.log10), x = logs(data.preactivations), y = logs(data.curvatures);
  let pointed = null; // a cell that the reader points at; else the one under the cross counts
  const reset = () => { pointed = null; };
  const LEAD = `lead of ${data.pair[0]}`;
  const network = frame.choice({ label: "Network", options: [LEAD, ...data.networks], value: data.network });
  const leads = () => network.value === LEAD, told = (v, digits = 0) => number(v, digits) + (leads() ? " points" : "%");
  const pixels = frame.choice({ label: "Pixels", options: data.scalings, value: data.scalings[0],
    onchange: () => { reset(); limit(); } });
  const factor = v => v < 1 ? `1/${factor(1 / v)}` : number(v, v < 10 ? 1 : 0);
  const scale = frame.slider({ label: "Multiply the inputs by", max: 0, step: 0.05, value: 0,
    words: v => v === 0 ? "1 (as published)" : factor(10 ** v), onchange: reset });
  const published = () => data.marks[pixels.value].map(Math.log10).reverse();
  const ends = v => [v[0] - 0.5, v.at(-1) + 0.5];
  const limit = () => { // as far as the cross stays on the map
    const [px, py] = published(),
      room = i => [ends(x)[i] - px, (ends(y)[i] - py) / 2].map(v => Math.trunc(20 * v) / 20);
    scale.limit(Math.min(0, Math.max(...room(0))), Math.max(0, Math.min(...room(1))));
    scale.set(0);
  };
  limit();
  const runs = (row, column, name = network.value) => data.seeds.map((seed, i) => {
    const [run, less] = (name === LEAD ? data.pair : [name]).map(name => {
      const n = data.networks.indexOf(name), s = data.scalings.indexOf(pixels.value);
      const at = (((n * data.scalings.length + s) * rows + row) * columns + column) * seeds + i;
      return { seed, accuracy: accuracy[at] % 32768 / 100, diverged: accuracy[at] > 32767,
        key: data.keys.slice(16 * at, 16 * at + 16) };
    });
    return less ? { seed, accuracy: run.accuracy - less.accuracy, diverged: run.diverged || less.diverged,
      key: `${run.key} ${less.key}` } : run;
  });
  const mean = (row, column, name) => runs(row, column, name).reduce((sum, r) => sum + r.accuracy, 0) / seeds;
  const nearest = (list, value) => list.map((v, i) => [Math.abs(v - value), i]).sort((a, b) => a[0] - b[0])[0][1];
  const cross = () => published().map((v, k) => v + (k + 1) * scale.value);
  const cell = () => pointed || [nearest(y, cross()[1]), nearest(x, cross()[0])];
  let map = null;
  const point = (x1, y1) => { pointed = [nearest(y, y1), nearest(x, x1)]; };
  frame.hover((px, py) => { if (map.has(px, py)) { point(map.unX(px), map.unY(py)); frame.change(); } });
  const cursor = frame.handle({ label: "Square of the map", shape: shape("", 0, 0, "turn-cell"),
    panel: () => map, step: 1,
    get: () => { const [row, column] = cell(); return [x[column], y[row]]; }, set: point });
  return width => {
    const beside = !leads() && data.networks.find(name => data.pair.includes(name) && name !== network.value);
    const narrow = width < 560, wide = beside && !narrow ? (width - 104) / 2 : Math.min(width - 70, 430);
    const place = { left: 58, top: 26, width: wide, height: wide * (beside && !narrow ? 1 : 0.8), gap: 48 };
    const drawn = (name, where, more) => panel({ ...place, ...where }, { x: ends(x), y: ends(y), frame: true,
      xticks: x.map((v, i) => [v, short(data.preactivations[i])]), xlabel: "size of the first preactivations",
      title: `${name}, ${pixels.value} pixels`, ...more });
    const yticks = y.map((v, i) => [v, short(data.curvatures[i])]), left = { yticks, ylabel: "step size" };
    map = drawn(network.value, {}, left);
    const second = beside && (narrow ? drawn(beside, { top: map.top + map.height + 80 }, left) :
      drawn(beside, { left: 58 + wide + 34 }, {}));
    const w = map.width / columns, h = map.height / rows;
    const [colours, ...both] = leads() ? ["signed", "amounts lead", "distances lead"] : ["cividis", "0%", "100% right"];
    const filled = (area, name) => {
      const squares = [], numbers = [];
      for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
        const value = mean(r, c, name), lost = runs(r, c, name).some(run => run.diverged), px = area.X(x[c]),
          py = area.Y(y[r]), fill = `rgb(${turn.rgb(colours, leads() ? value / 160 + 0.5 : value / 100)})`;
        squares.push(box(px - w / 2, py - h / 2, w + 0.5, h + 0.5, { fill }));
        numbers.push(word(px, py + 4, number(value, 0) + (lost ? " •" : ""), "turn-mid turn-halo",
          { style: `fill:${(leads() ? 50 > Math.abs(value) : value > 50) ? "#111" : "#fff"};stroke:${fill}` }));
      }
      return [squares, numbers];
    };
    const [squares, numbers] = filled(map, network.value), last = second || map;
    const [cx, cy] = cross(), [mx, my] = published(), [row, column] = cell(), found = runs(row, column);
    const off = !pointed && !map.has(map.X(cx), map.Y(cy));
    cursor.node.lastChild.setAttribute("d", `M${-w / 2} ${-h / 2}h${w}v${h}h${-w}z`);
    cursor.hide(off);
    const named = (curvature, size) => `step size ${short(curvature)}, first preactivations ${short(size)}`;
    const where = named(data.curvatures[row], data.preactivations[column]), shares = found.map(r => r.accuracy);
    cursor.place(`${where}: ${told(mean(row, column))}`);
    frame.show(width, last.top + last.height + 60, [second ? [second.nodes, filled(second, beside)] : [],
      map.nodes, squares,
      map.inside(map.line([-6, 6].map(v => [cx + v, cy + 2 * v]), "turn-path turn-cased")), numbers,
      map.inside(map.dot(mx, my, 9, "turn-boundary turn-cased"),
        map.word(mx, my, "published", "turn-published turn-cased", { dx: -14 }),
        shape("M-8 -8L8 8M-8 8L8 -8", map.X(cx), map.Y(cy), "turn-boundary turn-cased")),
      turn.bar(map, last.top + last.height + 46, colours, ...both)]);
    const times = scale.value === 0 ? "1" : factor(10 ** scale.value);
    const setting = `Inputs multiplied by ${times}: ${named(10 ** cy, 10 ** cx)}`;
    const near = (list, v) => list.flatMap((w, i) => Math.abs(w - v) < 1 ? i : []), // around the cross
      several = pointed ? shares : near(y, cy).flatMap(r => near(x, cx).map(c => mean(r, c)));
    frame.say(off ? `${setting}. This is off the map.` :
      `${pointed ? `The square (${where}, ${seeds} seeds)` : `${setting}. In the squares around`}: ` +
      `${network.value}, ${number(Math.min(...several), 0)} to ${told(Math.max(...several))}.`);
    frame.extra.replaceChildren(...off ? [] : [commands(found.map(r =>
      [r.key, `seed ${r.seed}, ${told(r.accuracy, 1)}${r.diverged ? ", diverged" : ""}`]))]);
    frame.numbers(["step size", ...data.preactivations.map(v => `preactivations ${short(v)}`)],
      data.curvatures.map((v, r) => [short(v), ...x.map((_, c) => told(mean(r, c)))]));
  };
};

// ---- a line turned against classes
// data: means [[x, y]], covariances [[xx, xy, yy]], points [[x, y, class]], own: [{label, degrees, class}], ends.
kinds.line = (data, frame) => {
  const angle = frame.slider({ label: "Turn the line", max: 180,
    value: Math.round(data.own[0].degrees), words: v => `line turned by ${v} degrees` });
  for (const own of data.own) frame.button(`Go to ${own.label}`,
    () => { angle.set(Math.round(own.degrees)); frame.change(); });
  return width => {
    const [c, s] = polar(radians(angle.value)), z = data.means.map(([x, y], i) => { // m / s along the normal
      const [xx, xy, yy] = data.covariances[i];
      return (c * x + s * y) / Math.sqrt(c * c * xx + 2 * c * s * xy + s * s * yy);
    });
    const size = z.map(Math.abs), near = size.filter(v => v < 1).length;
    const first = size.indexOf(Math.min(...size)), [x0, x1, y0, y1] = data.ends;
    const at = two(width, (w, i) => i ? 250 : w * (y1 - y0) / (x1 - x0)); // equal units
    const plane = panel(at.first, { x: [x0, x1], y: [y0, y1], frame: true, title: "hidden vectors, seen in a plane" });
    const far = 2 * Math.max(x1 - x0, y1 - y0), reach = 0.09 * (x1 - x0);
    at.second.width -= 34; // for the numbers of cut bars
    const bars = panel(at.second, { x: [0, 6], y: [9.6, -0.6], xticks: list(7, i => i),
      yticks: list(z.length, i => i), xlabel: "distance to the line (SDs)",
      ylabel: "class", title: "distance of each class" });
    const look = i => i === first ? "turn-abs" : "turn-grey";
    frame.show(width, at.height, [
      plane.nodes, plane.inside(...data.points.map(([x, y, c]) =>
        plane.dot(x, y, 2, look(c) + " turn-faint")),
        plane.line([-far, far].map(t => [-t * s, t * c]), "turn-stroke"),
        plane.arrow(0, 0, reach * c, reach * s, "turn-stroke"),
        shape("M-6 0H6M0 -6V6", plane.X(0), plane.Y(0), "turn-stroke")),
      plane.word(0, 0, "origin", "turn-end turn-halo", { dx: -8, dy: 14 }),
      apart(data.means.map(([x, y]) => [plane.X(x), plane.Y(y)])).map(([x, y], i) => [
        dot(x, y, 8.5, "turn-plate"), word(x, y + 4, i, `turn-mid turn-head ${i === first ? "turn-abs" : ""}`)]),
      bars.nodes, size.map((v, i) => [
        box(bars.X(0), bars.Y(i) - 8, bars.X(Math.min(v, 6)) - bars.X(0), 16, look(i)),
        v > 6 && bars.word(6, i, `▸ ${number(v, 1)}`, "", { dx: 3 })]),
      bars.upright(1, "turn-guide"),
    ]);
    const own = data.own.find(o => Math.abs((o.degrees - angle.value + 270) % 180 - 90) < 0.51); // of the line
    frame.say((own ? `This is ${own.label}. ` : "") + `The nearest class is ${first}, ` +
      `${number(size[first])} SDs away. Within one SD: ${near} of ${size.length} classes.`);
    frame.numbers(["class", "distance (SDs)", "sign of the output"],
      z.map((v, i) => [i, number(Math.abs(v)), v > 0 ? "positive" : "negative"]));
  };
};
const apart = places => { // pushes those that are nearer than 17 pixels from each other, so that all can be read
  for (let again = 0; again < 60; again++) places.forEach((p, i) => places.slice(0, i).forEach(q => {
    const gap = [p[0] - q[0], p[1] - q[1] + 0.01], far = Math.hypot(...gap), push = Math.max(0, 17 - far) / far / 4;
    gap.forEach((v, k) => { p[k] += v * push; q[k] -= v * push; });
  }));
  return places;
};

// ---- how sure two distances can be
// data: apart, the distance between two centres on a line, and weight, that of both, at first.
kinds.sure = (data, frame) => {
  const apart = frame.slider({ label: "Distance between the centres", min: 0.2, max: 8, step: 0.1, value: data.apart,
    words: v => number(v, 1) });
  const weight = frame.slider({ label: "Weight α of both", min: 0.25, max: 16, step: 0.25, value: data.weight });
  const chance = z => 1 / (1 + Math.exp(-z));
  return width => {
    const d = apart.value, root = Math.sqrt(weight.value), most = root * d, x = list(161, i => i / 10 - 8);
    const far = v => root * (Math.abs(v + d / 2) - Math.abs(v - d / 2)), squares = v => root * root * d * v;
    const at = two(width, () => 190), places = { x: [-8, 8], xticks: [-8, -4, 0, 4, 8], xlabel: "place of the point" };
    const odds = panel(at.first, { ...places, y: [-12, 12], yticks: [-12, -6, 0, 6, 12], title: "log odds" });
    const sure = panel(at.second, { ...places, y: [0, 1], yticks: [0, 0.5, 1], title: "probability of class 2" });
    const curves = (p, of) => [p.nodes, p.inside(p.line(x.map(v => [v, of(squares(v))]), "turn-guide"),
      p.line(x.map(v => [v, of(far(v))]), "turn-stroke"), [-d / 2, d / 2].map(v => p.upright(v, "turn-axis")))];
    frame.show(width, at.height, [curves(odds, v => v), curves(sure, chance)]);
    frame.say(`The log odds of OffsetL2 stay within ±${number(most, 1)}. So the probability is at most ` +
      `${number(chance(most), 3)}, however far away the point lies.`);
    const rows = list(9, i => 2 * i - 8);
    frame.numbers(["place", "log odds, OffsetL2", "log odds, radial basis functions"],
      rows.map(v => [v, number(far(v), 1), number(squares(v), 1)]));
  };
};

// ---- the ring around a support vector
// data: width of the factor h, in units of sigma, and the number of inputs, at first.
kinds.ring = (data, frame) => {
  const tau = frame.slider({ label: "Width τ of h", min: 0.1, max: 1.2, step: 0.02, value: data.width,
    words: v => `${number(v)} σ` });
  const inputs = frame.slider({ label: "Inputs d", min: 2, max: 20, value: data.inputs, words: String });
  return width => {
    const t = tau.value ** 2, d = inputs.value, side = [-0.4, 0.4], ring = Math.sqrt(Math.max(0, t / d - t * t));
    const volume = r => -d * r * r / (2 * t) + Math.log1p((r / t) ** 2) / 2;
    const at = two(width, (w, i) => i ? 220 : Math.min(w, 300));
    at.first.width = Math.min(at.first.width, at.first.height);
    const plane = panel(at.first, { x: side, y: side, frame: true, xticks: [-0.3, 0, 0.3], yticks: [-0.3, 0, 0.3],
      title: "log-volume in a plane" });
    const along = panel(at.second, { x: [0, 0.6], y: [-3, 2], xticks: [0, 0.2, 0.4, 0.6], yticks: [-3, -2, -1, 0, 1, 2],
      xlabel: "distance from the vector (σ)", title: "log-volume (nats)" });
    frame.show(width, at.height, [plane.nodes,
      turn.map(plane, turn.grid(plane, 72).map(p => volume(Math.hypot(...p))), 72, -1, 1.2, "cividis"),
      plane.line(list(73, i => polar(i * PI / 36, ring)), "turn-boundary"), along.nodes,
      along.inside(along.line(list(121, i => [i / 200, volume(i / 200)]), "turn-stroke")),
      along.line([[0, 0], [0.6, 0]], "turn-guide"), along.dot(ring, volume(ring), 5, "turn-disc")]);
    frame.say(`With ${d} inputs there is a ring if τ is below ${number(d ** -0.5)} σ. The volume is largest at ` +
      (ring ? `the distance ${number(ring)} σ.` : "the vector itself."));
    frame.numbers(["distance (σ)", "log-volume (nats)"], list(13, i => [number(i / 20), number(volume(i / 20))]));
  };
};

// ---- whitening, rotated
// data: mean, weight (W) and its inverse root of the exact network before it turns, whose columns are the half axes of
// the ellipses; points, a probe, half the side of the plane, largest weight, degrees.
const WEIGHTS = ["w₁₁", "w₁₂", "w₂₁", "w₂₂"];
kinds.whitening = (data, frame) => {
  const turned = frame.slider({ label: "Turn the weights by", max: 90, value: data.degrees,
    words: inDegrees });
  let probe = data.probe, plane = null;
  const { root, mean: [mx, my], half, largest } = data, axes = [0, 1].map(j => Math.atan2(root[1][j], root[0][j]));
  const handle = frame.handle({ label: "A point of the plane", panel: () => plane, step: half / 25,
    get: () => probe, set: (x, y) => { probe = [clamp(x, ...plane.x), clamp(y, ...plane.y)]; } });
  return width => {
    const [c, s] = polar(radians(turned.value)), [first, second] = data.weight;
    const W = [[c, -s], [s, c]].map(([a, b]) => first.map((v, j) => a * v + b * second[j]));
    const D = Math.hypot(...W.map(row => row[0] * (probe[0] - mx) + row[1] * (probe[1] - my)));
    const at = two(width, (w, i) => i ? 190 : w, 0.56), ratio = at.first.height / at.first.width;
    plane = panel(at.first, { x: [mx - half, mx + half], y: [my - half * ratio, my + half * ratio], frame: true,
      title: "the same distances" });
    const on = (d, p, q) => [mx + d * (root[0][0] * p + root[0][1] * q), my + d * (root[1][0] * p + root[1][1] * q)];
    const ellipse = d => [plane.line(list(73, i => on(d, ...polar(i * PI / 36))), "turn-orange"),
      plane.word(...on(d, 0.7, -0.7), String(d), "turn-mid turn-halo")];
    const rows = W.map(row => {
      const size = Math.hypot(...row), [p, q] = row.map(v => v / size);
      return [plane.line([-3, 3].map(t => [mx - t * half * q, my + t * half * p]), "turn-guide"),
        plane.arrow(mx, my, mx + p / size, my + q / size, "turn-stroke")];
    });
    const bars = panel(at.second, { x: [-1.15, 1.15].map(v => v * largest), y: [3.6, -0.6],
      xticks: [-largest, 0, largest].map(v => [v, v ? number(v) : "0"]), yticks: WEIGHTS.map((t, i) => [i, t]),
      title: "the four weights" });
    const values = W.flat(), before = data.weight.flat();
    const off = W.map(([p, q]) =>
      number(180 / PI * Math.min(...axes.map(t => Math.asin(Math.abs(sin(Math.atan2(q, p) - t))))), 0));
    frame.show(width, at.height, [plane.nodes, plane.inside(
      ...data.points.map(([x, y]) => plane.dot(x, y, 1.6, "turn-grey turn-faint")),
      ...axes.map(t => plane.line([-9, 9].map(v => [mx + v * half * cos(t), my + v * half * sin(t)]), "turn-thin")),
      ...rows.flat(), ...[1, 2, 3].flatMap(ellipse)),
      bars.nodes, bars.upright(0, "turn-axis"),
      values.map((v, i) => [
        box(bars.X(Math.min(0, v)), bars.Y(i) - 10, Math.abs(bars.X(v) - bars.X(0)), 20, "turn-grey"),
        rule(bars.X(before[i]), bars.X(before[i]), bars.Y(i) - 14, bars.Y(i) + 14, "turn-bar")])]);
    handle.place(`point ${number(probe[0], 1)}, ${number(probe[1], 1)}, distance ${number(D)}`);
    frame.say(`The arrows lie ${off.join(" and ")} degrees from the principal axes. ` +
      `The distance of the circle is ${number(D)}, however the weights are turned.`);
    frame.numbers(["weight", "before", "now"], values.map((v, i) => [WEIGHTS[i], number(before[i], 3), number(v, 3)]));
  };
};

// ---- three units at 120 degrees
// data: half, of the square; most, the largest bias; bias, at first.
kinds.units = (data, frame) => {
  const bias = frame.slider({ label: "Bias of all three units", max: data.most, step: 0.05, value: data.bias });
  const side = [-data.half, data.half], log = R => Math.sign(R) * Math.log1p(Math.abs(R));
  const units = [0, 120, 240].map(angle => polar(radians(angle)));
  const ricci = ([x, y], b) => { // the closed form of erf units
    const squares = units.map(([u, v]) => (u * x + v * y + b) ** 2), sum = squares.reduce((all, z) => all + z, 0);
    const total = squares.reduce((all, z) => all + Math.exp(z), 0);
    return 9 * PI / 4 * (4 * b * b - x * x - y * y) * Math.exp(sum - 2 * Math.log(total));
  };
  return width => {
    const b = bias.value, grid = turn.grid({ x: side, y: side }, SIDE), R = grid.map(p => ricci(p, b));
    const at = two(width, (w, i) => i ? 210 : Math.min(w, 420));
    at.first.width = Math.min(at.first.width, at.first.height);
    const plane = panel(at.first, { x: side, y: side, frame: true, xticks: [-2, 0, 2], yticks: [-2, 0, 2],
      title: "curvature" });
    const line = list(121, i => [side[0] + i / 120 * (side[1] - side[0]), 0]), along = line.map(p => log(ricci(p, b)));
    const reach = Math.ceil(Math.max(1, ...along.map(Math.abs)));
    const profile = panel(at.second, { x: side, y: [-reach, reach], xticks: [-2, 0, 2], yticks: [-reach, 0, reach],
      title: "along the middle: sign R log(1 + |R|)" });
    const circle = plane.line(list(121, i => polar(2 * PI * i / 120, 2 * b)), "turn-boundary turn-cased");
    frame.show(width, at.height, [plane.nodes, turn.map(plane, R.map(log), SIDE, -4, 4, "signed"),
      plane.inside(circle, plane.line([[side[0], 0], [side[1], 0]], "turn-path turn-cased")),
      profile.nodes, profile.line([[side[0], 0], [side[1], 0]], "turn-thin"),
      [-2 * b, 2 * b].filter(v => b && Math.abs(v) < data.half).map(v => profile.upright(v, "turn-axis")),
      profile.inside(profile.line(line.map(([x], i) => [x, along[i]]), "turn-stroke"))]);
    const largest = Math.max(...R);
    frame.say(b ? `With a bias of ${number(b)} the curvature is positive inside the circle, at a distance of less ` +
      `than ${number(2 * b)} from the origin, and its largest value on the map is ${number(largest, 1)}.`
      : "Without a bias the curvature is negative everywhere but at the origin, where it is 0.");
    frame.numbers(["distance from the origin, to the right", "curvature R"],
      list(10, i => [number(i / 4), number(ricci([i / 4, 0], b), 3)]));
  };
};

// ---- the volume element through training
// data: networks [{width, weights: float32 (epochs, width, 4)}], of a unit its two weights, its bias, and what it adds
// to the output "class 1 minus class 0"; offsets (epochs) of that output; epochs, half, segments, of which the first
// is meant to cross the boundary and the second not; shown.
const LINES = ["solid", "dashed"];
kinds.volume = (data, frame) => {
  const networks = data.networks.map(n => ({ ...n, numbers: unpack(n.weights, Float32Array) })), kept = {};
  const width = frame.choice({ label: "Hidden units", options: networks.map((n, i) => [i, n.width]),
    value: data.shown });
  const epoch = frame.slider({ label: "Epoch", max: data.epochs.length - 1,
    value: data.epochs.length - 1, words: i => data.epochs[i] ? thousands(data.epochs[i]) : "before training" });
  const side = [-data.half, data.half], lines = data.segments.map(ends => ends.map(p => [...p])),
    between = (ends, t) => ends[0].map((v, j) => v + t * (ends[1][j] - v));
  let plane = null;
  const handles = lines.map((ends, k) => ends.map((end, i) => frame.handle({
    label: `${i ? "End" : "Start"} of the ${LINES[k]} line`, panel: () => plane, step: 0.05,
    shape: svg("g", {}, dot(0, 0, 10, "turn-knob"), word(0, 4.5, ["SE", "se"][k][i], "turn-mid turn-letter")),
    get: () => end, set: (...place) => place.forEach((v, j) => { end[j] = clamp(v, ...side); }) })));
  const at = (n, e) => { // log-volume and margin of a network at an epoch
    const { numbers, width, offsets } = networks[n], of = i => 4 * (e * width + i);
    const units = list(width, i => Array.from(numbers.subarray(of(i), of(i + 1))));
    return ([x, y]) => turn.sigmoidLayer(units, offsets[e], x, y);
  };
  const looked = (n, e) => { // maps are kept: a slider comes back to them
    const key = `${n} ${e}`;
    return kept[key] = kept[key] || turn.grid({ x: side, y: side }, SIDE).map(at(n, e));
  };
  const ranges = []; // one colour scale for all steps of a network, so that they compare
  const range = n => ranges[n] = ranges[n] || [0.02, 1].map(share =>
    turn.quantile([0, data.epochs.length - 1].flatMap(e => looked(n, e).map(f => f.volume)), share));
  const along = (ends, here) => { // log-volume over the mean of both ends, at 121 places and where the class changes
    const found = list(121, i => here(between(ends, i / 120))), crossings = [];
    const mean = (found[0].volume + found.at(-1).volume) / 2, over = t => here(between(ends, t)).volume - mean;
    for (let i = 1; i < found.length; i++) {
      const [a, b] = [found[i - 1].margin, found[i].margin];
      if (a > 0 !== b > 0) { const t = (i - 1 + a / (a - b)) / 120; crossings.push([t, over(t)]); }
    }
    return { values: found.map(f => f.volume - mean), crossings, over };
  };
  return pixels => {
    const n = Number(width.value), e = epoch.value, [low, high] = range(n), seen = looked(n, e), here = at(n, e);
    const places = two(pixels, (w, i) => i ? 210 : Math.min(w, 420));
    places.first.width = Math.min(places.first.width, places.first.height);
    places.second.width -= 12; // for the last word of the axis
    plane = panel(places.first, { x: side, y: side, frame: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      title: "log-volume" });
    const found = lines.map(ends => along(ends, here)), [across, within] = found;
    const ends = [Math.floor, Math.ceil].map((round, i) =>
      round([Math.min, Math.max][i](i ? 1 : 0, ...found.flatMap(f => f.values))));
    const profile = panel(places.second, { x: [0, 1], y: ends, xticks: [[0, "start"], [0.5, "½"], [1, "end"]],
      yticks: [...new Set([ends[0], 0, ends[1]])], title: "minus mean of the ends (nats)" });
    const looks = ["turn-orange", "turn-orange turn-dashes"];
    const once = across.crossings.length === 1 && !within.crossings.length;
    const [place, height] = once ? across.crossings[0] : [0, 0];
    frame.show(pixels, places.height + 4,
      [plane.nodes, turn.map(plane, seen.map(f => f.volume), SIDE, low, high, "cividis"),
      turn.zeros(plane, seen.map(f => f.margin), SIDE, "turn-boundary"),
      lines.map((ends, k) => plane.line(ends, looks[k])),
        turn.bar(plane, plane.top + plane.height + 30, "cividis", number(low, 1), `${number(high, 1)} nats`),
      profile.nodes, profile.line([[0, 0], [1, 0]], "turn-thin"),
      across.crossings.map(([t]) => profile.upright(t, "turn-axis")),
      found.map((f, k) => profile.line(f.values.map((v, i) => [i / 120, v]), looks[k])),
      found.flatMap(f => f.crossings).map(([t, v]) => profile.dot(t, v, 5, "turn-ink")),
      once ? profile.dot(place, within.over(place), 5, "turn-ink") : []]);
    handles.forEach((pair, k) => pair.forEach((h, i) => h.place(lines[k][i].map(v => number(v)).join(", "))));
    const nats = v => `${number(Math.abs(v), 1)} nats ${v < 0 ? "below" : "above"}`;
    const when = `${data.epochs[e] ? `At epoch ${thousands(data.epochs[e])}` : "Before training"} ` +
      `(${networks[n].width} units)`;
    const times = f => ["does not cross", "crosses once", "crosses twice"][f.crossings.length] ||
      `crosses ${f.crossings.length} times`;
    frame.say(once
      ? `${when} the solid line is ${nats(height)} its ends at the boundary, and the dashed line at the same place ` +
        `${nats(within.over(place))}. The contrast is ${number(height - within.over(place), 1)} nats.`
      : `${when} the solid line ${times(across)} the boundary, and the dashed line ${times(within)} it. ` +
        "The contrast asks for one crossing and none.");
    frame.numbers(["place on the line", "solid (nats)", "dashed (nats)"],
      list(13, i => [number(i / 12), ...found.map(f => number(f.values[10 * i]))]));
  };
};

// ---- two filmstrips and the stretch along them
// data: titles and, for each film, its ends in words, stretch (when x line x places, percent over the ends), its range,
// change (from where to where on the first line trained networks change the class; may be empty), and strips (addresses
// of pictures; none where no image may be shown); when: [words, words].
kinds.film = (data, frame) => {
  const film = frame.choice({ label: "Networks", options: data.films.map((f, i) => [i, f.name]), value: 0 });
  const when = frame.slider({ label: "Training", max: 1, value: 1, words: i => data.when[i] });
  const place = frame.slider({ label: "Place on the line", max: 1, step: 0.02, value: 0.5, words: v => number(v) });
  return width => {
    const f = data.films[film.value], now = when.value, t = place.value, strip = f.strips.length > 0;
    const [low, high] = f.range, first = Math.ceil(low / 20);
    const ticks = list(Math.floor(high / 20) - first + 1, i => [20 * (first + i), percent(20 * (first + i))]);
    const gap = 32, top = high + 0.32 * (high - low); // room for words above the curves
    const at = two(width, w => (strip ? w / 9 : 0) + gap + 190), curves = [at.first, at.second].map((room, k) => {
      const images = strip ? room.width / 9 : 0;
      return { picture: { ...room, height: images }, panel: panel({ ...room, top: room.top + images + gap,
        height: room.height - images - gap }, { x: [0, 1], y: [low, top], yticks: k && width >= 560 ? [] : ticks,
        xticks: [[0, f.ends[k][0], ""], [1, f.ends[k][1], "turn-end"]] }),
        title: `${data.titles[k]}: ${f.ends[k].join(" to ")}` };
    });
    const value = (w, k) => { // between the recorded places
      const several = f.stretch[w][k], x = t * (several.length - 1), i = Math.min(Math.floor(x), several.length - 2);
      return several[i] + (x - i) * (several[i + 1] - several[i]);
    };
    const points = several => several.map((v, i) => [i / (several.length - 1), v]);
    const [from, to] = f.change.length && now ? f.change : [NaN, NaN]; // an untrained network has no such place
    const halo = to > from ? "" : "turn-halo"; // words on a band need none, words on a line do
    const named = (p, w) => { // the name of a curve of the first line, at its highest or lowest place
      const several = f.stretch[w][0], n = several.length - 1;
      const inner = several.map((v, i) => 4 * Math.abs(i - n / 2) > n ? 0 : v); // not at an end
      const i = inner.reduce((best, v, j) => Math.abs(v) > Math.abs(inner[best]) ? j : best, 0), y = p.Y(several[i]);
      const below = several[i] < f.stretch[1 - w][0][i] && y + 24 < p.top + p.height;
      return word(p.X(i / n), y + (below ? 19 : -9), data.when[w], "turn-mid");
    };
    frame.show(width, at.height, curves.map(({ picture, panel: p, title }, k) => [
      word(picture.left, picture.top - 8, title, "turn-head"),
      strip ? svg("image", { href: f.strips[k], x: picture.left, y: picture.top, width: picture.width,
        height: picture.height, preserveAspectRatio: "none" }) : [],
      k || !(to >= from) ? [] : [ // from the images down
        turn.box(p.X(from) - 1, p.top - gap, p.X(to) - p.X(from) + 2, p.height + gap, "turn-shade"),
        word(p.X((from + to) / 2), p.top - 9, "the class changes", `turn-mid ${halo}`)],
      k ? [] : word(p.left + 4, p.top + 11, "stretched more than the ends by", halo),
      p.nodes, p.line([[0, 0], [1, 0]], "turn-axis"), p.line(points(f.stretch[1 - now][k]), "turn-guide"),
      p.line(points(f.stretch[now][k]), "turn-stroke"),
      k ? [] : [named(p, 0), named(p, 1)],
      p.dot(t, value(now, k), 6, "turn-disc"),
      strip ? svg("rect", { class: "turn-knob", style: "fill: none", width: picture.width / 9, height: picture.height,
        x: picture.left + Math.round(8 * t) * picture.width / 9, y: picture.top }) : [],
    ]));
    const said = w => data.titles.map((title, k) => `${percent(value(w, k))} (${title})`).join(" and ");
    frame.say(`${data.when[now][0].toUpperCase()}${data.when[now].slice(1)}, space is stretched here by ` +
      `${said(now)} more than at the ends. Dashed, ${data.when[1 - now]}: ${said(1 - now)}.`);
    const rows = list(9, i => i / 8), near = several => i => several[Math.round(rows[i] * (several.length - 1))];
    frame.numbers(["place", ...data.when.flatMap(w => data.titles.map(title => `${title}, ${w}`))],
      rows.map((r, i) => [number(r), ...[0, 1].flatMap(w => [0, 1].map(k => percent(near(f.stretch[w][k])(i))))]));
  };
};

// ---- four clusters, and what learning does to the plane between them
// data: learners, steps of training, maps (uint8 from low to high: learners x steps x side x side, rows from the lowest
// y up), points [x, y, class], half the side of the plane, lines [[x, y], [x, y]], one across the boundary and one
// within a class; range.
kinds.clusters = (data, frame) => {
  const maps = unpack(data.maps, Uint8Array), { side, half, low, high, steps, lines } = data, ends = [-half, half];
  const learner = data.learners.length > 1 ? frame.choice({ label: "Learns by", value: 0,
    options: data.learners.map((name, i) => [i, name]) }) : { value: 0 };
  const step = frame.slider({ label: "Training", max: steps.length - 1, value: 0,
    words: i => steps[i] ? `${steps[i]} steps` : "before training" });
  const row = v => Math.round((v + half) / (2 * half) * (side - 1)), shares = list(21, i => i / 20);
  return width => {
    const first = (Number(learner.value) * steps.length + step.value) * side * side;
    const values = Array.from(maps.subarray(first, first + side * side), v => low + (high - low) * v / 255);
    const over = lines.map(([a, b]) => { // along a line, minus the mean of its ends
      const along = shares.map(t => values[row(a[1] + t * (b[1] - a[1])) * side + row(a[0] + t * (b[0] - a[0]))]);
      return along.map(v => v - (along[0] + along.at(-1)) / 2);
    });
    const at = two(width, (w, i) => i ? 210 : Math.min(w, 300));
    at.first.width = Math.min(at.first.width, at.first.height);
    const plane = panel(at.first, { x: ends, y: ends, frame: true, yticks: [-1, 1],
      xticks: [[-1, "one class"], [1, "the other"]], title: "log-volume, minus that at the clusters" });
    const profile = panel(at.second, { x: [0, 1], y: data.range,
      xticks: [[0, "cluster", ""], [0.5, "½"], [1, "cluster", "turn-end"]],
      yticks: list(data.range[1] - data.range[0] + 1, i => data.range[0] + i),
      title: "minus mean of the ends (nats)" });
    const look = k => ({ class: "turn-orange", "stroke-dasharray": k ? "6 4" : null });
    frame.show(width, at.height + 4, [plane.nodes, turn.map(plane, values, side, low, high, "cividis"),
      plane.inside(...data.points.map(([x, y, c]) => plane.dot(x, y, 4, c ? "turn-one" : "turn-zero"))),
      plane.upright(0, "turn-boundary"),
      lines.map((line, k) => [plane.line(line, look(k)), line.map(([x, y]) => plane.dot(x, y, 5, "turn-abs"))]),
      turn.bar(plane, plane.top + plane.height + 30, "cividis", number(low, 1), `${number(high, 1)} nats`),
      profile.nodes, profile.line([[0, 0], [1, 0]], "turn-guide"),
      over.map((v, k) => profile.line(shares.map((t, i) => [t, v[i]]), look(k)))]);
    const [solid, dashed] = over.map(v => `${number(v[10], 1)} nats`);
    frame.say(`${steps[step.value] ? `After ${steps[step.value]} steps` : "Before training"} the middle of the solid ` +
      `line, across the boundary, lies ${solid} over its ends, and that of the dashed line, within a class, ` +
      `${dashed}.`);
    frame.numbers(["place on the line", "across the boundary", "within a class"],
      shares.filter((_, i) => i % 2 === 0).map((t, i) => [number(t, 1), ...over.map(v => number(v[2 * i]))]));
  };
};
})();
