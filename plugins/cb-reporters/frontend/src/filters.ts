// The form above the list: what to show, and in which order.
import { button, h } from "./dom";
import { EVERYTHING, OUTCOMES, type Query, readQuery, SORTS, STATUSES } from "./query";
import type { Head } from "./types";

type Option = readonly [value: string, label: string];

const STATUS_LABELS = { scored: "scored", missing: "score missing", error: "error" } as const;
const OUTCOME_LABELS = {
  better: "better than it",
  worse: "worse than it",
  same: "the same",
} as const;
const SORT_LABELS = {
  order: "order of the data",
  score: "score",
  difference: "difference",
  tokens: "tokens",
  latency: "latency",
} as const;

const TYPING_MS = 150;

function select(name: string, label: string, options: readonly Option[]): HTMLLabelElement {
  const choices = options.map(([value, text]) => h("option", { value }, text));
  return h("label", {}, h("span", {}, label), h("select", { name }, ...choices));
}

export class Filters {
  readonly element: HTMLFormElement;
  readonly #change: (query: Query) => void;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(head: Head, change: (query: Query) => void) {
    this.#change = change;
    this.element = this.#form(head);
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("change", () => this.#changed(0));
    this.element.addEventListener("input", () => this.#changed(TYPING_MS));
  }

  get query(): Query {
    const given = new FormData(this.element);
    const parameters = new URLSearchParams();
    for (const [name, value] of given) parameters.set(name, String(value));
    return readQuery(parameters);
  }

  set query(query: Query) {
    for (const [name, value] of Object.entries(query)) {
      const field = this.element.elements.namedItem(name);
      if (field instanceof HTMLInputElement && field.type === "checkbox")
        field.checked = value === true;
      else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement)
        field.value = value === null ? "" : String(value);
    }
  }

  focusSearch(): void {
    this.element.querySelector<HTMLInputElement>("input[type=search]")?.focus();
  }

  #changed(delayMs: number): void {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.#change(this.query), delayMs);
  }

  #form(head: Head): HTMLFormElement {
    const names = (all: readonly string[]): Option[] => all.map((name) => [name, name]);
    const labelled = <T extends string>(all: readonly T[], labels: Record<T, string>): Option[] =>
      all.map((value) => [value, labels[value]]);
    const several = head.systems.length > 1;
    const baseline = head.baseline ?? head.systems[0] ?? "";
    const others = head.systems.filter((name) => name !== baseline);
    const scores = [...head.scores].sort(
      (a, b) => Number(b === head.score) - Number(a === head.score),
    );
    const search = h("input", {
      type: "search",
      name: "q",
      placeholder: 'words, or "a phrase"',
      autocomplete: "off",
    });
    const bound = (name: string, label: string): HTMLInputElement =>
      h("input", { name, type: "number", step: "any", "aria-label": label, placeholder: name });
    const range = h(
      "span",
      { class: "range" },
      bound("min", "lowest score"),
      bound("max", "highest score"),
    );
    return h(
      "form",
      { class: "filters", role: "search", "aria-label": "Examples" },
      h("label", { class: "wide" }, h("span", {}, "Search in all texts"), search),
      select("system", "System", [["", "any system"], ...names(head.systems)]),
      several && select("against", "Compared with", [["", baseline], ...names(others)]),
      several && select("outcome", "Outcome", [["", "any"], ...labelled(OUTCOMES, OUTCOME_LABELS)]),
      select("status", "Rows", [["", "all"], ...labelled(STATUSES, STATUS_LABELS)]),
      head.datasets.length > 1 &&
        select("dataset", "Dataset", [["", "all"], ...names(head.datasets)]),
      scores.length > 0 &&
        select(
          "score",
          "Score",
          scores.map((name): Option => [name === head.score ? "" : name, name]),
        ),
      h("div", { class: "field" }, h("span", {}, "Between"), range),
      select("sort", "Sort by", labelled(SORTS, SORT_LABELS)),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", name: "desc", value: "1" }),
        h("span", {}, "highest first"),
      ),
      button("Clear", () => this.#clear(), { class: "quiet" }),
    );
  }

  #clear(): void {
    this.query = EVERYTHING;
    this.#changed(0);
  }
}
