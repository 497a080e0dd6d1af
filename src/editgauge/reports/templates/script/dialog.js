/* The larger view: switch between forms, step through outcomes, Esc closes. */

const larger = document.getElementById("larger");
const FORMS = ["edited", "source", "difference", "slider"];
const current = { edit: null, outcome: null, form: "edited", map: null, opener: null };

/* The previous or next outcome over all matching edits. */
function neighbor(by) {
  const at = view.matches.findIndex(([edit]) => edit === current.edit);
  if (at < 0) return undefined;
  const ordered = ([edit, outcomes]) => (blind() ? blindOrder(edit).filter((outcome) => outcomes.includes(outcome)) : outcomes);
  const outcomes = ordered(view.matches[at]);
  const next = outcomes[outcomes.indexOf(current.outcome) + by];
  if (next) return [current.edit, next];
  const match = by > 0 ? view.matches.slice(at + 1).find((pair) => pair[1].length > 0) : view.matches.slice(0, at).findLast((pair) => pair[1].length > 0);
  return match && [match[0], ordered(match).at(by > 0 ? 0 : -1)];
}

function openLarger(edit, outcome, form, opener) {
  const first = outcome ?? view.matches.find(([candidate]) => candidate === edit)[1][0] ?? null;
  Object.assign(current, { edit, outcome: first, form, map: null, opener });
  drawLarger();
  if (!larger.open) larger.showModal();
  (larger.querySelector(".stage") ?? larger).focus();
}

/* Keep the focus on the arrow that was pressed, else on the image, so that keys keep working. */
function redraw() {
  const pressed = document.activeElement?.getAttribute("aria-label");
  drawLarger();
  const same = [...larger.querySelectorAll("footer > button:enabled")].find((button) => button.getAttribute("aria-label") === pressed);
  (same ?? larger.querySelector(".stage:not(.sliding), .slide") ?? larger).focus();
}

function step(by) {
  const next = neighbor(by);
  if (!next) return;
  [current.edit, current.outcome] = next;
  redraw();
}

function possibleForms() {
  const { edit, outcome } = current;
  const both = outcome?.difference !== undefined;
  return FORMS.filter((form) => (form === "source" ? pictureOf(edit.source).frame : form === "edited" ? outcome : both));
}

function currentForm() {
  const forms = possibleForms();
  return forms.includes(current.form) ? current.form : forms[0] ?? "edited";
}

function drawLarger() {
  const { edit, outcome } = current;
  larger.replaceChildren();
  const head = add(larger, "header");
  const title = add(head, "div", { class: "title" });
  add(title, "h2", { dir: "auto" }, edit.instruction || edit.id);
  const line = add(title, "p", { class: "n" });
  add(line, "bdi", {}, edit.id);
  if (outcome) add(line, "b", {}, nameOf(edit, outcome));
  if (outcome?.seed && !blind()) add(line, "span", {}, `seed ${outcome.seed}`);
  button(head, "×", { class: "close", "aria-label": "Close" }, () => larger.close());
  const body = add(larger, "div", { class: "body" });
  drawStage(add(body, "div", { class: "show" }));
  const side = add(body, "div", { class: "side" });
  if (outcome) verdict(side, outcome);
  facts(side, edit);
  const marks = [...edit.marks, ...(outcome?.marks ?? [])];
  for (const problem of outcome?.damaged ?? []) add(side, "p", { class: "warning" }, problem);
  for (const protocol of gallery.protocols.keys()) {
    const drawn = protocol === selectedEvidence() ? marks : []; /* a legend only for what is drawn, remarks of all */
    labels(side, protocol, drawn, outcome?.notes ?? [], [], outcome?.verdict ? 0 : Infinity);
  }
  drawMapButtons(side, currentForm());
  for (const chart of outcome?.curves ?? []) curves(side, chart);
  for (const chart of outcome?.scatters ?? []) scatter(side, chart);
  drawControls();
}

function drawStage(parent) {
  const { edit, outcome } = current;
  const form = currentForm();
  const map = selectedMap(form);
  const source = pictureOf(edit.source);
  const picture = form === "source" ? source : pictureOf(form === "difference" ? outcome.difference : outcome?.edited) ?? source;
  const name = form === "source" ? "source" : form === "difference" ? "difference" : `edited by ${outcome && nameOf(edit, outcome)}`;
  if (picture.problem !== undefined) {
    absent(parent, name, picture.problem);
    return;
  }
  const stage = add(parent, "div", { class: "stage", tabindex: form === "slider" ? -1 : 0, role: "group", "aria-label": name });
  const [width, height] = (source.frame ?? picture.frame);
  stage.style.setProperty("--ratio", width / height);
  stage.style.setProperty("--natural", `${width}px`);
  image(stage, picture, "large", name, { loading: "eager", width, height });
  if (form === "edited" || form === "slider") addSource(stage, source, "large");
  if (map) overlayMap(stage, map);
  const marks = visible(outcome?.marks ?? []);
  overlay(source.frame, { source: visible(edit.marks), difference: [...visible(edit.marks), ...marks] }[form] ?? marks, stage);
  if (form === "slider") {
    stage.classList.add("sliding");
    slider(stage, "the edited picture");
  } else if (form === "edited") {
    holdToFlip(stage, stage);
  }
}

function drawControls() {
  const controls = add(larger, "footer");
  button(controls, "←", { "aria-label": "Previous outcome" }, () => step(-1)).disabled = !neighbor(-1);
  const forms = add(controls, "div", { class: "forms", role: "group", "aria-label": "What to show" });
  for (const form of possibleForms()) {
    button(forms, form, { "aria-pressed": form === currentForm() }, () => {
      current.form = form;
      drawLarger();
      (larger.querySelector(".slide") ?? larger.querySelector(`.forms [aria-pressed=true]`)).focus();
    });
  }
  button(controls, "→", { "aria-label": "Next outcome" }, () => step(1)).disabled = !neighbor(1);
}

/* Scroll the page to the edit that the larger view ended on. */
function showCurrent() {
  const at = view.matches.findIndex(([edit]) => edit === current.edit);
  current.opener = null;
  const page = Math.floor(at / EDITS_PER_PAGE);
  if (page !== view.page) drawPage(page);
  const card = drawAt(at % EDITS_PER_PAGE);
  card?.focus({ preventScroll: true });
  card?.scrollIntoView();
}

function startDialog() {
  larger.addEventListener("keydown", (event) => {
    if (event.target.matches(".slide") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "ArrowRight") step(1);
    else return;
    event.preventDefault();
  });
  larger.addEventListener("click", (event) => { if (event.target === larger) larger.close(); });
  larger.addEventListener("close", () => {
    const card = current.opener?.closest(".card");
    if (card && card.id !== `edit-${current.edit.id}`) showCurrent();
    else if (current.opener?.isConnected) current.opener.focus();
  });
}
