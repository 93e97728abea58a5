// What of the examples is asked for. The same parameters stand in the address of the page, in
// requests to a server, and in `cb_reporters.page.Query`.

export const STATUSES = ["scored", "missing", "error"] as const;
export const OUTCOMES = ["better", "worse", "same"] as const;
export const SORTS = ["order", "score", "difference", "tokens", "latency"] as const;

export type Status = (typeof STATUSES)[number];
export type Outcome = (typeof OUTCOMES)[number];
export type Sort = (typeof SORTS)[number];

export interface Query {
  readonly system: string;
  readonly against: string;
  readonly dataset: string;
  readonly score: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly status: Status | "";
  readonly outcome: Outcome | "";
  readonly q: string;
  readonly sort: Sort;
  readonly desc: boolean;
}

export const EVERYTHING: Query = {
  system: "",
  against: "",
  dataset: "",
  score: "",
  min: null,
  max: null,
  status: "",
  outcome: "",
  q: "",
  sort: "order",
  desc: false,
};

/** The query in an address; what means nothing is left out. */
export function readQuery(parameters: URLSearchParams): Query {
  const text = (name: string): string => parameters.get(name) ?? "";
  const number = (name: string): number | null => {
    const value = Number.parseFloat(text(name));
    return Number.isFinite(value) ? value : null;
  };
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T | "" =>
    allowed.find((value) => value === text(name)) ?? "";
  return {
    system: text("system"),
    against: text("against"),
    dataset: text("dataset"),
    score: text("score"),
    min: number("min"),
    max: number("max"),
    status: oneOf("status", STATUSES),
    outcome: oneOf("outcome", OUTCOMES),
    q: text("q"),
    sort: oneOf("sort", SORTS) || "order",
    desc: text("desc") === "1",
  };
}

/** The query as parameters: only what differs from asking for everything. */
export function writeQuery(query: Query): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === EVERYTHING[name as keyof Query]) continue;
    parameters.set(name, value === true ? "1" : String(value));
  }
  return parameters;
}

/** The words and, in double quotes, phrases of a search, in lower case. */
export function termsOf(q: string): string[] {
  return Array.from(q.matchAll(/"([^"]+)"|(\S+)/g), (match) =>
    (match[1] ?? match[2] ?? "").toLowerCase(),
  );
}
