/* Filtering and sorting of edits. */

const view = { matches: [], page: 0 };
const sortKey = () => (filters.elements.sort.value ? filters.elements.by.value : "");

function matching() {
  const query = Object.fromEntries(new FormData(filters));
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  const ofOutcomes = query.method || query.done || query.status || query.reason;
  const fits = (outcome) => (!query.method || outcome.method === query.method)
    && (!query.done || outcome.verdict?.done === query.done)
    && (!query.status || outcome.status === query.status)
    && (!query.reason || outcome.values.some((value) => missingReason(value)?.[0] === query.reason));
  const matches = [];
  for (const edit of gallery.edits) {
    if (query.type && edit.type !== query.type) continue;
    if (groupFields.some((name) => query[name] && edit.groups?.[name.slice("group-".length)] !== query[name])) continue;
    if (query.reading && edit.reading !== query.reading) continue;
    if (!words.every((word) => edit.text.includes(word))) continue;
    const outcomes = ofOutcomes ? edit.outcomes.filter(fits) : edit.outcomes;
    if (outcomes.length > 0 || !ofOutcomes) matches.push([edit, outcomes]);
  }
  return matches;
}

/* An edit is ranked by its worst or best visible outcome; edits without a score come last. */
function sorted(matches) {
  const order = filters.elements.sort.value;
  const index = gallery.scores.findIndex((score) => score.key === filters.elements.by.value);
  if (!order || index < 0) return matches;
  const ascending = (order === "worst") === gallery.scores[index].higher;
  const extreme = ascending ? Math.min : Math.max;
  const last = ascending ? Infinity : -Infinity;
  const rank = new Map(matches.map((pair) => [pair, extreme(last, ...pair[1].map((outcome) => outcome.values[index]).filter(isScore))]));
  return matches.toSorted((a, b) => (rank.get(a) === rank.get(b) ? 0 : (rank.get(a) < rank.get(b)) === ascending ? -1 : 1));
}

function drawPager(pager, start) {
  const count = view.matches.length;
  const last = Math.min(start + EDITS_PER_PAGE, count);
  const all = gallery.edits.length;
  const of = count === all ? all.toLocaleString("en") : `${count.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  pager.replaceChildren();
  const turn = (text, to, possible) => {
    const turner = button(pager, text, {}, () => {
      drawPage(to);
      writeAddress("gallery");
      document.querySelector(".pager").scrollIntoView();
    });
    turner.disabled = !possible;
  };
  if (count > EDITS_PER_PAGE) turn("← previous", view.page - 1, view.page > 0);
  add(pager, "span", { role: "status" }, count ? (count > EDITS_PER_PAGE ? `Edits ${start + 1} to ${last} of ${of}` : `${of} edits`) : "No edit matches.");
  if (count > EDITS_PER_PAGE) turn("next →", view.page + 1, last < count);
}

function filter(page = 0) {
  view.matches = sorted(matching());
  filters.querySelector(".by").hidden = !filters.elements.sort.value;
  filters.elements.method.disabled = filters.elements.blind.checked;
  drawPage(Math.min(page, Math.max(0, Math.ceil(view.matches.length / EDITS_PER_PAGE) - 1)));
}

/* Evidence of one protocol at a time; by default that of the first score. */
const defaultEvidence = gallery.protocols.find((name) => gallery.scores[0]?.key.startsWith(`${name}/`)) ?? gallery.protocols[0] ?? "none";
const selectedEvidence = () => gallery.protocols.indexOf(filters.elements.evidence.value);

function startEvidence() {
  const choice = filters.elements.evidence;
  for (const name of [...gallery.protocols, "none"]) {
    const option = add(choice, "option", { value: name }, name);
    option.defaultSelected = name === defaultEvidence;
  }
  choice.value = defaultEvidence;
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
