// One example, opened: what was asked, and side by side what each system made of it.
import { bdi, button, byId, h } from "./dom";
import { json } from "./json";
import { marked, marksIn } from "./marks";
import { systemColumn } from "./system";
import type { Head, Opened } from "./types";
import { longText, unfolding } from "./unfolding";

/** More systems than this are not shown at once; the others are a click away. */
const MOST_SHOWN = 4;
const MOST_PILLS = 8;

export interface Steps {
  readonly place: string;
  readonly previous: (() => void) | null;
  readonly next: (() => void) | null;
  readonly close: () => void;
}

export class OpenedView {
  #head: Head;
  readonly #dialog: HTMLDialogElement;
  #chosen: Set<number>;
  #isOwnChoice = false;
  #withDropped = true;
  #choosing = false;
  #steps: Steps | null = null;
  #last: Opened | null = null;

  constructor(head: Head) {
    this.#head = head;
    this.#chosen = new Set();
    this.#dialog = h("dialog", { id: "opened", "aria-labelledby": "opened-title" });
    document.body.append(this.#dialog);
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#steps?.close();
    });
    this.#dialog.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Know of the systems that there are by now; the next example is shown so. */
  renew(head: Head): void {
    this.#head = head;
  }

  /** Show the systems that are being compared, or the first ones; until the reader chooses. */
  prefer(systems: readonly string[]): void {
    if (this.#isOwnChoice) return;
    const compared = systems.map((name) => this.#head.systems.indexOf(name)).filter((i) => i >= 0);
    const first = [...this.#head.systems.keys()].slice(0, MOST_SHOWN);
    this.#chosen = new Set(compared.length > 0 ? compared : first);
  }

  show(opened: Opened, steps: Steps): void {
    this.#steps = steps;
    this.#last = opened;
    this.#fill();
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#dialog.scrollTop = 0;
  }

  close(): void {
    this.#last = null;
    if (this.#dialog.open) this.#dialog.close();
  }

  #key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    // Sideways scrolling of what is too wide stays with the arrow keys.
    const scrolls = event.target instanceof HTMLElement && event.target.classList.contains("side");
    const back = event.key === "k" || event.key === "p" || (event.key === "ArrowLeft" && !scrolls);
    const on = event.key === "j" || event.key === "n" || (event.key === "ArrowRight" && !scrolls);
    const step = back ? this.#steps?.previous : on ? this.#steps?.next : null;
    if (!step) return;
    event.preventDefault();
    step();
  }

  #fill(): void {
    const opened = this.#last;
    if (opened === null) return;
    const focused = document.activeElement?.id;
    this.#dialog.replaceChildren(
      this.#bar(opened),
      h("div", { class: "asked" }, this.#question(opened), original(opened), fields(opened)),
      this.#choice(opened),
      this.#columns(opened),
    );
    if (focused) byId(focused)?.focus();
  }

  #bar(opened: Opened): HTMLElement {
    const steps = this.#steps;
    const step = (id: string, label: string, sign: string, act: (() => void) | null | undefined) =>
      button(sign, () => act?.(), { id, "aria-label": label, title: label, disabled: !act });
    const place = steps?.place ?? "";
    const where = this.#head.datasets.length > 1 || opened.dataset !== "" ? opened.dataset : "";
    return h(
      "header",
      { class: "bar" },
      step("step-back", "Previous example (←)", "←", steps?.previous),
      step("step-on", "Next example (→)", "→", steps?.next),
      h(
        "h2",
        { id: "opened-title", tabindex: -1, autofocus: true },
        bdi(String(opened.id)),
        opened.repeat > 0 && h("small", {}, ` repeat ${opened.repeat}`),
      ),
      h("span", { class: "where" }, bdi(where), where && place && " · ", place),
      this.#copier(),
      button("Close", () => steps?.close(), { id: "close-opened", title: "Close (Esc)" }),
    );
  }

  #copier(): HTMLElement {
    const copy = button(
      "Copy link",
      () => {
        void navigator.clipboard?.writeText(location.href).then(() => {
          copy.textContent = "Copied";
        });
      },
      { id: "copy-link" },
    );
    return copy;
  }

