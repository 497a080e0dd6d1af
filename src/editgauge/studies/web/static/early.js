"use strict";
/* Before anything is drawn: how this reader likes pages to look, so that nothing jumps later. */
document.documentElement.classList.add("js");
try {
  for (const name of ["text", "width", "theme"]) {
    const kept = localStorage.getItem(`editgauge-study-${name}`);
    if (kept) document.documentElement.dataset[name] = kept;
  }
} catch { /* a browser may forbid storage; the page then looks as it does for everybody */ }
