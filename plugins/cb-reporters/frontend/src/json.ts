// Plain data, as a person reads it.
import { bdi, h } from "./dom";
import { score } from "./format";
import { longText } from "./unfolding";

const LONG = 2000;

/** Names beside values; what is nested stands in a list of its own. */
export function json(value: unknown): HTMLElement {
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== "object" || item === null))
      return h("span", { dir: "auto" }, value.map(String).join(", "));
    return h("ol", {}, ...value.map((item) => h("li", {}, json(item))));
  }
  if (value !== null && typeof value === "object") {
    const lines = Object.entries(value).flatMap(([name, part]) => [
      h("dt", {}, bdi(name)),
      h("dd", {}, json(part)),
    ]);
    return h("dl", { class: "data" }, ...lines);
  }
  const text =
    typeof value === "number" && !Number.isInteger(value) ? score(value) : String(value ?? "–");
  return text.length > LONG
    ? longText("long", text)
    : h("span", { class: "long", dir: "auto" }, text);
}
