/* Thumbnails of examples, and buttons that copy a text. */

const MIN_CROP = 0.55; /* share of the image */
const CROP_MARGIN = 1.7; /* times the longer side of the region */

function startExamples() {
  const edits = new Map(gallery.edits.map((edit) => [edit.id, edit]));
  for (const link of document.querySelectorAll(".examples [data-edit]")) {
    const edit = edits.get(link.dataset.edit);
    const outcome = edit?.outcomes.find((candidate) => candidate.method === link.dataset.method && String(candidate.seed ?? 0) === link.dataset.seed);
    const pictures = [edit?.source, outcome?.edited].map(pictureOf).map((picture) => (picture?.problem === undefined ? picture : undefined));
    const both = link.closest(".disputed") !== null || link.dataset.both !== undefined;
    const region = pictureOf(outcome?.difference)?.region;
    link.prepend(...(both ? pictures : [pictures[1] ?? pictures[0]]).map((picture) => thumbnail(picture, region)));
  }
}

function thumbnail(picture, region) {
  const holder = document.createElement("span");
  holder.className = picture ? "thumb" : "thumb empty";
  const drawn = picture && image(holder, picture, "small", "");
  if (drawn && region) drawn.style.objectViewBox = cropAround(region); /* browsers without it show all of the image */
  return holder;
}

/* A view box around the changed region, with some of its surroundings. */
function cropAround([left, top, right, bottom]) {
  const size = Math.min(1, Math.max(MIN_CROP, CROP_MARGIN * Math.max(right - left, bottom - top)));
  const start = (low, high) => Math.min(1 - size, Math.max(0, (low + high - size) / 2));
  const [x, y] = [start(left, right), start(top, bottom)];
  return `inset(${[y, 1 - x - size, 1 - y - size, x].map((side) => `${(100 * side).toFixed(1)}%`).join(" ")})`;
}

function startCopying() {
  for (const button of document.querySelectorAll(".copy")) {
    const status = button.nextElementSibling;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(text.textContent);
        status.textContent = "Copied.";
      } catch { /* a browser may forbid it for local pages: select the text instead */
        getSelection().selectAllChildren(text);
        status.textContent = "Selected: press Ctrl+C or ⌘C to copy.";
      }
    });
  }
}
