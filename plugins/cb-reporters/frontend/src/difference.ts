// What became of a text: by sentence, and by word where a sentence was rewritten.
import { aligned } from "./alignment";

export type Kind = "kept" | "dropped" | "added";

/** A stretch of text: of the original where it was kept or dropped, of the new one where added. */
export interface Run {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}

export interface Difference {
  readonly runs: readonly Run[];
  /** Sentences of the original; of the new text where added. */
  readonly sentences: Readonly<Record<Kind | "rewritten", number>>;
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly key: string;
}

/** A new sentence is a rewriting of an old one when at least this share of its words is in it. */
const ALIKE = 0.5;
const COVERED = 0.8;
const MOST_COMPARED = 40_000;

const SENTENCE = /[^\n.!?。！？]*(?:\n+|[.!?。！？]+["'”’)\]]*(?:\s+|$)|[.!?。！？]+|$)/gu;
const WORD = /[\p{L}\p{N}_]+\s*|[^\p{L}\p{N}_\s]\s*|\s+/gu;

function parts(text: string, pattern: RegExp, from = 0, to = text.length): Part[] {
  const found: Part[] = [];
  for (const match of text.slice(from, to).matchAll(pattern)) {
    if (match[0] === "") continue;
    const start = from + match.index;
    found.push({ from: start, to: start + match[0].length, key: match[0].trim() });
  }
  return found;
}

/** Sentences with what separates them; a stop inside a number or a name does not end one. */
export function sentencesOf(text: string): Part[] {
  const found: Part[] = [];
  let open: Part | null = null;
  for (const part of parts(text, SENTENCE)) {
    const joined: Part = open
      ? { from: open.from, to: part.to, key: text.slice(open.from, part.to).trim() }
      : part;
    const ends = /\s$/.test(text.slice(part.from, part.to)) || part.to === text.length;
    open = ends && joined.key ? null : joined;
    if (open === null) found.push(joined);
  }
  if (open) found.push(open);
  return found.map((part) => ({ ...part, key: part.key.replace(/\s+/g, " ") }));
}

const words = (text: string, part: Part): Part[] => parts(text, WORD, part.from, part.to);

export function difference(before: string, after: string): Difference {
  return new Comparison(before, after).difference();
}

class Comparison {
  readonly #before: string;
  readonly #after: string;
  readonly #runs: Run[] = [];
  readonly #counts = { kept: 0, rewritten: 0, dropped: 0, added: 0 };

  constructor(before: string, after: string) {
    this.#before = before;
    this.#after = after;
  }

  difference(): Difference {
    const old = sentencesOf(this.#before);
    const made = sentencesOf(this.#after);
    const pairs = aligned(
      old.map((part) => part.key),
      made.map((part) => part.key),
    );
    const { movedOld, movedNew } = moved(old, made, pairs);
    let [b, a] = [0, 0];
    for (const [nextB, nextA] of [...pairs, [old.length, made.length] as const]) {
      const gap = old.slice(b, nextB);
      const fresh = made.slice(a, nextA).filter((part) => !movedNew.has(part));
      this.#gap(gap, fresh, movedOld);
      const same = old[nextB];
      if (same) this.#sentence("kept", same);
      [b, a] = [nextB + 1, nextA + 1];
    }
    return { runs: joined(this.#runs), sentences: this.#counts };
  }

  #sentence(kind: Kind, part: Part): void {
    this.#runs.push({ kind, from: part.from, to: part.to });
    this.#counts[kind] += 1;
  }

  /** Sentences that are not the same on both sides: dropped, added, or one made of another. */
  #gap(old: readonly Part[], made: readonly Part[], movedOld: ReadonlySet<Part>): void {
    const candidates = old.filter((part) => !movedOld.has(part));
    // The same words, of which only the spaces and so the sentences differ.
    if (made.length > 0 && textOf(candidates) === textOf(made)) {
      for (const part of old) this.#sentence("kept", part);
      return;
    }
    const rewritten = this.#rewritings(candidates, made);
    const covered = [...rewritten.values()].reduce((sum, part) => sum + part.key.length, 0);
    const all = made.reduce((sum, part) => sum + part.key.length, 0);
    if (candidates.length > 0 && covered < COVERED * all && this.#asWords(candidates, made)) {
      for (const part of old) if (movedOld.has(part)) this.#sentence("kept", part);
      return;
    }
    const placed = new Set(rewritten.values());
    const added = made.filter((part) => !placed.has(part));
    for (const part of old) {
      const into = rewritten.get(part);
      if (into) {
        while (added[0] && added[0].from < into.from)
          this.#sentence("added", added.shift() as Part);
        this.#rewrite(part, into);
      } else this.#sentence(movedOld.has(part) ? "kept" : "dropped", part);
    }
    for (const part of added) this.#sentence("added", part);
  }

  /** For each new sentence the old one it is most like, both in their order. */
  #rewritings(old: readonly Part[], made: readonly Part[]): Map<Part, Part> {
    const found = new Map<Part, Part>();
    if (old.length * made.length > MOST_COMPARED) return found;
    const bags = old.map((part) => new Set(words(this.#before, part).map((word) => word.key)));
    let first = 0;
    for (const part of made) {
      const own = words(this.#after, part).filter((word) => word.key !== "");
      let [best, where] = [ALIKE, -1];
      for (let i = first; i < old.length; i++) {
        const shared = own.filter((word) => bags[i]?.has(word.key)).length / own.length;
        if (shared >= best && (where < 0 || shared > best)) [best, where] = [shared, i];
      }
      const target = old[where];
      if (target === undefined) continue;
      found.set(target, part);
      first = where + 1;
    }
    return found;
  }

  #rewrite(old: Part, made: Part): void {
    this.#wordRuns(words(this.#before, old), words(this.#after, made));
    this.#counts.rewritten += 1;
  }

  /** Whole stretches word by word, as where single words were taken out everywhere. */
  #asWords(old: readonly Part[], made: readonly Part[]): boolean {
    const before = old.flatMap((part) => words(this.#before, part));
    const after = made.flatMap((part) => words(this.#after, part));
    const pairs = aligned(
      before.map((word) => word.key),
      after.map((word) => word.key),
    );
    if (after.length === 0 || pairs.length < COVERED * after.length) return false;
    const keptAt = new Set(pairs.map(([b]) => before[b]?.from));
    this.#wordRuns(before, after, pairs);
    for (const part of old) {
      const own = before.filter((word) => word.from >= part.from && word.to <= part.to);
      const kept = own.filter((word) => keptAt.has(word.from)).length;
      this.#counts[kept === 0 ? "dropped" : kept === own.length ? "kept" : "rewritten"] += 1;
    }
    return true;
  }

  #wordRuns(
    before: readonly Part[],
    after: readonly Part[],
    pairs = aligned(
      before.map((word) => word.key),
      after.map((word) => word.key),
    ),
  ): void {
    let [b, a] = [0, 0];
    for (const [nextB, nextA] of [...pairs, [before.length, after.length] as const]) {
      for (const word of before.slice(b, nextB)) this.#runs.push({ ...word, kind: "dropped" });
      for (const word of after.slice(a, nextA)) this.#runs.push({ ...word, kind: "added" });
      const same = before[nextB];
      if (same) this.#runs.push({ ...same, kind: "kept" });
      [b, a] = [nextB + 1, nextA + 1];
    }
  }
}

const textOf = (parts: readonly Part[]): string => parts.map((part) => part.key).join(" ");

/** Sentences that stand elsewhere in the new text: kept, though not in their place. */
function moved(old: readonly Part[], made: readonly Part[], pairs: readonly [number, number][]) {
  const pairedOld = new Set(pairs.map(([b]) => b));
  const pairedNew = new Set(pairs.map(([, a]) => a));
  const free = new Map<string, Part[]>();
  old.forEach((part, i) => {
    if (!pairedOld.has(i)) free.set(part.key, [...(free.get(part.key) ?? []), part]);
  });
  const movedOld = new Set<Part>();
  const movedNew = new Set<Part>();
  made.forEach((part, i) => {
    const twin = pairedNew.has(i) ? undefined : free.get(part.key)?.shift();
    if (twin === undefined) return;
    movedOld.add(twin);
    movedNew.add(part);
  });
  return { movedOld, movedNew };
}

function joined(runs: readonly Run[]): Run[] {
  const found: Run[] = [];
  for (const { kind, from, to } of runs) {
    const last = found.at(-1);
    if (last && last.kind === kind && last.to === from) found[found.length - 1] = { ...last, to };
    else found.push({ kind, from, to });
  }
  return found;
}
