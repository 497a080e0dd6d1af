"use strict";
/* Runs before the first paint: the stored color theme, and space for what needs JavaScript. */
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("editgauge-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage may be forbidden for pages from disk */ }
