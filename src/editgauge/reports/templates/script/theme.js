/* Switch between system, light and dark colors. */

const THEMES = { "": ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };

function startTheme() {
  const root = document.documentElement;
  const switcher = document.getElementById("theme");
  const update = () => {
    const [sign, name] = THEMES[root.dataset.theme ?? ""];
    switcher.textContent = sign;
    switcher.setAttribute("aria-label", `Colors: ${name}`);
    switcher.title = `Colors: ${name}`;
  };
  switcher.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(root.dataset.theme ?? "") + 1) % names.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    try { localStorage.setItem("editgauge-theme", next); } catch { /* not stored: it lasts until the page is closed */ }
    update();
  });
  update();
}
