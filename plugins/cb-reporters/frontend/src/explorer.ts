// Filters, list and opened example together; the address follows.
import { keyOf, readPlace, writePlace } from "./address";
import { button, h, visible } from "./dom";
import { Filters } from "./filters";
import { count } from "./format";
import { List } from "./list";
import { OpenedView, type Steps } from "./opened";
import { EVERYTHING, type Query } from "./query";
import type { Found, Head, Key, Line, Provider } from "./types";

const PAGE = 50;

export class Explorer {
  readonly #root: HTMLElement;
  readonly #provider: Provider;
  #head: Head;
  #filters: Filters;
  #list: List;
  readonly #opened: OpenedView;
  readonly #told = h("output", { class: "told", "aria-live": "polite" });
  readonly #progress = h("output", { class: "caption progress", hidden: true });
  readonly #pager = h("nav", { class: "pager", "aria-label": "Pages of examples" });
  #query: Query = EVERYTHING;
  #found: Found = { total: 0, offset: 0, examples: [] };
  #key: Key | null = null;
  #asked = 0;

  constructor(root: HTMLElement, head: Head, provider: Provider) {
    this.#root = root;
    this.#provider = provider;
    this.#head = head;
    this.#filters = new Filters(head, (query) => void this.#apply(query));
    this.#list = new List(head);
    this.#opened = new OpenedView(head);
    this.#layOut();
    window.addEventListener("hashchange", () => void this.follow());
    window.addEventListener("popstate", () => void this.follow());
    document.addEventListener("keydown", (event) => {
      const busy =
        event.target instanceof HTMLElement && event.target.closest("input, select, dialog");
      if (event.key !== "/" || busy || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#filters.focusSearch();
    });
  }

  #layOut(): void {
    const list = this.#list.element;
    list.addEventListener("click", (event) => this.#clicked(event));
    this.#root.replaceChildren(
      this.#filters.element,
      this.#progress,
      this.#told,
      list,
      this.#pager,
    );
  }

  /** Say how far the reading of rows is. */
  say(text: string): void {
    this.#progress.hidden = text === "";
    this.#progress.textContent = text;
  }

  /** Show what the address asks for; that of a section asks for nothing else than is shown. */
  async follow(): Promise<void> {
    const place = readPlace() ?? (this.#asked === 0 ? { query: EVERYTHING, key: null } : null);
    if (place === null) return;
    this.#query = place.query;
    this.#filters.query = place.query;
    this.#key = place.key;
    await this.#load({ offset: 0 });
    if (place.key) await this.#open(place.key);
    else this.#opened.close();
  }

  /** The same list once more, as when rows were added; systems and scores may be more now. */
  async refresh(head: Head): Promise<void> {
    const held = this.#list.focused;
    const names = ({ systems, datasets, scores, baseline }: Head): string =>
      JSON.stringify([systems, datasets, scores, baseline]);
    const isOther = names(head) !== names(this.#head);
    this.#head = head;
    if (isOther) {
      this.#filters = new Filters(head, (query) => void this.#apply(query));
      this.#filters.query = this.#query;
      this.#list = new List(head);
      this.#opened.renew(head);
      this.#layOut();
    }
    await this.#load({ offset: this.#found.offset });
    if (held !== undefined) this.#list.focus(held);
  }

  async #apply(query: Query): Promise<void> {
    this.#query = query;
    writePlace({ query, key: null }, { asStep: false });
    await this.#load({ offset: 0 });
  }

  #asking(): Query {
    return { ...this.#query, against: this.#query.against || this.#head.baseline || "" };
  }

  async #load(page: { offset: number; around?: number }): Promise<void> {
    const asked = ++this.#asked;
    this.#told.textContent = "…";
    try {
      const found = await this.#provider.find(this.#asking(), { ...page, limit: PAGE });
      if (asked !== this.#asked) return; // another question was asked since
      this.#found = found;
      this.#list.show(found.examples, this.#query);
      this.#tell();
    } catch (error) {
      this.#told.textContent = `The examples cannot be shown: ${(error as Error).message}`;
    }
  }

  #tell(): void {
    const { total, offset, examples } = this.#found;
    const of = total < this.#head.examples ? ` of ${count(this.#head.examples)}` : "";
    this.#told.textContent = `${count(total)}${of} example${total === 1 && !of ? "" : "s"}`;
    const last = offset + examples.length;
    const turn = (label: string, to: number): HTMLElement =>
      button(label, () => void this.#turn(to), { disabled: to < 0 || to >= total });
    this.#pager.replaceChildren(
      turn("← Previous", offset - PAGE),
      h("span", {}, total === 0 ? "none" : `${count(offset + 1)}–${count(last)}`),
      turn("Next →", offset + PAGE),
    );
    this.#pager.hidden = total <= PAGE;
  }

  async #turn(offset: number): Promise<void> {
    await this.#load({ offset });
    this.#list.element.scrollIntoView({ block: "nearest" });
    this.#list.element.focus({ preventScroll: true });
  }

  #clicked(event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || !(event.target instanceof Element))
      return;
    const row = event.target.closest<HTMLElement>("tr[data-example]");
    const line = this.#found.examples.find((one) => String(one.example) === row?.dataset.example);
    if (!line || window.getSelection()?.toString()) return;
    event.preventDefault();
    void this.#open(keyOf(line));
  }

  async #open(key: Key): Promise<void> {
    const opened = await this.#provider.open(key);
    if (opened === null) {
      this.#told.textContent = visible(`There is no example ${key.id}.`);
      this.#told.scrollIntoView({ block: "center" });
      return;
    }
    const asStep = this.#key === null;
    this.#key = keyOf(opened);
    writePlace({ query: this.#query, key: this.#key }, { asStep });
    if (!this.#found.examples.some((line) => line.example === opened.example))
      await this.#load({ offset: 0, around: opened.example });
    const { system, against } = this.#asking();
    this.#opened.prefer(system ? [system, against] : []);
    this.#opened.show(opened, this.#steps(opened.example));
  }

  #steps(example: number): Steps {
    const { total, offset, examples } = this.#found;
    const at = examples.findIndex((line) => line.example === example);
    const place = at < 0 ? "" : `${count(offset + at + 1)} of ${count(total)}`;
    const step = (by: number): (() => void) | null => {
      const to = offset + at + by;
      return at < 0 || to < 0 || to >= total ? null : () => void this.#step(to);
    };
    return { place, previous: step(-1), next: step(1), close: () => this.#close() };
  }

  async #step(to: number): Promise<void> {
    const inside =
      to >= this.#found.offset && to < this.#found.offset + this.#found.examples.length;
    if (!inside) await this.#load({ offset: to - (to % PAGE) });
    const line: Line | undefined = this.#found.examples[to - this.#found.offset];
    if (line) await this.#open(keyOf(line));
  }

  #close(): void {
    const key = this.#key;
    this.#key = null;
    this.#opened.close();
    writePlace({ query: this.#query, key: null }, { asStep: false });
    const line = this.#found.examples.find((one) => String(one.id) === key?.id);
    this.#list.element.querySelector<HTMLElement>(`tr[data-example="${line?.example}"] a`)?.focus();
  }
}
