// The timeline: lanes of slots, of what took no slot and of the driver's waits; the machine below.
const canvas = byId("canvas");
const context = canvas.getContext("2d");
const tip = byId("tip");
const AXIS = 24, CHART = 42, GAP = 10, LANES = 560;
const SHORTEST = Math.min(wall, Math.max(wall / 200000, 0.0005));

const view = { from: 0, to: wall };
const shown = { mode: "kind", critical: false, match: null, cursor: null, chosen: null };
const lanes = [];
const charts = [];
let size = { width: 0, height: 0, left: 96 };
let ink = {};
let categories = [];
let pending = false;

// Greedily, each into the first row that is free; what no row has place for shares the last one.
function packRows(items, most) {
  const rows = [];
  for (const item of items) {
    let row = rows.find((each) => each.at(-1).end <= item.start);
    if (!row && rows.length < most) rows.push((row = []));
    (row || rows.at(-1)).push(item);
  }
  return rows;
}

function makeLanes() {
  const ran = jobs.filter((job) => job.start !== null).sort((a, b) => a.start - b.start);
  const slots = new Map();
  for (const job of ran.filter((each) => each.slot >= 0)) {
    if (!slots.has(job.slot)) slots.set(job.slot, []);
    slots.get(job.slot).push(job);
  }
  for (const slot of [...slots.keys()].sort((a, b) => a - b)) {
    lanes.push({ name: `slot ${slot}`, kind: "slot", items: slots.get(slot) });
  }
  packRows(ran.filter((each) => each.slot < 0), 3).forEach((items, row) => {
    lanes.push({ name: row ? "" : "no slot", kind: "free", items });
  });
  const driver = stalls.filter((stall) => (byNumber.get(stall.command)?.verdict ?? "") !== "deferred");
  packRows(driver.filter((stall) => stall.end > stall.start), 3).forEach((items, row) => {
    lanes.push({ name: row ? "" : "driver waits", kind: "stall", items });
  });
  for (const lane of lanes) lane.longest = lane.items.reduce((most, i) => Math.max(most, i.end - i.start), 0);
  lanes.forEach((lane, at) => lane.items.forEach((item) => (item.lane = at)));
  for (const stall of stalls) {
    const job = byNumber.get(stall.command);
    if (job && job.verdict === "deferred") (job.pauses ??= []).push(stall);
  }
}

function makeCharts() {
  const { cpu, memory, running, queued, held } = data.samples;
  if (sampleTimes.length < 2) return;
  const least = Math.min(...memory);
  const most = (column) => Math.max(1, ...column);
  charts.push(
    { name: "CPU", scale: "100%", values: cpu.map((v) => Math.min(1, v / 1000)), colour: "--c0" },
    { name: "memory", scale: `+${bytes((most(memory) - least) * 2 ** 20)}`, colour: "--c2", held,
      values: memory.map((v) => (v - least) / Math.max(1, most(memory) - least)) },
    { name: "running", scale: `of ${data.slots}`, values: running.map((v) => Math.min(1, v / data.slots)), colour: "--c4" },
    { name: "queued", scale: `max ${grouped(most(queued))}`, values: queued.map((v) => v / most(queued)), colour: "--c1" },
  );
}

const KINDS = ["compile", "link", "archive", "preprocess", "assemble", "unknown", "query", "inspect"];
const OUTCOMES = { "in order": "--c4", failed: "--failed", cancelled: "--c6", "did not end": "--c7" };

function outcome(job) {
  if (failed(job)) return "failed";
  if (job.state === "cancelled") return "cancelled";
  return job.took === null ? "did not end" : "in order";
}

