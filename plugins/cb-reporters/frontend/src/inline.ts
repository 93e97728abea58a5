// Examples that are in the page itself: columns for all rows, texts in chunks that inflate when
// one of their examples is opened, and all of them for a search.
import { Columns, type EmbeddedColumns } from "./columns";
import { type Query, termsOf, writeQuery } from "./query";
import type { Found, Key, Opened, Page, Provider } from "./types";

type FromBase64 = { fromBase64?: (text: string) => Uint8Array };

function decoded(base64: string): Uint8Array {
  const native = (Uint8Array as FromBase64).fromBase64;
  if (native) return native.call(Uint8Array, base64);
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflated<T>(element: Element): Promise<T> {
  const bytes = decoded((element.textContent ?? "").trim());
  const stream = new Blob([bytes as BlobPart]).stream();
  const text = await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).text();
  return JSON.parse(text) as T;
}

/** All texts of an example, in lower case. What a system only passed on is not repeated. */
function searchedText(opened: Opened): string {
  const parts = [String(opened.id), opened.question, ...opened.gold, ...opened.evidence];
  const context = opened.context ?? "";
  parts.push(context, ...strings(opened.fields));
  for (const row of opened.rows) {
    parts.push(row.response ?? "", row.error ?? "", row.traceback ?? "");
    parts.push(...Object.values(row.missing), ...strings(row.details), ...strings(row.output));
    if (typeof row.context === "string" && !context.includes(row.context)) parts.push(row.context);
  }
  return parts.filter(Boolean).join("\n").toLowerCase();
}

function* strings(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (value !== null && typeof value === "object")
    for (const part of Object.values(value)) yield* strings(part);
}

const breathe = (): Promise<void> => new Promise((done) => setTimeout(done));

export class InlineProvider implements Provider {
  readonly #columns: Columns;
  readonly #score: string;
  readonly #chunks: { from: number; element: Element }[];
  #searched: Promise<string[]> | null = null;
  #last: { key: string; examples: number[] } = { key: "\n", examples: [] };
  #inflated: { from: number; examples: Promise<Opened[]> } | null = null;

  private constructor(columns: EmbeddedColumns) {
    this.#columns = new Columns(columns);
    this.#score = columns.score ?? "";
    this.#chunks = Array.from(document.querySelectorAll("script.texts"), (element) => ({
      from: Number((element as HTMLElement).dataset.from),
      element,
    }));
  }

  static async of(element: Element): Promise<InlineProvider> {
    return new InlineProvider(await inflated<EmbeddedColumns>(element));
  }

  async find(query: Query, page: Page): Promise<Found> {
    const key = writeQuery(query).toString();
    if (this.#last.key !== key) {
      const terms = termsOf(query.q);
      const hits = terms.length > 0 ? await this.#search(terms) : null;
      this.#last = { key, examples: this.#columns.find(query, hits) };
    }
    const { examples } = this.#last;
    const place = page.around === undefined ? -1 : examples.indexOf(page.around);
    const offset = place < 0 ? page.offset : place - (place % page.limit);
    const score = query.score || this.#score;
    return {
      total: examples.length,
      offset,
      examples: examples
        .slice(offset, offset + page.limit)
        .map((example) => this.#columns.line(example, score)),
    };
  }

  async open(key: Key): Promise<Opened | null> {
    const example = this.#columns.locate(key);
    if (example === null) return null;
    const chunk = this.#chunks.findLast((one) => one.from <= example);
    if (chunk === undefined) return null;
    const { from, element } = chunk;
    if (this.#inflated?.from !== from) this.#inflated = { from, examples: inflated(element) };
    return (await this.#inflated.examples)[example - from] ?? null;
  }

  /** Inflate all texts for searches; begun once, when there is time or somebody searches. */
  prepareSearch(): Promise<string[]> {
    this.#searched ??= this.#inflateAll();
    return this.#searched;
  }

  async #inflateAll(): Promise<string[]> {
    const found: string[] = [];
    for (const { element } of this.#chunks) {
      for (const opened of await inflated<Opened[]>(element)) found.push(searchedText(opened));
      await breathe();
    }
    return found;
  }

  async #search(terms: readonly string[]): Promise<Set<number>> {
    const hits = new Set<number>();
    (await this.prepareSearch()).forEach((text, example) => {
      if (terms.every((term) => text.includes(term))) hits.add(example);
    });
    return hits;
  }
}
