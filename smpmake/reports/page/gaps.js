// Why a slot is empty at some time, as far as what is known of its next command tells.
function gapAt(x, y) {
  const lane = lanes.find((each) => each.kind === "slot" && y >= each.top - 1 && y <= each.top + each.tall + 1);
  if (!lane || x < size.left || toTime(x) >= wall) return null;
  const time = toTime(x);
  const before = lane.all.filter((item) => item.start <= time);
  const from = before.reduce((latest, item) => Math.max(latest, item.end), 0);
  if (from > time) return null; // a command that is not shown
  const next = lane.all.find((item) => item.start > time);
  return { name: lane.name, from, to: next ? next.start : wall, next };
}

// What of a gap's time something else had.
const within = ({ from, to }, start, end) => Math.max(0, Math.min(end, to) - Math.max(start, from));

// What the driver did while it called nothing, if that is known.
function driverWas(gap) {
  const half = (to, start, end) => within(gap, start, end) > (to - gap.from) / 2;
  const until = Math.min(gap.to, gap.next?.issued ?? gap.to);
  const stall = stalls.find((each) => byNumber.get(each.command)?.verdict !== "deferred" && half(until, each.start, each.end));
  if (stall) return `${waiting(stall)} until ${seconds(stall.end)}`;
  const run = jobs.find((each) => !inParallel(each) && each.start !== null && half(until, each.start, each.end));
  return run ? `${data.driver} ran ${label(run)} in place until ${seconds(run.end)}` : "";
}

function whyEmpty(gap) {
  const { from, to, next } = gap, issued = jobs.map((job) => job.issued).filter((time) => time !== null);
  const middle = (from + to) / 2;
  if (!next) {
    const last = issued.reduce((latest, time) => Math.max(latest, time), 0);
    return last < to ? `No command was left for it: ${data.driver} called its last one at ${seconds(last)}.` : "";
  }
  if (next.issued !== null && next.issued >= middle) {
    const doing = driverWas(gap);
    const which = issued.some((time) => time < next.issued) ? "the next" : "its first";
    return `${data.driver} called ${which} command, ${label(next)}, only at ${seconds(next.issued)}${doing ? `: ${doing}` : ""}.`;
  }
  if (next.ready !== null && next.ready >= middle) {
    const cause = byNumber.get(next.waitedFor);
    return `The next command, ${label(next)}, waited ${cause ? `for ${label(cause)} ` : ""}until ${seconds(next.ready)}.`;
  }
  const { held } = data.samples;
  if (sampleTimes.some((time, at) => held[at] && time > from && time <= to)) return "Memory was short, so smpmake started no command.";
  return "";
}

function gapLines(gap) {
  const why = whyEmpty(gap);
  return [element("b", {}, `${gap.name} was empty for ${seconds(gap.to - gap.from)}`), `from ${seconds(gap.from)} to ${seconds(gap.to)}. ${why}`];
}
