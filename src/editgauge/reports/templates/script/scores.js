/* The score that heat map, plots and tables show. */

const scoreSelect = document.getElementById("choose-score");

const selectedScore = () => (scoreSelect ? scoreSelect.value : "");

function selectScore(key) {
  if (!scoreSelect) return;
  const exists = [...scoreSelect.options].some((option) => option.value === key);
  if (exists) scoreSelect.value = key;
  for (const part of document.querySelectorAll(".of-score")) {
    part.hidden = part.dataset.score !== scoreSelect.value;
    if (part.tagName === "DETAILS") part.open = true;
  }
  for (const panel of document.querySelectorAll(".panel")) {
    const parts = [...panel.querySelectorAll(".of-score")];
    if (parts.length) panel.hidden = parts.every((part) => part.hidden);
  }
}

function startScores() {
  if (!scoreSelect) return;
  const first = gallery.scores[0];
  selectScore(first.key);
  scoreSelect.addEventListener("change", () => {
    selectScore(scoreSelect.value);
    writeAddress(readAddress().anchor);
  });
}
