/* One tab at a time; the address says which. Without JavaScript and on paper all are visible. */

const tabs = [...document.querySelectorAll(".tab")];
const tabLinks = [...document.querySelectorAll(".bar .links a")];
const galleryTab = document.getElementById("gallery").closest(".tab");
const tabOf = (anchor) => (anchor.startsWith("edit-") ? galleryTab : document.getElementById(anchor)?.closest(".tab") ?? tabs[0]);
const currentTab = () => tabs.find((tab) => !tab.classList.contains("inactive"));

/* Return whether the current tab changed. */
function showTab(target) {
  const before = currentTab();
  tabs.forEach((tab, index) => {
    tab.classList.toggle("inactive", tab !== target);
    if (tab === target) tabLinks[index].setAttribute("aria-current", "page");
    else tabLinks[index].removeAttribute("aria-current");
  });
  const chooser = document.querySelector(".choose");
  if (chooser) chooser.hidden = !target.querySelector(".of-score");
  tabLinks[tabs.indexOf(target)].scrollIntoView({ block: "nearest", inline: "center" }); /* the chooser takes room */
  return before !== target;
}
