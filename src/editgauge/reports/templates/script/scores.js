/* One score at a time in heat map, plots and tables. */

const scoreChooser = document.getElementById("choose-score");

const chosenScore = () => (scoreChooser ? scoreChooser.value : "");

function chooseScore(key) {
  if (!scoreChooser) return;
  const known = [...scoreChooser.options].some((option) => option.value === key);
  if (known) scoreChooser.value = key;
  for (const part of document.querySelectorAll(".of-score")) {
    part.hidden = part.dataset.score !== scoreChooser.value;
    if (part.tagName === "DETAILS") part.open = true;
  }
  for (const panel of document.querySelectorAll(".panel")) {
    const parts = [...panel.querySelectorAll(".of-score")];
    if (parts.length) panel.hidden = parts.every((part) => part.hidden);
  }
}

function startScores() {
  if (!scoreChooser) return;
  const first = gallery.scores[0];
  chooseScore(first.key);
  scoreChooser.addEventListener("change", () => {
    chooseScore(scoreChooser.value);
    writeAddress(readAddress().anchor);
  });
}
