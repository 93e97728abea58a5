// Curves: systems that are the same but for one number, over that number.
import { areaY, dot, line } from "@observablehq/plot";
import { h, visible } from "../dom";
import { score } from "../format";
import type { Family } from "../types";
import { drawn, high, low, span, style } from "./drawing";

const COLOURS = 8;
const HEIGHT = 300;
const SEVERAL = 20;

const colour = (i: number): string => `var(--series-${i % COLOURS})`;

/** One drawing for each parameter that was varied, with a legend. */
export function drawFamilies(
  families: readonly Family[],
  quality: string,
  width: number,
): Element[] {
  const names = families.map(({ family }) => family);
  const parameters = [...new Set(families.map(({ parameter }) => parameter))];
  const legend = h(
    "ul",
    { class: "key" },
    ...[...new Set(names)].map((name, i) =>
      h("li", { class: `series-${i % COLOURS}` }, visible(name)),
    ),
  );
  const drawings = parameters.map((parameter) => {
    const points = families
      .filter((one) => one.parameter === parameter)
      .flatMap(({ family, points: own }) => own.map((point) => ({ ...point, family })));
    const values = points.map(({ at }) => at);
    // A sweep that doubles reads best where doubling is one step.
    const wide = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > SEVERAL;
    const stroke = ({ family }: { family: string }): string => colour(names.indexOf(family));
    const at = { x: "at", y: (point: (typeof points)[number]) => point.quality[0], z: "family" };
    return drawn({
      width,
      height: HEIGHT,
      marginLeft: 52,
      marginTop: 30,
      marginBottom: 44,
      style,
      x: { type: wide ? "log" : "linear", label: parameter, labelAnchor: "center", grid: true },
      y: {
        domain: span(points.map((point) => point.quality)),
        label: quality,
        grid: true,
        ticks: 5,
      },
      color: { type: "identity" },
      marks: [
        areaY(points, {
          x: "at",
          z: "family",
          y1: (point) => low(point.quality),
          y2: (point) => high(point.quality),
          fill: stroke,
          fillOpacity: 0.12,
        }),
        line(points, { ...at, stroke, strokeWidth: 2 }),
        dot(points, {
          ...at,
          fill: stroke,
          r: 4,
          title: (point) => `${visible(point.system)}: ${score(point.quality[0])}`,
        }),
      ],
    });
  });
  return [legend, ...drawings];
}