  #question(opened: Opened): HTMLElement {
    const facts: HTMLElement[] = [];
    if (opened.question)
      facts.push(h("dt", {}, "Question"), h("dd", {}, longText("question", opened.question)));
    if (opened.gold.length > 0)
      facts.push(
        h("dt", {}, opened.gold.length > 1 ? "Gold answers" : "Gold answer"),
        h("dd", { dir: "auto" }, ...opened.gold.map((text) => longText("gold", text))),
      );
    if (facts.length > 0) return h("dl", { class: "question-and-gold" }, ...facts);
    const why = opened.kept
      ? "The example has neither question nor gold answer under a name that is known."
      : "The texts of this example were not stored: what is left are responses and numbers.";
    return h("p", { class: "caption" }, why);
  }

  #choice(opened: Opened): HTMLElement {
    const there = new Set(opened.rows.map((row) => row.system));
    const pills = this.#head.systems.map((name, system) => {
      const box = h("input", {
        type: "checkbox",
        id: `choose-${system}`,
        checked: this.#chosen.has(system),
        disabled: !there.has(system),
      });
      box.addEventListener("change", () => {
        if (box.checked) this.#chosen.add(system);
        else this.#chosen.delete(system);
        this.#isOwnChoice = true;
        this.#fill();
      });
      return h("label", { class: "pill" }, box, bdi(name));
    });
    const dropped = h("input", {
      type: "checkbox",
      id: "with-dropped",
      checked: this.#withDropped,
    });
    dropped.addEventListener("change", () => {
      this.#withDropped = dropped.checked;
      this.#fill();
    });
    return h(
      "div",
      { class: "choice" },
      this.#pills(pills),
      h(
        "p",
        { class: "legend" },
        h("label", { class: "check" }, dropped, h("span", {}, "show what was dropped")),
        h("span", {}, h("del", {}, "dropped")),
        h("span", {}, h("ins", {}, "added")),
        opened.evidence.length > 0 && h("span", { class: "evidence" }, "gold evidence"),
        opened.gold.length > 0 && h("mark", {}, "gold answer"),
      ),
    );
  }

  /** The systems to choose from; folded where they would push everything else away. */
  #pills(pills: readonly HTMLElement[]): HTMLElement {
    const set = (legend: string): HTMLElement =>
      h("fieldset", {}, h("legend", {}, legend), ...pills);
    if (pills.length <= MOST_PILLS) return set("Systems");
    const told = `Systems: ${this.#chosen.size} of ${pills.length} shown`;
    const folded = h("details", { open: this.#choosing }, h("summary", {}, told), set("Shown"));
    folded.addEventListener("toggle", () => {
      this.#choosing = folded.open;
    });
    return folded;
  }

  #columns(opened: Opened): HTMLElement {
    const shown = opened.rows.filter((row) => this.#chosen.has(row.system));
    const rows = shown.length > 0 ? shown : opened.rows.slice(0, 1);
    const baseline = opened.rows.find(
      (row) => this.#head.systems[row.system] === this.#head.baseline,
    );
    return h(
      "div",
      { class: "side", tabindex: 0, role: "region", "aria-label": "Systems side by side" },
      ...rows.map((row) =>
        systemColumn(opened, row, {
          name: this.#head.systems[row.system] ?? "",
          score: this.#head.score,
          baseline: baseline && baseline !== row ? baseline : null,
          withDropped: this.#withDropped,
        }),
      ),
    );
  }
}

function original(opened: Opened): HTMLElement | null {
  const { context } = opened;
  if (!context) return null;
  const marks = marksIn(context, opened.gold, opened.evidence);
  const show = (to: number): HTMLElement[] => marked(context, { from: 0, to }, marks);
  return h(
    "details",
    {},
    h("summary", {}, "Original context"),
    unfolding("context", context.length, show),
  );
}

function fields(opened: Opened): HTMLElement | null {
  if (Object.keys(opened.fields).length === 0) return null;
  return h("details", {}, h("summary", {}, "Other fields"), json(opened.fields));
}
