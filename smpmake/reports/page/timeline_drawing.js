// What is drawn of the timeline.
let pending = false;

function tickStep() {
  const wanted = ((view.to - view.from) / (size.width - size.left)) * (size.width < 600 ? 78 : 96);
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  if (wanted > 1) return steps.find((each) => each >= wanted) || 86400 * Math.ceil(wanted / 86400);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= wanted);
}

const asClock = () => view.to >= 60; // one way of writing on all of an axis

function clock(exact, step) {
  const time = Math.round(exact * 1e6) / 1e6; // 0.1 * 3 is not 0.3
  const places = step < 1 ? -Math.floor(Math.log10(step) + 1e-9) : 0;
  if (!asClock()) return `${time.toFixed(places)} s`;
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const part = places ? (time % 1).toFixed(places).slice(1) : "";
  return time >= 3600
    ? `${Math.floor(time / 3600)}:${two((time / 60) % 60)}:${two(time % 60)}${part}`
    : `${Math.floor(time / 60)}:${two(time % 60)}${part}`;
}

function drawAxis() {
  const step = tickStep();
  if (asClock()) {
    context.textAlign = "right";
    context.fillStyle = ink["--soft"];
    context.fillText(view.to >= 3600 ? "h:min:s" : "min:s", size.left - 8, 11);
  }
  context.textAlign = "center";
  let free = size.left;
  for (let at = Math.ceil(view.from / step); at * step <= view.to; at++) {
    const x = Math.round(toX(at * step)) + 0.5;
    context.fillStyle = ink["--line"];
    context.fillRect(x - 0.5, AXIS - 6, 1, size.height - AXIS);
    const words = clock(at * step, step);
    const half = context.measureText(words).width / 2;
    const middle = Math.min(Math.max(x, size.left + half), size.width - half);
    if (middle - half < free) continue;
    free = middle + half + 10;
    context.fillStyle = ink["--soft"];
    context.fillText(words, middle, 11);
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
    const fits = context.measureText(lane.name).width <= size.left - 10;
    context.fillText(fits ? lane.name : lane.name.split(" ").at(-1), size.left - 8, middle + 4);
    free = middle + 13;
  }
}

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
  context.fillStyle = lane.kind === "stall" ? ink["--stall"] : paint(item.colour);
  context.fillRect(from, lane.top, wide > 3 ? wide - 1 : wide, lane.tall);
  if (lane.kind === "stall") {
    if (wide > 60 && lane.tall >= 12) drawWords(waiting(item), lane, from, wide, "--stall");
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

function drawWords(words, lane, from, wide, colour) {
  const most = Math.floor((wide - 8) / 6.2);
  if (most < 3) return;
  context.textAlign = "left";
  context.fillStyle = over(paint(colour));
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
  context.fillText(size.left < 80 ? chart.short : chart.name, size.left - 8, chart.top + 15);
  const fits = context.measureText(chart.scale).width <= size.left - 10;
  context.fillText(fits ? chart.scale : chart.scale.split(" ").at(-1), size.left - 8, chart.top + 31);
  context.save();
  context.beginPath();
  context.rect(size.left, chart.top - 1, size.width - size.left, CHART + 2);
  context.clip();
  context.beginPath();
  const height = (value) => base - value * (CHART - 3);
  const { running, queued } = data.samples;
  const begin = running[0] || queued[0] ? sampleTimes[0] : 0; // before any job nothing was different
  context.moveTo(toX(begin), height(chart.values[0]));
  sampleTimes.forEach((time, at) => {
    const x = toX(time), y = height(chart.values[at]);
    context.lineTo(x, y);
  });
  context.strokeStyle = ink[chart.colour];
  context.lineWidth = 1.5;
  context.stroke();
  context.lineTo(toX(sampleTimes.at(-1)), base);
  context.lineTo(toX(begin), base);
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
  drawStrip();
  canvas.dataset.from = view.from;
  canvas.dataset.to = view.to;
}

function draw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(drawNow);
}
