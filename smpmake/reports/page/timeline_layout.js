// Where everything on the timeline is: lanes of slots, of other machines, of what took no slot and of
// the driver's waits, the machine below; and how much of it is in view.
const canvas = byId("canvas");
const context = canvas.getContext("2d");
const AXIS = 24, CHART = 42, GAP = 10, LANES = 560, HOST_LANES = 64;

const view = { from: 0, to: wall };
const shown = { mode: "kind", critical: false, match: null, cursor: null, chosen: null, least: 0 };
const lanes = [];
const charts = [];
let size = { width: 0, height: 0, left: 96 };

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
  const hosts = new Map();
  for (const job of ran.filter((each) => each.host)) {
    if (!hosts.has(job.host)) hosts.set(job.host, []);
    hosts.get(job.host).push(job);
  }
  for (const job of ran.filter((each) => each.slot >= 0 && !each.host)) {
    if (!slots.has(job.slot)) slots.set(job.slot, []);
    slots.get(job.slot).push(job);
  }
  for (const slot of [...slots.keys()].sort((a, b) => a - b)) {
    lanes.push({ name: `slot ${slot}`, kind: "slot", items: slots.get(slot) });
  }
  for (const host of [...hosts.keys()].sort()) {
    packRows(hosts.get(host), HOST_LANES).forEach((items, row) => {
      lanes.push({ name: row ? "" : host, kind: "host", items });
    });
  }
  packRows(ran.filter((each) => each.slot < 0 && !each.host), 3).forEach((items, row) => {
    lanes.push({ name: row ? "" : "no slot", kind: "free", items });
  });
  const driver = stalls.filter((stall) => (byNumber.get(stall.command)?.verdict ?? "") !== "deferred");
  packRows(driver.filter((stall) => stall.end > stall.start), 3).forEach((items, row) => {
    lanes.push({ name: row ? "" : `${data.driver} waits`, kind: "stall", items });
  });
  for (const lane of lanes) lane.all = lane.items;
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
    // Of the time before the first sample nothing is known: the curve begins as it goes on.
    { name: "whole machine", short: "machine", scale: "CPU 100%", values: cpu.map((v, at) => Math.min(1, (at ? v : cpu[1]) / 1000)), colour: "--c0" },
    { name: "memory in use", short: "memory", scale: `+${bytes((most(memory) - least) * 2 ** 20)}`, colour: "--c2", held,
      values: memory.map((v) => (v - least) / Math.max(1, most(memory) - least)) },
    { name: "jobs running", short: "running", scale: `of ${data.slots}`, values: running.map((v) => Math.min(1, v / data.slots)), colour: "--c4" },
    { name: "jobs waiting", short: "waiting", scale: `up to ${grouped(most(queued))}`, values: queued.map((v) => v / most(queued)), colour: "--c1" },
  );
}

function layOut(width) {
  size.left = width < 600 ? 74 : 96;
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
  layOutStrip(ratio);
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

const visible = (item) => lengthOf(item) >= shown.least;
const dimmed = (job) => (shown.match && !job.matches) || (shown.critical && !job.critical);

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
