// Which colour a command has, and what that means.
let ink = {};
let categories = [];

const KINDS = ["compile", "link", "archive", "preprocess", "assemble", "unknown", "query", "inspect"];
const OUTCOMES = { succeeded: "--c4", failed: "--failed", cancelled: "--c6", "did not end": "--c7" };
const LEGENDS = { kind: "kind", language: "language", folder: "folder", duration: "how long they took", failure: "result" };
const STEPS = 7; // colours of durations in page.css
const DOMINANT = 0.85; // of the weighted time: where one kind has more, its colour says nothing

// Round figures, 1, 2, 5 up to a minute, then what clocks have: for axes, limits and colours.
const ROUND = [];
for (let power = -4; power < 1; power++) for (const factor of [1, 2, 5]) ROUND.push(Number(`${factor}e${power}`));
ROUND.push(10, 20, 60, 120, 300, 600, 1200, 3600, 7200, 18000, 36000, 86400);

function rounded(value) {
  if (value >= 3600) return `${value / 3600} h`;
  if (value >= 60) return `${value / 60} min`;
  return value >= 0.1 ? `${value} s` : `${Math.round(value * 1e4) / 10} ms`;
}

function outcome(job) {
  if (failed(job)) return "failed";
  if (job.state === "cancelled") return "cancelled";
  return job.took === null ? "did not end" : "succeeded";
}

// A colour that a name has in every build, so that pages can be laid side by side.
function hashed(name, turn = 0) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
  hash ^= hash >>> 15;
  const dark = document.documentElement.dataset.theme === "dark";
  return oklch((dark ? 0.68 : 0.56) + ((hash >>> 9) % 3) * 0.07, 0.13, ((hash % 360) + turn) * (Math.PI / 180));
}

// Those that the legend names are told apart, even where their hashes are alike.
function apart(names, colourOf) {
  const taken = [];
  const bytes = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const near = (a, b) => bytes(a).reduce((sum, value, at) => sum + Math.abs(value - bytes(b)[at]), 0) < 90;
  for (const name of [...names].sort()) {
    let colour = hashed(name);
    for (let turn = 30; turn < 360 && taken.some((each) => near(each, colour)); turn += 30) colour = hashed(name, turn);
    taken.push(colour);
    colourOf.set(name, colour);
  }
}

// Equally bright to the eye whatever the hue (Björn Ottosson's Oklab), as #rrggbb.
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const byte = (value) => {
    const inside = Math.min(1, Math.max(0, value));
    const shown = inside <= 0.0031308 ? 12.92 * inside : 1.055 * inside ** (1 / 2.4) - 0.055;
    return Math.round(shown * 255).toString(16).padStart(2, "0");
  };
  return `#${linear.map(byte).join("")}`;
}

// Limits between colours of durations: round ones, from where the shortest are to where the longest are.
function durationLimits() {
  const times = jobs.filter((job) => job.start !== null && lengthOf(job) >= 0.001).map(lengthOf).sort((a, b) => a - b);
  const low = times[Math.floor(times.length * 0.05)] ?? 0, high = times[Math.floor(times.length * 0.99)] ?? 0;
  const inside = ROUND.filter((limit) => limit > low && limit <= high);
  const every = Math.ceil(inside.length / (STEPS - 1)) || 1;
  return inside.filter((limit, at) => at % every === 0);
}

function durations() {
  const limits = durationLimits();
  const times = jobs.filter((job) => job.start !== null).map(lengthOf).sort((a, b) => a - b);
  const [least, most] = [times[0] ?? 0, times.at(-1) ?? 0].map(seconds);
  const step = (job) => limits.filter((limit) => lengthOf(job) >= limit).length;
  const name = (at) => {
    if (!limits.length) return least === most ? least : `${least} to ${most}`;
    if (at === 0) return `under ${rounded(limits[0])}`;
    return `${rounded(limits[at - 1])}${at < limits.length ? ` to ${rounded(limits[at])}` : " and more"}`;
  };
  const colour = (at) => `--d${Math.round((at / Math.max(1, limits.length)) * (STEPS - 1))}`;
  return { key: (job) => name(step(job)), all: limits.length + 1, name, colour };
}

