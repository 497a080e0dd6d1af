/* The form: which questions show, saving at every answer, and handing in once. */
const PAUSE = 600; /* milliseconds without a keystroke after which words are saved */
const RETRY = 4000;

export class Answers {
  constructor(form) {
    this.form = form;
    this.status = document.getElementById("saved");
    this.changes = 0;
    this.saved = 0;
    this.running = null;
    this.timer = 0;
    form.addEventListener("change", () => this.#changed(0));
    form.addEventListener("input", ({ target }) => { if (target.matches("textarea")) this.#changed(PAUSE); });
    form.addEventListener("submit", (event) => this.#submit(event));
    window.addEventListener("pageshow", () => this.#lock(false));
    window.addEventListener("online", () => this.#save());
    window.addEventListener("pagehide", () => this.#saveOnTheWayOut());
    this.showAsked();
  }

  questions() {
    return [...this.form.querySelectorAll(".question")].filter((each) => !each.hidden);
  }

  /* A hidden question has no answer, so that what depends on it is hidden as well. */
  showAsked() {
    const given = new Map();
    for (const question of this.form.querySelectorAll(".question")) {
      const when = Object.entries(JSON.parse(question.dataset.when));
      const asked = when.every(([name, values]) => values.some((value) => given.get(name)?.has(String(value))));
      question.hidden = !asked;
      const fields = [...question.querySelectorAll("input:checked, textarea")];
      if (asked) given.set(question.dataset.question, new Set(fields.map((field) => field.value).filter(Boolean)));
    }
  }

  isAnswered(question) {
    return Boolean(question.querySelector("input:checked") ?? question.querySelector("textarea")?.value.trim());
  }

  choose(input) {
    input.checked = input.type === "radio" || !input.checked;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  #changed(pause) {
    this.showAsked();
    this.changes += 1;
    this.#say(""); /* "Saved" would not be true of this change */
    this.#saveIn(pause);
  }

  #saveIn(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0; /* what comes while a save is running is saved after it */
      this.#save();
    }, pause);
  }

  #save() {
    if (!this.form.dataset.save || this.saved === this.changes) return Promise.resolve();
    this.running ??= this.#send().finally(() => {
      this.running = null;
      if (this.saved !== this.changes && this.timer === 0) this.#save();
    });
    return this.running;
  }

  async #send() {
    clearTimeout(this.timer);
    this.timer = 0;
    const upTo = this.changes;
    try {
      const answer = await this.#post({});
      if (answer.status === 204) {
        this.saved = upTo;
        if (upTo === this.changes) this.#say("Saved");
      } else if (answer.status === 429 || answer.status >= 500) this.#later("Not saved yet; trying again…");
      else {
        this.saved = upTo; /* sending the same again would not help */
        this.#say(answer.status === 422 ? "Not saved yet: one answer does not fit" : "Not saved. Please load the page again.");
      }
    } catch {
      this.#later("Not saved: no connection. Trying again…");
    }
  }

  #post(options) {
    const headers = { "X-Saved-By": "script" };
    return fetch(this.form.dataset.save, { method: "POST", body: this.#fields(), headers, redirect: "error", ...options });
  }

  #fields() {
    return new URLSearchParams(new FormData(this.form));
  }

  #later(words) {
    this.#say(words);
    this.#saveIn(RETRY);
  }

  #say(words) {
    if (this.status) this.status.textContent = words;
  }

  #saveOnTheWayOut() {
    if (this.form.dataset.save && this.saved !== this.changes && !this.locked) {
      this.#post({ keepalive: true }).catch(() => { /* nobody is left to tell */ });
    }
  }

  /* A save that is still on its way must not arrive after the page itself. */
  async #submit(event) {
    if (this.locked) return event.preventDefault();
    this.#lock(true);
    clearTimeout(this.timer);
    if (!this.running) return undefined;
    event.preventDefault();
    await this.running;
    clearTimeout(this.timer);
    this.form.submit();
    return undefined;
  }

  #lock(on) {
    this.locked = on;
    this.form.querySelector(".hand-in .primary").setAttribute("aria-disabled", String(on));
  }
}
