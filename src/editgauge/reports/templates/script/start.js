startTheme();
startScores();
startFilters();
startFlipKey();
startDialog();
startExamples();
startCopying();
window.addEventListener("hashchange", followAddress);
window.addEventListener("beforeprint", () => {
  for (const image of document.images) image.loading = "eager";
});
filters.elements.by.value = chosenScore();
followAddress();
