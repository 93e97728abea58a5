// Brings the page to life: tables sort, charts are drawn, examples can be explored.
import { drawAll } from "./charts";
import { byId } from "./dom";
import { Explorer } from "./explorer";
import { InlineProvider } from "./inline";
import { follow, headOf, replaceSections } from "./live";
import { RemoteProvider } from "./remote";
import { makeSortable } from "./tables";
import type { Head, Provider } from "./types";

function enliven(head: Head): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable:not(.is-live)")) {
    table.classList.add("is-live");
    makeSortable(table);
  }
  drawAll(head.charts);
}

async function providerOf(head: Head): Promise<Provider | null> {
  if (head.mode === "remote") return new RemoteProvider();
  const columns = byId("columns");
  if (columns === null) return null;
  return InlineProvider.of(columns);
}

async function start(): Promise<void> {
  const head = headOf(document);
  enliven(head);
  const root = byId("explorer");
  const provider = root && (await providerOf(head));
  if (!root || !provider) return;
  const explorer = new Explorer(root, head, provider);
  await explorer.follow();
  document.documentElement.dataset.ready = "";
  if (provider instanceof InlineProvider) void provider.prepareSearch();
  if (head.live)
    await follow(
      head,
      (text) => explorer.say(text),
      async (fresh, now) => {
        replaceSections(fresh);
        enliven(now);
        await explorer.refresh(now);
      },
    );
}

void start();
