/* Cards are drawn only near the viewport, so that a hundred thousand outcomes scroll like ten. */

const CARDS_PER_CHUNK = 5;
const MAX_PRINTED_EDITS = 100;
const heights = { sum: 0, count: 0 };
const typicalHeight = () => (heights.count ? heights.sum / heights.count : 620);
const chunkOf = new WeakMap();

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) drawChunk(target);
    else if (!target.contains(document.activeElement) && !target.contains(current.opener)) emptyChunk(target);
  }
}, { rootMargin: "1800px 0px" });

function drawChunk(chunk) {
  if (chunk.childElementCount > 0) return;
  for (const match of chunkOf.get(chunk)) drawEdit(chunk, match);
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
  const start = to * EDITS_PER_PAGE;
  const matches = view.matches.slice(start, start + EDITS_PER_PAGE);
  watcher.disconnect();
  cardList.replaceChildren();
  for (let first = 0; first < matches.length; first += CARDS_PER_CHUNK) {
    const edits = matches.slice(first, first + CARDS_PER_CHUNK);
    const chunk = add(cardList, "div", { class: "chunk" });
    chunkOf.set(chunk, edits);
    if (first === 0) drawChunk(chunk);
    else chunk.style.height = `${Math.round(edits.length * typicalHeight())}px`;
  }
  for (const chunk of cardList.children) watcher.observe(chunk);
  for (const pager of pagers) drawPager(pager, start);
}

/* Draw the card at an index of the page and return it. */
function drawAt(index) {
  const chunk = cardList.children[Math.floor(index / CARDS_PER_CHUNK)];
  if (!chunk) return undefined;
  drawChunk(chunk);
  return chunk.children[index % CARDS_PER_CHUNK];
}

function drawForPaper() {
  if (view.matches.length <= MAX_PRINTED_EDITS) for (const chunk of cardList.children) drawChunk(chunk);
  for (const image of document.images) image.loading = "eager";
}
