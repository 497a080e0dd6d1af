"use strict";
/* Before anything is drawn: the chosen colors, and room for what needs JavaScript, so that nothing jumps later. */
document.documentElement.classList.add("js");
try {
  const kept = localStorage.getItem("editgauge-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch { /* storage may be forbidden for pages from disk */ }
