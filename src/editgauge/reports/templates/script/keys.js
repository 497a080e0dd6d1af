/* Keyboard: J and K step through edits, E switches evidence, B hides methods, digits select a tab. */

function goToCard(by) {
  const cards = [...cardList.querySelectorAll(".card")];
  const middle = innerHeight / 3;
  const active = document.activeElement?.closest(".card") ?? cards.findLast((card) => card.getBoundingClientRect().top < middle);
  const next = cards[cards.indexOf(active) + by] ?? (by > 0 && !active ? cards[0] : undefined);
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView();
}

function nextEvidence() {
  const choice = filters.elements.evidence;
  choice.selectedIndex = (choice.selectedIndex + 1) % choice.options.length;
  choice.dispatchEvent(new Event("input", { bubbles: true }));
}

const GALLERY_KEYS = {
  j: () => goToCard(1),
  k: () => goToCard(-1),
  e: nextEvidence,
  b: () => filters.elements.blind.click(),
  "/": () => filters.elements.text.focus(),
};

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || larger.open) return;
    if (document.activeElement?.matches("input[type=search], select, input[type=range]")) return;
    const tab = /^[1-9]$/.test(event.key) ? tabLinks[Number(event.key) - 1] : undefined;
    const action = currentTab() === galleryTab ? GALLERY_KEYS[event.key.toLowerCase()] : undefined;
    if (!tab && !action) return;
    event.preventDefault();
    if (tab) location.hash = tab.hash;
    else action();
  });
}