function sums(key) {
  const found = new Map();
  for (const job of jobs) {
    if (job.start === null) continue;
    const name = key(job);
    const sum = found.get(name) || { name, weight: 0, count: 0 };
    sum.weight += job.weighted;
    sum.count += 1;
    found.set(name, sum);
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight || b.count - a.count);
}

// Where nearly all is of one kind, folders tell more; where there is one folder, durations do.
function bestMode() {
  const kinds = sums((job) => job.kind);
  const whole = kinds.reduce((sum, each) => sum + each.weight, 0);
  if (!kinds.length || kinds[0].weight <= whole * DOMINANT) return "kind";
  return new Set(jobs.map((job) => job.folder)).size > 2 ? "folder" : "duration";
}

// What the colours mean now.  Of many the eight weightiest are named.
function classify() {
  const { mode } = shown;
  const lengths = mode === "duration" ? durations() : null;
  const key = lengths ? lengths.key : mode === "failure" ? outcome : (job) => job[mode];
  let found = sums(key);
  let colourOf = new Map();
  if (lengths) {
    const steps = Array.from({ length: lengths.all }, (_, at) => lengths.name(at));
    steps.forEach((name, at) => colourOf.set(name, lengths.colour(at)));
    found.sort((a, b) => steps.indexOf(a.name) - steps.indexOf(b.name));
  } else if (mode === "failure") {
    colourOf = new Map(Object.entries(OUTCOMES));
  } else if (mode === "kind") {
    KINDS.forEach((name, at) => colourOf.set(name, `--c${at}`));
  } else if (mode === "folder") {
    for (const each of found) colourOf.set(each.name, hashed(each.name));
    apart(found.slice(0, 8).map((each) => each.name), colourOf);
  } else {
    found.slice(0, 8).forEach((each, at) => colourOf.set(each.name, each.name.startsWith("(files") ? "--other" : `--c${at}`));
  }
  for (const each of found) each.colour = colourOf.get(each.name) || "--other";
  for (const job of jobs) job.colour = job.start === null ? "--other" : colourOf.get(key(job)) || "--other";
  const rest = mode === "kind" ? [] : found.slice(8);
  categories = rest.length ? found.slice(0, 8) : found;
  if (rest.length) {
    const count = rest.reduce((sum, each) => sum + each.count, 0);
    const name = `${grouped(rest.length)} other ${mode}s${mode === "folder" ? ", each of its own colour" : ""}`;
    categories.push({ name, count, colour: "--other" });
  }
  byId("legend").replaceChildren(
    element("li", {}, `Commands by ${LEGENDS[mode]}:`),
    ...categories.map((each) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = each.colour.startsWith("#") ? each.colour : `var(${each.colour})`;
      const name = mode === "folder" && each.name === "." ? "top folder" : each.name;
      return element("li", {}, swatch, `${name}: ${grouped(each.count)}`);
    }),
  );
  stale();
}

// The colour itself, of the theme that is shown.
const paint = (colour) => ink[colour] ?? colour;

function readInk() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "raised", "ink", "soft", "line", "other", "failed", "stall", "focus", "match"];
  for (let at = 0; at < 8; at++) names.push(`c${at}`);
  for (let at = 0; at < STEPS; at++) names.push(`d${at}`);
  ink = Object.fromEntries(names.map((name) => [`--${name}`, style.getPropertyValue(`--${name}`).trim()]));
  ink.font = `${size.width < 600 ? 12 : 11}px ${getComputedStyle(document.body).fontFamily}`;
}

// Black or white, whichever is better seen on a colour.
function over(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  return 0.2126 * red ** 2.2 + 0.7152 * green ** 2.2 + 0.0722 * blue ** 2.2 > 0.18 ? "#000000" : "#ffffff";
}
