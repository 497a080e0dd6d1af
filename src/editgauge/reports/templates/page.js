"use strict";
/* Draws the gallery from the data in the page, a few edits at a time, and lets one choose a score table.
   Texts of the run are only ever set as text, never as HTML. */

const EDITS_ON_A_PAGE = 20;
const MOST_COLUMNS = 5;
const SVG = "http://www.w3.org/2000/svg";
const gallery = JSON.parse(document.getElementById("gallery-data").textContent);
const filters = document.querySelector(".filters");
const pagers = document.querySelectorAll(".pager");
const place = document.getElementById("edits");
let chosen = [];
let page = 0;

function add(parent, tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== "") made.textContent = text;
  parent.append(made);
  return made;
}

function draw(parent, tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

function chooseScores() {
  const select = document.getElementById("choose-score");
  const tables = document.querySelectorAll("details.score");
  if (tables.length === 0) return;
  const show = () => {
    for (const table of tables) {
      table.hidden = table.id !== select.value;
      table.open = true;
    }
  };
  document.getElementById("summary").classList.add("chosen");
  select.closest("p").hidden = false;
  select.value = tables[0].id;
  select.addEventListener("change", show);
  show();
}

function overlay(frame, marks, parent) {
  if (!frame || marks.length === 0) return;
  const [width, height] = frame;
  const svg = draw(parent, "svg", {
    class: "evidence", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  for (const layer of ["halo", "stroke"]) {
    for (const mark of marks) {
      if (mark.box) {
        const [x, y, w, h] = mark.box;
        draw(svg, "rect", { class: `box ${layer}`, x, y, width: w, height: h });
      } else if (mark.outline) {
        draw(svg, "path", { class: `outline ${layer}`, d: mark.outline });
      }
    }
  }
}

function picture(parent, name, shown, frame, marks) {
  const figure = add(parent, "figure");
  if (shown.problem !== undefined) {
    add(figure, "div", { class: "absent", role: "img", "aria-label": `${name}: no picture` }, shown.problem);
  } else {
    const link = add(figure, "a", { href: `pictures/${shown.large}`, target: "_blank", rel: "noopener" });
    add(link, "img", {
      src: `pictures/${shown.small}`, width: shown.width, height: shown.height, loading: "lazy", decoding: "async", alt: name,
    });
    overlay(frame, marks, link);
  }
  if (shown.changed) add(figure, "p", { class: "warning" }, "Picture changed since it was scored.");
  return figure;
}

function labels(parent, marks, notes) {
  const said = [...marks.filter((mark) => mark.label).map((mark) => [mark.box ? "box" : "outline", mark.label]),
    ...notes.map((note) => ["note", note])];
  if (said.length === 0) return;
  const list = add(parent, "ul", { class: "labels" });
  for (const [kind, text] of said) {
    const item = add(list, "li");
    if (kind !== "note") add(item, "span", { class: `sample ${kind}` });
    add(item, "bdi", {}, text);
  }
}

function scoreLine(list, score, value) {
  const line = add(list, "div");
  add(line, "dt", {}, score.name);
  if (typeof value === "number") {
    const [reason, detail] = gallery.unscored[value];
    add(line, "dd", { class: "missing", title: detail }, reason);
  } else {
    add(line, "dd", {}, value === null ? "not yet" : value);
  }
}

function scores(parent, values) {
  const pairs = gallery.scores.map((score, index) => [score, values[index]]);
  const few = pairs.filter(([score]) => score.headline);
  const rest = pairs.filter(([score]) => !score.headline);
  const list = add(parent, "dl", { class: "values" });
  for (const [score, value] of few) scoreLine(list, score, value);
  if (rest.length === 0) return;
  const details = add(parent, "details", { class: "rest" });
  add(details, "summary", {}, `${rest.length} more scores`);
  const more = add(details, "dl", { class: "values" });
  for (const [score, value] of rest) scoreLine(more, score, value);
}

function drawOutcome(parent, edit, outcome) {
  const column = add(parent, "div", { class: "outcome" });
  const title = add(column, "h4");
  add(title, "bdi", {}, outcome.method);
  if (outcome.seed !== 0) add(title, "span", { class: "n" }, ` seed ${outcome.seed}`);
  if (outcome.status !== "scored") add(title, "span", { class: "status" }, outcome.status);
  picture(column, `edited by ${outcome.method}`, outcome.edited, edit.frame, outcome.marks);
  if (outcome.difference) picture(column, "difference", outcome.difference, edit.frame, [...edit.marks, ...outcome.marks]);
  if (outcome.status === "unscored") {
    const why = outcome.values.find((value) => typeof value === "number");
    const [reason, detail] = gallery.unscored[why];
    const told = add(column, "p", { class: "why" });
    add(told, "b", {}, reason);
    if (detail && detail !== outcome.edited.problem) add(told, "bdi", {}, ` ${detail}`);
  } else {
    scores(column, outcome.values);
  }
  labels(column, outcome.marks, outcome.notes);
}

function drawEdit([edit, outcomes]) {
  const card = add(place, "article", { id: `edit-${edit.id}` });
  const head = add(card, "header");
  add(head, "h3", { dir: "auto" }, edit.instruction || edit.id);
  const line = add(head, "p", { class: "n" });
  add(line, "span", { class: "type" }, edit.type.replaceAll("_", " "));
  const link = add(line, "a", { class: "anchor", href: `#edit-${encodeURIComponent(edit.id)}` });
  add(link, "bdi", {}, edit.id);
  const row = add(card, "div", { class: "outcomes" });
  row.style.setProperty("--columns", Math.min(outcomes.length + 1, MOST_COLUMNS));
  const source = add(row, "div", { class: "outcome source" });
  add(source, "h4", {}, "source");
  picture(source, "source", edit.source, edit.frame, edit.marks);
  if (edit.facts.length > 0) {
    const facts = add(source, "dl", { class: "told" });
    for (const [name, value] of edit.facts) {
      const fact = add(facts, "div");
      add(fact, "dt", {}, name);
      add(fact, "dd", { dir: "auto" }, value);
    }
  }
  labels(source, edit.marks, []);
  for (const outcome of outcomes) drawOutcome(row, edit, outcome);
}

function matching() {
  const wanted = Object.fromEntries(new FormData(filters));
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const edit of gallery.edits) {
    if (wanted.type && edit.type !== wanted.type) continue;
    if (!words.every((word) => edit.text.includes(word))) continue;
    const outcomes = edit.outcomes.filter((outcome) =>
      (!wanted.method || outcome.method === wanted.method) && (!wanted.status || outcome.status === wanted.status));
    if (outcomes.length > 0 || (!wanted.method && !wanted.status)) found.push([edit, outcomes]);
  }
  return found;
}

function drawPage(to) {
  page = to;
  const start = page * EDITS_ON_A_PAGE;
  place.replaceChildren();
  chosen.slice(start, start + EDITS_ON_A_PAGE).forEach(drawEdit);
  for (const pager of pagers) drawPager(pager, start);
}

function drawPager(pager, start) {
  const last = Math.min(start + EDITS_ON_A_PAGE, chosen.length);
  const all = gallery.edits.length;
  const of = chosen.length === all ? `${all}` : `${chosen.length} found (${all} in all)`;
  pager.hidden = false;
  pager.replaceChildren();
  const turn = (text, to, possible) => {
    const button = add(pager, "button", { type: "button" }, text);
    button.disabled = !possible;
    button.addEventListener("click", () => {
      drawPage(to);
      document.getElementById("gallery").scrollIntoView();
    });
  };
  if (chosen.length > EDITS_ON_A_PAGE) turn("← previous", page - 1, page > 0);
  add(pager, "span", { role: "status" }, chosen.length ? `Edits ${start + 1} to ${last} of ${of}` : "No edit matches.");
  if (chosen.length > EDITS_ON_A_PAGE) turn("next →", page + 1, last < chosen.length);
}

function filter() {
  chosen = matching();
  place.classList.toggle("bare", !filters.elements.evidence.checked);
  drawPage(0);
}

function followLink() {
  if (!location.hash.startsWith("#edit-")) return;
  let id = location.hash.slice("#edit-".length);
  try { id = decodeURIComponent(id); } catch { return; }
  const known = gallery.edits.some((edit) => edit.id === id);
  if (!known) return;
  let index = chosen.findIndex(([edit]) => edit.id === id);
  if (index < 0) {
    filters.reset();
    filter();
    index = chosen.findIndex(([edit]) => edit.id === id);
  }
  drawPage(Math.floor(index / EDITS_ON_A_PAGE));
  document.getElementById(`edit-${id}`).scrollIntoView();
}

function start() {
  for (const edit of gallery.edits) {
    edit.text = [edit.id, edit.type, edit.instruction, ...edit.facts.flat()].join(" ").toLowerCase();
  }
  chooseScores();
  filters.hidden = false;
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", followLink);
  window.addEventListener("beforeprint", () => {
    for (const image of document.images) image.loading = "eager";
  });
  filter();
  followLink();
}

start();
