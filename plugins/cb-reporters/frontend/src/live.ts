// A run that is still going: the page asks how far it is, and puts what is new in its place.
import type { Head } from "./types";

const EVERY_MS = 2000;

interface State {
  readonly version: string;
  readonly live: boolean;
  readonly told: string;
}

/** Ask until all is shown: `told` gets how far it is, `changed` the page as it is now. */
export async function follow(
  shown: Head,
  told: (text: string) => void,
  changed: (fresh: Document, head: Head) => Promise<void>,
): Promise<void> {
  let { version } = shown;
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY_MS));
    if (document.hidden) continue;
    try {
      const state = (await (await fetch("data/state")).json()) as State;
      told(state.told);
      if (state.version !== version) {
        const text = await (await fetch(location.pathname + location.search)).text();
        const fresh = new DOMParser().parseFromString(text, "text/html");
        const head = headOf(fresh);
        if (head.version !== version) await changed(fresh, head);
        ({ version } = head);
      }
      if (!state.live && state.version === version) return;
    } catch {
      told("The server is gone; what is shown is as it was.");
      return;
    }
  }
}

/** Put the sections of a fresh page in the place of those shown; the explorer stays as it is. */
export function replaceSections(fresh: Document): void {
  let before: Element | null = null;
  for (const section of fresh.querySelectorAll<HTMLElement>("header, main > section")) {
    const shown = document.getElementById(section.id);
    if (shown && section.dataset.live === undefined) {
      before = shown; // not even put there again, which would take the focus from what is in it
      continue;
    }
    const placed = document.adoptNode(section);
    if (shown) {
      keepUnfolded(shown, placed);
      shown.replaceWith(placed);
    } else if (before?.parentElement?.localName === "main") before.after(placed);
    else document.querySelector("main")?.prepend(placed);
    before = placed;
  }
}

/** What a reader has unfolded stays so. */
function keepUnfolded(shown: HTMLElement, placed: HTMLElement): void {
  const named = (details: HTMLDetailsElement): string =>
    details.querySelector("summary")?.textContent ?? "";
  const open = new Set(Array.from(shown.querySelectorAll("details"), (d) => d.open && named(d)));
  for (const details of placed.querySelectorAll("details"))
    details.open ||= open.has(named(details));
}

export function headOf(page: Document): Head {
  return JSON.parse(page.getElementById("head")?.textContent ?? "{}") as Head;
}