// What the colours mean now: the eight weightiest have their own, the rest share one.
function classify() {
  const key = shown.mode === "failure" ? outcome : (job) => job[shown.mode];
  const sums = new Map();
  for (const job of jobs) {
    if (job.start === null) continue;
    const sum = sums.get(key(job)) || { name: key(job), weight: 0, count: 0 };
    sum.weight += job.weighted;
    sum.count += 1;
    sums.set(sum.name, sum);
  }
  let found = [...sums.values()].sort((a, b) => b.weight - a.weight || b.count - a.count);
  if (shown.mode === "failure") {
    for (const each of found) each.colour = OUTCOMES[each.name];
  } else if (shown.mode === "kind") {
    for (const each of found) each.colour = KINDS.includes(each.name) ? `--c${KINDS.indexOf(each.name)}` : "--other";
  } else {
    const rest = found.slice(8);
    found = found.slice(0, 8);
    found.forEach((each, at) => (each.colour = each.name.startsWith("(files") ? "--other" : `--c${at}`));
    if (rest.length) {
      const count = rest.reduce((sum, each) => sum + each.count, 0);
      found.push({ name: `${grouped(rest.length)} others`, count, colour: "--other" });
    }
  }
  const colours = new Map(found.map((each) => [each.name, each.colour]));
  for (const job of jobs) job.colour = colours.get(key(job)) || "--other";
  categories = found;
  byId("legend").replaceChildren(
    ...found.map((each) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = `var(${each.colour})`;
      return element("li", {}, swatch, `${each.name} `, grouped(each.count));
    }),
  );
}

function readInk() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "raised", "ink", "soft", "line", "other", "failed", "stall", "focus", "match"];
  for (let at = 0; at < 8; at++) names.push(`c${at}`);
  ink = Object.fromEntries(names.map((name) => [`--${name}`, style.getPropertyValue(`--${name}`).trim()]));
  ink.font = `11px ${getComputedStyle(document.body).fontFamily}`;
}

