/* The list of cards, drawn only near the window: a hundred thousand outcomes scroll like ten. */

const CARDS_IN_A_CHUNK = 5;
const PRINTED_AT_MOST = 100;
const heights = { sum: 0, count: 0 };
const usualHeight = () => (heights.count ? heights.sum / heights.count : 620);
const chunkOf = new WeakMap();

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) drawChunk(target);
    else if (!target.contains(document.activeElement) && !target.contains(current.opener)) emptyChunk(target);
  }
}, { rootMargin: "1800px 0px" });

function drawChunk(chunk) {
  if (chunk.childElementCount > 0) return;
  for (const found of chunkOf.get(chunk)) drawEdit(chunk, found);
  chunk.style.removeProperty("height");
}

function emptyChunk(chunk) {
  if (chunk.childElementCount === 0 || chunk.offsetHeight === 0) return;
  heights.sum += chunk.offsetHeight;
  heights.count += chunk.childElementCount;
  chunk.style.height = `${chunk.offsetHeight}px`;
  chunk.replaceChildren();
}

function drawPage(to) {
  view.page = to;
  const start = to * EDITS_ON_A_PAGE;
  const found = view.found.slice(start, start + EDITS_ON_A_PAGE);
  watcher.disconnect();
  place.replaceChildren();
  for (let first = 0; first < found.length; first += CARDS_IN_A_CHUNK) {
    const edits = found.slice(first, first + CARDS_IN_A_CHUNK);
    const chunk = add(place, "div", { class: "chunk" });
    chunkOf.set(chunk, edits);
    if (first === 0) drawChunk(chunk);
    else chunk.style.height = `${Math.round(edits.length * usualHeight())}px`;
  }
  for (const chunk of place.children) watcher.observe(chunk);
  for (const pager of pagers) drawPager(pager, start);
}

/* Draws the card at a place of the page at once, and gives it. */
function drawAt(index) {
  const chunk = place.children[Math.floor(index / CARDS_IN_A_CHUNK)];
  if (!chunk) return undefined;
  drawChunk(chunk);
  return chunk.children[index % CARDS_IN_A_CHUNK];
}

function drawForPaper() {
  if (view.found.length <= PRINTED_AT_MOST) for (const chunk of place.children) drawChunk(chunk);
  for (const image of document.images) image.loading = "eager";
}
