/* The switch between the colors of the system, light and dark. */

const THEMES = { "": ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };

function startTheme() {
  const root = document.documentElement;
  const switcher = document.getElementById("theme");
  const tell = () => {
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
    try { localStorage.setItem("editgauge-theme", next); } catch { /* then only for now */ }
    tell();
  });
  tell();
}
