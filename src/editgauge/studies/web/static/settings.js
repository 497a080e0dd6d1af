/* Text size, page width and colors, kept on this device; and dialogs. */
const root = document.documentElement;

export function setUpSettings() {
  const dialog = document.getElementById("settings");
  const defaults = { text: "normal", width: "normal", theme: "auto" };
  for (const [name, usual] of Object.entries(defaults)) {
    const chosen = root.dataset[name] ?? usual;
    const field = dialog.querySelector(`[name="${name}"][value="${CSS.escape(chosen)}"]`);
    if (field) field.checked = true;
  }
  dialog.addEventListener("change", ({ target }) => {
    root.dataset[target.name] = target.value;
    try { localStorage.setItem(`editgauge-study-${target.name}`, target.value); } catch { /* lasts for this page */ }
  });
  for (const button of document.querySelectorAll("[data-opens]")) {
    button.addEventListener("click", () => openDialog(button.dataset.opens));
  }
  for (const each of document.querySelectorAll("dialog")) {
    each.addEventListener("click", (event) => { if (event.target === each) each.close(); });
  }
}

/* Focus goes to the heading: the first button may stand below what is to be read. */
export function openDialog(name) {
  const dialog = document.getElementById(name);
  dialog?.showModal();
  dialog?.querySelector("h2").focus();
}
