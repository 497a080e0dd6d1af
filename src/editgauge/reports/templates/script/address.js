/* The address holds the view: `#anchor?method=…&sort=…`, so that a link shows the same. */

const IN_THE_ADDRESS = ["text", "method", "type", ...groupFields, "reading", "status", "reason", "sort", "by", "evidence"];
const TICKS = ["slider", "blind"];

function readAddress() {
  const [anchor, query] = location.hash.slice(1).split("?");
  return { anchor: decoded(anchor), query: query === undefined ? null : new URLSearchParams(query) };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function writeAddress(anchor) {
  const query = new URLSearchParams();
  for (const name of IN_THE_ADDRESS) {
    const value = filters.elements[name]?.value;
    const usual = name === "evidence" && value === usualEvidence;
    if (value && !usual && !(name === "by" && !filters.elements.sort.value)) query.set(name, value);
  }
  for (const name of TICKS) {
    const box = filters.elements[name];
    if (box.checked !== box.defaultChecked) query.set(name, box.checked ? "on" : "off");
  }
  if (view.page > 0) query.set("page", view.page + 1);
  const score = chosenScore();
  if (score) query.set("score", score);
  const told = query.toString();
  const hash = (anchor ? encodeURIComponent(anchor) : "") + (told ? `?${told}` : "");
  if (location.hash.slice(1) !== hash) history.replaceState(null, "", `#${hash}`);
}

function takeOver(query) {
  filters.reset();
  for (const name of IN_THE_ADDRESS) {
    const field = filters.elements[name];
    if (field && query.has(name)) field.value = query.get(name);
    if (field && field.value === "" && field.options) field.selectedIndex = 0;
  }
  for (const name of TICKS) {
    if (query.has(name)) filters.elements[name].checked = query.get(name) === "on";
  }
  if (query.has("score")) chooseScore(query.get("score"));
  if (!query.has("by")) filters.elements.by.value = chosenScore();
  view.page = Math.max(0, (Number.parseInt(query.get("page"), 10) || 1) - 1);
}

/* Goes to what the address names; without a query the filters stay, unless they hide the edit that is asked for. */
function followAddress() {
  const { anchor, query } = readAddress();
  if (query) takeOver(query);
  const turned = showTab(tabOf(anchor));
  if (shownTab() === galleryTab) filter(view.page);
  if (anchor.startsWith("edit-")) showEdit(anchor.slice("edit-".length));
  document.querySelector(".target")?.classList.remove("target");
  const target = anchor && document.getElementById(anchor);
  const isTab = tabLinks.some((link) => link.hash === `#${anchor}`);
  if (target && !isTab) {
    target.classList.add("target");
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    (target.hidden ? target.closest("section") : target).scrollIntoView(); /* folded: nothing to show for this score */
  } else if (turned || isTab) {
    const head = document.querySelector(".bar").parentElement.offsetTop + document.querySelector(".top").offsetHeight;
    scrollTo(0, scrollY < head ? 0 : head); /* never half of the head */
  }
  writeAddress(anchor);
}

function showEdit(id) {
  if (!gallery.edits.some((edit) => edit.id === id)) return;
  if (!view.found.some(([edit]) => edit.id === id)) {
    filters.reset();
    filter();
  }
  const place = view.found.findIndex(([edit]) => edit.id === id);
  drawPage(Math.floor(place / EDITS_ON_A_PAGE));
  drawAt(place % EDITS_ON_A_PAGE);
}
