// One system's column of an opened example.
import { difference } from "./difference";
import { bdi, h } from "./dom";
import { ABSENT, count, dollars, duration, score as formatted, signed } from "./format";
import { json } from "./json";
import { keptOf, marked, marksIn } from "./marks";
import type { Opened, Row } from "./types";
import { unfolding } from "./unfolding";

export interface Shown {
  readonly name: string;
  readonly score: string | null;
  readonly baseline: Row | null;
  readonly withDropped: boolean;
}

/** A dropped stretch longer than this is folded, and opens. */
const FOLDED = 600;

export function systemColumn(opened: Opened, row: Row, shown: Shown): HTMLElement {
  return h(
    "article",
    { class: "system", "aria-label": shown.name },
    h("h3", {}, bdi(shown.name)),
    headline(row, shown),
    row.error !== null && error(row),
    row.response !== null && response(opened, row),
    row.error === null && context(opened, row, shown),
    scores(row, shown),
    more("Details", row.details),
    more("Other output", row.output),
  );
}

function headline(row: Row, { score, baseline }: Shown): HTMLElement {
  const facts: [string, string, string?][] = [];
  if (score !== null && row.error === null) {
    const mine = row.scores[score] ?? null;
    facts.push([score, formatted(mine)]);
    const theirs = baseline?.scores[score] ?? null;
    if (mine !== null && theirs !== null) {
      const kind = mine === theirs ? "" : mine > theirs ? "gain" : "loss";
      facts.push(["to the baseline", signed(mine - theirs), kind]);
    }
  }
  if (row.error === null) {
    const kept =
      row.input_tokens > 0 ? ` (${Math.round((100 * row.output_tokens) / row.input_tokens)}%)` : "";
    facts.push(["tokens", `${count(row.output_tokens)} of ${count(row.input_tokens)}${kept}`]);
    if (row.response_tokens > 0) facts.push(["response", `${count(row.response_tokens)} tokens`]);
  }
  facts.push([
    "latency",
    row.cached ? `${duration(row.latency)}, from the store` : duration(row.latency),
  ]);
  if (row.cost_usd !== null) facts.push(["cost", dollars(row.cost_usd)]);
  if (row.retries !== null) facts.push(["retries", count(row.retries)]);
  const cells = facts.map(([label, text, kind]) =>
    h("div", {}, h("dt", {}, label), h("dd", { class: kind ?? null }, text)),
  );
  return h("dl", { class: "facts small" }, ...cells);
}

function error(row: Row): HTMLElement {
  return h(
    "section",
    { class: "failed" },
    h("h4", {}, "Error"),
    h("p", { class: "long", dir: "auto" }, row.error),
    row.traceback !== null &&
      h(
        "details",
        { open: true },
        h("summary", {}, "Traceback"),
        h("pre", { tabindex: 0 }, row.traceback),
      ),
  );
}

function response(opened: Opened, row: Row): HTMLElement {
  const text = row.response ?? "";
  const marks = marksIn(text, opened.gold, []);
  const show = (to: number): HTMLElement[] => marked(text, { from: 0, to }, marks);
  return h("section", {}, h("h4", {}, "Response"), unfolding("response long", text.length, show));
}

function context(opened: Opened, row: Row, shown: Shown): HTMLElement | null {
  const before = opened.context ?? "";
  const after = row.context === true ? before : row.context;
  if (after === null) return null;
  if (before === after) {
    const marks = marksIn(before, opened.gold, opened.evidence);
    const show = (to: number): HTMLElement[] => marked(before, { from: 0, to }, marks);
    if (before === "") return null;
    return h(
      "section",
      {},
      h("h4", {}, "Context"),
      h("p", { class: "caption" }, "all of it, unchanged"),
      unfolding("context", before.length, show),
    );
  }
  return h("section", {}, h("h4", {}, "Context"), ...compared(opened, before, after, shown));
}

function compared(opened: Opened, before: string, after: string, shown: Shown): HTMLElement[] {
  const found = difference(before, after);
  const old = marksIn(before, opened.gold, opened.evidence);
  const made = marksIn(after, opened.gold, opened.evidence);
  const { kept, rewritten, dropped, added } = found.sentences;
  const told = [`${count(kept)} of ${count(kept + rewritten + dropped)} sentences kept`];
  if (rewritten) told.push(`${count(rewritten)} rewritten`);
  if (dropped) told.push(`${count(dropped)} dropped`);
  if (added) told.push(`${count(added)} added`);
  const lines: HTMLElement[] = [h("p", { class: "caption" }, told.join(" · "))];
  const lost = whatWasLost(opened, keptOf(old.evidence, found), old, made.answers.length);
  if (lost) lines.push(lost);
  const runs = found.runs.filter((run) => shown.withDropped || run.kind !== "dropped");
  const length = runs.reduce((sum, run) => sum + run.to - run.from, 0);
  const show = (most: number): HTMLElement[] => {
    let left = most;
    return runs.flatMap((run) => {
      const to = Math.min(run.to, run.from + Math.max(0, left));
      left -= run.to - run.from;
      if (to <= run.from) return [];
      const [text, marks] = run.kind === "added" ? [after, made] : [before, old];
      const elements = marked(text, { from: run.from, to }, marks, run.kind);
      return run.kind === "dropped" && to - run.from > FOLDED
        ? [folded(elements, to - run.from)]
        : elements;
    });
  };
  lines.push(unfolding("context", length, show));
  return lines;
}

function whatWasLost(
  opened: Opened,
  keptEvidence: number,
  old: ReturnType<typeof marksIn>,
  answers: number,
): HTMLElement | null {
  const told: HTMLElement[] = [];
  if (old.evidence.length > 0) {
    const all = keptEvidence === old.evidence.length;
    const text = `gold evidence: ${keptEvidence} of ${old.evidence.length} kept`;
    told.push(h("span", { class: all ? "gain" : "loss" }, text));
  }
  if (opened.gold.length > 0 && old.answers.length > 0) {
    const text = answers > 0 ? "the answer is still there" : "the answer is gone";
    told.push(h("span", { class: answers > 0 ? "gain" : "loss" }, text));
  }
  return told.length > 0 ? h("p", { class: "lost" }, ...told) : null;
}

/** A long dropped stretch: its beginning, and the whole when it is opened. */
function folded(elements: HTMLElement[], length: number): HTMLElement {
  const marked = elements.some((element) => element.matches(".evidence, :has(mark)"));
  return h(
    "details",
    { class: "fold", open: marked },
    h("summary", {}, `${count(length)} characters dropped`),
    ...elements,
  );
}

function scores(row: Row, { score }: Shown): HTMLElement | null {
  const names = Object.keys(row.scores).sort((a, b) => Number(b === score) - Number(a === score));
  const lines = names.map((name) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, bdi(name)),
      h("td", { class: "num" }, row.scores[name] === null ? ABSENT : formatted(row.scores[name])),
    ),
  );
  for (const [name, reason] of Object.entries(row.missing))
    lines.push(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, bdi(name)),
        h("td", { class: "missing" }, h("strong", {}, "missing: "), reason),
      ),
    );
  if (lines.length === 0) return null;
  return h(
    "section",
    {},
    h("h4", {}, "Scores"),
    h("table", { class: "scores" }, h("tbody", {}, ...lines)),
  );
}

function more(title: string, data: Readonly<Record<string, unknown>>): HTMLElement | null {
  if (Object.keys(data).length === 0) return null;
  return h("section", {}, h("h4", {}, title), json(data));
}
