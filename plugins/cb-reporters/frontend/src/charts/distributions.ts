// How scores and latencies are spread, one strip for each system.
import { axisFy, dot, rectY, ruleX, ruleY } from "@observablehq/plot";
import { visible } from "../dom";
import { count, duration } from "../format";
import type { Distribution, Spread } from "../types";
import { drawn, nameMargin, style } from "./drawing";

const STRIP = 46;
const LINE = 24;

export function drawDistribution({ score, edges, systems }: Distribution, width: number): Element {
  const names = nameMargin(
    systems.map(({ system }) => system),
    width,
  );
  const bars = systems.flatMap(({ system, counts }) => {
    const all = counts.reduce((sum, one) => sum + one, 0) || 1;
    return counts.map((n, i) => ({ system, n, share: n / all, from: edges[i], to: edges[i + 1] }));
  });
  return drawn({
    width,
    height: systems.length * STRIP + 60,
    marginLeft: names.margin,
    marginBottom: 40,
    marginRight: 16,
    style,
    x: {
      domain: [edges[0], edges.at(-1)] as number[],
      label: score,
      labelAnchor: "center",
      ticks: 6,
    },
    y: { axis: null, domain: [0, Math.max(...bars.map(({ share }) => share))] },
    fy: { domain: systems.map(({ system }) => system), label: null, padding: 0.18 },
    marks: [
      axisFy({ anchor: "left", tickFormat: names.label, tickSize: 0 }),
      ruleY([0], { stroke: "var(--line)" }),
      rectY(bars, {
        fy: "system",
        x1: "from",
        x2: "to",
        y: "share",
        fill: "var(--bar)",
        inset: 0.5,
        title: ({ system, n, from, to }) =>
          `${visible(system)}, ${from} to ${to}: ${count(n)} rows`,
      }),
      ruleX(systems, { fy: "system", x: "mean", stroke: "var(--accent)", strokeWidth: 2 }),
    ],
  });
}

/** What a label of the axis takes, with the room around it. */
const LABEL = 64;

/** From the lowest to the highest; where that is one value, some room on both sides of it. */
function domainOf(spreads: readonly Spread[]): [number, number] {
  const positive = spreads.flatMap(({ p5, p95 }) => [p5, p95]).filter((value) => value > 0);
  if (positive.length === 0) return [1e-3, 1];
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  return high > low * 1.02 ? [low, high] : [low / 2, high * 2];
}

/** Round values of a logarithmic axis, as many as have room for their labels. */
export function roundValues([low, high]: readonly [number, number], width: number): number[] {
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high / low)) + 2 },
    (_, i) => 10 ** (Math.floor(Math.log10(low)) + i),
  );
  const inside = (steps: readonly number[]): number[] =>
    decades
      .flatMap((decade) => steps.map((step) => step * decade))
      .filter((value) => value >= low && value <= high);
  const place = (value: number): number => (Math.log(value / low) / Math.log(high / low)) * width;
  const fits = (values: readonly number[]): boolean =>
    values.every((value, i) => i === 0 || place(value) - place(values[i - 1] ?? 0) >= LABEL);
  const finest = [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
  for (const steps of finest) {
    const values = inside(steps);
    if (values.length > 0 && fits(values)) return values;
  }
  const [first] = inside([1, 2, 5]);
  return first === undefined ? [Math.sqrt(low * high)] : [first];
}

export function drawLatency(spreads: readonly Spread[], width: number): Element {
  const domain = domainOf(spreads);
  const names = nameMargin(
    spreads.map(({ system }) => system),
    width,
  );
  return drawn({
    width,
    height: spreads.length * LINE + 60,
    marginLeft: names.margin,
    marginBottom: 40,
    marginRight: 24,
    style,
    x: {
      type: "log",
      domain,
      label: "latency",
      labelAnchor: "center",
      grid: true,
      ticks: roundValues(domain, width - names.margin - 24),
      tickFormat: duration,
    },
    y: {
      domain: spreads.map(({ system }) => system),
      label: null,
      tickFormat: names.label,
      tickSize: 0,
    },
    marks: [
      ruleY(spreads, {
        y: "system",
        x1: "p5",
        x2: "p95",
        stroke: "var(--interval)",
        strokeWidth: 2,
      }),
      ruleY(spreads, { y: "system", x1: "q1", x2: "q3", stroke: "var(--bar)", strokeWidth: 10 }),
      dot(spreads, {
        y: "system",
        x: "median",
        r: 4.5,
        fill: "var(--accent)",
        title: ({ system, median, p95 }) =>
          `${visible(system)}: median ${duration(median)}, 95% below ${duration(p95)}`,
      }),
    ],
  });
}
