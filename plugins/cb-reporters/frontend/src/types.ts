// What the page is given: the head that stands in the document, lines of the list, and examples.
// `cb_reporters.page` makes all of it; its docstring is the contract.

export interface Head {
  readonly mode: "inline" | "remote";
  readonly live: boolean;
  readonly version: string;
  readonly systems: readonly string[];
  readonly datasets: readonly string[];
  readonly scores: readonly string[];
  readonly score: string | null;
  readonly baseline: string | null;
  readonly examples: number;
  readonly charts: Charts;
}

export type Estimate = readonly [value: number, low: number | null, high: number | null];

export interface FrontierPoint {
  readonly system: string;
  readonly quality: Estimate;
  readonly costs: Readonly<Record<string, Estimate>>;
}

export interface CostAxis {
  readonly key: string;
  readonly label: string;
  readonly unit: "share" | "tokens" | "usd" | "seconds";
}

export interface Family {
  readonly family: string;
  readonly parameter: string;
  readonly points: readonly {
    readonly system: string;
    readonly at: number;
    readonly quality: Estimate;
  }[];
}

export interface Placed {
  readonly place: string;
  readonly system: string;
  readonly value: Estimate;
}

export interface Charts {
  readonly quality: string;
  readonly frontier?: {
    readonly axes: readonly CostAxis[];
    readonly points: readonly FrontierPoint[];
  };
  readonly families?: readonly Family[];
  readonly datasets?: readonly Placed[];
  readonly groups?: readonly { readonly id: string; readonly lines: readonly Placed[] }[];
  readonly distributions?: readonly Distribution[];
  readonly latency?: readonly Spread[];
}

export interface Distribution {
  readonly score: string;
  readonly edges: readonly number[];
  readonly systems: readonly {
    readonly system: string;
    readonly counts: readonly number[];
    readonly mean: number;
    readonly median: number;
  }[];
}

export interface Spread {
  readonly system: string;
  readonly p5: number;
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
  readonly p95: number;
}

export const SCORED = 0;
export const MISSING = 1;
export const ERROR = 2;

export type Cell = readonly [score: number | null, state: number, tokens: number | null];

export interface Line {
  readonly example: number;
  readonly dataset: string;
  readonly id: string | number;
  readonly repeat: number;
  readonly text: string;
  readonly cells: readonly (Cell | null)[];
}

export interface Found {
  readonly total: number;
  readonly offset: number;
  readonly examples: readonly Line[];
}

export interface Row {
  readonly system: number;
  readonly scores: Readonly<Record<string, number | null>>;
  readonly missing: Readonly<Record<string, string>>;
  readonly error: string | null;
  readonly traceback: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly response_tokens: number;
  readonly latency: number | null;
  readonly cost_usd: number | null;
  readonly retries: number | null;
  readonly cached: boolean;
  readonly response: string | null;
  readonly context: string | true | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
}

export interface Opened {
  readonly example: number;
  readonly dataset: string;
  readonly id: string | number;
  readonly repeat: number;
  readonly kept: boolean;
  readonly question: string;
  readonly gold: readonly string[];
  readonly context: string | null;
  readonly evidence: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
  readonly rows: readonly Row[];
}

/** Who an example is, as an address names it. */
export interface Key {
  readonly id: string;
  readonly dataset?: string;
  readonly repeat?: number;
}

/** Where the page gets its examples from: the file it is, or the server it came from. */
export interface Provider {
  find(query: import("./query").Query, page: Page): Promise<Found>;
  open(key: Key): Promise<Opened | null>;
}

/** A part of the list: so many from an offset on, or the part that holds one example. */
export interface Page {
  readonly offset: number;
  readonly limit: number;
  readonly around?: number;
}
