// A small network in the page: its numbers (turn.network, as the package has them) and the figure that trains it.
//
// A network is {kind, n, W: (n x 2), b: (n), V: (2 x n), c: (2)}, all Float64Array by rows. With the input scale s it
// computes hidden = phi(W s x + b), y = V hidden + c, and from y the two logits as its kind says.
"use strict";
(() => {
const { svg, panel, number, thousands, short, clamp, list } = turn;

const sigmoid = z => z >= 0 ? 1 / (1 + Math.exp(-z)) : 1 - 1 / (1 + Math.exp(z));
const slopeOfSigmoid = z => { const e = Math.exp(-Math.abs(z)); return e / (1 + e) ** 2; }; // no 1 - s: it would round
const PHI = { // value, slope and second derivative
  sigmoid: [sigmoid, slopeOfSigmoid, z => -slopeOfSigmoid(z) * Math.tanh(z / 2)],
  relu: [z => Math.max(0, z), z => z > 0 ? 1 : 0, () => 0],
  abs: [Math.abs, Math.sign, () => 0],
};
const KINDS = { // as in chapters 1 and 8; only sigmoid has biases of the outputs
  sigmoid: { phi: "sigmoid", head: "linear" },
  ReLU: { phi: "relu", head: "linear" },
  Abs: { phi: "abs", head: "linear" },
  ReLU2: { phi: "relu", head: "relu" },
  "ReLU2-Neg": { phi: "relu", head: "negated" },
};
const network = turn.network = { KINDS };

network.make = (kind, w) => ({ kind, n: w.b.length,
  ...Object.fromEntries(["W", "b", "V", "c"].map(name => [name, Float64Array.from(w[name])])) });
network.copy = net => network.make(net.kind, net);

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
  const { phi, head } = KINDS[net.kind], slope = PHI[phi][1], n = net.n;
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
  for (const [name, gradient] of Object.entries({ W: gW, b: gb, V: gV, ...phi === "sigmoid" && { c: gc } }))
    gradient.forEach((v, i) => { net[name][i] -= rate * v; });
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
const weights = (net, i) => [net.W[2 * i], net.W[2 * i + 1]];

network.logVolume = (net, x1, x2, scale = 1) => { // minus infinity where fewer than two units live
  const slopes = Array.from(network.forward(net, x1, x2, scale).z, PHI[KINDS[net.kind].phi][1]);
  return logRoot(list(net.n, i => weights(net, i)), slopes) + 2 * Math.log(scale) - Math.log(net.n);
};

// The Ricci scalar of a surface by the equation of Gauss: R = 2 (N11.N22 - N12.N12) / det g, where Nij is the part of
// the second derivative that is normal to the surface. Frame: the tangents, made orthonormal.
network.ricci = (net, x1, x2, scale = 1) => {
  const [, slope, second] = PHI[KINDS[net.kind].phi], { z } = network.forward(net, x1, x2, scale);
  const along = (f, ...axes) => Float64Array.from(z, (v, i) =>
    axes.reduce((product, k) => product * net.W[2 * i + k] * scale, f(v) / Math.sqrt(net.n)));
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
  const less = (a, t) => { const share = dot(a, t); return a.map((v, i) => v - share * t[i]); };
  const unit = a => { const length = Math.sqrt(dot(a, a)); return [a.map(v => v / length), length]; };
  const [t1, length1] = unit(along(slope, 0)), [t2, length2] = unit(less(along(slope, 1), t1));
  const normal = (j, k) => [t1, t2, t1, t2].reduce(less, along(second, j, k)); // twice, for the last digits
  const mixed = normal(0, 1);
  return 2 * (dot(normal(0, 0), normal(1, 1)) - dot(mixed, mixed)) / (length1 * length2) ** 2;
};

// A layer of sigmoids for the map of chapter 8: units [w1, w2, b, v]; the log-volume, and the margin of class 1.
turn.sigmoidLayer = (units, offset, x1, x2) => {
  const z = units.map(([w1, w2, bias]) => w1 * x1 + w2 * x2 + bias);
  return { volume: logRoot(units, z.map(slopeOfSigmoid)) - Math.log(units.length),
    margin: units.reduce((sum, u, i) => sum + u[3] * sigmoid(z[i]), offset) };
};

// ---- a course of training that one can go back in

network.course = (net, points, rate, scale) => {
  const states = [network.copy(net)];
  return {
    edits: [], // [step, unit]
    at(step) { // trains on as far as asked; all states are kept
      while (states.length <= step) {
        const next = network.copy(states.at(-1));
        network.step(next, points, rate, scale);
        states.push(next);
      }
      return states[step];
    },
    change(step, unit, edit) { // a reader's hand on the weights: what came later is forgotten
      edit(this.at(step));
      states.length = step + 1;
      this.edits = [...this.edits.filter(e => e[0] < step), [step, unit]];
    },
  };
};

// How many points are right, the loss, and which outputs and hidden units are active on no point.
network.report = (net, points, scale) => {
  const outputs = [0, 0], units = new Uint8Array(net.n), { head } = KINDS[net.kind];
  let right = 0, loss = 0;
  for (const [x1, x2, label] of points) {
    const { z, y, logits } = network.forward(net, x1, x2, scale), top = Math.max(...logits);
    right += (logits[1] > logits[0] ? 1 : 0) === label; // a tie goes to class 0, as in chapter 1
    loss += (Math.log(Math.exp(logits[0] - top) + Math.exp(logits[1] - top)) + top - logits[label]) / points.length;
    z.forEach((v, i) => { if (v > 0) units[i] = 1; });
    y.forEach((v, k) => { if (v > 1e-6) outputs[k] = 1; });
  }
  const none = active => active.reduce((sum, v) => sum + !v, 0);
  return { right, loss, deadOutputs: head === "linear" ? 0 : none(outputs), deadUnits: none(units) };
};

// ---- the figure
// data: start {n, W, b, V, c}, tasks {name: [[x1, x2, class]]}, steps (those of the slider); network, task,
// view, rate and scale at first.
const VIEWS = { class: ["prediction", "classes"], volume: ["log-volume", "cividis"], ricci: ["curvature", "signed"] };
const SIDE = 50, PLANE = [-1.5, 1.5];
turn.kinds.network = (data, frame) => {
  let course = null, painted = data.tasks.xor.map(p => [...p]), chosen = 0, brush = [0.5, 0.5], plane = null,
    playing = null, grips = {}; // unit -> the place at which its line was taken last
  const restart = () => { course = null; }, end = data.steps.length - 1;
  const points = () => task.value === "paint" ? painted : data.tasks[task.value];
  const kind = frame.choice({ label: "Network", options: Object.keys(KINDS), value: data.network, onchange: restart });
  const task = frame.choice({ label: "Points",
    options: [["xor", "XOR"], "sinusoid", ["paint", "paint your own"]], value: data.task,
    onchange: restart });
  const view = frame.choice({ label: "Show", options: Object.entries(VIEWS).map(([v, [words]]) => [v, words]),
    value: data.view });
  const ten = (label, min, max, value) => { // a slider of powers of ten
    const made = frame.slider({ label, min, max, step: 0.05, value: Math.log10(value),
      words: v => short(10 ** v), onchange: restart });
    return () => 10 ** made.value;
  };
  const scale = ten("Multiply the inputs by", -1, 2, data.scale), rate = ten("Learning rate", -2, 1.5, data.rate);
  const step = frame.slider({ label: "Training step", max: end, value: end,
    words: i => i ? `step ${thousands(data.steps[i])}` : "before training" });
  const unit = frame.slider({ label: "Hidden unit to drag", min: 1, max: data.start.n, value: 1,
    words: v => `unit ${v}` });
  const go = to => { step.set(to); frame.change(); };
  const play = frame.button("Play the training", () => {
    if (playing) return stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(end); // no film
    go(0);
    play.textContent = "Stop";
    playing = setInterval(() => step.value < end ? go(step.value + 1) : stop(), 120);
  });
  const stop = () => { clearInterval(playing); playing = null; play.textContent = "Play the training"; };
  frame.button("Start again", () => { restart(); grips = {}; go(0); });
  const now = () => data.steps[step.value], current = () => {
    course = course || network.course(network.make(kind.value,
      { ...data.start, c: kind.value === "sigmoid" ? data.start.c : [0, 0] }), points(), rate(), scale());
    return course.at(now());
  };

  // The line of a unit in the plane, s w.x + b = 0, and its foot, the point nearest to where it was taken last.
  const off = (net, i, p) => { // the distance of a place from the line, and the direction of the weights
    const w = weights(net, i), size = Math.hypot(...w), d = w.map(v => v / size);
    return { d, size, far: d[0] * p[0] + d[1] * p[1] + net.b[i] / size / scale() };
  };
  const hold = (p, room = 0) => p.map(v => clamp(v, PLANE[0] - room, PLANE[1] + room)), ROOM = 0.12;
  const foot = (net, i) => { // in the picture: from there to the line and back until both agree
    let p = grips[i] || [0, 0];
    for (let again = 0; again < 40; again++) {
      const { d, far } = off(net, i, p);
      p = hold(p.map((v, k) => v - far * d[k]));
    }
    return p;
  };
  const edit = (p, w) => course.change(now(), chosen, net => { // takes the line to p, with weights w
    grips[chosen] = p;
    w.forEach((v, k) => { net.W[2 * chosen + k] = v; });
    net.b[chosen] = -scale() * (w[0] * p[0] + w[1] * p[1]);
  });
  // The arrow is LEAST + log2(1 + size of the weights) / 4 long, and is turned back into weights at its tip.
  const LEAST = 0.15;
  const tip = net => {
    const { d, size } = off(net, chosen, [0, 0]);
    return hold(foot(net, chosen).map((v, k) => v + d[k] * (LEAST + Math.log2(1 + size) / 4)), ROOM);
  };
  const onPlane = { panel: () => plane, step: 0.05 };
  const mover = frame.handle({ ...onPlane, label: "Move the line of the unit", get: () => foot(current(), chosen),
    set: (...to) => edit(hold(to), weights(current(), chosen)) });
  const turner = frame.handle({ ...onPlane, label: "Turn and stretch the weights of the unit",
    get: () => tip(current()), set: (...to) => {
      const f = foot(current(), chosen), d = hold(to, ROOM).map((v, k) => v - f[k]), length = Math.hypot(...d);
      if (length > LEAST + 0.02) edit(f, d.map(v => v / length * (2 ** (4 * (length - LEAST)) - 1)));
    },
    shape: turn.shape("M0 -10L10 0L0 10L-10 0Z", 0, 0, "turn-knob") });
  const paint = () => { painted = [...painted, [...brush, Number(brushClass.value)]]; restart(); };
  const brushClass = frame.choice({ label: "Paint with", options: [["0", "class 0"], ["1", "class 1"]], value: "1" });
  frame.button("Remove the points", () => { painted = []; restart(); frame.change(); });
  const painter = frame.handle({ ...onPlane, step: 0.1, label: "Brush: arrow keys move it, Enter paints a point",
    get: () => brush, set: (...place) => { brush = hold(place); }, press: paint,
    shape: turn.shape("M-10 -3h7v-7h6v7h7v6h-7v7h-6v-7h-7z", 0, 0, "turn-knob") });
  frame.svg.addEventListener("click", event => {
    const [px, py] = frame.point(event), p = [plane.unX(px), plane.unY(py)];
    if (event.target.closest(".turn-handle") || !plane.has(px, py)) return;
    if (task.value === "paint") {
      brush = p;
      paint();
    } else { // chooses the unit whose line is nearest, within 8 pixels
      const net = current(), far = list(net.n, i => Math.abs(off(net, i, p).far)), least = Math.min(...far);
      if (!(least * plane.width < 8 * 3)) return;
      unit.set(far.indexOf(least) + 1);
      grips[unit.value - 1] = p;
    }
    frame.change();
  });
  const paintOnly = [...frame.controls.children].slice(-2); // the last two controls

  const values = (net, what) => {
    const s = scale(), f = {
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
    const painting = task.value === "paint", wide = Math.min(width - 60, 460), s = scale(), what = view.value,
      [name, colours] = VIEWS[what], shown = points();
    paintOnly.forEach(c => { c.hidden = !painting; });
    plane = panel({ left: 40, top: 26, width: wide, height: wide },
      { x: PLANE, y: PLANE, frame: true, xticks: [-1, 0, 1], yticks: [-1, 0, 1],
      title: `${name}, ${step.value ? "step " + thousands(now()) : "before training"}` });
    const net = current(), lost = !net.W.every(v => Math.abs(v) < 1e6); // diverged, or about to
    chosen = unit.value - 1;
    const f = foot(net, chosen), t = tip(net), away = Math.abs(off(net, chosen, f).far) > 0.02;
    mover.hide(lost || painting);
    turner.hide(lost || painting || away);
    painter.hide(!painting);
    if (lost) {
      frame.show(width, plane.top + plane.height + 60, [plane.nodes]);
      return frame.say(
        `At step ${thousands(now())} the weights have grown beyond all bounds: the steps are too large.`);
    }
    const share = values(net, "class"), found = what === "class" ? share : values(net, what),
      margin = share.map(v => v - 0.5), { phi, head } = KINDS[net.kind];
    const [low, high] = what === "class" ? [0, 1] : what === "ricci" ? [-2, 2] :
      [turn.quantile(found, 0.02), turn.quantile(found, 1)];
    const even = what === "volume" && !(high - low > 1e-9), flat = what === "ricci" && phi !== "sigmoid";
    const ends = { class: ["class 0", "class 1"], ricci: ["−100", "+100, log scale"],
      volume: Number.isFinite(low) ? [even ? "" : number(low, 1), `${number(high, 1)} nats`] : ["", ""] }[what];
    const lineOf = i => {
      const { d, far } = off(net, i, [0, 0]), along = [-3, 3].map(v => [-far * d[0] - v * d[1], v * d[0] - far * d[1]]);
      return plane.line(along, i === chosen && !painting ? "turn-taken" : "turn-unit");
    };
    const r = shown.length > 40 ? 3.5 : 6;
    const dots = shown.map(([x, y, c]) => c
      ? turn.box(plane.X(x) - r, plane.Y(y) - r, 2 * r, 2 * r, "turn-one")
      : plane.dot(x, y, r, "turn-zero"));
    frame.show(width, plane.top + plane.height + 60,
      [plane.nodes, turn.map(plane, found, SIDE, low - even, high + even, colours),
      plane.inside(svg("g", { class: "turn-cased" }, ...list(net.n, lineOf),
        turn.zeros(plane, margin, SIDE, "turn-boundary")), ...dots),
      painting || away ? [] : plane.arrow(...f, ...t, "turn-taken turn-cased"),
      flat ? [] : turn.bar(plane, plane.top + plane.height + 34, colours, ...ends)]);
    mover.place(`at ${number(f[0])}, ${number(f[1])}`);
    turner.place(`weights ${weights(net, chosen).map(v => number(v)).join(", ")}`);
    painter.place(`at ${number(brush[0], 1)}, ${number(brush[1], 1)}`);
    frame.numbers(["hidden unit", "weight 1", "weight 2", "bias", "to class 0", "to class 1"],
      list(net.n, i =>
        [i + 1, ...[...weights(net, i), net.b[i], net.V[i], net.V[net.n + i]].map(v => number(v, 3))]));
    if (!shown.length) return frame.say("No points yet. Click in the picture to add a point.");
    const { right, loss, deadOutputs, deadUnits } = network.report(net, shown, s);
    const edited = course.edits.filter(e => e[0] <= now()).at(-1);
    frame.say([(step.value ? `After ${thousands(now())} steps` : "Before training") +
      ` ${right} of ${shown.length} points are right` +
      (Number.isFinite(loss) ? `, loss ${loss < 0.0005 ? "below 0.001" : number(loss, 3)}.` : "."),
      head !== "linear" && `Dead outputs: ${deadOutputs} of 2.`,
      deadOutputs > 1 && "On every point they tie, and the loss is that of a guess, ln 2.",
      phi === "relu" && `Dead hidden units: ${deadUnits} of ${net.n}.`,
      flat && "Between its folds this network is flat: no curvature to show.",
      what === "volume" && phi === "abs" && "Abs has the same volume everywhere: its slopes are 1 and −1.",
      painting ? "Click in the picture to add a point." :
        away && `The line of unit ${chosen + 1} lies outside the picture.`,
      edited && `Unit ${edited[1] + 1} was edited at step ${thousands(edited[0])}. ` +
        (edited[0] < data.steps[end] ? "Later steps train on from there." : "Edit it earlier to train on from there."),
    ].filter(Boolean).join(" "));
  };
};
})();
