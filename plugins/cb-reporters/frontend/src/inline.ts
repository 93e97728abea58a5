// Examples that are in the page itself: columns for all rows, texts in chunks that inflate when
// one of their examples is opened, and all of them for a search.
import { Columns, type EmbeddedColumns } from "./columns";
import { examplesWith, unpacked } from "./packing";
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

async function inflated(element: Element): Promise<string> {
  const bytes = decoded((element.textContent ?? "").trim());
  const { body } = new Response(bytes as BodyInit);
  return new Response(body?.pipeThrough(new DecompressionStream("gzip"))).text();
}

/** Examples that are inflated together: their texts, and what refers to them. */
class Chunk {
  readonly from: number;
  readonly #texts: Element;
  readonly #rows: Element;

  constructor(texts: HTMLElement, rows: Element) {
    this.from = Number(texts.dataset.from);
    this.#texts = texts;
    this.#rows = rows;
  }

  texts(): Promise<string> {
    return inflated(this.#texts);
  }

  async opened(example: number, dataset: string): Promise<Opened> {
    const [texts, rows] = await Promise.all([inflated(this.#texts), inflated(this.#rows)]);
    return unpacked(texts, JSON.parse(rows), example - this.from, dataset);
  }
}

export class InlineProvider implements Provider {
  readonly #columns: Columns;
  readonly #score: string;
  readonly #chunks: Chunk[];
  #searched: Promise<string[]> | null = null;
  #last: { key: string; examples: number[] } = { key: "\n", examples: [] };

  private constructor(columns: EmbeddedColumns) {
    this.#columns = new Columns(columns);
    this.#score = columns.score ?? "";
    const rows = document.querySelectorAll("script.rows");
    this.#chunks = Array.from(
      document.querySelectorAll<HTMLElement>("script.texts"),
      (texts, place) => new Chunk(texts, rows[place] as Element),
    );
  }

  static async of(element: Element): Promise<InlineProvider> {
    return new InlineProvider(JSON.parse(await inflated(element)) as EmbeddedColumns);
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
    return chunk ? chunk.opened(example, this.#columns.datasetOf(example)) : null;
  }

  /** Inflate all texts for searches; begun once, when the list is there or somebody searches. */
  prepareSearch(): Promise<string[]> {
    this.#searched ??= this.#inflateAll();
    return this.#searched;
  }

  async #inflateAll(): Promise<string[]> {
    const found: string[] = [];
    for (const chunk of this.#chunks) found.push((await chunk.texts()).toLowerCase());
    return found;
  }

  async #search(terms: readonly string[]): Promise<Set<number>> {
    const hits = new Set<number>();
    (await this.prepareSearch()).forEach((texts, number) => {
      const from = this.#chunks[number]?.from ?? 0;
      for (const place of examplesWith(terms, texts)) hits.add(from + place);
    });
    return hits;
  }
}
