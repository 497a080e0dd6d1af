/* Heat maps in the larger view: one at a time, over the image in gray, each with its color scale. */

const MAP_ENDS = { plain: ["0", "1"], signed: ["−1", "0", "+1"] };

/* The selected map, if it belongs to this form. */
function selectedMap(form) {
  const map = current.outcome?.maps?.[current.map];
  return map?.of === form ? map : undefined;
}

function overlayMap(stage, map) {
  stage.classList.add("mapped");
  add(stage, "img", { class: "over", src: map.map, alt: map.label, draggable: false });
}

function drawMapButtons(parent, form) {
  (current.outcome?.maps ?? []).forEach((map, index) => {
    const kind = map.signed ? "signed" : "plain";
    const figure = add(parent, "figure", { class: `map ${kind}` });
    const pressed = selectedMap(form) === map;
    button(figure, pressed ? "Hide map" : "Show map", { "aria-pressed": pressed, "aria-label": `Map: ${map.label}` }, () => {
      Object.assign(current, pressed ? { map: null } : { map: index, form: map.of });
      drawLarger();
      larger.querySelectorAll("figure.map > button")[index].focus();
    });
    const caption = add(figure, "figcaption");
    add(caption, "bdi", {}, map.label);
    add(figure, "div", { class: "colors", "aria-hidden": "true" });
    const ends = add(figure, "div", { class: "ends", role: "note", "aria-label": `colors from ${MAP_ENDS[kind].join(" over ")}` });
    for (const end of MAP_ENDS[kind]) add(ends, "span", { "aria-hidden": "true" }, end);
  });
}
