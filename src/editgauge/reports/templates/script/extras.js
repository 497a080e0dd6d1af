/* Small pictures beside the examples of what has no score, and buttons that copy a text. */

function startExamples() {
  const edits = new Map(gallery.edits.map((edit) => [edit.id, edit]));
  for (const link of document.querySelectorAll(".examples [data-edit]")) {
    const edit = edits.get(link.dataset.edit);
    const outcome = edit?.outcomes.find((each) => each.method === link.dataset.method && String(each.seed ?? 0) === link.dataset.seed);
    const pictures = [edit?.source, outcome?.edited].map(pictureOf).map((picture) => (picture?.problem === undefined ? picture : undefined));
    const both = link.closest(".disputed") !== null || link.dataset.both !== undefined;
    link.prepend(...(both ? pictures : [pictures[1] ?? pictures[0]]).map(thumb));
  }
}

function thumb(shown) {
  const holder = document.createElement("span");
  holder.className = shown ? "thumb" : "thumb empty";
  if (shown) image(holder, shown, "small", "");
  return holder;
}

function startCopying() {
  for (const button of document.querySelectorAll(".copy")) {
    const told = button.nextElementSibling;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(text.textContent);
        told.textContent = "Copied.";
      } catch { /* a browser may forbid it for pages from disk: then the text is chosen, and the keys copy it */
        getSelection().selectAllChildren(text);
        told.textContent = "Chosen: press Ctrl+C, or ⌘C, to copy.";
      }
    });
  }
}
