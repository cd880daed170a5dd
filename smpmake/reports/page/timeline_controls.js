// What a reader does with the timeline: zooming, going from command to command, pointing, searching.
const tip = byId("tip");
const SHORTEST = Math.min(wall, Math.max(wall / 200000, 0.0005));

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

function showTip(x, y) {
  const item = itemAt(x, y, 3);
  const lines = [];
  if (item && item.who !== undefined) {
    lines.push(element("b", {}, waiting(item)));
    lines.push(`waited ${seconds(item.end - item.start)}`);
    const cause = byNumber.get(item.waitedFor);
    if (cause) lines.push(` for ${label(cause)}`);
  } else if (item) {
    lines.push(element("b", {}, label(item)));
    lines.push(`${item.took === null ? "did not end" : seconds(item.took)} from ${seconds(item.start)}, `);
    lines.push(`CPU ${seconds(item.user + item.system)}, ${bytes(item.max_rss_bytes)}`);
    if (failed(item)) lines.push(", failed");
  } else if (charts.length && y >= charts[0].top && x >= size.left) {
    const at = sampleAt(toTime(x)), { cpu, memory, running, queued, held } = data.samples;
    lines.push(element("b", {}, `at ${seconds(sampleTimes[at])}`));
    lines.push(`whole machine: CPU ${Math.round(cpu[at || Math.min(1, cpu.length - 1)] / 10)}%, memory ${bytes(memory[at] * 2 ** 20)}; ${grouped(running[at])} jobs running, ${grouped(queued[at])} waiting`);
    if (held[at]) lines.push(`, ${grouped(held[at])} of them for memory`);
  }
  const gap = lines.length ? null : gapAt(x, y);
  if (gap) lines.push(...gapLines(gap));
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

function startTimeline() {
  if (!jobs.some((job) => job.start !== null) && !data.samples.at.length) return;
  byId("timeline-body").hidden = false;
  makeLanes();
  makeCharts();
  shown.mode = byId("colour").value = bestMode();
  readInk();
  classify();
  new ResizeObserver(() => {
    const width = byId("stage").clientWidth;
    if (width === size.width || window.matchMedia("print").matches) return;
    layOut(width);
    readInk();
    drawNow();
  }).observe(byId("stage"));
  layOut(byId("stage").clientWidth);
  readInk();
  canvas.setAttribute("aria-label", `Timeline of ${grouped(jobs.length)} commands over ${seconds(wall)}`);
  window.addEventListener("scroll", () => (scrolled = performance.now()), { passive: true });
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("keydown", onKey);
  listenToPointers();
  listenToStrip();
  startSearch();
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("zoom-all").addEventListener("click", () => look(0, wall));
  byId("colour").addEventListener("change", (event) => {
    shown.mode = event.target.value;
    classify();
    draw();
  });
  byId("critical").hidden = !data.path.length;
  byId("critical").addEventListener("click", (event) => {
    shown.critical = !shown.critical;
    event.target.setAttribute("aria-pressed", String(shown.critical));
    stale();
    draw();
  });
  drawNow();
}
