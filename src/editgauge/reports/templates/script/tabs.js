/* One part of the report at a time; which one is in the address. Without JavaScript, and on paper, all are shown. */

const tabs = [...document.querySelectorAll(".tab")];
const tabLinks = [...document.querySelectorAll(".bar .links a")];
const galleryTab = document.getElementById("gallery").closest(".tab");
const tabOf = (anchor) => (anchor.startsWith("edit-") ? galleryTab : document.getElementById(anchor)?.closest(".tab") ?? tabs[0]);
const shownTab = () => tabs.find((tab) => !tab.classList.contains("away"));

/* Returns whether the part shown has changed. */
function showTab(wanted) {
  const before = shownTab();
  tabs.forEach((tab, place) => {
    tab.classList.toggle("away", tab !== wanted);
    if (tab === wanted) tabLinks[place].setAttribute("aria-current", "page");
    else tabLinks[place].removeAttribute("aria-current");
  });
  const chooser = document.querySelector(".choose");
  if (chooser) chooser.hidden = !wanted.querySelector(".of-score");
  tabLinks[tabs.indexOf(wanted)].scrollIntoView({ block: "nearest", inline: "center" }); /* the chooser takes room */
  return before !== wanted;
}
