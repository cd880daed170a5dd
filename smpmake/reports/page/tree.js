// The folders as a tree, each with the sums of all that is below it.
const MOST = 100; // rows of one folder at first

const TREE_COLUMNS = [
  { name: "Folder", value: (node) => node.name, up: true },
  { name: "Weighted", value: (node) => node.weighted, text: seconds },
  { name: "Time", value: (node) => node.wall, text: seconds, minor: true },
  { name: "CPU", value: (node) => node.cpu, text: seconds, minor: true },
  { name: "Commands", value: (node) => node.count, text: grouped },
  { name: "Memory", value: (node) => node.memory, text: (value) => (value ? bytes(value) : ""), minor: true },
];
const treeOrder = { column: TREE_COLUMNS[1], up: false };

const newNode = (name, path) => ({ name, path, children: new Map(), count: 0, weighted: 0, wall: 0, cpu: 0, memory: 0, open: false, most: MOST });

function addTo(node, job) {
  node.count += 1;
  node.weighted += job.weighted;
  node.wall += job.end - job.start;
  node.cpu += job.user + job.system;
  node.memory = Math.max(node.memory, job.max_rss_bytes);
}

// Names on the way to a folder; what lies outside the build's folder begins at the root.
function wayTo(folder) {
  if (folder === "." || folder === "") return [];
  return folder.startsWith("/") ? ["/", ...folder.slice(1).split("/")] : folder.split("/");
}

function growTree() {
  const top = newNode("all", "");
  for (const job of jobs) {
    if (job.start === null) continue;
    let node = top;
    addTo(node, job);
    for (const part of wayTo(job.folder)) {
      const path = !node.path ? part : node.path === "/" ? `/${part}` : `${node.path}/${part}`;
      if (!node.children.has(part)) node.children.set(part, newNode(part, path));
      node = node.children.get(part);
      addTo(node, job);
    }
    (node.own ??= newNode("(here)", null)).of = job.folder;
    addTo(node.own, job);
  }
  return shorten(top);
}

// What holds nothing but one folder is one row with it; what has files of its own beside folders shows them.
function shorten(node) {
  const inside = [...node.children.values()].map(shorten);
  if (inside.length === 1 && !node.own && node.path) {
    const [only] = inside;
    const name = node.name === "/" ? `/${only.name}` : `${node.name}/${only.name}`;
    return { ...only, name };
  }
  if (node.own && inside.length) inside.push(node.own);
  return { ...node, children: inside };
}

function inOrder(nodes) {
  const { column, up } = treeOrder;
  const sign = up ? 1 : -1;
  return [...nodes].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    return (x < y ? -sign : x > y ? sign : 0) || (a.name < b.name ? -1 : 1);
  });
}

// Opens the weightiest folders while there is room.
function openSome(top, room) {
  const waiting = [top];
  while (waiting.length === 1 && waiting[0].children.length) { // down to where there is a choice
    waiting[0].open = true;
    room -= waiting[0].children.length;
    waiting.splice(0, 1, ...waiting[0].children);
  }
  while (waiting.length) {
    waiting.sort((a, b) => b.weighted - a.weighted);
    const node = waiting.shift();
    if (!node.children.length || node.children.length > room) continue;
    node.open = true;
    room -= node.children.length;
    waiting.push(...node.children.filter((child) => child.children.length));
  }
}

function treeRow(node, level, whole, redraw) {
  const has = node.children.length > 0;
  const toggle = element("button", { type: "button", class: "toggle", "aria-label": `${node.open ? "Close" : "Open"} ${node.name}` }, node.open ? "▾" : "▸");
  toggle.addEventListener("click", () => {
    node.open = !node.open;
    redraw(node);
  });
  const path = node.path ?? node.of;
  const named = path ? element("button", { type: "button", title: `Show the commands of ${path} in the timeline` }, node.name) : element("span", {}, node.name);
  if (path) named.addEventListener("click", () => showFolder(path, node.path === null));
  const head = element("th", { scope: "row" }, has ? toggle : element("span", { class: "toggle" }), named);
  head.style.paddingLeft = `${level * 18}px`;
  const bar = element("i", { "aria-hidden": "true" });
  bar.style.setProperty("--part", whole ? node.weighted / whole : 0);
  const cells = TREE_COLUMNS.slice(1).map((column) => element("td", { class: column.minor ? "minor" : null }, column.text(column.value(node))));
  cells[0].append(bar);
  const row = element("tr", { "aria-level": level + 1, "aria-expanded": has ? String(node.open) : null }, head, ...cells);
  node.toggle = toggle;
  return row;
}

function startTree() {
  const home = byId("tree");
  const top = growTree();
  if (!home || !top.children.length) return;
  openSome(top, 20);
  const body = element("tbody");
  const redraw = (focused) => {
    const rows = [];
    const add = (node, level) => {
      rows.push(treeRow(node, level, top.weighted, redraw));
      if (!node.open) return;
      const inside = inOrder(node.children);
      for (const child of inside.slice(0, node.most)) add(child, level + 1);
      if (inside.length <= node.most) return;
      const more = element("button", { type: "button" }, `${grouped(inside.length - node.most)} more`);
      more.addEventListener("click", () => {
        node.most += MOST * 5;
        redraw(node);
      });
      const cell = element("th", { scope: "row" }, element("span", { class: "toggle" }), more);
      cell.style.paddingLeft = `${(level + 1) * 18}px`;
      rows.push(element("tr", { class: "more", "aria-level": level + 2 }, cell));
    };
    add(top, 0);
    body.replaceChildren(...rows);
    focused?.toggle.focus({ preventScroll: true });
  };
  const heads = TREE_COLUMNS.map((column) => {
    const head = element("th", { scope: "col", class: column.up ? "words" : column.minor ? "minor" : null }, column.name);
    sortable(head, Boolean(column.up), (up) => {
      Object.assign(treeOrder, { column, up });
      redraw();
    });
    return head;
  });
  heads[TREE_COLUMNS.indexOf(treeOrder.column)].setAttribute("aria-sort", "descending");
  const table = element("table", { class: "rows", role: "treegrid", "aria-label": "Folders with what is below them" }, element("thead", {}, element("tr", {}, ...heads)), body);
  home.append(element("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Folders" }, table));
  redraw();
  home.hidden = false;
  const still = document.querySelector('#groups .box[aria-label="By folder"]');
  if (still) still.hidden = true;
}
