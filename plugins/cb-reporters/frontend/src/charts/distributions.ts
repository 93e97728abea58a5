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

export function drawLatency(spreads: readonly Spread[], width: number): Element {
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
      label: "latency",
      labelAnchor: "center",
      grid: true,
      ticks: width < 560 ? 3 : 6,
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
