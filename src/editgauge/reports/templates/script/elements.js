"use strict";
/* Shared helpers. The gallery is drawn from the JSON in the page; texts of the run are only set as text, never as HTML. */

const EDITS_PER_PAGE = 20000; /* browsers do not scroll much more than ten million pixels */
const MAX_COLUMNS = 5;
const MAX_NARROW_COLUMNS = 3;
const SVG = "http://www.w3.org/2000/svg";
const gallery = JSON.parse(document.getElementById("gallery-data").textContent);
const filters = document.querySelector(".filters");
/* Filters for divisions that the benchmark defines: task, language … */
const groupFields = [...filters.elements].map((field) => field.name).filter((name) => name.startsWith("group-"));
const pagers = document.querySelectorAll(".pager");
const cardList = document.getElementById("edits");

function add(parent, tag, attributes = {}, text = "") {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== "") element.textContent = text;
  parent.append(element);
  return element;
}

/* A name whose lines break between its words only. */
function addName(parent, tag, name) {
  const parts = name.split(/(?<=[_/-])(?=\w)|(?<=[a-z0-9])(?=[A-Z])/);
  add(parent, tag).append(...parts.flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part])));
}

function draw(parent, tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

function button(parent, text, attributes, onClick) {
  const element = add(parent, "button", { type: "button", ...attributes }, text);
  element.addEventListener("click", onClick);
  return element;
}

/* Format a score as the tables do: a small value other than zero never looks like zero. */
function formatScore(value, decimals) {
  let text = value.toFixed(decimals);
  if (value !== 0 && Number(text) === 0) text = value.toExponential(0);
  return text.replaceAll("-", "−");
}

const spaced = (name) => name.replaceAll("_", " ");
const isScore = (value) => typeof value === "number";
const missingReason = (value) => (Array.isArray(value) ? gallery.unscored[value[0]] : null);
