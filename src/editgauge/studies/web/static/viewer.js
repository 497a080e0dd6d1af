/* Looking closely at pictures: flip in place, slider, difference, and zoom and pan in step on all of them. */
const MOST = 8;
const STEP = 1.5;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export class Viewer {
  constructor(element) {
    this.element = element;
    this.frames = [...element.querySelectorAll(".frame")];
    this.zoom = 1;
    this.x = 0; /* where the upper left corner is, in parts of a frame */
    this.y = 0;
    this.pointers = new Map();
    this.buttons = new Map([...element.querySelectorAll("[data-look]")].map((each) => [each.dataset.look, each]));
    this.cut = element.querySelector(".cut");
    for (const [look, button] of this.buttons) button.addEventListener("click", () => this.toggle(look));
    for (const button of element.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoomBy(button.dataset.zoom));
    }
    this.cut?.querySelector("input").addEventListener("input", ({ target }) => this.slideTo(target.value / 100));
    for (const frame of this.frames) this.#listen(frame);
  }

  /* Slider and difference exclude each other; flipping shows the original over both. */
  toggle(look) {
    const button = this.buttons.get(look);
    if (!button) return;
    const on = button.getAttribute("aria-pressed") !== "true";
    if (on && look !== "flip") for (const other of ["slide", "difference"]) this.#set(other, false);
    this.#set(look, on);
  }

  hold(on) {
    this.element.classList.toggle("is-held", on);
  }

  #set(look, on) {
    this.buttons.get(look).setAttribute("aria-pressed", String(on));
    this.element.classList.toggle(`is-${look}`, on);
    if (look === "slide") this.cut.hidden = !on;
  }

  slideTo(part) {
    this.element.style.setProperty("--cut", `${clamp(part, 0, 1) * 100}%`);
    this.cut.querySelector("input").value = Math.round(part * 100);
  }

  zoomBy(how, px = 0.5, py = 0.5) {
    if (how === "reset") return this.#move(1, 0, 0);
    this.#zoomTo(this.zoom * (how === "in" ? STEP : 1 / STEP), px, py);
  }

  #zoomTo(zoom, px, py) {
    const next = clamp(zoom, 1, MOST);
    const grown = next / this.zoom;
    this.#move(next, px - (px - this.x) * grown, py - (py - this.y) * grown);
  }

  pan(dx, dy) {
    this.#move(this.zoom, this.x + dx, this.y + dy);
  }

  #move(zoom, x, y) {
    this.zoom = zoom;
    this.x = clamp(x, 1 - zoom, 0);
    this.y = clamp(y, 1 - zoom, 0);
    const { style } = this.element;
    style.setProperty("--zoom", this.zoom);
    style.setProperty("--x", `${this.x * 100}%`);
    style.setProperty("--y", `${this.y * 100}%`);
    this.element.classList.toggle("is-zoomed", zoom > 1);
    this.element.querySelector(".zoomed").value = `${Math.round(zoom * 100)}%`;
  }

  #listen(frame) {
    const part = (event) => {
      const box = frame.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    };
    frame.addEventListener("dblclick", (event) => this.zoomBy(this.zoom > 1 ? "reset" : "in", ...part(event)));
    frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && this.zoom === 1) return; /* the wheel belongs to the page until a picture is enlarged */
      event.preventDefault();
      this.#zoomTo(this.zoom * Math.exp(-event.deltaY / 300), ...part(event));
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      frame.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, part(event));
      if (this.#slides()) this.slideTo(part(event)[0]);
    });
    frame.addEventListener("pointermove", (event) => {
      if (!this.pointers.has(event.pointerId)) return;
      const [before, now] = [this.pointers.get(event.pointerId), part(event)];
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
      this.pointers.set(event.pointerId, now);
      if (other) this.#pinch(other, before, now);
      else if (this.#slides()) this.slideTo(now[0]);
      else if (this.zoom > 1) this.pan(now[0] - before[0], now[1] - before[1]);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      frame.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    }
    frame.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (!way || this.zoom === 1) return;
      event.preventDefault();
      event.stopPropagation();
      this.pan(...way);
    });
  }

  #slides() {
    return this.element.classList.contains("is-slide");
  }

  #pinch(fixed, before, now) {
    const apart = (point) => Math.hypot(point[0] - fixed[0], point[1] - fixed[1]);
    if (apart(before) > 0) this.#zoomTo(this.zoom * apart(now) / apart(before), ...fixed);
  }
}
