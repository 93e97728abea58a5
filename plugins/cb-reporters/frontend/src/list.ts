// The list of examples: one line each, with every system's score side by side.
import { writtenKey } from "./address";
import { bdi, h } from "./dom";
import { ABSENT, count, score as formatted, signed } from "./format";
import type { Query } from "./query";
import { type Cell, ERROR, type Head, type Line } from "./types";

/** Up to this many systems have a column of their own; more share one, as a strip of squares. */
const MOST_COLUMNS = 7;

export class List {
  readonly element = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Examples",
  });
  readonly #head: Head;

  constructor(head: Head) {
    this.#head = head;
  }

  show(lines: readonly Line[], query: Query): void {
    const withText = lines.some((line) => line.text !== ""); // it may not have been kept
    const table = h(
      "table",
      { class: "examples" },
      this.#header(query, withText),
      this.#body(lines, query, withText),
    );
    this.element.replaceChildren(table);
  }

  /** The example whose link has the focus. */
  get focused(): string | undefined {
    const element = document.activeElement;
    if (!element || !this.element.contains(element)) return undefined;
    return element.closest<HTMLElement>("tr[data-example]")?.dataset.example;
  }

  /** Give the focus to an example, where nothing else has it. */
  focus(example: string): void {
    const link = this.element.querySelector<HTMLElement>(`tr[data-example="${example}"] a`);
    if (document.activeElement === document.body) link?.focus({ preventScroll: true });
  }

  #compared(query: Query): { mine: number; theirs: number } | null {
    const { systems, baseline } = this.#head;
    const mine = systems.indexOf(query.system);
    const theirs = systems.indexOf(query.against || baseline || "");
    return mine >= 0 && theirs >= 0 && mine !== theirs ? { mine, theirs } : null;
  }

  #columns(query: Query): readonly number[] {
    if (this.#head.systems.length <= MOST_COLUMNS) return [...this.#head.systems.keys()];
    const compared = this.#compared(query);
    const mine = this.#head.systems.indexOf(query.system);
    return compared ? [compared.mine, compared.theirs] : mine >= 0 ? [mine] : [];
  }

  #header(query: Query, withText: boolean): HTMLElement {
    const column = (text: string, kind = ""): HTMLElement =>
      h("th", { scope: "col", class: kind || null }, bdi(text));
    return h(
      "thead",
      {},
      h(
        "tr",
        {},
        column("example"),
        withText && column("question", "text"),
        ...this.#columns(query).map((system) =>
          column(this.#head.systems[system] ?? "", "num system"),
        ),
        this.#compared(query) && column("difference", "num"),
        this.#head.systems.length > MOST_COLUMNS &&
          column(`all ${this.#head.systems.length} systems`),
        column("tokens", "num"),
      ),
    );
  }

  #body(lines: readonly Line[], query: Query, withText: boolean): HTMLElement {
    const columns = this.#columns(query);
    const compared = this.#compared(query);
    const focus = this.#head.systems.indexOf(query.system);
    return h(
      "tbody",
      {},
      ...lines.map((line) =>
        h(
          "tr",
          { "data-example": line.example },
          h(
            "th",
            { scope: "row", class: "id" },
            h("a", { href: writtenKey(line, query) }, bdi(String(line.id) || "(no id)")),
            line.repeat > 0 && h("small", {}, ` repeat ${line.repeat}`),
            this.#head.datasets.length > 1 && h("small", {}, bdi(line.dataset)),
          ),
          withText && h("td", { class: "text", dir: "auto" }, line.text || ABSENT),
          ...columns.map((system) => scoreCell(line.cells[system] ?? null)),
          compared && differenceCell(line.cells[compared.mine], line.cells[compared.theirs]),
          this.#head.systems.length > MOST_COLUMNS && this.#strip(line),
          h("td", { class: "num" }, tokensOf(line, focus)),
        ),
      ),
    );
  }

  #strip(line: Line): HTMLElement {
    const told = line.cells.map((cell, i) => `${this.#head.systems[i]}: ${words(cell)}`).join(", ");
    const squares = line.cells.map((cell, i) =>
      h("i", { class: tint(cell), title: `${this.#head.systems[i]}: ${words(cell)}` }),
    );
    return h("td", {}, h("span", { class: "strip", role: "img", "aria-label": told }, ...squares));
  }
}

/** The tokens of the chosen system, or of the one that used most. */
function tokensOf(line: Line, focus: number): string {
  const all = line.cells.map((cell) => cell?.[2] ?? null);
  if (focus >= 0)
    return all[focus] === null || all[focus] === undefined ? ABSENT : count(all[focus]);
  const present = all.filter((tokens) => tokens !== null);
  if (present.length === 0) return ABSENT;
  const [low, high] = [Math.min(...present), Math.max(...present)];
  return low === high ? count(low) : `${count(low)}–${count(high)}`;
}

function words(cell: Cell | null): string {
  if (cell === null) return "no row";
  if (cell[1] === ERROR) return "error";
  return cell[0] === null ? "missing" : formatted(cell[0]);
}

/** A class for the colour of a score between 0 and 1. */
export function tint(cell: Cell | null): string {
  if (cell === null) return "none";
  if (cell[1] === ERROR) return "is-error";
  if (cell[0] === null) return "none";
  return `tint-${Math.round(Math.min(1, Math.max(0, cell[0])) * 5)}`;
}

function scoreCell(cell: Cell | null): HTMLElement {
  return h("td", { class: "num" }, h("span", { class: `chip ${tint(cell)}` }, words(cell)));
}

function differenceCell(
  mine: Cell | null | undefined,
  theirs: Cell | null | undefined,
): HTMLElement {
  const [a, b] = [mine?.[0] ?? null, theirs?.[0] ?? null];
  if (a === null || b === null) return h("td", { class: "num none" }, ABSENT);
  const kind = a === b ? "" : a > b ? "gain" : "loss";
  return h("td", { class: `num ${kind}` }, signed(a - b));
}
