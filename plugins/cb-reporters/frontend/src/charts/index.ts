// The charts of the page, drawn into the figures of the document, anew when their width changes.
import type { Charts } from "../types";
import { drawDistribution, drawLatency } from "./distributions";
import { drawFamilies } from "./families";
import { drawFrontier } from "./frontier";
import { drawPlaces } from "./places";

type Draw = (width: number) => Element[];

function drawings(charts: Charts): Map<string, Draw> {
  const { quality, frontier, families, datasets, groups, distributions, latency } = charts;
  const found = new Map<string, Draw>();
  if (frontier)
    for (const axis of frontier.axes)
      found.set(`frontier-${axis.key}`, (width) => [
        drawFrontier(frontier.points, axis, quality, width),
      ]);
  if (families) found.set("families", (width) => drawFamilies(families, quality, width));
  if (datasets) found.set("datasets", (width) => [drawPlaces(datasets, quality, width)]);
  for (const group of groups ?? [])
    found.set(group.id, (width) => [drawPlaces(group.lines, "value", width)]);
  distributions?.forEach((one, i) => {
    found.set(`distribution-${i}`, (width) => [drawDistribution(one, width)]);
  });
  if (latency) found.set("latency", (width) => [drawLatency(latency, width)]);
  return found;
}

export function drawAll(charts: Charts): void {
  const found = drawings(charts);
  const widths = new WeakMap<Element, number>();
  const redraw = (plot: HTMLElement): void => {
    const draw = found.get(plot.dataset.chart ?? "");
    const width = Math.floor(plot.clientWidth);
    if (!draw || width === 0 || widths.get(plot) === width) return;
    widths.set(plot, width);
    plot.replaceChildren(...draw(width));
  };
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) redraw(target as HTMLElement);
  });
  for (const plot of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    redraw(plot);
    watch.observe(plot);
  }
}
