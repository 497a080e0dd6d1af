"use strict";
/* Draws the gallery from the data in the page, only what is near the window.
   Texts of the run are only ever set as text, never as HTML. */

const EDITS_ON_A_PAGE = 20000; /* browsers do not scroll much more than ten million pixels */
const MOST_COLUMNS = 5;
const MOST_NARROW_COLUMNS = 3;
const SVG = "http://www.w3.org/2000/svg";
const gallery = JSON.parse(document.getElementById("gallery-data").textContent);
const filters = document.querySelector(".filters");
/* The fields for the divisions of the benchmark itself: task, language … */
const groupFields = [...filters.elements].map((field) => field.name).filter((name) => name.startsWith("group-"));
const pagers = document.querySelectorAll(".pager");
const place = document.getElementById("edits");

function add(parent, tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== "") made.textContent = text;
  parent.append(made);
  return made;
}

function draw(parent, tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

function button(parent, text, attributes, onClick) {
  const made = add(parent, "button", { type: "button", ...attributes }, text);
  made.addEventListener("click", onClick);
  return made;
}

/* As the tables write it: one that would look like zero without being zero keeps a digit. */
function written(value, decimals) {
  let text = value.toFixed(decimals);
  if (value !== 0 && Number(text) === 0) text = value.toExponential(0);
  return text.replaceAll("-", "−");
}

const spaced = (name) => name.replaceAll("_", " ");
const isScore = (value) => typeof value === "number";
const whyOf = (value) => (Array.isArray(value) ? gallery.unscored[value[0]] : null);
