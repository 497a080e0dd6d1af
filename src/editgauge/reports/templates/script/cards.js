/* One card for every edit: the source, then a column for every outcome. */

const TONES = 5;
const NOTES_OF_A_CARD = 3;
const kindOf = (mark) => (mark.box ? "box" : mark.arrow ? "arrow" : "outline");
const shapeOf = (mark) => String(mark[kindOf(mark)]);

/* Outlines of different shapes get different tones, so that the list tells which is which. */
function toneOutlines(marks) {
  const outlines = marks.filter((mark) => mark.outline);
  const shapes = [...new Set(outlines.map(shapeOf))];
  for (const mark of outlines) mark.tone = shapes.indexOf(shapeOf(mark)) % TONES;
}

function labels(parent, marks, notes, damaged = [], most = Infinity) {
  for (const problem of damaged) add(parent, "p", { class: "warning" }, problem);
  const named = new Map();
  for (const mark of marks.filter((each) => each.label)) named.set(shapeOf(mark), [...(named.get(shapeOf(mark)) ?? []), mark]);
  if (named.size + notes.length === 0) return;
  const list = add(parent, "ul", { class: "labels" });
  for (const same of named.values()) {
    const item = add(list, "li");
    const sample = document.querySelector(`.heat-legend .sample.${kindOf(same[0])}`).cloneNode(true);
    sample.querySelector(".stroke").classList.add(`tone-${same[0].tone ?? 0}`);
    item.append(sample);
    add(item, "bdi", {}, [...new Set(same.map((mark) => mark.label))].join(", "));
  }
  const say = (place, note) => add(add(place, "li"), "bdi", {}, note);
  const shown = notes.length === most + 1 ? notes.length : most; /* a fold takes the line that it would save */
  for (const note of notes.slice(0, shown)) say(list, note);
  const rest = notes.slice(shown);
  if (rest.length === 0) return;
  const details = add(parent, "details", { class: "rest labels" });
  add(details, "summary", {}, `${rest.length} more remarks`);
  const more = add(details, "ul", { class: "labels" });
  for (const note of rest) say(more, note);
}

function scoreLine(list, score, value) {
  const line = add(list, "div");
  const parts = score.name.split(/(?<=_)/);
  add(line, "dt").append(parts[0], ...parts.slice(1).flatMap((part) => [document.createElement("wbr"), part]));
  const why = whyOf(value);
  if (why) add(line, "dd", { class: "missing", title: why[1] }, spaced(why[0]));
  else add(line, "dd", {}, isScore(value) ? written(value, score.decimals) : "not yet");
}

function scores(parent, values, all = false) {
  const pairs = gallery.scores.map((score, index) => [score, values[index]]);
  const few = pairs.filter(([score]) => all || score.headline || score.key === sortKey());
  const rest = pairs.filter((pair) => !few.includes(pair));
  const list = add(parent, "dl", { class: "values" });
  for (const [score, value] of few) scoreLine(list, score, value);
  if (rest.length === 0) return;
  const details = add(parent, "details", { class: "rest" });
  add(details, "summary", {}, `${rest.length} more ${rest.length === 1 ? "score" : "scores"}`);
  const more = add(details, "dl", { class: "values" });
  for (const [score, value] of rest) scoreLine(more, score, value);
}

function verdict(parent, outcome, all = false) {
  if (outcome.status !== "unscored") {
    scores(parent, outcome.values, all);
    return;
  }
  const [reason, detail] = whyOf(outcome.values.find(Array.isArray));
  const told = add(parent, "p", { class: "why" });
  add(told, "b", {}, spaced(reason));
  if (detail && detail !== pictureOf(outcome.edited).problem) add(told, "bdi", {}, ` ${detail}`);
}

function facts(parent, edit) {
  if (edit.facts.length === 0) return;
  const list = add(parent, "dl", { class: "told" });
  for (const [name, value] of edit.facts) {
    const fact = add(list, "div");
    add(fact, "dt", {}, name);
    add(fact, "dd", { dir: "auto" }, value);
  }
}

/* A picture that opens larger. `role` is source, edited or difference. */
function opener(parent, edit, outcome, role, marks) {
  const shown = pictureOf(role === "source" ? edit.source : outcome[role]);
  const name = { source: "source", edited: `edited by ${outcome?.method}`, difference: `difference of ${outcome?.method}` }[role];
  const figure = add(parent, "figure");
  if (shown.problem !== undefined) {
    absent(figure, name, shown.problem);
    return;
  }
  const source = pictureOf(edit.source);
  const slides = role === "edited" && filters.elements.slider.checked && source.frame;
  const stage = slides ? add(figure, "div", { class: "stage sliding" })
    : button(figure, "", { class: `stage ${role}`, "aria-label": `${name}, larger` }, () => openLarger(edit, outcome, role, stage));
  image(stage, shown, "small", slides ? name : "");
  if (role === "edited") under(stage, source, "small");
  overlay(source.frame, marks, stage);
  if (slides) slider(stage, `the picture ${name}`);
  else if (role === "edited") holdToFlip(stage, stage);
  if (shown.changed) add(figure, "p", { class: "warning" }, "Picture changed since it was scored.");
}

function drawOutcome(parent, edit, outcome) {
  const column = add(parent, "div", { class: "outcome" });
  const marks = outcome.marks ?? [];
  const title = add(column, "h4");
  add(title, "bdi", {}, outcome.method);
  if (outcome.seed) add(title, "span", { class: "n" }, ` seed ${outcome.seed}`);
  if (outcome.status !== "scored") add(title, "span", { class: "status" }, outcome.status);
  opener(column, edit, outcome, "edited", marks);
  if (outcome.difference !== undefined) opener(column, edit, outcome, "difference", [...edit.marks, ...marks]);
  verdict(column, outcome);
  labels(column, marks, outcome.notes ?? [], outcome.damaged, NOTES_OF_A_CARD);
  for (const chart of outcome.curves ?? []) curves(column, chart);
}

/* The source has the first column to itself, however many rows the outcomes fill. */
function layOut(row, outcomes, most, prefix) {
  const columns = Math.min(outcomes + 1, most);
  row.style.setProperty(`${prefix}columns`, columns);
  row.style.setProperty(`${prefix}rows`, Math.max(1, Math.ceil(outcomes / Math.max(1, columns - 1))));
}

function drawEdit([edit, outcomes]) {
  toneOutlines(edit.marks);
  for (const outcome of outcomes) toneOutlines([...edit.marks, ...(outcome.marks ?? [])]);
  const card = add(place, "article", { class: "card", id: `edit-${edit.id}` });
  const head = add(card, "header");
  add(head, "h3", { dir: "auto" }, edit.instruction || edit.id);
  const line = add(head, "p", { class: "n" });
  if (edit.type) add(line, "a", { class: "type", href: `#type-${encodeURIComponent(edit.type)}` }, spaced(edit.type));
  const link = add(line, "a", { class: "anchor", href: `#edit-${encodeURIComponent(edit.id)}` });
  add(link, "bdi", {}, edit.id);
  const row = add(card, "div", { class: "outcomes" });
  layOut(row, outcomes.length, MOST_COLUMNS, "--");
  layOut(row, outcomes.length, MOST_NARROW_COLUMNS, "--narrow-");
  const source = add(row, "div", { class: "outcome source" });
  add(source, "h4", {}, "source");
  opener(source, edit, null, "source", edit.marks);
  facts(source, edit);
  labels(source, edit.marks, []);
  for (const outcome of outcomes) drawOutcome(row, edit, outcome);
}
