/* One card for every edit: the source, then a column for every outcome. */

const TONES = 5;
const NOTES_OF_A_CARD = 3;
const kindOf = (mark) => (mark.box ? "box" : mark.arrow ? "arrow" : "outline");
const shapeOf = (mark) => String(mark[kindOf(mark)]);
const shown = (pieces) => pieces.filter((piece) => piece.by.includes(shownEvidence()));

/* Outlines of different shapes get different tones, so that the list tells which is which. */
function toneOutlines(marks) {
  const outlines = marks.filter((mark) => mark.outline);
  const shapes = [...new Set(outlines.map(shapeOf))];
  for (const mark of outlines) mark.tone = shapes.indexOf(shapeOf(mark)) % TONES;
}

/* A line for every sign and name: what is seen twice is named once, with both confidences. */
function legend(list, marks) {
  const named = new Map();
  for (const mark of marks.filter((each) => each.label)) {
    const [, name, sure] = /^(.*?)( \d\.\d\d)?$/.exec(mark.label);
    const key = `${kindOf(mark)} ${mark.tone ?? 0} ${name}`;
    if (!named.has(key)) named.set(key, { mark, name, sure: new Set() });
    if (sure) named.get(key).sure.add(sure.trim());
  }
  for (const { mark, name, sure } of named.values()) {
    const item = add(list, "li");
    const sample = document.querySelector(`.heat-legend .sample.${kindOf(mark)}`).cloneNode(true);
    sample.querySelector(".stroke").classList.add(`tone-${mark.tone ?? 0}`);
    item.append(sample);
    add(item, "bdi", {}, [name, [...sure].join(", ")].filter(Boolean).join(" "));
  }
}

