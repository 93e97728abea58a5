// Names beside points, where they cover neither each other nor the points.
import { FONT_PX, textWidth } from "./drawing";

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly name: string;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

interface Label {
  readonly box: Box;
  /** How far the label is from its point: the nearest reads best. */
  readonly away: number;
}

const HEIGHT = FONT_PX + 4;
const RADIUS = 6;
const SVG = "http://www.w3.org/2000/svg";

function overlap(one: Box, other: Box): number {
  const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return Math.max(0, across) * Math.max(0, down);
}

function* candidates(point: Point, width: number): Generator<Label> {
  const at = (left: number, top: number, away: number): Label => ({
    box: { left, top, right: left + width, bottom: top + HEIGHT },
    away,
  });
  for (const gap of [RADIUS + 4, 22, 40, 62, 90, 125]) {
    yield at(point.x + gap, point.y - HEIGHT / 2, gap);
    yield at(point.x - gap - width, point.y - HEIGHT / 2, gap);
    for (const top of [point.y - gap - HEIGHT, point.y + gap]) {
      yield at(point.x - width / 2, top, gap);
      yield at(point.x + 4, top, gap + 1);
      yield at(point.x - width - 4, top, gap + 1);
    }
  }
}

/** A place for every name; null for one that would cover another wherever it stood. */
function placed(points: readonly Point[], frame: Box, lines: readonly Box[]): (Box | null)[] {
  const dots = points.map(({ x, y }) => ({
    left: x - RADIUS,
    top: y - RADIUS,
    right: x + RADIUS,
    bottom: y + RADIUS,
  }));
  const found: (Box | null)[] = points.map(() => null);
  const outside = (box: Box): number =>
    (box.right - box.left) * (box.bottom - box.top) - overlap(box, frame);
  for (let round = 0; round < 3; round++) {
    points.forEach((point, i) => {
      let best: { box: Box; cost: number; covers: number } | null = null;
      for (const { box, away } of candidates(point, textWidth(point.name) + 6)) {
        const others = [...dots, ...found.filter((one, j) => j !== i && one !== null)] as Box[];
        const covers = others.reduce((sum, one) => sum + overlap(box, one), 0) + 2 * outside(box);
        const crossed = lines.reduce((sum, one) => sum + overlap(box, one), 0);
        const cost = covers * 20 + crossed + away;
        if (best === null || cost < best.cost) best = { box, cost, covers };
      }
      found[i] = best && (round < 2 || best.covers < 4) ? best.box : null;
    });
  }
  return found;
}

/** Write the names into a drawing, off its `lines` if possible, with a line to a point far off. */
export function addLabels(
  svg: SVGSVGElement,
  points: readonly Point[],
  frame: Box,
  lines: readonly Box[],
): void {
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", "labels");
  placed(points, frame, lines).forEach((box, i) => {
    const point = points[i];
    if (box === null || point === undefined) return;
    const x = Math.max(box.left, Math.min(box.right, point.x));
    const y = Math.max(box.top, Math.min(box.bottom, point.y));
    if (Math.hypot(x - point.x, y - point.y) > RADIUS + 8) {
      const line = document.createElementNS(SVG, "line");
      const ends = { x1: point.x, y1: point.y, x2: x, y2: y };
      for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value.toFixed(1));
      group.prepend(line);
    }
    const text = document.createElementNS(SVG, "text");
    text.setAttribute("x", (box.left + 3).toFixed(1));
    text.setAttribute("y", (box.bottom - 4.5).toFixed(1));
    text.textContent = point.name;
    group.append(text);
  });
  svg.append(group);
}
