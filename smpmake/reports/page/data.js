// The other side of pack.py: columns and words become commands again.
const data = JSON.parse(document.getElementById("data").textContent);
const { ticks } = data;
const wall = Math.max(data.wall, 1e-6);
const VERDICTS = { deferred: "in parallel", foreground: "in place", barrier: "in place, after all before it" };
const byId = (id) => document.getElementById(id);

const summed = (steps) => {
  let last = 0;
  return steps.map((step) => (last += step));
};
// Python counts whole characters where JavaScript counts halves of the rarer ones.
const words = [];
for (const [at, rest] of data.words.entries()) {
  const before = at ? [...words[at - 1]] : [];
  words.push(before.slice(0, data.shared[at]).join("") + rest);
}
const baseName = (path) => path.slice(path.lastIndexOf("/") + 1) || path;

// Of a column whose words are all empty nothing came.
const UNPACKED = {
  text: (word) => words[word] ?? "",
  number: (value) => value,
  CPU: (value) => (value < 0 ? null : value / ticks),
  seconds: (value) => (value < 0 ? null : value / ticks),
  KiB: (value) => value * 1024,
};

function unpackCommands(columns) {
  const issued = summed(columns.issued);
  const numbers = summed(columns.number);
  const onPath = new Set(data.path);
  let line = [];
  return numbers.map((number, at) => {
    const [same, ...own] = columns.line[at];
    line = line.slice(0, same).concat(own);
    const base = Math.max(0, issued[at]);
    const after = (column) => (columns[column][at] < 0 ? null : (base + columns[column][at]) / ticks);
    const start = after("started");
    const took = columns.took[at];
    const plain = Object.entries(data.columns).map(([name, kind]) => [name, UNPACKED[kind](columns[name][at])]);
    return {
      ...Object.fromEntries(plain),
      at, number, line, start,
      waitedFor: columns.waited_for[at],
      outputs: columns.outputs[at].map((word) => words[word]),
      issued: issued[at] < 0 ? null : issued[at] / ticks,
      ready: after("ready"),
      // What has begun and not ended was at work as long as anybody looked.
      end: start === null ? null : took < 0 ? wall : start + took / ticks,
      took: start === null || took < 0 ? null : took / ticks,
      sent: columns.sent[at] >= 0 ? columns.sent[at] / ticks : null, // after its start
      critical: onPath.has(number),
      surprises: data.surprises[number] || [],
    };
  });
}

function unpackStalls(columns) {
  return summed(columns.start).map((start, at) => ({
    who: words[columns.who[at]],
    cause: words[columns.cause[at]],
    path: words[columns.path[at]],
    waitedFor: columns.waited_for[at],
    command: columns.command[at],
    start: start / ticks,
    end: columns.took[at] < 0 ? wall : (start + columns.took[at]) / ticks,
  }));
}

const jobs = unpackCommands(data.commands);
const byNumber = new Map(jobs.map((job) => [job.number, job]));
const stalls = unpackStalls(data.stalls);
const sampleTimes = summed(data.samples.at).map((at) => at / 1000);
const failedNumbers = new Set(data.failed);

const commandLine = (job) => job.line.map((word) => words[word]).join(" ");
const place = (job) => (job.outputs.length ? baseName(job.outputs[0]) : "");
const label = (job) => {
  if (!job.outputs.length) return commandLine(job).slice(0, 200);
  return `${job.tool} ${job.folder === "." ? "" : `${job.folder}/`}${place(job)}`;
};
// Who waited, and for what: a command that runs in place, or a program that a guard has stopped.
const waiting = (stall) => {
  const name = baseName(stall.path);
  return byNumber.has(stall.command) ? `${stall.who} ${name} ${stall.cause}` : `${stall.who} ${stall.cause} ${name}`;
};
const lengthOf = (item) => Math.round((item.end - item.start) * 1e6) / 1e6; // 0.3 - 0.1 is not 0.2
const failed = (job) => job.state === "failed" || failedNumbers.has(job.number);

function matcher(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const folder = /^folder([:=])(.+)$/.exec(text.trim());
  if (folder) {
    const [, alone, path] = folder, below = path.endsWith("/") ? path : `${path}/`;
    return (job) => job.folder === path || (alone === ":" && job.folder.startsWith(below));
  }
  return (job) => {
    job.text ??= `${commandLine(job)} ${job.outputs.join(" ")} ${job.folder} ${job.kind}`.toLowerCase();
    return job.text.includes(wanted);
  };
}

// Figures as units.py writes them.
function seconds(value) {
  if (value === 0) return "0 s";
  if (value < 0.00095) return `${(value * 1000).toFixed(2)} ms`;
  if (value < 0.0995) return `${(value * 1000).toFixed(value < 0.00995 ? 1 : 0)} ms`;
  if (value < 99.95) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(value);
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours} h ${two(Math.round(whole / 60) % 60)} min` : `${minutes}:${two(rest)} min`;
}
function bytes(value) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (value < 1024) return `${Math.round(value)} ${unit}`;
    value /= 1024;
  }
  return `${value.toFixed(1)} GiB`;
}
const grouped = (number) => number.toLocaleString("en");

// The only way in which anything gets into the page: as text.
function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  for (const each of content) made.append(typeof each === "object" ? each : String(each));
  return made;
}
