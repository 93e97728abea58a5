// Examples that the server has, which the page came from.
import { type Query, writeQuery } from "./query";
import type { Found, Key, Opened, Page, Provider } from "./types";

async function asked<T>(path: string, parameters: URLSearchParams): Promise<T | null> {
  const response = await fetch(`${path}?${parameters}`, {
    headers: { accept: "application/json" },
  });
  if (response.status === 404) return null;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status}`);
  return answer as T;
}

export class RemoteProvider implements Provider {
  async find(query: Query, page: Page): Promise<Found> {
    const parameters = writeQuery(query);
    for (const [name, value] of Object.entries(page)) parameters.set(name, String(value));
    const found = await asked<Found>("data/examples", parameters);
    return found ?? { total: 0, offset: 0, examples: [] };
  }

  open(key: Key): Promise<Opened | null> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(key)) parameters.set(name, String(value));
    return asked<Opened>("data/example", parameters);
  }
}
