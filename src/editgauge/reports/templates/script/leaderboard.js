"use strict";
/* Sort a table by a score when its heading is clicked, best first; missing scores stay last. */

function sortBy(heading) {
  const table = heading.closest("table");
  const headings = [...heading.parentElement.children];
  const column = headings.indexOf(heading);
  const higher = heading.dataset.higher === "yes";
  const bestFirst = higher ? "descending" : "ascending";
  const order = heading.getAttribute("aria-sort") === bestFirst ? (higher ? "ascending" : "descending") : bestFirst;
  for (const other of headings) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const valueOf = (row) => row.children[column].dataset.value;
  const body = table.tBodies[0];
  const rows = [...body.rows].toSorted((a, b) => {
    const [first, second] = [valueOf(a), valueOf(b)];
    if (first === undefined || second === undefined) return (first === undefined) - (second === undefined);
    return sign * (Number(first) - Number(second));
  });
  body.append(...rows);
}

for (const heading of document.querySelectorAll("th[data-higher]")) {
  heading.querySelector(".sort").addEventListener("click", () => sortBy(heading));
}
startTheme();
