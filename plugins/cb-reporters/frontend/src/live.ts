// A run that is still going: the page asks how far it is, and puts what is new in its place.
import type { Head } from "./types";

const EVERY_MS = 2000;

interface State {
  readonly version: string;
  readonly live: boolean;
}

/** Ask until the run is over; `changed` gets the page as it is now. */
export async function follow(changed: (fresh: Document) => Promise<void>): Promise<void> {
  let version = "";
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY_MS));
    if (document.hidden) continue;
    try {
      const state = (await (await fetch("data/state")).json()) as State;
      if (state.version !== version) {
        version = state.version;
        const text = await (await fetch(location.pathname + location.search)).text();
        await changed(new DOMParser().parseFromString(text, "text/html"));
      }
      if (!state.live) return;
    } catch {
      return; // the server is gone, and what is shown stays
    }
  }
}

/** Put the sections of a fresh page in the place of those shown; the explorer stays as it is. */
export function replaceSections(fresh: Document): void {
  for (const section of fresh.querySelectorAll<HTMLElement>("[data-live]")) {
    const shown = document.getElementById(section.id);
    if (shown) shown.replaceWith(document.adoptNode(section));
    else document.querySelector("main")?.prepend(document.adoptNode(section));
  }
}

export function headOf(page: Document): Head {
  return JSON.parse(page.getElementById("head")?.textContent ?? "{}") as Head;
}
