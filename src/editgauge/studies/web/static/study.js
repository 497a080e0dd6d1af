/* Brings a page to life; without it, forms are sent as forms. */
import { Answers } from "./answers.js";
import { Keys } from "./keys.js";
import { setUpSettings } from "./settings.js";
import { Viewer } from "./viewer.js";

setUpSettings();
const viewers = [...document.querySelectorAll("[data-viewer]")].map((each) => new Viewer(each));
const form = document.querySelector("[data-answers]");
if (form) new Keys(new Answers(form), viewers);
else document.addEventListener("keydown", (event) => {
  const way = document.querySelector("[data-first]");
  if (event.key === "Enter" && event.target === document.body && way) way.click();
});
document.getElementById("problems")?.focus();
