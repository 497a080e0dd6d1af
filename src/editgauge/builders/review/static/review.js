/* Saves every answer at once and in place; without it, forms are sent as forms. */
const rows = () => [...document.querySelectorAll(".candidate")].filter((row) => row.offsetParent !== null);
const current = () => document.activeElement?.closest(".candidate");
const saved = document.getElementById("saved");

function fieldsOf(row) {
  return [...row.querySelectorAll("[data-saved]")];
}

function mark(row) {
  row.classList.toggle("is-changed", fieldsOf(row).some((field) => field.value !== field.dataset.saved));
}

let clearing;
function say(words) {
  saved.textContent = words;
  clearTimeout(clearing);
  clearing = setTimeout(() => { saved.textContent = ""; }, 2500);
}

function problem(row, words) {
  const place = row.querySelector(".problem");
  place.textContent = words;
  place.hidden = !words;
}

/* The answers of one row go out one after the other, so that the last one given is the last one saved. */
const turns = new WeakMap();

function decide(row, verdict) {
  const turn = (turns.get(row) ?? Promise.resolve()).then(() => send(row, verdict));
  turns.set(row, turn);
  return turn;
}

async function send(row, verdict) {
  const fields = new URLSearchParams(new FormData(row));
  fields.set("verdict", verdict);
  problem(row, "");
  try {
    const answer = await fetch("/decide", { method: "POST", body: fields, headers: { Accept: "application/json" } });
    const told = await answer.json().catch(() => ({ fault: `The server says ${answer.status}.` }));
    if (!answer.ok) throw new Error(told.fault ?? told.detail ?? `The server says ${answer.status}.`);
    place(row, told);
  } catch (error) {
    problem(row, `Not saved: ${error.message}`);
    say("Not saved");
  }
}

function place(row, told) {
  const holder = document.createElement("template");
  holder.innerHTML = told.html.trim();
  const fresh = holder.content.firstElementChild;
  const had = row.contains(document.activeElement);
  row.replaceWith(fresh);
  if (had) fresh.focus();
  document.getElementById("whole").value = told.progress.done;
  document.getElementById("whole-told").textContent = `${told.progress.done} of ${told.progress.all}`;
  document.getElementById("group-told").textContent = `${told.group.done} of ${told.group.all}`;
  const chosen = document.querySelector("#group option[selected]");
  chosen.textContent = chosen.textContent.replace(/\(\d+\//, `(${told.group.done}/`);
  say(`Saved: ${told.status}`);
}

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  const first = all.find((row) => row.classList.contains("is-open")) ?? all[0];
  const next = at < 0 ? first : all[Math.min(Math.max(at + by, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function answer(verdict) {
  const row = current();
  if (!row) { step(1); return; } // nobody answers what is not marked yet
  const all = rows();
  const next = all[all.indexOf(row) + 1];
  decide(row, verdict);
  if (verdict !== "withdraw") next?.focus();
}

function show(instance) {
  for (const each of document.querySelectorAll("[data-instance]")) {
    each.classList.toggle("is-shown", each.dataset.instance === instance);
  }
}

document.addEventListener("submit", (event) => {
  const row = event.target.closest(".candidate");
  if (!row) return;
  event.preventDefault();
  decide(row, event.submitter?.value ?? "keep");
});
document.addEventListener("input", (event) => {
  const row = event.target.closest(".candidate");
  if (row) mark(row);
});
document.addEventListener("change", (event) => {
  if (event.target.id === "group") event.target.form.requestSubmit();
  if (event.target.id === "waiting") document.body.classList.toggle("only-waiting", event.target.checked);
});
for (const kind of ["focusin", "pointerover"]) {
  document.addEventListener(kind, (event) => {
    const section = event.target.closest?.("[data-shows]");
    if (section) show(section.dataset.shows);
  });
}
const keys = document.getElementById("keys");
function openKeys() {
  keys.showModal();
  keys.querySelector("h2").focus();
}
document.getElementById("open-keys").addEventListener("click", openKeys);
keys.addEventListener("click", (event) => { if (event.target === keys) keys.close(); });

const ACTIONS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  a: () => answer("keep"), d: () => answer("drop"), u: () => answer("withdraw"),
  e: () => { if (current()) current().querySelector("input[type=text]")?.select(); else step(1); },
  n: () => document.getElementById("after")?.click(), p: () => document.getElementById("before")?.click(),
  "?": openKeys,
};
document.addEventListener("keydown", (event) => {
  const target = event.target;
  const writes = target.matches?.("input[type=text], select, textarea");
  if (event.key === "Escape" && writes) {
    const row = target.closest(".candidate");
    if (!row) return;
    for (const field of fieldsOf(row)) field.value = field.dataset.saved;
    mark(row);
    row.focus();
    return;
  }
  if (writes || keys.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = ACTIONS[event.key] ?? ACTIONS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});
show(document.querySelector("[data-shows]")?.dataset.shows);
document.getElementById("problems")?.focus();

/* A square dragged on the picture becomes the crop's numbers. */
const crop = document.getElementById("crop");
const picture = document.querySelector(".outlined svg");
if (crop && picture && !crop.elements.undo) {
  const shown = document.getElementById("crop-shown");
  let start = null;
  const place = (event) => {
    const frame = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / frame.width;
    return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
  };
  const draw = () => {
    const [left, top, side] = ["left", "top", "side"].map((name) => crop.elements[name].value);
    for (const [name, value] of [["x", left], ["y", top], ["width", side], ["height", side]]) shown.setAttribute(name, value);
    shown.removeAttribute("hidden");
  };
  const details = crop.closest("details");
  details.addEventListener("toggle", () => { picture.classList.toggle("is-cropping", details.open); });
  picture.addEventListener("pointerdown", (event) => {
    start = place(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    if (!start) return;
    const end = place(event);
    const whole = picture.viewBox.baseVal.width;
    const wanted = Math.max(Math.abs(end[0] - start[0]), Math.abs(end[1] - start[1]));
    const from = [0, 1].map((axis) => (end[axis] >= start[axis] ? start[axis] : Math.max(0, start[axis] - wanted)));
    const side = Math.floor(Math.min(wanted, whole - from[0], whole - from[1]));
    if (side < 8) return;
    crop.elements.left.value = Math.round(Math.min(from[0], whole - side));
    crop.elements.top.value = Math.round(Math.min(from[1], whole - side));
    crop.elements.side.value = side;
    draw();
  });
  picture.addEventListener("pointerup", () => { start = null; });
  crop.addEventListener("input", draw);
}
