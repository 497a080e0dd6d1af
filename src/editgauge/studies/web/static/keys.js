/* Keys for everything. A key that a question uses is the question's; letters are free while somebody writes. */
import { openDialog } from "./settings.js";

export class Keys {
  constructor(answers, viewers) {
    this.answers = answers;
    this.viewers = viewers;
    document.addEventListener("keydown", (event) => this.#down(event));
    document.addEventListener("keyup", (event) => { if (event.key === " ") this.#letGo(); });
    window.addEventListener("blur", () => this.#letGo());
    for (const button of document.querySelectorAll("[data-choose]")) {
      button.addEventListener("click", () => this.#chooseByTree(button));
    }
    document.addEventListener("focusin", () => this.#mark());
    this.#mark();
  }

  #down(event) {
    if (document.querySelector("dialog[open]") || event.altKey || event.metaKey) return;
    const { target, key } = event;
    if (target.matches("textarea, input[type=text], input[type=password]")) return this.#whileWriting(event);
    if (event.ctrlKey) return;
    if (key === " ") return this.#space(event);
    if (key === "Enter") return this.#enter(event);
    if (target.matches("input[type=range]") && key.startsWith("Arrow")) return;
    if (this.#option(key) || this.#arrow(event) || this.#command(key)) event.preventDefault();
  }

  #whileWriting(event) {
    if (event.key === "Enter" && event.ctrlKey) { event.preventDefault(); this.answers.form.requestSubmit(); }
    if (event.key === "Escape") this.#goTo(event.target.closest(".question"), 1) || event.target.blur();
  }

  #space(event) {
    const usesIt = event.target.matches("button, summary, a, input[type=checkbox], input[type=radio]:not(:checked)");
    if (usesIt || !this.viewer?.buttons.size) return;
    event.preventDefault();
    if (!event.repeat) this.viewer.hold(true);
  }

  #enter(event) {
    if (event.repeat || event.target.matches("button, summary, a")) return;
    event.preventDefault();
    this.answers.form.requestSubmit();
  }

  #letGo() {
    for (const each of this.viewers) each.hold(false);
  }

  /* The pictures of the current question, where every question has its own. */
  get viewer() {
    const near = this.current()?.closest(".case");
    return this.viewers.find((each) => near?.contains(each.element)) ?? (near ? undefined : this.viewers[0]);
  }

  current() {
    const questions = this.answers.questions();
    const focused = document.activeElement?.closest?.(".question");
    return questions.includes(focused) ? focused : questions.find((each) => !this.answers.isAnswered(each)) ?? questions.at(-1);
  }

  #option(key) {
    const question = this.current();
    const input = question?.querySelector(`input[data-key="${CSS.escape(key.toLowerCase())}"]`)
      ?? question?.querySelector(`input[data-key="${CSS.escape(key)}"]`);
    if (!input) return false;
    this.answers.choose(input);
    if (input.type === "radio") this.#goTo(question, 1) || question.focus({ preventScroll: true });
    this.#mark();
    return true;
  }

  #arrow({ key, target }) {
    const [across, along] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
    if (target.matches("input[type=radio]") || !(across || along)) return false; /* the browser moves within the group */
    const question = this.current();
    if (along) return document.activeElement?.closest?.(".question") ? this.#goTo(question, along) : this.#focus(question);
    const inputs = [...(question?.querySelectorAll("input[type=radio]") ?? [])];
    if (!inputs.length) return false;
    const at = inputs.findIndex((each) => each.checked);
    const next = at < 0 ? (across > 0 ? 0 : inputs.length - 1) : Math.min(inputs.length - 1, Math.max(0, at + across));
    this.answers.choose(inputs[next]);
    return this.#focus(question);
  }

  #command(key) {
    const does = {
      f: () => this.viewer?.toggle("flip"),
      s: () => this.viewer?.toggle("slide"),
      d: () => this.viewer?.toggle("difference"),
      "+": () => this.viewer?.zoomBy("in"),
      "=": () => this.viewer?.zoomBy("in"),
      "-": () => this.viewer?.zoomBy("out"),
      r: () => this.viewer?.zoomBy("reset"),
      t: () => this.#tree(),
      "?": () => openDialog("help"),
    }[key.toLowerCase()];
    does?.();
    return Boolean(does);
  }

  #tree() {
    const question = this.current();
    const tree = question?.querySelector(".tree");
    if (!tree) return;
    tree.open = !tree.open;
    (tree.open ? tree.querySelector("summary") : question).focus();
  }

  #chooseByTree(button) {
    const question = button.closest(".question");
    this.answers.choose(question.querySelector(`input[value="${CSS.escape(button.dataset.choose)}"]`));
    for (const each of question.querySelectorAll("details[open]")) each.open = false;
    this.#goTo(question, 1) || question.focus();
  }

  #goTo(question, step) {
    const questions = this.answers.questions();
    return this.#focus(questions[questions.indexOf(question) + step]);
  }

  #focus(question) {
    if (!question) return false;
    const field = question.querySelector("textarea") ?? question;
    field.focus({ preventScroll: true });
    question.scrollIntoView({ block: "nearest" });
    return true;
  }

  /* Shows which question the next key answers. */
  #mark() {
    const current = this.current();
    for (const each of this.answers.form.querySelectorAll(".question")) each.classList.toggle("is-current", each === current);
  }
}
