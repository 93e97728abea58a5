// Numbers as people read them, and as the tables beside have them.

export const ABSENT = "–";

export function score(value: number | null | undefined): string {
  return value === null || value === undefined ? ABSENT : noMinusZero(value.toFixed(3));
}

export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${score(value)}`.replace("-", "−");
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function duration(seconds: number | null): string {
  if (seconds === null) return ABSENT;
  if (seconds > 0 && seconds < 0.9995e-3) return `${threeDigits(seconds * 1e6)} µs`;
  if (seconds > 0 && seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`;
  return `${threeDigits(seconds)} s`;
}

export function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

function threeDigits(value: number): string {
  const digits = value >= 99.95 || value === 0 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

function noMinusZero(text: string): string {
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/**
 * Names in at most so many characters each, by what sets them apart: words that all of them have
 * are left out where they do not fit, and then the middles of the longest words.
 */
export function shortNames(names: readonly string[], most: number): Map<string, string> {
  const parts = names.map((name) => name.split(/\s+/));
  const shared = (word: string): boolean =>
    names.length > 1 && parts.every((words) => words.includes(word));
  return new Map(
    names.map((name, i) => {
      const own = parts[i]?.filter((word) => !shared(word)) ?? [];
      const words = name.length <= most || own.length === 0 ? [name] : own;
      return [name, squeezed(words, most)];
    }),
  );
}

function squeezed(words: readonly string[], most: number): string {
  const shortest = 9;
  let left = [...words];
  while (left.join(" ").length > most) {
    const longest = left.reduce((one, other) => (other.length > one.length ? other : one), "");
    if (longest.length <= shortest) return shorten(left.join(" "), most);
    left = left.map((word) =>
      word === longest ? shorten(word, Math.max(shortest, longest.length - 2)) : word,
    );
  }
  return left.join(" ");
}

/** A name in at most so many characters, its middle left out. */
function shorten(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const head = Math.floor(most / 2);
  return `${characters.slice(0, head).join("")}…${characters.slice(head - most + 1).join("")}`;
}
