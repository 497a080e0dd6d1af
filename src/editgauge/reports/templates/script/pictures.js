/* Images with evidence; holding shows the source, a slider compares both. */

const HOLD_MILLISECONDS = 180;
const urlOf = (name) => (gallery.embedded ? gallery.embedded[name] : `pictures/${name}`);
const pictureOf = (number) => (number === undefined ? undefined : gallery.pictures[number]);
let hovered = null;

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
        draw(svg, "path", { class: `outline ${layer} tone-${mark.tone}`, d: mark.outline });
      } else if (mark.arrow) {
        draw(svg, "path", { class: `arrow ${layer}`, d: arrowPath(mark.arrow, Math.max(width, height) / 30) });
      }
    }
  }
}

/* An arrow in image pixels; a ring where the point did not move. */
function arrowPath([x1, y1, x2, y2], head) {
  if (Math.hypot(x2 - x1, y2 - y1) < head / 2) return ringPath(x2, y2, head / 4);
  const turn = Math.atan2(y2 - y1, x2 - x1);
  const barb = (side) => `${(x2 - head * Math.cos(turn + side)).toFixed(1)} ${(y2 - head * Math.sin(turn + side)).toFixed(1)}`;
  return `M${x1} ${y1}L${x2} ${y2}M${barb(0.5)}L${x2} ${y2}L${barb(-0.5)}`;
}

const ringPath = (x, y, radius) => `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;

/* Curves such as histograms in one small chart; the names are in the label for screen readers. */
function curves(parent, chart) {
  const figure = add(parent, "figure", { class: "curves" });
  const [width, height] = [160, 48];
  const highest = Math.max(...chart.curves.flatMap(([, values]) => values), 1e-9);
  const label = `${chart.label}: ${chart.curves.map(([name]) => name).join(", ")}`;
  const svg = draw(figure, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const [name, values] of chart.curves) {
    const points = values.map((value, index) => `${(index * width / (values.length - 1)).toFixed(1)},${(height - 2 - (height - 4) * value / highest).toFixed(1)}`);
    draw(svg, "polyline", { class: `curve ${name.replaceAll(" ", "-")}`, points: points.join(" ") });
  }
  add(figure, "figcaption", {}, chart.label);
}

/* A scatter plot with an optional line; every point has its name as a tooltip. */

const SCATTER_SIZE = [272, 200];
const SCATTER_MARGIN = 12;

function scatter(parent, chart) {
  const figure = add(parent, "figure", { class: "scatter" });
  const [width, height] = SCATTER_SIZE;
  const groups = [...new Set(chart.scatter.map(([, group]) => group))];
  const descriptions = groups.map((group) => `${group}: ${chart.scatter.filter((point) => point[1] === group).map(([name]) => name).join(", ")}`);
  const svg = draw(figure, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.label}. ${descriptions.join(". ")}` });
  const ends = chart.line ? [[chart.line[0], chart.line[1]], [chart.line[2], chart.line[3]]] : [];
  const all = [...chart.scatter.map(([, , x, y]) => [x, y]), ...ends];
  const horizontal = scaleTo(all.map(([x]) => x), SCATTER_MARGIN, width - SCATTER_MARGIN);
  const vertical = scaleTo(all.map(([, y]) => y), height - SCATTER_MARGIN, SCATTER_MARGIN);
  if (chart.line) {
    const [[x1, y1], [x2, y2]] = ends;
    draw(svg, "line", { class: "boundary", x1: horizontal(x1), y1: vertical(y1), x2: horizontal(x2), y2: vertical(y2) });
  }
  for (const [name, group, x, y] of chart.scatter) {
    const point = draw(svg, "path", { class: `point g${groups.indexOf(group)}`, d: POINTS[groups.indexOf(group) % POINTS.length](horizontal(x), vertical(y)) });
    draw(point, "title", {}).textContent = `${name} (${group})`;
  }
  const caption = add(figure, "figcaption", {}, chart.label);
  const key = add(caption, "ul", { class: "key" });
  groups.forEach((group, index) => {
    const entry = add(key, "li");
    const sample = draw(entry, "svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" });
    draw(sample, "path", { class: `point g${index}`, d: POINTS[index % POINTS.length](6, 6) });
    entry.append(group);
  });
}

function scaleTo(values, from, to) {
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  return (value) => Number((span === 0 ? (from + to) / 2 : from + ((value - low) / span) * (to - from)).toFixed(1));
}

/* A shape per group in addition to the color, for color blindness. */
const POINTS = [
  (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z`,
  (x, y) => `M${x - 3.2} ${y - 3.2}h6.4v6.4h-6.4Z`,
  (x, y) => `M${x} ${y - 5}L${x + 5} ${y + 4}H${x - 5}Z`,
  (x, y) => `M${x} ${y + 5}L${x + 5} ${y - 4}H${x - 5}Z`,
  (x, y) => `M${x} ${y - 5.5}L${x + 5.5} ${y}L${x} ${y + 5.5}L${x - 5.5} ${y}Z`,
];

function image(parent, picture, size, name, attributes = {}) {
  return add(parent, "img", {
    src: urlOf(picture[size]), width: picture.width, height: picture.height, loading: "lazy", decoding: "async", alt: name,
    ...attributes,
  });
}

function absent(parent, name, problem) {
  add(parent, "div", { class: "absent", role: "img", "aria-label": `${name}: ${problem}` }, problem);
}

/* Lay the source over the edited image: all of it while holding, or as far as the slider. */
function addSource(stage, source, size) {
  if (!source || source.problem !== undefined) return;
  image(stage, source, size, "", { class: "before", "aria-hidden": "true" });
  stage.classList.add("pair");
}

function flip(stage, on) {
  stage.classList.toggle("flipped", on);
}

function holdToFlip(handle, stage) {
  let timer = 0;
  let held = false;
  const end = () => {
    clearTimeout(timer);
    flip(stage, false);
  };
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = false;
    timer = setTimeout(() => {
      held = true;
      flip(stage, true);
    }, HOLD_MILLISECONDS);
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"]) handle.addEventListener(name, end);
  handle.addEventListener("contextmenu", (event) => { if (held) event.preventDefault(); });
  handle.addEventListener("dragstart", (event) => event.preventDefault());
  const swallow = (event) => {
    if (held) event.stopImmediatePropagation();
    held = false;
  };
  handle.addEventListener("click", swallow, { capture: true }); /* before the picture opens larger */
}

function slider(stage, name) {
  const range = add(stage, "input", { type: "range", min: 0, max: 100, value: 50, class: "slide", "aria-label": `how much of the source covers ${name}, in percent` });
  add(stage, "span", { class: "divide", "aria-hidden": "true" });
  const follow = () => stage.style.setProperty("--covered", `${range.value}%`);
  range.addEventListener("input", follow);
  follow();
  return range;
}

function startFlipKey() {
  const activeStage = () => {
    const open = document.querySelector("dialog[open] .stage");
    return open ?? document.activeElement?.closest(".stage") ?? hovered;
  };
  const writing = () => document.activeElement?.matches("input[type=search], select");
  document.addEventListener("pointerover", (event) => { hovered = event.target.closest?.(".stage") ?? null; });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "f" || event.ctrlKey || event.metaKey || event.altKey || writing()) return;
    const stage = activeStage();
    if (stage) flip(stage, true);
  });
  document.addEventListener("keyup", (event) => {
    if (event.key.toLowerCase() !== "f") return;
    for (const stage of document.querySelectorAll(".flipped")) flip(stage, false);
  });
}
