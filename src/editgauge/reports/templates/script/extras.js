/* Thumbnails of examples, and buttons that copy a text. */

function startExamples() {
  const edits = new Map(gallery.edits.map((edit) => [edit.id, edit]));
  for (const link of document.querySelectorAll(".examples [data-edit]")) {
    const edit = edits.get(link.dataset.edit);
    const outcome = edit?.outcomes.find((candidate) => candidate.method === link.dataset.method && String(candidate.seed ?? 0) === link.dataset.seed);
    const pictures = [edit?.source, outcome?.edited].map(pictureOf).map((picture) => (picture?.problem === undefined ? picture : undefined));
    const both = link.closest(".disputed") !== null || link.dataset.both !== undefined;
    link.prepend(...(both ? pictures : [pictures[1] ?? pictures[0]]).map(thumbnail));
  }
}

function thumbnail(picture) {
  const holder = document.createElement("span");
  holder.className = picture ? "thumb" : "thumb empty";
  if (picture) image(holder, picture, "small", "");
  return holder;
}

function startCopying() {
  for (const button of document.querySelectorAll(".copy")) {
    const status = button.nextElementSibling;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copies);
      try {
        await navigator.clipboard.writeText(text.textContent);
        status.textContent = "Copied.";
      } catch { /* a browser may forbid it for local pages: select the text instead */
        getSelection().selectAllChildren(text);
        status.textContent = "Selected: press Ctrl+C or ⌘C to copy.";
      }
    });
  }
}
