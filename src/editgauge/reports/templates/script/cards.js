/* One card per edit: the source, then a column per outcome. */

const TONES = 5;
const QUESTIONS = [["done", "Done"], ["kept", "Rest kept"], ["quality", "Quality"]];
const ANSWER_TONES = { yes: "good", well: "good", good: "good", partly: "fair", fair: "fair", no: "bad", poorly: "bad", poor: "bad" };
const MAX_CARD_NOTES = 3;
const kindOf = (mark) => (mark.box ? "box" : mark.arrow ? "arrow" : "outline");
const shapeOf = (mark) => String(mark[kindOf(mark)]);
const visible = (pieces) => pieces.filter((piece) => piece.by.includes(selectedEvidence()));

/* Give outlines of different shapes different colors, matching the legend. */
function toneOutlines(marks) {
  const outlines = marks.filter((mark) => mark.outline);
  const shapes = [...new Set(outlines.map(shapeOf))];
  for (const mark of outlines) mark.tone = shapes.indexOf(shapeOf(mark)) % TONES;
}

/* One legend entry per kind and label; repeated detections list all confidences. */
function legend(list, marks) {
  const named = new Map();
  for (const mark of marks.filter((mark) => mark.label)) {
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

/* Legend and remarks of one protocol, under its name. */
function labels(parent, protocol, allMarks, allNotes, damaged = [], maxNotes = Infinity) {
  for (const problem of damaged) add(parent, "p", { class: "warning" }, problem);
  const marks = allMarks.filter((mark) => mark.label && mark.by.includes(protocol));
  const notes = allNotes.filter((note) => note.by.includes(protocol)).map((piece) => piece.note);
  if (marks.length + notes.length === 0) return;
  add(parent, "p", { class: "by-protocol labels" }, gallery.protocols[protocol]);
  const list = add(parent, "ul", { class: "labels" });
  legend(list, marks);
  const addNote = (parent, note) => add(add(parent, "li"), "bdi", {}, note);
  const limit = maxNotes > 0 && notes.length === maxNotes + 1 ? notes.length : maxNotes; /* folding a single note saves nothing */
  for (const note of notes.slice(0, limit)) addNote(list, note);
  const folded = notes.slice(limit);
  if (folded.length === 0) return;
  const details = add(parent, "details", { class: "more labels" });
  add(details, "summary", {}, limit > 0 ? `${folded.length} more remarks` : `${folded.length} ${folded.length === 1 ? "remark" : "remarks"}`);
  const more = add(details, "ul", { class: "labels" });
  for (const note of folded) addNote(more, note);
}

function scoreLine(list, score, value) {
  const line = add(list, "div");
  addName(line, "dt", score.name);
  const why = missingReason(value);
  if (why) add(line, "dd", { class: "missing", title: why[1] }, spaced(why[0]));
  else add(line, "dd", {}, isScore(value) ? formatScore(value, score.decimals) : "not yet");
}

/* A score that is not applicable to the edit says so only inside the fold. */
function scores(parent, values, hasVerdict) {
  const pairs = gallery.scores.map((score, index) => [score, values[index]]);
  const main = pairs.filter(([score]) => (score.headline && !hasVerdict) || score.key === sortKey());
  const others = pairs.filter((pair) => !main.includes(pair));
  const list = main.length > 0 ? add(parent, "dl", { class: "values" }) : null;
  for (const [score, value] of main) scoreLine(list, score, value);
  if (others.length === 0) return;
  const details = add(parent, "details", { class: "more" });
  add(details, "summary", {}, `${others.length}${main.length > 0 ? " more" : ""} ${others.length === 1 ? "score" : "scores"}`);
  const more = add(details, "dl", { class: "values" });
  for (const [score, value] of others) scoreLine(more, score, value);
}

/* Three answers with their reasons, and how sure the first one is. */
function answers(parent, verdict) {
  const list = add(parent, "dl", { class: "verdict" });
  const line = (name, answer, reason) => {
    const row = add(list, "div", { class: ANSWER_TONES[answer] ?? "unknown" });
    add(row, "dt", {}, name);
    const cell = add(row, "dd");
    add(cell, "b", {}, answer);
    if (reason) add(cell, "bdi", { class: "n" }, reason);
  };
  QUESTIONS.forEach(([key, name], index) => line(name, verdict[key], verdict.because[index]));
  const [right, total] = verdict.precision ?? [];
  line("Confidence", verdict.confidence, total ? `${right} of ${total} such answers on rated edits were right` : "");
}

function verdict(parent, outcome) {
  if (outcome.verdict) answers(parent, outcome.verdict);
  if (outcome.status !== "unscored") {
    scores(parent, outcome.values, outcome.verdict !== undefined);
    return;
  }
  const [reason, detail] = missingReason(outcome.values.find(Array.isArray));
  const paragraph = add(parent, "p", { class: "why" });
  add(paragraph, "b", {}, spaced(reason));
  if (detail && detail !== pictureOf(outcome.edited).problem) add(paragraph, "bdi", {}, ` ${detail}`);
}

function facts(parent, edit) {
  if (edit.facts.length === 0) return;
  const list = add(parent, "dl", { class: "facts" });
  for (const [name, value] of edit.facts) {
    const fact = add(list, "div");
    add(fact, "dt", {}, name);
    add(fact, "dd", { dir: "auto" }, value);
  }
}

/* In blind mode methods are letters, shuffled per edit. */
function blindOrder(edit) {
  const mixed = (text) => [...text].reduce((hash, sign) => Math.imul(hash ^ sign.codePointAt(0), 16777619) >>> 0, 2166136261);
  return edit.outcomes.toSorted((a, b) => mixed(`${edit.id} ${a.method} ${a.seed ?? 0}`) - mixed(`${edit.id} ${b.method} ${b.seed ?? 0}`));
}

const blind = () => filters.elements.blind.checked;
const letter = (index) => (index < 26 ? String.fromCharCode(65 + index) : `#${index + 1}`);
const nameOf = (edit, outcome) => (blind() ? letter(blindOrder(edit).indexOf(outcome)) : outcome.method);

/* Whether a protocol answers if the edit was done; true if no protocol is asked. */
const judging = gallery.scores.flatMap((score, index) => (score.question === "done" ? [index] : []));
const isJudged = (outcome) => judging.length === 0 || judging.some((index) => isScore(outcome.values[index]));

/* A further source image with its role. */
function furtherSource(parent, input) {
  const name = input.role === "image" ? "further source" : `further source: ${input.role}`;
  const figure = add(parent, "figure");
  add(figure, "figcaption", { class: "n" }, name);
  if (input.picture.problem !== undefined) absent(figure, name, input.picture.problem);
  else image(add(figure, "div", { class: "stage" }), input.picture, "small", name);
}

/* An image that opens in the larger view. `role` is source, edited or difference. */
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
  if (role === "edited") addSource(stage, source, "small");
  overlay(source.frame, marks, stage);
  if (slides) slider(stage, `the picture ${name}`);
  else if (role === "edited") holdToFlip(stage, stage);
  if (picture.changed) add(figure, "p", { class: "warning" }, "Picture changed since it was scored.");
}

function drawOutcome(parent, edit, outcome) {
  const column = add(parent, "div", { class: "outcome" });
  const marks = visible(outcome.marks ?? []);
  const title = add(column, "h4");
  addName(title, "bdi", nameOf(edit, outcome));
  if (outcome.seed && !blind()) add(title, "span", { class: "n" }, ` seed ${outcome.seed}`);
  const status = outcome.status === "unscored" ? "unscored" : isJudged(outcome) ? "" : "not judged";
  if (status) add(title, "span", { class: "status" }, status);
  opener(column, edit, outcome, "edited", marks);
  if (outcome.difference !== undefined) opener(column, edit, outcome, "difference", [...visible(edit.marks), ...marks]);
  verdict(column, outcome);
  labels(column, selectedEvidence(), outcome.marks ?? [], outcome.notes ?? [], outcome.damaged, outcome.verdict ? 0 : MAX_CARD_NOTES);
  for (const chart of visible(outcome.curves ?? [])) curves(column, chart);
}

/* The source fills the first column, over all rows of outcomes. */
function setGrid(row, outcomes, maxColumns, prefix) {
  const columns = Math.min(outcomes + 1, maxColumns);
  row.style.setProperty(`${prefix}columns`, columns);
  row.style.setProperty(`${prefix}rows`, Math.max(1, Math.ceil(outcomes / Math.max(1, columns - 1))));
}

function drawEdit(parent, [edit, matches]) {
  const outcomes = blind() ? blindOrder(edit).filter((outcome) => matches.includes(outcome)) : matches;
  toneOutlines(edit.marks);
  for (const outcome of outcomes) toneOutlines([...visible(edit.marks), ...visible(outcome.marks ?? [])]);
  const card = add(parent, "article", { class: "card", id: `edit-${edit.id}`, tabindex: -1 });
  const head = add(card, "header");
  add(head, "h3", { dir: "auto" }, edit.instruction || edit.id);
  const line = add(head, "p", { class: "n" });
  if (edit.type) add(line, "a", { class: "type", href: `#type-${encodeURIComponent(edit.type)}` }, spaced(edit.type));
  const link = add(line, "a", { class: "anchor", href: `#edit-${encodeURIComponent(edit.id)}` });
  add(link, "bdi", {}, edit.id);
  const row = add(card, "div", { class: "outcomes" });
  setGrid(row, outcomes.length, MAX_COLUMNS, "--");
  setGrid(row, outcomes.length, MAX_NARROW_COLUMNS, "--narrow-");
  const source = add(row, "div", { class: "outcome source" });
  add(source, "h4", {}, "source");
  opener(source, edit, null, "source", visible(edit.marks));
  for (const input of edit.inputs ?? []) furtherSource(source, input);
  facts(source, edit);
  labels(source, selectedEvidence(), edit.marks, []);
  for (const outcome of outcomes) drawOutcome(row, edit, outcome);
}
