// Looking for commands, and hiding the short ones.
const LIMITS = [0];

const hiddenWords = () => {
  const ran = jobs.filter((job) => job.start !== null);
  const hidden = ran.filter((job) => !visible(job)).length;
  return hidden ? `${grouped(hidden)} of ${grouped(ran.length)} hidden` : "";
};

function search(text) {
  const matches = matcher(text);
  shown.match = matches ? [] : null;
  for (const job of jobs) {
    job.matches = matches !== null && matches(job);
    if (job.matches) shown.match.push(job);
  }
  byId("matches").textContent = matches ? `${grouped(shown.match.length)} of ${grouped(jobs.length)}` : "";
  for (const name of ["previous", "next"]) byId(name).disabled = !hits().length;
  shown.found = -1;
  stale();
  draw();
}

const hits = () => (shown.match || []).filter((job) => job.start !== null && visible(job));

// To the next command that was looked for: so near that it and its neighbours are told apart.
function nextMatch(by) {
  const found = hits();
  if (!found.length) return;
  shown.found = ((shown.found < 0 && by < 0 ? 0 : shown.found) + by + found.length) % found.length;
  byId("matches").textContent = `${grouped(shown.found + 1)} of ${grouped(found.length)}`;
  const job = found[shown.found];
  openDetails(job, byId("search"), false);
  zoomTo(job);
}

function zoomTo(job) {
  const span = Math.max((job.end - job.start) * 5, SHORTEST * 40);
  const middle = (job.start + job.end) / 2;
  look(middle - span / 2, middle + span / 2);
  const { top } = strip.getBoundingClientRect();
  if (top < 46 || top > window.innerHeight * 0.4) strip.scrollIntoView({ block: "start" });
}

// The commands of a folder, with those below it or alone.
function showFolder(path, alone) {
  byId("search").value = `folder${alone ? "=" : ":"}${path}`;
  search(byId("search").value);
  const found = hits();
  if (found.length) {
    const from = found.reduce((least, job) => Math.min(least, job.start), wall);
    const to = found.reduce((most, job) => Math.max(most, job.end), 0);
    look(from - (to - from) * 0.04, to + (to - from) * 0.04);
  }
  byId("timeline").scrollIntoView({ block: "start" });
}

function hideShorter(least) {
  shown.least = least;
  for (const lane of lanes) lane.items = least ? lane.all.filter(visible) : lane.all;
  const at = LIMITS.indexOf(least);
  byId("least").value = at;
  byId("least").setAttribute("aria-valuetext", least ? rounded(least) : "show all");
  byId("least-said").textContent = least ? rounded(least) : "show all";
  byId("hidden-said").textContent = hiddenWords();
  for (const bar of document.querySelectorAll("#lengths [data-least]")) {
    bar.classList.toggle("out", Number(bar.dataset.least) < least);
  }
  search(byId("search").value);
}

function startSearch() {
  const box = byId("search");
  box.addEventListener("input", () => search(box.value));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key !== "Escape") return;
    else search((box.value = ""));
    event.preventDefault();
  });
  byId("previous").addEventListener("click", () => nextMatch(-1));
  byId("next").addEventListener("click", () => nextMatch(1));
  const longest = jobs.reduce((most, job) => (job.start === null ? most : Math.max(most, job.end - job.start)), 0);
  LIMITS.push(...ROUND.filter((limit) => limit >= 0.001 && limit <= longest));
  byId("least").max = LIMITS.length - 1;
  byId("least").closest("label").hidden = LIMITS.length < 2;
  byId("least").addEventListener("input", (event) => hideShorter(LIMITS[Number(event.target.value)]));
  // The bars of the histogram are the same limits.
  byId("lengths")?.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-least]");
    const least = bar && Number(bar.dataset.least);
    if (LIMITS.includes(least)) hideShorter(least === shown.least ? 0 : least);
  });
}
