/* The URL holds the view, `#anchor?method=…&sort=…`, so that a link reproduces it. */

const ADDRESS_FIELDS = ["text", "method", "type", ...groupFields, "reading", "done", "status", "reason", "sort", "by", "evidence"];
const ADDRESS_CHECKBOXES = ["slider", "blind"];

function readAddress() {
  const [anchor, query] = location.hash.slice(1).split("?");
  return { anchor: decoded(anchor), query: query === undefined ? null : new URLSearchParams(query) };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function writeAddress(anchor) {
  const query = new URLSearchParams();
  for (const name of ADDRESS_FIELDS) {
    const value = filters.elements[name]?.value;
    const isDefault = name === "evidence" && value === defaultEvidence;
    if (value && !isDefault && !(name === "by" && !filters.elements.sort.value)) query.set(name, value);
  }
  for (const name of ADDRESS_CHECKBOXES) {
    const box = filters.elements[name];
    if (box.checked !== box.defaultChecked) query.set(name, box.checked ? "on" : "off");
  }
  if (view.page > 0) query.set("page", view.page + 1);
  const score = selectedScore();
  if (score) query.set("score", score);
  const text = query.toString();
  const hash = (anchor ? encodeURIComponent(anchor) : "") + (text ? `?${text}` : "");
  if (location.hash.slice(1) !== hash) history.replaceState(null, "", `#${hash}`);
}

function applyQuery(query) {
  filters.reset();
  for (const name of ADDRESS_FIELDS) {
    const field = filters.elements[name];
    if (field && query.has(name)) field.value = query.get(name);
    if (field && field.value === "" && field.options) field.selectedIndex = 0;
  }
  for (const name of ADDRESS_CHECKBOXES) {
    if (query.has(name)) filters.elements[name].checked = query.get(name) === "on";
  }
  if (query.has("score")) selectScore(query.get("score"));
  if (!query.has("by")) filters.elements.by.value = selectedScore();
  view.page = Math.max(0, (Number.parseInt(query.get("page"), 10) || 1) - 1);
}

/* Go to the anchor of the URL; without a query the filters stay, unless they hide the requested edit. */
function followAddress() {
  const { anchor, query } = readAddress();
  if (query) applyQuery(query);
  const turned = showTab(tabOf(anchor));
  if (currentTab() === galleryTab) filter(view.page);
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
  if (!view.matches.some(([edit]) => edit.id === id)) {
    filters.reset();
    filter();
  }
  const index = view.matches.findIndex(([edit]) => edit.id === id);
  drawPage(Math.floor(index / EDITS_PER_PAGE));
  drawAt(index % EDITS_PER_PAGE);
}
