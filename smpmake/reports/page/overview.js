// The whole build on a strip, and on it a brush: what of it the timeline shows.
const strip = byId("overview");
const stripInk = strip.getContext("2d");
const still = document.createElement("canvas"); // the strip without the brush, drawn when it changes
const STRIP = 44;
let stillFresh = false;
let marks = new Set(); // pixels at which something was found

function stale() {
  stillFresh = false;
}

const stripX = (time) => size.left + (time / wall) * (size.width - size.left);
const stripTime = (x) => Math.min(wall, Math.max(0, ((x - size.left) / (size.width - size.left)) * wall));

function layOutStrip(ratio) {
  for (const each of [strip, still]) {
    each.width = Math.round(size.width * ratio);
    each.height = Math.round(STRIP * ratio);
    each.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  strip.style.height = `${STRIP}px`;
  stale();
}

// Seconds of work in each column of pixels, by colour: first what is looked for, above it the rest.
function columns() {
  const count = Math.max(1, Math.floor(size.width - size.left));
  const wide = wall / count;
  const found = Array.from({ length: count }, () => new Map());
  for (const lane of lanes) {
    if (lane.kind === "stall") continue;
    for (const job of lane.items) {
      const key = dimmed(job) ? "dimmed" : job.colour;
      const last = Math.min(count - 1, Math.floor(job.end / wide));
      for (let at = Math.min(count - 1, Math.floor(job.start / wide)); at <= last; at++) {
        const part = Math.min(job.end, (at + 1) * wide) - Math.max(job.start, at * wide);
        found[at].set(key, (found[at].get(key) || 0) + Math.max(part, wide * 0.02));
      }
    }
  }
  return found.map((column) => [...column].map(([key, part]) => [key, part / wide]));
}

function drawStill() {
  const pen = still.getContext("2d");
  pen.fillStyle = ink["--paper"];
  pen.fillRect(0, 0, size.width, STRIP);
  pen.fillStyle = ink["--raised"];
  pen.fillRect(size.left, 0, size.width - size.left, STRIP);
  const order = new Map(categories.map((each, at) => [each.colour, at]));
  const rank = ([key]) => (key === "dimmed" ? 99 : order.get(key) ?? 50);
  const before = (a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1); // the same ones lie side by side
  const found = columns();
  const most = found.reduce((high, column) => Math.max(high, column.reduce((sum, [, part]) => sum + part, 0)), 1);
  found.forEach((column, at) => {
    let base = STRIP;
    for (const [key, part] of column.sort(before)) {
      const tall = (part / most) * (STRIP - 3);
      pen.globalAlpha = key === "dimmed" ? 0.35 : 1;
      pen.fillStyle = key === "dimmed" ? ink["--other"] : paint(key);
      pen.fillRect(size.left + at, base - tall, 1.05, tall);
      base -= tall;
    }
  });
  pen.globalAlpha = 1;
  pen.fillStyle = ink["--failed"];
  for (const job of jobs) if (job.start !== null && failed(job)) pen.fillRect(stripX(job.end) - 1, 0, 2, 7);
  marks = new Set(shown.match ? hits().map((job) => Math.round(stripX(job.start))) : []);
  stillFresh = true;
}

function drawStrip() {
  if (!stillFresh) drawStill();
  stripInk.drawImage(still, 0, 0, size.width, STRIP);
  const from = stripX(view.from), to = Math.max(stripX(view.to), from + 2);
  stripInk.fillStyle = ink["--paper"];
  stripInk.globalAlpha = 0.55;
  stripInk.fillRect(size.left, 0, from - size.left, STRIP);
  stripInk.fillRect(to, 0, size.width - to, STRIP);
  stripInk.globalAlpha = 1;
  stripInk.fillStyle = ink["--ink"]; // one of ten thousand would not be seen
  for (const x of marks) stripInk.fillRect(x - 0.5, 0, 1.5, 8);
  stripInk.strokeStyle = ink["--soft"];
  stripInk.lineWidth = 1;
  stripInk.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), STRIP - 1);
  stripInk.fillStyle = ink["--ink"];
  for (const x of [from, to - 4]) stripInk.fillRect(x, STRIP / 2 - 9, 4, 18);
  stripInk.font = ink.font;
  stripInk.textAlign = "right";
  stripInk.fillStyle = ink["--soft"];
  stripInk.fillText(size.left < 80 ? "whole" : "whole build", size.left - 8, STRIP / 2 + 4);
}

// What a pointer at a point of the strip takes hold of: an edge, the brush, or a new one.
function gripAt(x, reach) {
  const from = stripX(view.from), to = stripX(view.to);
  if (Math.abs(x - from) <= reach && Math.abs(x - from) <= Math.abs(x - to)) return "from";
  if (Math.abs(x - to) <= reach) return "to";
  const whole = view.to - view.from >= wall * 0.9999;
  return !whole && x > from && x < to ? "move" : "new";
}

const CURSORS = { from: "ew-resize", to: "ew-resize", move: "grab", new: "crosshair" };

function listenToStrip() {
  let held = null;
  strip.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    strip.setPointerCapture(event.pointerId);
    const grip = gripAt(event.offsetX, event.pointerType === "touch" ? 16 : 7);
    held = { grip, x: event.offsetX, time: stripTime(event.offsetX), ...view, moved: false };
  });
  strip.addEventListener("pointermove", (event) => {
    if (!held) {
      strip.style.cursor = CURSORS[gripAt(event.offsetX, 7)];
      return;
    }
    held.moved ||= Math.abs(event.offsetX - held.x) >= 3;
    if (!held.moved) return;
    const time = stripTime(event.offsetX);
    if (held.grip === "move") look(held.from + time - held.time, held.to + time - held.time);
    else {
      const fixed = { from: held.to, to: held.from, new: held.time }[held.grip];
      look(Math.min(fixed, time), Math.max(fixed, time));
    }
  });
  strip.addEventListener("pointerup", () => {
    if (held && !held.moved && held.grip === "new") {
      const span = Math.min(view.to - view.from, wall / 8);
      look(held.time - span / 2, held.time + span / 2);
    }
    held = null;
  });
  strip.addEventListener("pointercancel", () => (held = null));
  strip.addEventListener("dblclick", () => look(0, wall));
  strip.addEventListener("keydown", onKey);
}
