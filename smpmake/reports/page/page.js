// Light and dark, paper, and the beginning of everything.
const root = document.documentElement;
const darkWanted = window.matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  root.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", name === "dark" ? "Use light colours" : "Use dark colours");
  readInk();
  if (size.width) classify(); // some colours are those of the theme
  drawNow();
}

function startTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem("smpmake-theme"); // refused to some files
  } catch {}
  const preferred = () => kept || (darkWanted.matches ? "dark" : "light");
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => {
    kept = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("smpmake-theme", kept);
    } catch {}
    setTheme(kept);
  });
  darkWanted.addEventListener("change", () => setTheme(preferred()));
  setTheme(preferred());
}

// Paper is white, and narrower than most screens.
function startPrinting() {
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = { theme: root.dataset.theme, width: size.width };
    if (before.width) layOut(820);
    setTheme("light");
  });
  window.addEventListener("afterprint", () => {
    if (!before) return;
    if (before.width) layOut(before.width);
    setTheme(before.theme);
    before = null;
  });
}

startTheme();
startTimeline();
startGrid();
startSorting();
startTree();
startDetails();
startPrinting();
openFromAddress();
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("smpmake-drawn")));
