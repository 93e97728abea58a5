// Opened examples as the file holds them; `cb_reporters.page.packing` says how, and why.
import type { Opened, Row } from "./types";

const EXAMPLE_END = "\u001e";
const TEXT_END = "\u001f";
const ESCAPE = "\u0010";
const HALF = new RegExp(`${ESCAPE}S([0-9a-f]{4})`, "g");

/** Of a context: a text of its own, or where a part of the original begins and ends. */
type Part = string | readonly [begin: number, end: number];

type PackedRow = Partial<Omit<Row, "context">> & {
  readonly context?: readonly Part[] | string | true;
};
type PackedExample = Omit<Opened, "rows" | "dataset"> & { readonly rows: readonly PackedRow[] };

const NOTHING_SAID: Omit<Row, "system" | "scores"> = {
  missing: {},
  error: null,
  traceback: null,
  input_tokens: 0,
  output_tokens: 0,
  response_tokens: 0,
  latency: null,
  cost_usd: null,
  retries: null,
  cached: false,
  response: null,
  context: null,
  details: {},
  output: {},
};

/** One example of those in a chunk, put together again. */
export function unpacked(
  texts: string,
  structure: readonly unknown[],
  place: number,
  dataset: string,
): Opened {
  const strings = (texts.split(EXAMPLE_END)[place] ?? "").split(TEXT_END).map(unescaped);
  const example = restored(structure[place], strings) as PackedExample;
  const rows = example.rows.map((row): Row => {
    const { context, ...said } = row;
    const whole = typeof context === "object" ? joined(context, example.context ?? "") : context;
    return { system: 0, scores: {}, ...NOTHING_SAID, ...said, context: whole ?? null };
  });
  return { ...example, dataset, rows };
}

function unescaped(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text
    .replaceAll(`${ESCAPE}R`, EXAMPLE_END)
    .replaceAll(`${ESCAPE}U`, TEXT_END)
    .replaceAll(HALF, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(`${ESCAPE}E`, ESCAPE);
}

/** Plain data with every number of a text replaced by that text. */
function restored(value: unknown, strings: readonly string[]): unknown {
  if (typeof value === "string") return strings[Number.parseInt(value, 36)] ?? "";
  if (Array.isArray(value)) return value.map((part) => restored(part, strings));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, part]) => [key, restored(part, strings)]);
  return Object.fromEntries(entries);
}

function joined(parts: readonly Part[], original: string): string {
  return parts
    .map((part) => (typeof part === "string" ? part : original.slice(part[0], part[1])))
    .join("");
}

/** The examples of a chunk in whose texts, in lower case, every one of the terms occurs. */
export function* examplesWith(terms: readonly string[], texts: string): Generator<number> {
  const [first, ...others] = [...terms].sort((a, b) => b.length - a.length); // mostly the rarest
  if (first === undefined) return;
  let example = 0;
  let begin = 0;
  for (let at = texts.indexOf(first); at >= 0; at = texts.indexOf(first, begin)) {
    let end = texts.indexOf(EXAMPLE_END, begin);
    for (; end >= 0 && end < at; end = texts.indexOf(EXAMPLE_END, begin)) {
      begin = end + 1;
      example++;
    }
    const text = texts.slice(begin, end < 0 ? undefined : end);
    if (others.every((term) => text.includes(term))) yield example;
    if (end < 0) return;
    begin = end + 1;
    example++;
  }
}
