// Values in several places (datasets, groups of a suite) for every system: dots with intervals.
import { axisFy, dot, ruleY } from "@observablehq/plot";
import { visible } from "../dom";
import { score } from "../format";
import type { Placed } from "../types";
import { drawn, high, low, nameMargin, span, style } from "./drawing";

const LINE = 19;
const BETWEEN = 30;

export function drawPlaces(lines: readonly Placed[], label: string, width: number): Element {
  const systems = [...new Set(lines.map(({ system }) => system))];
  const places = [...new Set(lines.map(({ place }) => place))];
  const names = nameMargin(systems, width);
  const heights = places.length * (systems.length * LINE + BETWEEN);
  const title = ({ place, system, value }: Placed): string =>
    `${visible(system)} on ${visible(place)}: ${score(value[0])}`;
  return drawn({
    width,
    height: heights + 60,
    marginLeft: names.margin,
    marginTop: 26,
    marginBottom: 40,
    marginRight: 16,
    style,
    x: {
      domain: span(lines.map(({ value }) => value)),
      label,
      labelAnchor: "center",
      grid: true,
      ticks: 6,
    },
    y: { domain: systems, type: "band", label: null, tickFormat: names.label, tickSize: 0 },
    fy: { domain: places, label: null, padding: BETWEEN / (systems.length * LINE + BETWEEN) },
    marks: [
      axisFy({
        anchor: "left",
        frameAnchor: "top-left",
        dx: 6 - names.margin,
        dy: -10,
        textAnchor: "start",
        fontWeight: 600,
        tickFormat: (place: string) => visible(place),
      }),
      ruleY(lines, {
        fy: "place",
        y: "system",
        x1: ({ value }) => low(value),
        x2: ({ value }) => high(value),
        stroke: "var(--interval)",
        strokeWidth: 2,
      }),
      dot(lines, {
        fy: "place",
        y: "system",
        x: ({ value }) => value[0],
        r: 4.5,
        fill: "var(--accent)",
        title,
      }),
    ],
  });
}
