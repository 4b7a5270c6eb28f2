// A small network in the page: its numbers (turn.network, float64, the same as those of the package, see
// tests/test_turn.py) and the figure in which a reader trains it.
//
// A network is {kind, n, W: (n x 2), b: (n), V: (2 x n), c: (2)}, all Float64Array by rows. With the input scale s it
// computes hidden = phi(W s x + b), y = V hidden + c, and from y the two logits as its kind says.
"use strict";
(() => {
const { svg, panel, number, thousands, short, clamp } = turn;

const sigmoid = z => z >= 0 ? 1 / (1 + Math.exp(-z)) : 1 - 1 / (1 + Math.exp(z));
const slopeOfSigmoid = z => { const e = Math.exp(-Math.abs(z)); return e / (1 + e) ** 2; }; // no 1 - s: it would round
const PHI = { // value, slope and second derivative
  sigmoid: [sigmoid, slopeOfSigmoid, z => -slopeOfSigmoid(z) * Math.tanh(z / 2)],
  relu: [z => Math.max(0, z), z => z > 0 ? 1 : 0, () => 0],
  abs: [Math.abs, Math.sign, () => 0],
};
const KINDS = { // as in chapters 1 and 6
  sigmoid: { phi: "sigmoid", head: "linear", bias: true },
  ReLU: { phi: "relu", head: "linear", bias: false },
  Abs: { phi: "abs", head: "linear", bias: false },
  ReLU2: { phi: "relu", head: "relu", bias: false },
  "ReLU2-Neg": { phi: "relu", head: "negated", bias: false },
};
const network = turn.network = { KINDS };

network.copy = net => ({ ...net, W: net.W.slice(), b: net.b.slice(), V: net.V.slice(), c: net.c.slice() });
network.make = (kind, { W, b, V, c }) =>
  ({ kind, n: b.length, W: Float64Array.from(W), b: Float64Array.from(b), V: Float64Array.from(V),
    c: Float64Array.from(c || [0, 0]) });

// At scale*(x1, x2): preactivations z (n), hidden values h (n), outputs y (2) before the last activation, logits (2).
network.forward = (net, x1, x2, scale = 1) => {
  const { phi, head } = KINDS[net.kind], [value] = PHI[phi], z = new Float64Array(net.n), h = new Float64Array(net.n);
  const y = [net.c[0], net.c[1]];
  for (let i = 0; i < net.n; i++) {
    z[i] = net.W[2 * i] * scale * x1 + net.W[2 * i + 1] * scale * x2 + net.b[i];
    h[i] = value(z[i]);
    y[0] += net.V[i] * h[i];
    y[1] += net.V[net.n + i] * h[i];
  }
  const logits = head === "linear" ? y : y.map(v => head === "relu" ? Math.max(0, v) : -Math.max(0, v));
  return { z, h, y, logits };
};

// One step of gradient descent on the mean cross-entropy of all points [x1, x2, class], in place.
network.step = (net, points, rate, scale = 1) => {
  const { phi, head, bias } = KINDS[net.kind], slope = PHI[phi][1], n = net.n;
  const gW = new Float64Array(2 * n), gb = new Float64Array(n), gV = new Float64Array(2 * n), gc = [0, 0];
  for (const [x1, x2, label] of points) {
    const { z, h, y, logits } = network.forward(net, x1, x2, scale), top = Math.max(...logits);
    const p = logits.map(v => Math.exp(v - top)), sum = p[0] + p[1];
    const e = [0, 1].map(k => { // dLoss / dy
      const d = (p[k] / sum - (k === label ? 1 : 0)) / points.length;
      return head === "linear" ? d : y[k] > 0 ? (head === "relu" ? d : -d) : 0;
    });
    for (let i = 0; i < n; i++) {
      const back = (e[0] * net.V[i] + e[1] * net.V[n + i]) * slope(z[i]);
      gW[2 * i] += back * scale * x1;
      gW[2 * i + 1] += back * scale * x2;
      gb[i] += back;
      gV[i] += e[0] * h[i];
      gV[n + i] += e[1] * h[i];
    }
    gc[0] += e[0];
    gc[1] += e[1];
  }
  const descend = (weights, gradient) => { for (let i = 0; i < weights.length; i++) weights[i] -= rate * gradient[i]; };
  descend(net.W, gW);
  descend(net.b, gb);
  descend(net.V, gV);
  if (bias) descend(net.c, gc);
};

// ---- geometry of the hidden layer, phi(W s x + b) / sqrt(n)

// log sqrt det of the sum of s^2 w w^T over the units, by Cauchy and Binet: a sum over pairs of units of squares, in
// which nothing cancels. Above 40 units the determinant itself, which is quicker and good enough for a picture.
const logRoot = (weights, slopes) => { // weights: [w1, w2] of each unit
  const top = Math.max(...slopes.map(Math.abs)), s = slopes.map(v => v / top); // or squares would underflow
  let sum = 0, a = 0, b = 0, c = 0;
  weights.forEach(([v1, v2], i) => {
    if (weights.length > 40) { a += (s[i] * v1) ** 2; b += s[i] ** 2 * v1 * v2; c += (s[i] * v2) ** 2; }
    else for (let j = 0; j < i; j++) sum += (s[i] * s[j] * (v1 * weights[j][1] - v2 * weights[j][0])) ** 2;
  });
  return Math.log(weights.length > 40 ? Math.max(0, a * c - b * b) : sum) / 2 + 2 * Math.log(top);
};
const rows = net => turn.list(net.n, i => [net.W[2 * i], net.W[2 * i + 1]]);

network.logVolume = (net, x1, x2, scale = 1) => { // minus infinity where fewer than two units live
  const slopes = Array.from(network.forward(net, x1, x2, scale).z, PHI[KINDS[net.kind].phi][1]);
  return logRoot(rows(net), slopes) + 2 * Math.log(scale) - Math.log(net.n);
};

// The Ricci scalar of a surface by the equation of Gauss: R = 2 (N11.N22 - N12.N12) / det g, where Nij is the part of
// the second derivative that is normal to the surface. Frame: the tangents, made orthonormal.
network.ricci = (net, x1, x2, scale = 1) => {
  const [, slope, second] = PHI[KINDS[net.kind].phi], z = network.forward(net, x1, x2, scale).z, n = net.n,
    root = Math.sqrt(n);
  const w = i => [net.W[2 * i] * scale, net.W[2 * i + 1] * scale];
  const along = (k, f) => Float64Array.from(z, (v, i) => f(v) * w(i)[k] / root);
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
  const less = (a, b, share) => a.map((v, i) => v - share * b[i]);
  const unit = a => { const length = Math.sqrt(dot(a, a)); return [a.map(v => v / length), length]; };
  const [t1, length1] = unit(along(0, slope)), rest = less(along(1, slope), t1, dot(along(1, slope), t1)),
    [t2, length2] = unit(rest);
  const normal = (j, k) => {
    let a = Float64Array.from(z, (v, i) => second(v) * w(i)[j] * w(i)[k] / root);
    // twice, for the last digits
    for (let again = 0; again < 2; again++) for (const t of [t1, t2]) a = less(a, t, dot(a, t));
    return a;
  };
  const mixed = normal(0, 1);
  return 2 * (dot(normal(0, 0), normal(1, 1)) - dot(mixed, mixed)) / (length1 * length2) ** 2;
};

// A layer of sigmoids for the map of chapter 6: units [w1, w2, b, v]; the log-volume, and the margin of class 1.
turn.sigmoidLayer = (units, offset, x1, x2) => {
  const z = units.map(([w1, w2, bias]) => w1 * x1 + w2 * x2 + bias);
  return { volume: logRoot(units, z.map(slopeOfSigmoid)) - Math.log(units.length),
    margin: units.reduce((sum, u, i) => sum + u[3] * sigmoid(z[i]), offset) };
};

// ---- a course of training that one can go back in

network.course = (net, points, rate, scale) => {
  const states = [network.copy(net)];
  return {
    at(step) { // trains on as far as asked; all states are kept
      while (states.length <= step) {
        const next = network.copy(states.at(-1));
        network.step(next, points, rate, scale);
        states.push(next);
      }
      return states[step];
    },
    change(step, edit) { // a reader's hand on the weights: what came later is forgotten
      this.at(step);
      states.length = step + 1;
      edit(states[step]);
    },
  };
};

// How many points are right, the loss, and which outputs and hidden units are active on no point.
network.report = (net, points, scale) => {
  const outputs = [0, 0], units = new Uint8Array(net.n), { phi, head } = KINDS[net.kind];
  let right = 0, loss = 0;
  for (const [x1, x2, label] of points) {
    const { z, y, logits } = network.forward(net, x1, x2, scale), top = Math.max(...logits);
    right += (logits[1] > logits[0] ? 1 : 0) === label; // a tie goes to class 0, as in chapter 1
    loss += (Math.log(Math.exp(logits[0] - top) + Math.exp(logits[1] - top)) + top - logits[label]) / points.length;
    z.forEach((v, i) => { if (v > 0) units[i] = 1; });
    y.forEach((v, k) => { if (v > 1e-6) outputs[k] = 1; });
  }
  const none = list => list.reduce((sum, v) => sum + !v, 0);
  return { right, loss, deadOutputs: head === "linear" ? 0 : none(outputs),
    deadUnits: phi === "relu" ? none(units) : 0 };
};

// ---- the figure
// data: start {n, W, b, V, c}, tasks {name: [[x1, x2, class]]}, steps (those of the slider), half; network, task,
// view, rate and scale at first. ARROW: length of the arrow of a unit.
const VIEWS = { class: "prediction", volume: "log-volume", ricci: "curvature" }, SIDE = 50, PLANE = [-1.5, 1.5],
  ARROW = 0.5;
turn.kinds.network = (data, frame) => {
  let course = null, painted = data.tasks.xor.map(p => [...p]), chosen = 0, brush = [0.5, 0.5], plane = null,
    playing = null;
  const restart = () => { course = null; };
  const points = () => task.value === "paint" ? painted : data.tasks[task.value];
  const kind = frame.choice({ label: "Network", options: Object.keys(KINDS).map(k => [k, k]), value: data.network,
    onchange: restart });
  const task = frame.choice({ label: "Points",
    options: [["xor", "XOR"], ["sinusoid", "sinusoid"], ["paint", "paint your own"]], value: data.task,
    onchange: restart });
  const view = frame.choice({ label: "Show", options: Object.entries(VIEWS), value: data.view });
  const scale = frame.slider({ label: "Input scale", min: -1, max: 2, step: 0.05, value: Math.log10(data.scale),
    words: v => `inputs times ${short(10 ** v)}`, onchange: restart });
  const rate = frame.slider({ label: "Learning rate", min: -2, max: 1.5, step: 0.05, value: Math.log10(data.rate),
    words: v => short(10 ** v), onchange: restart });
  const step = frame.slider({ label: "Training step", max: data.steps.length - 1,
    value: data.steps.length - 1,
    words: i => i ? `step ${thousands(data.steps[i])}` : "before training" });
  const unit = frame.slider({ label: "Hidden unit to drag", min: 1, max: data.start.n, value: 1,
    words: v => `unit ${v}` });
  const play = frame.button("Play the training", () => {
    if (playing) return stop();
    step.set(0);
    frame.change();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { step.set(data.steps.length - 1); return; } // no film
    play.textContent = "Stop";
    playing = setInterval(() => { if (step.value < data.steps.length - 1) { step.set(step.value + 1); frame.change();
    } else stop(); }, 120);
  });
  const stop = () => { clearInterval(playing); playing = null; play.textContent = "Play the training"; };
  frame.button("Start again", () => { restart(); step.set(0); frame.change(); });
  const now = () => data.steps[step.value], current = () => {
    course = course || network.course(network.make(kind.value,
      { ...data.start, c: KINDS[kind.value].bias ? data.start.c : [0, 0] }), points(), 10 ** rate.value,
      10 ** scale.value);
    return course.at(now());
  };

  // The line of the chosen unit in the plane: s w.x + b = 0, and its foot, the point nearest to the middle.
  const normal = (net, i) => [net.W[2 * i] * 10 ** scale.value, net.W[2 * i + 1] * 10 ** scale.value];
  const foot = (net, i) => {
    const w = normal(net, i), size = w[0] ** 2 + w[1] ** 2;
    return w.map(v => -net.b[i] * v / size);
  };
  const hold = p => p.map(v => clamp(v, ...PLANE));
  const moveLine = (x, y) => course.change(now(),
    net => { const w = normal(net, chosen), p = hold([x, y]); net.b[chosen] = -w[0] * p[0] - w[1] * p[1]; });
  // the arrow's tip: the weights change, the foot stays on the line
  const turnLine = (x, y) => course.change(now(), net => {
    const w = normal(net, chosen), f = hold(foot(net, chosen)), d = [x - f[0], y - f[1]], length = Math.hypot(...d),
      s = 10 ** scale.value;
    if (length < 0.05) return;
    const size = Math.hypot(...w) * length / ARROW;
    net.W[2 * chosen] = size * d[0] / length / s;
    net.W[2 * chosen + 1] = size * d[1] / length / s;
    net.b[chosen] = -size * (d[0] * f[0] + d[1] * f[1]) / length;
  });
  const tip = net => {
    const w = normal(net, chosen), length = Math.hypot(...w);
    return hold(foot(net, chosen)).map((v, k) => v + ARROW * w[k] / length);
  };
  const onPlane = { panel: () => plane, step: 0.05 };
  const mover = frame.handle({ ...onPlane, label: "Move the line of the unit", get: () => hold(foot(current(), chosen)),
    set: moveLine });
  const turner = frame.handle({ ...onPlane, label: "Turn and stretch the weights of the unit",
    get: () => hold(tip(current())), set: turnLine,
    shape: svg("rect", { x: -7, y: -7, width: 14, height: 14, class: "turn-knob" }) });
  const paint = label => { painted = [...painted, [...brush, label]]; restart(); };
  const brushClass = frame.choice({ label: "Paint with", options: [["0", "class 0"], ["1", "class 1"]], value: "1" });
  frame.button("Remove the points", () => { painted = []; restart(); frame.change(); });
  const painter = frame.handle({ ...onPlane, step: 0.1, label: "Brush: arrow keys move it, Enter paints a point",
    get: () => brush,
    set: (...place) => { brush = hold(place); }, press: () => paint(Number(brushClass.value)),
      shape: svg("path", { d: "M-9 0H9M0 -9V9", class: "turn-knob" }) });
  frame.svg.addEventListener("click", event => {
    const [px, py] = frame.point(event);
    if (task.value !== "paint" || event.target.closest(".turn-handle") || !plane.has(px, py)) return;
    brush = [plane.unX(px), plane.unY(py)];
    paint(Number(brushClass.value));
    frame.change();
  });
  const paintOnly = [...frame.controls.children].slice(-2); // the last two controls

  const values = (net, what) => {
    const s = 10 ** scale.value, f = {
      class: ([x, y]) => {
        const { logits: [a, b] } = network.forward(net, x, y, s);
        return 1 / (1 + Math.exp(a - b));
      },
      volume: ([x, y]) => network.logVolume(net, x, y, s),
      ricci: ([x, y]) => {
        const R = KINDS[net.kind].phi === "sigmoid" ? clamp(network.ricci(net, x, y, s), -100, 100) : NaN;
        return Math.sign(R) * Math.log10(1 + Math.abs(R));
      },
    }[what];
    return turn.grid(plane, SIDE).map(f);
  };
  return width => {
    const painting = task.value === "paint", wide = Math.min(width - 60, 460), s = 10 ** scale.value, what = view.value,
      list = points();
    paintOnly.forEach(c => { c.hidden = !painting; });
    plane = panel({ left: 40, top: 26, width: wide, height: wide },
      { x: PLANE, y: PLANE, frame: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      title: `${VIEWS[what]}, ${step.value ? "step " + thousands(now()) : "before training"}` });
    const net = current(), lost = !net.W.every(v => Math.abs(v) < 1e6); // diverged, or about to
    for (const h of [mover, turner]) h.hide(lost);
    painter.hide(!painting);
    if (lost) {
      frame.show(width, plane.top + plane.height + 60, [plane.nodes]);
      return frame.say(`At step ${thousands(now())} the weights have grown beyond all bounds: ` +
        "the steps are too large.");
    }
    const share = values(net, "class"), found = what === "class" ? share : values(net, what),
      margin = share.map(v => v - 0.5);
    chosen = unit.value - 1;
    const [low, high] = what === "class" ? [0, 1] : what === "ricci" ? [-2, 2] :
      [turn.quantile(found, 0.02), turn.quantile(found, 1)];
    const flat = what === "volume" && !(high - low > 1e-9),
      colours = { class: "classes", volume: "cividis", ricci: "signed" }[what];
    const ends = { class: ["class 0", "class 1"], ricci: ["−100", "+100"],
      volume: Number.isFinite(low) ? [number(low, 1), `${number(high, 1)} nats`] : ["", ""] }[what];
    const lineOf = i => {
      const w = normal(net, i), f = foot(net, i), length = Math.hypot(...w);
      return plane.line([-9, 9].map(t => [f[0] - t * w[1] / length, f[1] + t * w[0] / length]),
        i === chosen ? { stroke: "#e8a33d", "stroke-width": 3 } : { stroke: "#bdbdbd", "stroke-width": 1 });
    };
    const r = list.length > 40 ? 3.5 : 6, edge = { fill: "#b35806", stroke: "#fff", "stroke-width": 1.5 };
    const dots = list.map(([x, y, c]) => c ?
      svg("rect", { x: plane.X(x) - r, y: plane.Y(y) - r, width: 2 * r, height: 2 * r, ...edge })
      : plane.dot(x, y, r, { ...edge, fill: "#542788" }));
    const f = hold(foot(net, chosen)), t = tip(net);
    frame.show(width, plane.top + plane.height + 60,
      [plane.nodes, turn.map(plane, found, SIDE, flat ? low - 1 : low, flat ? low + 1 : high, colours),
      plane.inside(...turn.list(net.n, i => lineOf(i)),
        turn.zeros(plane, margin, SIDE, { stroke: "#000", "stroke-width": 5 }),
          turn.zeros(plane, margin, SIDE, { stroke: "#fff" }),
        ...dots, plane.arrow(...f, ...t, { stroke: "#e8a33d", "stroke-width": 3 })),
      turn.bar(plane, plane.top + plane.height + 34, colours, ...ends)]);
    mover.place(`at ${number(f[0])}, ${number(f[1])}`);
    turner.place(`weights ${number(net.W[2 * chosen])}, ${number(net.W[2 * chosen + 1])}`);
    painter.place(`at ${number(brush[0], 1)}, ${number(brush[1], 1)}`);
    const { right, loss, deadOutputs, deadUnits } = network.report(net, list, s), { phi, head } = KINDS[net.kind];
    const notes = [head === "linear" ? "" : deadOutputs
      ? ` ${deadOutputs} of 2 outputs ${deadOutputs > 1 ? "are" : "is"} dead.` : " Both outputs are alive.",
      phi === "relu" ? ` ${deadUnits} of ${net.n} hidden units are dead.` : "",
      what === "ricci" && phi !== "sigmoid" ? " Between its folds this network is flat: no curvature to show." : "",
      what === "volume" && phi === "abs" ? " Abs has the same volume everywhere: its slopes are 1 and −1." : ""];
    frame.say((step.value ? `After ${thousands(now())} steps` : "Before training") +
      ` ${right} of ${list.length} points are right` +
      (list.length && Number.isFinite(loss) ? `, loss ${loss < 0.0005 ? "below 0.001" : number(loss, 3)}.` : ".") +
      notes.join(""));
    frame.numbers(["hidden unit", "weight 1", "weight 2", "bias", "to class 0", "to class 1"],
      turn.list(net.n, i =>
        [String(i + 1), ...[net.W[2 * i], net.W[2 * i + 1], net.b[i], net.V[i],
        net.V[net.n + i]].map(v => number(v, 3))]));
  };
};
})();
