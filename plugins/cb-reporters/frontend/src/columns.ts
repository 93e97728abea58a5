// The numbers of all rows, by example, and the queries that need nothing else.
import type { Query } from "./query";
import { type Cell, ERROR, type Key, type Line, MISSING, SCORED } from "./types";

/** As it is embedded; `null` stands for a score that a row does not have. */
export interface EmbeddedColumns {
  readonly systems: readonly string[];
  readonly datasets: readonly string[];
  readonly score: string | null;
  readonly scores: Readonly<Record<string, readonly (number | null)[]>>;
  readonly system: readonly number[];
  readonly example: readonly number[];
  readonly output_tokens: readonly number[];
  readonly latency: readonly number[];
  readonly errored: readonly number[];
  readonly ids: readonly (string | number)[];
  readonly dataset: readonly number[];
  readonly repeat: readonly number[];
  readonly texts: readonly string[];
}

const NO_ROW = -1;

/** A query whose names are numbers. */
interface Asked {
  readonly query: Query;
  readonly score: string;
  readonly system: number | null;
  readonly against: number;
  readonly dataset: number | null;
  readonly aboutRows: boolean;
}

export class Columns {
  readonly size: number;
  readonly #data: EmbeddedColumns;
  /** For each example and system the position of its row. */
  readonly #rows: Int32Array;
  readonly #width: number;

  constructor(data: EmbeddedColumns) {
    this.#data = data;
    this.#width = data.systems.length;
    this.size = data.ids.length;
    this.#rows = new Int32Array(this.size * this.#width).fill(NO_ROW);
    data.system.forEach((system, position) => {
      const place = (data.example[position] ?? 0) * this.#width + system;
      if (this.#rows[place] === NO_ROW) this.#rows[place] = position;
    });
  }

  row(example: number, system: number): number {
    return system < 0 ? NO_ROW : (this.#rows[example * this.#width + system] ?? NO_ROW);
  }

  value(position: number, score: string): number | null {
    return position === NO_ROW ? null : (this.#data.scores[score]?.[position] ?? null);
  }

  state(position: number, score: string): number {
    if (this.#data.errored[position]) return ERROR;
    return this.value(position, score) === null ? MISSING : SCORED;
  }

  line(example: number, score: string): Line {
    const { ids, repeat, texts, output_tokens, errored } = this.#data;
    const cells = this.#data.systems.map((_, system): Cell | null => {
      const position = this.row(example, system);
      if (position === NO_ROW) return null;
      const tokens = errored[position] ? null : (output_tokens[position] ?? null);
      return [this.value(position, score), this.state(position, score), tokens];
    });
    return {
      example,
      dataset: this.datasetOf(example),
      id: ids[example] ?? "",
      repeat: repeat[example] ?? 0,
      text: texts[example] ?? "",
      cells,
    };
  }

  datasetOf(example: number): string {
    return this.#data.datasets[this.#data.dataset[example] ?? 0] ?? "";
  }

  locate(key: Key): number | null {
    const { ids, repeat } = this.#data;
    for (let example = 0; example < this.size; example++) {
      if (String(ids[example]) !== key.id) continue;
      if (key.dataset !== undefined && this.datasetOf(example) !== key.dataset) continue;
      if (key.repeat !== undefined && repeat[example] !== key.repeat) continue;
      return example;
    }
    return null;
  }

  /** The examples that pass the filters, in the order asked for; `hits` are those of a search. */
  find(query: Query, hits: ReadonlySet<number> | null): number[] {
    const asked = this.#resolve(query);
    const found: number[] = [];
    for (let example = 0; example < this.size; example++) {
      if (hits !== null && !hits.has(example)) continue;
      if (this.#fits(example, asked)) found.push(example);
    }
    return this.#ordered(found, asked);
  }

  #resolve(query: Query): Asked {
    const { systems, datasets, score } = this.#data;
    return {
      query,
      score: query.score || score || "",
      system: query.system ? systems.indexOf(query.system) : null,
      against: systems.indexOf(query.against),
      dataset: query.dataset ? datasets.indexOf(query.dataset) : null,
      aboutRows:
        query.system !== "" ||
        query.status !== "" ||
        query.outcome !== "" ||
        query.min !== null ||
        query.max !== null,
    };
  }

  #positions(example: number, system: number | null): number[] {
    const systems = system === null ? this.#data.systems.keys() : [system];
    return Array.from(systems, (one) => this.row(example, one)).filter((row) => row !== NO_ROW);
  }

  #fits(example: number, asked: Asked): boolean {
    if (asked.dataset !== null && this.#data.dataset[example] !== asked.dataset) return false;
    if (!asked.aboutRows) return true;
    const theirs = this.value(this.row(example, asked.against), asked.score);
    return this.#positions(example, asked.system).some((position) =>
      this.#rowFits(position, theirs, asked),
    );
  }

  #rowFits(position: number, theirs: number | null, asked: Asked) {
    const { query, score } = asked;
    const value = this.value(position, score);
    if (query.status) {
      const wanted = { scored: SCORED, missing: MISSING, error: ERROR }[query.status];
      if (this.state(position, score) !== wanted) return false;
    }
    if (query.min !== null && (value === null || value < query.min)) return false;
    if (query.max !== null && (value === null || value > query.max)) return false;
    if (!query.outcome) return true;
    if (value === null || theirs === null) return false;
    return query.outcome === (value === theirs ? "same" : value > theirs ? "better" : "worse");
  }

  #ordered(found: number[], asked: Asked): number[] {
    const { sort, desc } = asked.query;
    if (sort === "order") return desc ? found.reverse() : found;
    const keys = new Map(found.map((example) => [example, this.#sortedBy(example, asked)]));
    const sign = desc ? -1 : 1;
    return found.sort((one, other) => {
      const a = keys.get(one) ?? null;
      const b = keys.get(other) ?? null;
      if (a === null || b === null) return Number(a === null) - Number(b === null) || one - other;
      return sign * (a - b) || one - other;
    });
  }

  #sortedBy(example: number, asked: Asked): number | null {
    const { query, score, system } = asked;
    const column = query.sort === "tokens" ? this.#data.output_tokens : this.#data.latency;
    const present: number[] = [];
    for (const position of this.#positions(example, system)) {
      const value =
        query.sort === "score" || query.sort === "difference"
          ? this.value(position, score)
          : this.#data.errored[position]
            ? null
            : (column[position] ?? null);
      if (value !== null) present.push(value);
    }
    const [first] = present;
    if (first === undefined) return null;
    if (query.sort !== "difference") return present.reduce((a, b) => a + b) / present.length;
    if (system === null) return Math.max(...present) - Math.min(...present);
    const theirs = this.value(this.row(example, asked.against), score);
    return theirs === null ? null : first - theirs;
  }
}
