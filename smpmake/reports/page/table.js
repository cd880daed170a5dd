// All commands, sorted and filtered; of ten thousand rows only those exist that are seen.
const ROW = 32, HEADING = 34;
const inParallel = (job) => job.verdict === "deferred";
function ran(job) {
  if (failed(job)) return "failed";
  if (job.state === "cancelled") return "cancelled";
  return inParallel(job) ? "in parallel" : "in place";
}
const COLUMNS = [
  { name: "#", kind: "g-number minor", value: (job) => job.number, up: true },
  { name: "Command", kind: "words", value: (job) => `${job.tool} ${place(job) || commandLine(job)}`, up: true },
  { name: "Folder", kind: "g-folder words minor", value: (job) => job.folder, up: true },
  { name: "Kind", kind: "g-word words minor", value: (job) => job.kind, up: true },
  { name: "Started", kind: "g-time minor", value: (job) => job.start, text: seconds, up: true },
  { name: "Took", kind: "g-time", value: (job) => job.took, text: seconds },
  { name: "Weighted", kind: "g-time minor", value: (job) => (job.start === null ? null : job.weighted), text: seconds },
  { name: "CPU", kind: "g-time", value: (job) => (job.start === null ? null : job.user + job.system), text: seconds },
  { name: "Memory", kind: "g-time minor", value: (job) => job.max_rss_bytes || null, text: bytes },
  { name: "Ran", kind: "g-word words minor", value: ran, up: true },
];
const WHICH = {
  all: () => true,
  "in parallel": inParallel,
  "in place": (job) => !inParallel(job),
  "on the critical path": (job) => job.critical,
  failed,
  cancelled: (job) => job.state === "cancelled",
};
const order = { column: COLUMNS[6], up: false };
const grid = element("div", { id: "grid", tabindex: 0, role: "region", "aria-label": "All commands" });
const gridBody = element("tbody");
const gridTable = element("table", {});
const gridCount = element("output", {});
const gridFilter = element("input", { type: "search", id: "filter", placeholder: "Filter commands", autocomplete: "off", spellcheck: "false" });
const gridWhich = element("select", { id: "which" });
let gridRows = [];
let gridShown = "";

// What has no value comes last, whatever the direction.
function compare(a, b) {
  const [x, y] = [order.column.value(a), order.column.value(b)];
  if (x === null || y === null) return (x === null) - (y === null) || a.at - b.at;
  const less = x < y ? -1 : x > y ? 1 : 0;
  return (order.up ? less : -less) || a.at - b.at;
}

function fillGrid() {
  const matches = matcher(gridFilter.value) || (() => true);
  const which = WHICH[gridWhich.value];
  gridRows = jobs.filter((job) => which(job) && matches(job)).sort(compare);
  gridCount.textContent = `${grouped(gridRows.length)} of ${grouped(jobs.length)}`;
  gridTable.setAttribute("aria-rowcount", gridRows.length + 1);
  grid.style.height = `${Math.min(480, HEADING + ROW * Math.max(3, gridRows.length) + 2)}px`;
  grid.scrollTop = 0;
  gridShown = "";
  drawGrid();
}

// One cell, not as many as there are columns: on a telephone there are fewer, and a span would add some.
const spacer = (rows) => {
  const cell = element("td");
  cell.style.height = `${rows * ROW}px`;
  return element("tr", { class: "space", "aria-hidden": "true" }, cell);
};

function gridRow(job, at) {
  const cells = COLUMNS.map((column) => {
    const value = column.value(job);
    const words = value === null ? "" : column.text ? column.text(value) : value;
    if (column.name !== "Command") return element("td", { class: column.kind, title: column.text ? null : words }, words);
    const button = element("button", { type: "button", title: commandLine(job).slice(0, 600) }, words);
    return element("th", { scope: "row", class: column.kind }, button);
  });
  return element("tr", { class: job === shown.chosen ? "row chosen" : "row", "aria-rowindex": at + 2, "data-number": job.number }, ...cells);
}

function drawGrid() {
  const from = Math.max(0, Math.floor(grid.scrollTop / ROW) - 8);
  const to = Math.min(gridRows.length, from + Math.ceil(grid.clientHeight / ROW) + 16);
  if (gridShown === `${from} ${to}`) return;
  gridShown = `${from} ${to}`;
  const focused = document.activeElement?.closest?.("#grid tr.row")?.dataset.number;
  gridBody.replaceChildren(spacer(from), ...gridRows.slice(from, to).map((job, at) => gridRow(job, from + at)), spacer(gridRows.length - to));
  if (focused) gridBody.querySelector(`tr[data-number="${focused}"] button`)?.focus({ preventScroll: true });
}

function markChosen() {
  gridBody.querySelector("tr.chosen")?.classList.remove("chosen");
  if (shown.chosen) gridBody.querySelector(`tr[data-number="${shown.chosen.number}"]`)?.classList.add("chosen");
}

// A heading that sorts.  `sort` gets whether upwards, and does it.
function sortable(head, upFirst, sort) {
  const button = element("button", { type: "button" }, head.textContent);
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const before = head.getAttribute("aria-sort");
    const up = before ? before !== "ascending" : upFirst;
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    sort(up);
  });
}

function startGrid() {
  const home = byId("all-commands");
  if (!home) return;
  for (const name of Object.keys(WHICH)) {
    if (name === "all" || jobs.some(WHICH[name])) gridWhich.append(element("option", { value: name }, name));
  }
  const heads = COLUMNS.map((column) => {
    const head = element("th", { scope: "col", class: column.kind }, column.name);
    sortable(head, Boolean(column.up), (up) => {
      Object.assign(order, { column, up });
      fillGrid();
    });
    return head;
  });
  heads[COLUMNS.indexOf(order.column)].setAttribute("aria-sort", "descending");
  gridTable.append(element("thead", {}, element("tr", {}, ...heads)), gridBody);
  grid.append(gridTable);
  const search = element("label", { class: "search" }, element("span", { class: "hidden" }, "Filter commands"), gridFilter);
  home.append(element("div", { class: "controls" }, search, element("label", {}, "Show ", gridWhich), gridCount), grid,
    element("p", { class: "note" }, "Weighted: while several commands run at the same time, each of them gets its share of these seconds."));
  gridFilter.addEventListener("input", fillGrid);
  gridWhich.addEventListener("change", fillGrid);
  grid.addEventListener("scroll", drawGrid, { passive: true });
  gridBody.addEventListener("click", (event) => {
    const row = event.target.closest("tr.row");
    if (row) openDetails(byNumber.get(Number(row.dataset.number)), row.querySelector("button"));
  });
  byId("costliest").hidden = true;
  home.hidden = false;
  fillGrid();
}

// The small tables are in the page already: their rows only change places.
function startSorting() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const value = (row) => {
        const cell = row.cells[at];
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
      };
      const numeric = body.rows[0]?.cells[at].dataset.value !== undefined;
      sortable(head, !numeric, (up) => {
        const rows = [...body.rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
        body.replaceChildren(...(up ? rows : rows.reverse()));
      });
    });
  }
}