/* What one protocol saw and says, under its name. */
function labels(parent, protocol, allMarks, allNotes, damaged = [], most = Infinity) {
  for (const problem of damaged) add(parent, "p", { class: "warning" }, problem);
  const marks = allMarks.filter((mark) => mark.label && mark.by.includes(protocol));
  const notes = allNotes.filter((note) => note.by.includes(protocol)).map((each) => each.note);
  if (marks.length + notes.length === 0) return;
  add(parent, "p", { class: "by-protocol labels" }, gallery.protocols[protocol]);
  const list = add(parent, "ul", { class: "labels" });
  legend(list, marks);
  const say = (place, note) => add(add(place, "li"), "bdi", {}, note);
  const told = notes.length === most + 1 ? notes.length : most; /* a fold takes the line that it would save */
  for (const note of notes.slice(0, told)) say(list, note);
  const rest = notes.slice(told);
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

function scores(parent, values) {
  const pairs = gallery.scores.map((score, index) => [score, values[index]]);
  const few = pairs.filter(([score]) => score.headline || score.key === sortKey());
  const rest = pairs.filter((pair) => !few.includes(pair));
  const list = add(parent, "dl", { class: "values" });
  for (const [score, value] of few) scoreLine(list, score, value);
  if (rest.length === 0) return;
  const details = add(parent, "details", { class: "rest" });
  add(details, "summary", {}, `${rest.length} more ${rest.length === 1 ? "score" : "scores"}`);
  const more = add(details, "dl", { class: "values" });
  for (const [score, value] of rest) scoreLine(more, score, value);
}

function verdict(parent, outcome) {
  if (outcome.status !== "unscored") {
    scores(parent, outcome.values);
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

/* In blind mode the methods of every edit are letters, in an order of its own. */
function blindOrder(edit) {
  const mixed = (text) => [...text].reduce((hash, sign) => Math.imul(hash ^ sign.codePointAt(0), 16777619) >>> 0, 2166136261);
  return edit.outcomes.toSorted((a, b) => mixed(`${edit.id} ${a.method} ${a.seed ?? 0}`) - mixed(`${edit.id} ${b.method} ${b.seed ?? 0}`));
}

const blind = () => filters.elements.blind.checked;
const letter = (place) => (place < 26 ? String.fromCharCode(65 + place) : `#${place + 1}`);
const nameOf = (edit, outcome) => (blind() ? letter(blindOrder(edit).indexOf(outcome)) : outcome.method);

/* Whether some protocol says if the edit was done; all are, where no protocol is asked that. */
const judging = gallery.scores.flatMap((score, place) => (score.question === "done" ? [place] : []));
const isJudged = (outcome) => judging.length === 0 || judging.some((place) => isScore(outcome.values[place]));

/* A further picture that the edit starts from, with what it is for. */
function furtherSource(parent, input) {
  const name = input.role === "image" ? "further source" : `further source: ${input.role}`;
  const figure = add(parent, "figure");
  add(figure, "figcaption", { class: "n" }, name);
  if (input.picture.problem !== undefined) absent(figure, name, input.picture.problem);
  else image(add(figure, "div", { class: "stage" }), input.picture, "small", name);
}

/* A picture that opens larger. `role` is source, edited or difference. */
function opener(parent, edit, outcome, role, marks) {
  const picture = pictureOf(role === "source" ? edit.source : outcome[role]);
  const method = outcome && nameOf(edit, outcome);
  const name = { source: "source", edited: `edited by ${method}`, difference: `difference of ${method}` }[role];
  const figure = add(parent, "figure");
  if (picture.problem !== undefined) {
    absent(figure, name, picture.problem);
    return;
  }
  const source = pictureOf(edit.source);
  const slides = role === "edited" && filters.elements.slider.checked && source.frame;
  const stage = slides ? add(figure, "div", { class: "stage sliding" })
    : button(figure, "", { class: `stage ${role}`, "aria-label": `${name}, larger` }, () => openLarger(edit, outcome, role, stage));
  image(stage, picture, "small", slides ? name : "");
  if (role === "edited") under(stage, source, "small");
  overlay(source.frame, marks, stage);
  if (slides) slider(stage, `the picture ${name}`);
  else if (role === "edited") holdToFlip(stage, stage);
  if (picture.changed) add(figure, "p", { class: "warning" }, "Picture changed since it was scored.");
}

function drawOutcome(parent, edit, outcome) {
  const column = add(parent, "div", { class: "outcome" });
  const marks = shown(outcome.marks ?? []);
  const title = add(column, "h4");
  add(title, "bdi", {}, nameOf(edit, outcome));
  if (outcome.seed && !blind()) add(title, "span", { class: "n" }, ` seed ${outcome.seed}`);
  const status = outcome.status === "unscored" ? "unscored" : isJudged(outcome) ? "" : "not judged";
  if (status) add(title, "span", { class: "status" }, status);
  opener(column, edit, outcome, "edited", marks);
  if (outcome.difference !== undefined) opener(column, edit, outcome, "difference", [...shown(edit.marks), ...marks]);
  verdict(column, outcome);
  labels(column, shownEvidence(), outcome.marks ?? [], outcome.notes ?? [], outcome.damaged, NOTES_OF_A_CARD);
  for (const chart of shown(outcome.curves ?? [])) curves(column, chart);
}

/* The source has the first column to itself, however many rows the outcomes fill. */
function layOut(row, outcomes, most, prefix) {
  const columns = Math.min(outcomes + 1, most);
  row.style.setProperty(`${prefix}columns`, columns);
  row.style.setProperty(`${prefix}rows`, Math.max(1, Math.ceil(outcomes / Math.max(1, columns - 1))));
}

function drawEdit(parent, [edit, found]) {
  const outcomes = blind() ? blindOrder(edit).filter((outcome) => found.includes(outcome)) : found;
  toneOutlines(edit.marks);
  for (const outcome of outcomes) toneOutlines([...shown(edit.marks), ...shown(outcome.marks ?? [])]);
  const card = add(parent, "article", { class: "card", id: `edit-${edit.id}`, tabindex: -1 });
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
  opener(source, edit, null, "source", shown(edit.marks));
  for (const input of edit.inputs ?? []) furtherSource(source, input);
  facts(source, edit);
  labels(source, shownEvidence(), edit.marks, []);
  for (const outcome of outcomes) drawOutcome(row, edit, outcome);
}
