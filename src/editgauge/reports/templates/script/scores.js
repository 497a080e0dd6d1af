/* One score at a time in heat map, plots and tables; and the switch between light and dark. */

const scoreChooser = document.getElementById("choose-score");
const THEMES = { "": ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };

const chosenScore = () => (scoreChooser ? scoreChooser.value : "");

function chooseScore(key) {
  if (!scoreChooser) return;
  const known = [...scoreChooser.options].some((option) => option.value === key);
  if (known) scoreChooser.value = key;
  for (const part of document.querySelectorAll(".of-score")) {
    part.hidden = part.dataset.score !== scoreChooser.value;
    if (part.tagName === "DETAILS") part.open = true;
  }
  for (const panel of document.querySelectorAll(".panel")) {
    panel.hidden = [...panel.querySelectorAll(".of-score")].every((part) => part.hidden);
  }
}

function startScores() {
  if (!scoreChooser) return;
  const first = gallery.scores[0];
  chooseScore(first.key);
  scoreChooser.addEventListener("change", () => {
    chooseScore(scoreChooser.value);
    writeAddress(readAddress().anchor);
  });
}

function startTheme() {
  const root = document.documentElement;
  const switcher = document.getElementById("theme");
  const tell = () => {
    const [sign, name] = THEMES[root.dataset.theme ?? ""];
    switcher.textContent = sign;
    switcher.setAttribute("aria-label", `Colours: ${name}`);
    switcher.title = `Colours: ${name}`;
  };
  switcher.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try { localStorage.setItem("editgauge-theme", next); } catch { /* then only for now */ }
    tell();
  });
  tell();
}