function layOut(width) {
  size.left = width < 600 ? 66 : 96;
  const each = Math.max(3, Math.min(28, Math.floor(LANES / Math.max(1, lanes.length))));
  let top = AXIS;
  for (const lane of lanes) {
    const tall = lane.kind === "slot" ? each : Math.min(each, 16);
    if (lane.name && lane.kind !== "slot") top += 6;
    Object.assign(lane, { top, tall: Math.max(2, tall - (tall > 8 ? 2 : tall > 4 ? 1 : 0)) });
    top += tall;
  }
  for (const chart of charts) {
    chart.top = top + GAP;
    top = chart.top + CHART;
  }
  size = { ...size, width, height: top + 6 };
  const ratio = Math.min(window.devicePixelRatio || 1, 16000 / size.height, 16000 / width);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(size.height * ratio);
  canvas.style.height = `${size.height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

const toX = (time) => size.left + ((time - view.from) / (view.to - view.from)) * (size.width - size.left);
const toTime = (x) => view.from + ((x - size.left) / (size.width - size.left)) * (view.to - view.from);

// The first of a lane's items that can reach into the view: they are in order of their starts.
function firstFrom(lane, time) {
  let low = 0, high = lane.items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.items[middle].start < time - lane.longest) low = middle + 1;
    else high = middle;
  }
  return low;
}

function tickStep() {
  const wanted = ((view.to - view.from) / (size.width - size.left)) * 96;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const minutes = [60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000];
  if (wanted > 50) return minutes.find((each) => each >= wanted) || 86400;
  return power * [1, 2, 5, 10].find((factor) => factor * power >= wanted);
}

function clock(exact, step) {
  const time = Math.round(exact * 1e6) / 1e6; // 0.1 * 3 is not 0.3
  if (step >= 60 || time >= 600) {
    const two = (number) => String(Math.floor(number)).padStart(2, "0");
    const places = step < 1 ? -Math.floor(Math.log10(step) + 1e-9) : 0;
    const part = places ? (time % 1).toFixed(places).slice(1) : "";
    return time >= 3600
      ? `${Math.floor(time / 3600)}:${two((time / 60) % 60)}:${two(time % 60)}${part}`
      : `${Math.floor(time / 60)}:${two(time % 60)}${part}`;
  }
  return `${time.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))} s`;
}

function drawAxis() {
  const step = tickStep();
  context.textAlign = "center";
  for (let at = Math.ceil(view.from / step); at * step <= view.to; at++) {
    const x = Math.round(toX(at * step)) + 0.5;
    context.fillStyle = ink["--line"];
    context.fillRect(x - 0.5, AXIS - 6, 1, size.height - AXIS);
    const words = clock(at * step, step);
    const half = context.measureText(words).width / 2;
    context.fillStyle = ink["--soft"];
    context.fillText(words, Math.min(Math.max(x, size.left + half), size.width - half), 11);
  }
}

// A name beside its row; where rows are low, not beside every one.
function drawNames() {
  context.textAlign = "right";
  context.fillStyle = ink["--soft"];
  let free = 0;
  for (const lane of lanes) {
    const middle = lane.top + lane.tall / 2;
    if (!lane.name || middle < free) continue;
    context.fillText(lane.name, size.left - 8, middle + 4);
    free = middle + 13;
  }
}

const dimmed = (job) => (shown.match && !job.matches) || (shown.critical && !job.critical);

function drawLane(lane) {
  const passes = lane.kind !== "stall" && (shown.match || shown.critical) ? [true, false] : [null];
  for (const pass of passes) {
    context.globalAlpha = pass ? 0.16 : 1;
    let last = -1;
    for (let at = firstFrom(lane, view.from); at < lane.items.length; at++) {
      const item = lane.items[at];
      if (item.start > view.to) break;
      if (item.end < view.from || (pass !== null && Boolean(dimmed(item)) !== pass)) continue;
      const from = Math.max(toX(item.start), size.left);
      const to = Math.min(Math.max(toX(item.end), from + 1), size.width);
      if (to <= last + 0.5) continue; // nothing of it would be seen
      last = to;
      drawBar(lane, item, from, to, pass);
    }
  }
  context.globalAlpha = 1;
}

function drawBar(lane, item, from, to, pass) {
  const wide = to - from;
  context.fillStyle = lane.kind === "stall" ? ink["--stall"] : ink[item.colour];
  context.fillRect(from, lane.top, wide > 3 ? wide - 1 : wide, lane.tall);
  if (lane.kind === "stall") {
    if (wide > 60 && lane.tall >= 12) drawWords(`${item.who} ${item.cause} ${baseName(item.path)}`, lane, from, wide, "--stall");
    return;
  }
  for (const pause of item.pauses || []) {
    const x = Math.max(toX(pause.start), from);
    context.fillStyle = ink["--paper"];
    context.globalAlpha = 0.6;
    context.fillRect(x, lane.top + 2, Math.max(0, Math.min(toX(pause.end), to) - x), lane.tall - 4);
    context.globalAlpha = pass ? 0.16 : 1;
  }
  if (failed(item)) {
    context.strokeStyle = ink["--failed"];
    context.lineWidth = 2;
    context.strokeRect(from + 1, lane.top + 1, Math.max(1, wide - 2), lane.tall - 2);
  }
  if (wide > 34 && lane.tall >= 12 && !pass) drawWords(place(item) || item.tool, lane, from, wide, item.colour);
}

// Black or white, whichever is better seen on a colour.
function over(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return 0.2126 * red ** 2.2 + 0.7152 * green ** 2.2 + 0.0722 * blue ** 2.2 > 0.18 ? "#000000" : "#ffffff";
}

function drawWords(words, lane, from, wide, colour) {
  const most = Math.floor((wide - 8) / 6.2);
  if (most < 3) return;
  context.textAlign = "left";
  context.fillStyle = over(ink[colour]);
  const cut = words.length > most ? `${words.slice(0, most - 1)}…` : words;
  context.fillText(cut, from + 4, lane.top + lane.tall / 2 + 4);
}

function outline(job, colour, thick) {
  if (!job || job.start === null || job.end < view.from || job.start > view.to) return;
  const lane = lanes[job.lane];
  const from = Math.max(toX(job.start), size.left), to = Math.max(toX(job.end), from + 2);
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(from - 1, lane.top - 1, Math.min(to, size.width) - from + 2, lane.tall + 2);
}

// A line under what is on the path, in its order; it never goes back in time by much.
function drawCritical() {
  context.save();
  context.beginPath();
  context.rect(size.left, AXIS - 6, size.width - size.left, size.height);
  context.clip();
  context.strokeStyle = ink["--ink"];
  context.lineWidth = 1.5;
  context.beginPath();
  let before = null;
  for (const number of data.path) {
    const job = byNumber.get(number);
    if (!job || job.start === null) continue;
    const y = lanes[job.lane].top + lanes[job.lane].tall - 1;
    if (before) context.lineTo(toX(job.start), y);
    else context.moveTo(toX(job.start), y);
    context.lineTo(toX(job.end), y);
    before = job;
  }
  context.stroke();
  context.restore();
}

function drawChart(chart) {
  const base = chart.top + CHART;
  context.fillStyle = ink["--soft"];
  context.textAlign = "right";
  context.fillText(chart.name, size.left - 8, chart.top + 15);
  context.fillText(chart.scale, size.left - 8, chart.top + 31);
  context.save();
  context.beginPath();
  context.rect(size.left, chart.top - 1, size.width - size.left, CHART + 2);
  context.clip();
  context.beginPath();
  const height = (value) => base - value * (CHART - 3);
  sampleTimes.forEach((time, at) => {
    const x = toX(time), y = height(chart.values[at]);
    if (at) context.lineTo(x, y);
    else context.moveTo(x, y);
  });
  context.strokeStyle = ink[chart.colour];
  context.lineWidth = 1.5;
  context.stroke();
  context.lineTo(toX(sampleTimes.at(-1)), base);
  context.lineTo(toX(sampleTimes[0]), base);
  context.globalAlpha = 0.22;
  context.fillStyle = ink[chart.colour];
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = ink["--failed"];
  (chart.held || []).forEach((held, at) => {
    if (held) context.fillRect(toX(sampleTimes[at]), chart.top, Math.max(2, toX(sampleTimes[at + 1] ?? wall) - toX(sampleTimes[at])), 3);
  });
  context.restore();
  context.fillStyle = ink["--line"];
  context.fillRect(size.left, base, size.width - size.left, 1);
}

function drawNow() {
  pending = false;
  if (!size.width) return;
  context.fillStyle = ink["--paper"];
  context.fillRect(0, 0, size.width, size.height);
  context.font = ink.font;
  drawAxis();
  for (const lane of lanes) {
    context.globalAlpha = 0.7;
    context.fillStyle = ink["--raised"];
    context.fillRect(size.left, lane.top, size.width - size.left, lane.tall);
    context.globalAlpha = 1;
    drawLane(lane);
  }
  drawNames();
  charts.forEach(drawChart);
  if (shown.critical) drawCritical();
  outline(shown.cursor, ink["--focus"], 2);
  outline(shown.chosen, ink["--ink"], 2);
  canvas.dataset.from = view.from;
  canvas.dataset.to = view.to;
}

function draw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(drawNow);
}

function look(from, to) {
  const span = Math.min(wall, Math.max(SHORTEST, to - from));
  view.from = Math.min(Math.max(0, from), wall - span);
  view.to = view.from + span;
  draw();
}

function zoom(factor, around = (view.from + view.to) / 2) {
  const span = Math.min(wall, Math.max(SHORTEST, (view.to - view.from) * factor));
  const share = (around - view.from) / (view.to - view.from);
  look(around - share * span, around + (1 - share) * span);
}

const pan = (share) => {
  const by = (view.to - view.from) * share;
  look(view.from + by, view.to + by);
};

// Brings a command into the view, large enough to be seen.
function reveal(job) {
  if (job.start === null) return;
  const span = view.to - view.from, took = job.end - job.start;
  const pixels = (took / span) * (size.width - size.left);
  if (job.start >= view.from && job.end <= view.to && pixels >= 6) return draw();
  const wanted = Math.min(span, Math.max(took * 24, SHORTEST * 40));
  const middle = (job.start + job.end) / 2;
  look(middle - wanted / 2, middle + wanted / 2);
}

// What is at a point of the canvas; things of a pixel can be met with a finger's width.
function itemAt(x, y, reach) {
  const lane = lanes.find((each) => y >= each.top - 1 && y <= each.top + each.tall + 1);
  if (!lane || x < size.left) return null;
  const [early, late] = [toTime(x - reach), toTime(x + reach)];
  let best = null, distance = Infinity;
  for (let at = firstFrom(lane, early); at < lane.items.length && lane.items[at].start <= late; at++) {
    const item = lane.items[at];
    if (item.end < early) continue;
    const off = Math.max(toX(item.start) - x, x - Math.max(toX(item.end), toX(item.start) + 1), 0);
    if (off < distance || (off === distance && dimmed(best))) [best, distance] = [item, off];
  }
  return best;
}

function sampleAt(time) {
  let low = 0, high = sampleTimes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sampleTimes[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function showTip(x, y) {
  const item = itemAt(x, y, 3);
  const lines = [];
  if (item && item.who !== undefined) {
    lines.push(element("b", {}, `${item.who} ${item.cause} ${baseName(item.path)}`));
    lines.push(`waited ${seconds(item.end - item.start)}`);
    const cause = byNumber.get(item.waitedFor);
    if (cause) lines.push(` for ${label(cause)}`);
  } else if (item) {
    lines.push(element("b", {}, label(item)));
    lines.push(`${item.took === null ? "did not end" : seconds(item.took)} from ${seconds(item.start)}, `);
    lines.push(`CPU ${seconds(item.user + item.system)}, ${bytes(item.memory)}`);
    if (failed(item)) lines.push(", failed");
  } else if (charts.length && y >= charts[0].top && x >= size.left) {
    const at = sampleAt(toTime(x)), { cpu, memory, running, queued, held } = data.samples;
    lines.push(element("b", {}, `at ${seconds(sampleTimes[at])}`));
    lines.push(`CPU ${Math.round(cpu[at] / 10)}%, memory ${bytes(memory[at] * 2 ** 20)}, ${running[at]} running, ${queued[at]} queued`);
    if (held[at]) lines.push(`, ${held[at]} held by memory`);
  }
  tip.hidden = !lines.length;
  if (tip.hidden) return;
  tip.replaceChildren(...lines);
  tip.style.left = `${Math.max(0, Math.min(x + 14, size.width - tip.offsetWidth))}px`;
  tip.style.top = `${y + 20}px`;
}

const say = (words) => (byId("said").textContent = words);

// From command to command: along a lane, or to the one that is nearest in time in another.
function step(along, across) {
  const middle = (view.from + view.to) / 2;
  const own = lanes.filter((lane) => lane.kind !== "stall" && lane.items.length);
  if (!own.length) return;
  const nearest = (lane, time) =>
    lane.items.reduce((best, each) => (Math.abs(each.start - time) < Math.abs(best.start - time) ? each : best));
  const cursor = shown.cursor;
  if (!cursor) {
    shown.cursor = nearest(own[0], middle);
  } else if (across) {
    const at = own.indexOf(lanes[cursor.lane]) + across;
    shown.cursor = nearest(own[Math.min(own.length - 1, Math.max(0, at))], cursor.start);
  } else {
    const { items } = lanes[cursor.lane];
    shown.cursor = items[Math.min(items.length - 1, Math.max(0, items.indexOf(cursor) + along))];
  }
  reveal(shown.cursor);
  say(`${label(shown.cursor)}, ${seconds(shown.cursor.end - shown.cursor.start)}`);
}

function onKey(event) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in arrows) {
    const [along, across] = arrows[event.key];
    if (event.shiftKey) step(along, across);
    else if (along) pan(along * 0.15);
    else return; // the page scrolls
  } else if (event.key === "+" || event.key === "=") zoom(0.6);
  else if (event.key === "-" || event.key === "_") zoom(1 / 0.6);
  else if (event.key === "0" || event.key === "Home") look(0, wall);
  else if (event.key === "Enter" || event.key === " ") {
    if (!shown.cursor) step(0, 0);
    if (shown.cursor) openDetails(shown.cursor, canvas);
  } else return;
  event.preventDefault();
}

// Whoever is scrolling down the page and comes across the timeline goes on scrolling.
let scrolled = -Infinity;
function onWheel(event) {
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const whole = view.to - view.from >= wall * 0.9999;
  if (!event.ctrlKey && !sideways && (performance.now() - scrolled < 350 || (whole && event.deltaY > 0))) return;
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 30 : 1;
  if (sideways) pan(((event.deltaX || event.deltaY) * lines) / size.width);
  else zoom(1.0016 ** (event.deltaY * lines), toTime(Math.max(size.left, event.offsetX)));
}

function listenToPointers() {
  const fingers = new Map();
  let moved = 0, start = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.offsetX);
    start = { ...view, fingers: new Map(fingers) };
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) {
      if (event.pointerType !== "touch") showTip(event.offsetX, event.offsetY);
      return;
    }
    fingers.set(event.pointerId, event.offsetX);
    const before = [...start.fingers.values()], now = [...fingers.values()];
    moved = Math.max(moved, ...now.map((x, at) => Math.abs(x - before[at])));
    if (moved < 4) return;
    tip.hidden = true;
    canvas.classList.add("dragging");
    const span = start.to - start.from, wide = size.width - size.left;
    const time = (x) => start.from + ((x - size.left) / wide) * span;
    if (now.length === 1) return look(start.from - ((now[0] - before[0]) / wide) * span, start.to - ((now[0] - before[0]) / wide) * span);
    const apart = Math.max(8, Math.abs(now[0] - now[1]));
    const wanted = Math.min(wall, Math.max(SHORTEST, (span * Math.max(8, Math.abs(before[0] - before[1]))) / apart));
    const from = time((before[0] + before[1]) / 2) - (((now[0] + now[1]) / 2 - size.left) / wide) * wanted;
    look(from, from + wanted);
  });
  const end = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    canvas.classList.remove("dragging");
    start = { ...view, fingers: new Map(fingers) };
    if (event.type !== "pointerup" || moved >= 4 || fingers.size) return;
    const item = itemAt(event.offsetX, event.offsetY, event.pointerType === "touch" ? 12 : 4);
    if (!item) return;
    const job = item.who === undefined ? item : byNumber.get(item.waitedFor);
    if (job) openDetails(job, canvas);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("dblclick", (event) => zoom(0.25, toTime(event.offsetX)));
}

function search(text) {
  const matches = matcher(text);
  shown.match = matches ? [] : null;
  for (const job of jobs) {
    job.matches = matches !== null && matches(job);
    if (job.matches) shown.match.push(job);
  }
  byId("matches").textContent = matches ? `${grouped(shown.match.length)} of ${grouped(jobs.length)}` : "";
  shown.found = -1;
  draw();
}

function nextMatch(by) {
  const ran = (shown.match || []).filter((job) => job.start !== null);
  if (!ran.length) return;
  shown.found = ((shown.found < 0 && by < 0 ? 0 : shown.found) + by + ran.length) % ran.length;
  byId("matches").textContent = `${grouped(shown.found + 1)} of ${grouped(ran.length)}`;
  openDetails(ran[shown.found], byId("search"), false);
}

function startTimeline() {
  if (!jobs.some((job) => job.start !== null) && !data.samples.at.length) return;
  byId("timeline-body").hidden = false;
  makeLanes();
  makeCharts();
  readInk();
  classify();
  new ResizeObserver(() => {
    const width = byId("stage").clientWidth;
    if (width === size.width || window.matchMedia("print").matches) return;
    layOut(width);
    drawNow();
  }).observe(byId("stage"));
  layOut(byId("stage").clientWidth);
  canvas.setAttribute("aria-label", `Timeline of ${grouped(jobs.length)} commands over ${seconds(wall)}`);
  window.addEventListener("scroll", () => (scrolled = performance.now()), { passive: true });
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("keydown", onKey);
  listenToPointers();
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("zoom-all").addEventListener("click", () => look(0, wall));
  byId("colour").addEventListener("change", (event) => {
    shown.mode = event.target.value;
    classify();
    draw();
  });
  byId("critical").addEventListener("click", (event) => {
    shown.critical = !shown.critical;
    event.target.setAttribute("aria-pressed", String(shown.critical));
    draw();
  });
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key !== "Escape") return;
    else search((event.target.value = ""));
    event.preventDefault();
  });
  drawNow();
}
