// The address of the page keeps what is asked for and which example is open, so that a link shows
// the same to somebody else: `report.html#example=ID&system=…`.
import { EVERYTHING, type Query, readQuery, writeQuery } from "./query";
import type { Key, Line, Opened } from "./types";

export interface Place {
  readonly query: Query;
  readonly key: Key | null;
}

export function readPlace(): Place | null {
  const text = location.hash.slice(1);
  if (text !== "" && !text.includes("=")) return null; // the anchor of a section
  const parameters = new URLSearchParams(text);
  const id = parameters.get("example");
  const dataset = parameters.get("of");
  const repeat = parameters.get("repeat");
  const key =
    id === null
      ? null
      : {
          id,
          ...(dataset === null ? {} : { dataset }),
          ...(repeat === null ? {} : { repeat: Number(repeat) }),
        };
  return { query: text === "" ? EVERYTHING : readQuery(parameters), key };
}

/** An example as an address names it. */
export function keyOf(line: Line | Opened): Key {
  return { id: String(line.id), dataset: line.dataset, repeat: line.repeat };
}

/** The address at which an example is open. */
export function writtenKey(line: Line | Opened, query: Query): string {
  return written({ query, key: keyOf(line) });
}

function written({ query, key }: Place): string {
  const parameters = new URLSearchParams();
  if (key) {
    parameters.set("example", key.id);
    if (key.dataset) parameters.set("of", key.dataset);
    if (key.repeat) parameters.set("repeat", String(key.repeat));
  }
  for (const [name, value] of writeQuery(query)) parameters.set(name, value);
  return `#${parameters}`;
}

/** Put a place into the address; opening an example can be undone with the back button. */
export function writePlace(place: Place, { asStep }: { asStep: boolean }): void {
  const address = written(place);
  if (address === location.hash || (address === "#" && location.hash === "")) return;
  if (asStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
