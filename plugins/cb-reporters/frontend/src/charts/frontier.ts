// Quality against what it costs, with intervals and the front of what no other system beats.
import { dot, line, ruleX, ruleY } from "@observablehq/plot";
import { visible } from "../dom";
import { dollars, duration, score, shortNames } from "../format";
import type { CostAxis, Estimate, FrontierPoint } from "../types";
import { drawn, high, low, NARROW, span, style } from "./drawing";
import { addLabels } from "./labels";

const HEIGHT = 440;
const NAME_LENGTH = 30;
const NARROW_NAME_LENGTH = 16;

const FORMATS: Record<CostAxis["unit"], (value: number) => string> = {
  share: (value) => `${Math.round(value * 100)}%`,
  tokens: (value) => Math.round(value).toLocaleString("en-US"),
  usd: dollars,
  seconds: duration,
};

interface Spot {
  readonly system: string;
  readonly cost: Estimate;
  readonly quality: Estimate;
}

/** The systems for which no other is as good for less, or better for as much; cheapest first. */
export function frontOf(spots: readonly Spot[]): Spot[] {
  const beats = (one: Spot, other: Spot): boolean =>
    one.cost[0] <= other.cost[0] &&
    one.quality[0] >= other.quality[0] &&
    (one.cost[0] < other.cost[0] || one.quality[0] > other.quality[0]);
  return spots
    .filter((spot) => !spots.some((other) => beats(other, spot)))
    .sort((one, other) => one.cost[0] - other.cost[0]);
}

export function drawFrontier(
  points: readonly FrontierPoint[],
  axis: CostAxis,
  quality: string,
  width: number,
): Element {
  const spots = points.flatMap(({ system, quality: y, costs }): Spot[] => {
    const cost = costs[axis.key];
    return cost ? [{ system, cost, quality: y }] : [];
  });
  const front = frontOf(spots);
  const others = spots.filter((spot) => !front.includes(spot));
  const format = FORMATS[axis.unit];
  const costs = spots.map((spot) => spot.cost);
  const least = axis.unit === "share" ? 0.1 : Math.max(...costs.map(high)) * 0.1 || 1;
  const [from, to] = span(costs, least);
  const at = { x: (spot: Spot) => spot.cost[0], y: (spot: Spot) => spot.quality[0] };
  const title = (spot: Spot): string =>
    `${visible(spot.system)}: ${score(spot.quality[0])} at ${format(spot.cost[0])}`;
  const margins = { marginLeft: 52, marginBottom: 46, marginTop: 30, marginRight: 24 };
  const svg = drawn({
    width,
    height: HEIGHT,
    ...margins,
    style,
    x: {
      domain: [Math.max(0, from), to],
      label: axis.label,
      labelAnchor: "center",
      grid: true,
      ticks: width < NARROW ? 4 : 8,
      tickFormat: format,
    },
    y: { domain: span(spots.map((spot) => spot.quality)), label: quality, grid: true, ticks: 6 },
    marks: [
      line(front, { ...at, curve: "step-after", className: "front", stroke: "var(--accent)" }),
      ruleX(spots, {
        x: at.x,
        y1: (spot) => low(spot.quality),
        y2: (spot) => high(spot.quality),
        stroke: "var(--interval)",
        strokeWidth: 1.5,
      }),
      ruleY(spots, {
        y: at.y,
        x1: (spot) => low(spot.cost),
        x2: (spot) => high(spot.cost),
        stroke: "var(--interval)",
        strokeWidth: 1.5,
      }),
      dot(others, {
        ...at,
        r: 5,
        fill: "var(--raised)",
        stroke: "var(--soft)",
        strokeWidth: 1.75,
        title,
      }),
      dot(front, { ...at, r: 5.5, fill: "var(--accent)", stroke: "var(--raised)", title }),
    ],
  });
  const scales = svg as unknown as { scale(name: string): { apply(value: number): number } };
  const place = ({ cost, quality: [y] }: Spot): { x: number; y: number } => ({
    x: scales.scale("x").apply(cost[0]),
    y: scales.scale("y").apply(y),
  });
  const most = width < NARROW ? NARROW_NAME_LENGTH : NAME_LENGTH;
  const names = shortNames(
    spots.map((spot) => visible(spot.system)),
    most,
  );
  addLabels(
    svg,
    spots.map((spot) => ({
      ...place(spot),
      name: names.get(visible(spot.system)) ?? "",
    })),
    {
      left: margins.marginLeft,
      top: 0,
      right: width,
      bottom: HEIGHT - margins.marginBottom,
    },
    front.slice(1).flatMap((spot, i) => {
      const [from, to] = [place(front[i] ?? spot), place(spot)];
      return [
        { left: from.x, right: to.x, top: from.y - 2, bottom: from.y + 2 },
        { left: to.x - 2, right: to.x + 2, top: to.y, bottom: from.y },
      ];
    }),
  );
  return svg;
}
