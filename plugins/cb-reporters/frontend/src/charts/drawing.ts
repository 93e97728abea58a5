// What all charts share: the look, axes that fit their values, room for names.
import { type PlotOptions, plot } from "@observablehq/plot";
import { visible } from "../dom";
import { shortNames } from "../format";
import type { Estimate } from "../types";

export const FONT_PX = 12;
export const NARROW = 560;

const SHORTEST_SPAN = 0.1;

/** A drawing without styles of its own: those would need a permission, and stand in the style sheet. */
export function drawn(options: PlotOptions): SVGSVGElement {
  const element = plot({ className: "plot-svg", ...options }) as Element;
  for (const style of element.querySelectorAll("style")) style.remove();
  const svg = element.matches("svg") ? element : element.querySelector("svg");
  if (!(svg instanceof SVGSVGElement)) throw new Error("nothing was drawn");
  svg.setAttribute("aria-hidden", "true"); // its figure is labelled, and has a table
  return svg;
}

/** From the lowest to the highest value or bound, not so near that small differences look large. */
export function span(estimates: readonly Estimate[], least = SHORTEST_SPAN): [number, number] {
  const all = estimates.flatMap((one) => one.filter((value) => value !== null));
  let [low, high] = [Math.min(...all), Math.max(...all)];
  const isShare = low >= 0 && high <= 1;
  const missing = least - (high - low);
  if (missing > 0) [low, high] = [low - missing / 2, high + missing / 2];
  const pad = (high - low) * 0.06;
  return isShare ? [Math.max(0, low - pad), Math.min(1, high + pad)] : [low - pad, high + pad];
}

export const low = ([value, bound]: Estimate): number => bound ?? value;
export const high = ([value, , bound]: Estimate): number => bound ?? value;

let canvas: CanvasRenderingContext2D | null = null;

export function textWidth(text: string): number {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (canvas === null) return text.length * 7;
  canvas.font = `${FONT_PX}px ${getComputedStyle(document.body).fontFamily}`;
  return canvas.measureText(text).width;
}

/** Names as they fit into a third of the width, and how wide that makes the margin. */
export function nameMargin(names: readonly string[], width: number) {
  const most = Math.min(260, width * 0.36);
  const room = Math.max(8, Math.floor(most / 7));
  const short = shortNames(names.map(visible), room);
  const widest = Math.max(0, ...[...short.values()].map(textWidth));
  return {
    label: (name: string): string => short.get(visible(name)) ?? name,
    margin: Math.ceil(widest) + 18,
  };
}

export const style = { background: "none", fontSize: `${FONT_PX}px`, overflow: "visible" };
