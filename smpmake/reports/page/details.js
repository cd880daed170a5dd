// The panel that says everything about one command.
const panel = byId("details");
let opener = null;

function jobLink(job) {
  const go = (event) => {
    event.preventDefault();
    openDetails(job, opener);
  };
  return element("a", { href: `#job-${job.number}`, onclick: go }, label(job));
}

function resultOf(job) {
  if (job.state === "cancelled") return "cancelled: never run";
  if (failed(job)) return `failed${job.status === null ? "" : `, status ${job.status}`}`;
  if (job.status === null) return job.state === "done" ? "done; only its caller saw the status" : "did not end";
  return `status ${job.status}`;
}

function verdictOf(job) {
  const verdict = VERDICTS[job.verdict] || job.verdict;
  if (!job.reason) return verdict;
  return `${verdict}: ${data.reasons[job.reason] || job.reason}`;
}

function placeOf(job) {
  if (job.host) return job.sent === null ? job.host : `${job.host}, after ${seconds(job.sent)} here`;
  return job.slot < 0 ? "no slot" : `slot ${job.slot}`;
}

function facts(job) {
  const rows = [["Result", resultOf(job)], ["How", verdictOf(job)]];
  if (job.issued !== null) rows.push(["Called at", seconds(job.issued)]);
  if (job.start !== null) {
    rows.push(["Started at", seconds(job.start)]);
    rows.push(["Took", job.took === null ? "did not end" : seconds(job.took)]);
    if (job.ready !== null && job.start > job.ready) rows.push(["Waited for a slot", seconds(job.start - job.ready)]);
    rows.push(["CPU", `${seconds(job.user)} in programs, ${seconds(job.system)} in the kernel`]);
    rows.push(["Memory", bytes(job.max_rss_bytes)]);
    rows.push(["Ran in", placeOf(job)]);
  }
  rows.push(["Kind", `${job.kind}, ${job.language}${job.critical ? ", on the critical path" : ""}`]);
  return rows;
}

// At length: a row of their own.
function stories(job) {
  const rows = [["Folder", job.cwd]];
  if (job.outputs.length) rows.push(["Output", job.outputs.join(", ")]);
  const cause = byNumber.get(job.waitedFor);
  if (cause) rows.push(["Waited for", jobLink(cause)]);
  const after = jobs.filter((each) => each.waitedFor === job.number);
  if (after.length) {
    const links = after.slice(0, 8).flatMap((each, at) => (at ? [", ", jobLink(each)] : [jobLink(each)]));
    if (after.length > 8) links.push(` and ${grouped(after.length - 8)} more`);
    rows.push(["Could start after it", ...links]);
  }
  const kept = stalls.filter((stall) => stall.waitedFor === job.number && stall.end - stall.start >= 0.001);
  if (kept.length) {
    const first = kept.slice(0, 5).map((stall) => `${stall.who} (${stall.cause} ${baseName(stall.path)}) ${seconds(stall.end - stall.start)}`);
    rows.push(["These waited for it", `${first.join("; ")}${kept.length > 5 ? ` and ${grouped(kept.length - 5)} more` : ""}`]);
  }
  if (job.surprises.length) rows.push(["Surprises", job.surprises.join("; ")]);
  if (byId(`failure-${job.number}`)) rows.push(["Printed", element("a", { href: `#failure-${job.number}` }, "its output")]);
  return rows;
}

// `focus` is false where somebody goes from match to match and wants to stay in the search box.
function openDetails(job, from, focus = true) {
  opener = from || opener;
  shown.chosen = shown.cursor = job;
  const row = (kind) => ([name, ...content]) => element("div", { class: kind }, element("dt", {}, name), element("dd", {}, ...content));
  const inTimeline = () => {
    reveal(job);
    byId("timeline").scrollIntoView({ block: "start" });
  };
  panel.replaceChildren(
    element("div", { class: "top" }, element("h3", {}, label(job)), element("span", {},
      job.start === null ? "" : element("button", { type: "button", onclick: inTimeline }, "Show"),
      element("button", { type: "button", "aria-label": "Close", id: "close", onclick: closeDetails }, "✕"))),
    element("pre", { class: "command", tabindex: 0 }, commandLine(job)),
    element("dl", {}, ...facts(job).map(row(null)), ...stories(job).map(row("wide"))),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  makeRoom();
  if (focus) panel.focus({ preventScroll: true });
  history.replaceState(null, "", `#job-${job.number}`);
  reveal(job);
  say(label(job));
  markChosen();
}

// What the keyboard reaches scrolls to where the open panel does not cover it.
function makeRoom() {
  const tall = panel.hidden ? 0 : panel.offsetHeight + 12;
  root.style.scrollPaddingBottom = document.body.style.paddingBottom = tall ? `${tall}px` : "";
}

function closeDetails() {
  if (panel.hidden) return;
  panel.hidden = true;
  makeRoom();
  shown.chosen = null;
  history.replaceState(null, "", location.pathname + location.search);
  if (opener && opener.isConnected) opener.focus({ preventScroll: true });
  draw();
  markChosen();
}

function openFromAddress() {
  const found = /^#job-(\d+)$/.exec(location.hash);
  const job = found && byNumber.get(Number(found[1]));
  if (job) openDetails(job, canvas);
}

function startDetails() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeDetails();
  });
  window.addEventListener("hashchange", openFromAddress);
  for (const named of document.querySelectorAll("[data-job]")) {
    const job = byNumber.get(Number(named.dataset.job));
    if (!job) continue;
    const button = element("button", { type: "button" }, named.textContent);
    button.addEventListener("click", () => openDetails(job, button));
    named.replaceChildren(button);
  }
}
