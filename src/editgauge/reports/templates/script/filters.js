/* Which edits are shown, and in which order. */

const view = { found: [], page: 0 };
const sortKey = () => (filters.elements.sort.value ? filters.elements.by.value : "");

function matching() {
  const wanted = Object.fromEntries(new FormData(filters));
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const ofOutcomes = wanted.method || wanted.status || wanted.reason;
  const fits = (outcome) => (!wanted.method || outcome.method === wanted.method)
    && (!wanted.status || outcome.status === wanted.status)
    && (!wanted.reason || outcome.values.some((value) => whyOf(value)?.[0] === wanted.reason));
  const found = [];
  for (const edit of gallery.edits) {
    if (wanted.type && edit.type !== wanted.type) continue;
    if (groupFields.some((name) => wanted[name] && edit.groups?.[name.slice("group-".length)] !== wanted[name])) continue;
    if (wanted.reading && edit.reading !== wanted.reading) continue;
    if (!words.every((word) => edit.text.includes(word))) continue;
    const outcomes = ofOutcomes ? edit.outcomes.filter(fits) : edit.outcomes;
    if (outcomes.length > 0 || !ofOutcomes) found.push([edit, outcomes]);
  }
  return found;
}

/* An edit counts by its worst outcome shown, or its best; what has no score comes last. */
function sorted(found) {
  const order = filters.elements.sort.value;
  const index = gallery.scores.findIndex((score) => score.key === filters.elements.by.value);
  if (!order || index < 0) return found;
  const ascending = (order === "worst") === gallery.scores[index].higher;
  const extreme = ascending ? Math.min : Math.max;
  const last = ascending ? Infinity : -Infinity;
  const rank = new Map(found.map((pair) => [pair, extreme(last, ...pair[1].map((each) => each.values[index]).filter(isScore))]));
  return found.toSorted((a, b) => (rank.get(a) === rank.get(b) ? 0 : (rank.get(a) < rank.get(b)) === ascending ? -1 : 1));
}

function drawPager(pager, start) {
  const found = view.found.length;
  const last = Math.min(start + EDITS_ON_A_PAGE, found);
  const all = gallery.edits.length;
  const of = found === all ? all.toLocaleString("en") : `${found.toLocaleString("en")} found (${all.toLocaleString("en")} in all)`;
  pager.replaceChildren();
  const turn = (text, to, possible) => {
    const turner = button(pager, text, {}, () => {
      drawPage(to);
      writeAddress("gallery");
      document.querySelector(".pager").scrollIntoView();
    });
    turner.disabled = !possible;
  };
  if (found > EDITS_ON_A_PAGE) turn("← previous", view.page - 1, view.page > 0);
  add(pager, "span", { role: "status" }, found ? (found > EDITS_ON_A_PAGE ? `Edits ${start + 1} to ${last} of ${of}` : `${found === all ? `${of} edits` : of}`) : "No edit matches.");
  if (found > EDITS_ON_A_PAGE) turn("next →", view.page + 1, last < found);
}

function filter(page = 0) {
  view.found = sorted(matching());
  filters.querySelector(".by").hidden = !filters.elements.sort.value;
  filters.elements.method.disabled = filters.elements.blind.checked;
  drawPage(Math.min(page, Math.max(0, Math.ceil(view.found.length / EDITS_ON_A_PAGE) - 1)));
}

/* One protocol's evidence at a time; the usual one is of the score that answers first. */
const usualEvidence = gallery.protocols.find((name) => gallery.scores[0]?.key.startsWith(`${name}/`)) ?? gallery.protocols[0] ?? "none";
const shownEvidence = () => gallery.protocols.indexOf(filters.elements.evidence.value);

function startEvidence() {
  const choice = filters.elements.evidence;
  for (const name of [...gallery.protocols, "none"]) {
    const option = add(choice, "option", { value: name }, name);
    option.defaultSelected = name === usualEvidence;
  }
  choice.value = usualEvidence;
}

function startFilters() {
  startEvidence();
  for (const edit of gallery.edits) {
    edit.text = [edit.id, edit.type, spaced(edit.type), edit.instruction, ...edit.facts.flat()].join(" ").toLowerCase();
  }
  const changed = () => {
    filter();
    writeAddress("gallery");
  };
  filters.addEventListener("input", changed);
  filters.querySelector("[type=reset]").addEventListener("click", (event) => {
    event.preventDefault();
    filters.reset();
    changed();
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
}
