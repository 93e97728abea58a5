// Where the gold evidence and the answer stand in a text, and texts shown with them marked.
import type { Difference, Kind } from "./difference";
import { h } from "./dom";

export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface Marks {
  readonly evidence: readonly Range[];
  readonly answers: readonly Range[];
}

const MOST = 500;
const LONGEST = 5000;
const WORD = /[\p{L}\p{N}]/u;

/** Where a phrase occurs as whole words, in any case. */
function occurrences(text: string, phrase: string): Range[] {
  const found: Range[] = [];
  const wanted = phrase.trim().toLowerCase();
  if (wanted === "" || wanted.length > LONGEST) return found;
  const lower = text.toLowerCase();
  // Where lowering changes the length, offsets would be those of another text.
  const searched = lower.length === text.length ? lower : text;
  for (
    let from = searched.indexOf(wanted);
    from >= 0 && found.length < MOST;
    from = searched.indexOf(wanted, from + wanted.length)
  ) {
    const to = from + wanted.length;
    const inside = (at: number, edge: string | undefined): boolean =>
      WORD.test(edge ?? "") && WORD.test(text[at] ?? "");
    if (!inside(from - 1, wanted[0]) && !inside(to, wanted.at(-1))) found.push({ from, to });
  }
  return found;
}

export function marksIn(text: string, gold: readonly string[], evidence: readonly string[]): Marks {
  const byPlace = (one: Range, other: Range): number => one.from - other.from;
  return {
    evidence: evidence.flatMap((one) => occurrences(text, one).slice(0, 1)).sort(byPlace),
    answers: gold.flatMap((one) => occurrences(text, one)).sort(byPlace),
  };
}

/** How many of the ranges are kept, all but a tenth at least. */
export function keptOf(ranges: readonly Range[], { runs }: Difference): number {
  return ranges.filter((range) => {
    const kept = runs
      .filter((run) => run.kind === "kept" && run.from < range.to && run.to > range.from)
      .reduce((sum, run) => sum + Math.min(run.to, range.to) - Math.max(run.from, range.from), 0);
    return kept >= 0.9 * (range.to - range.from);
  }).length;
}

const inside = (ranges: readonly Range[], at: number): boolean =>
  ranges.some((range) => range.from <= at && at < range.to);

/** A stretch of text as elements: marked, and wrapped by what became of it. */
export function marked(text: string, range: Range, marks: Marks, kind?: Kind): HTMLElement[] {
  const edges = [...marks.evidence, ...marks.answers].flatMap(({ from, to }) => [from, to]);
  const cuts = new Set([range.from, range.to]);
  for (const edge of edges) if (edge > range.from && edge < range.to) cuts.add(edge);
  const places = [...cuts].sort((one, other) => one - other);
  return places.slice(1).map((to, i) => {
    const from = places[i] ?? 0;
    const content = text.slice(from, to);
    const isAnswer = inside(marks.answers, from);
    const isEvidence = inside(marks.evidence, from);
    const tag = kind === "dropped" ? "del" : kind === "added" ? "ins" : "span";
    const inner = isAnswer ? h("mark", { title: "the gold answer" }, content) : content;
    return h(
      tag,
      { class: isEvidence ? "evidence" : null, title: isEvidence ? "gold evidence" : null },
      inner,
    );
  });
}
