// Long texts: laid out from their beginning, and whole when that is asked for.
import { button, h, visible } from "./dom";
import { count } from "./format";

/** So many characters are laid out at first. */
const AT_FIRST = 20_000;

/** An element that shows a text's beginning, and the rest when it is asked for. */
export function unfolding(
  kind: string,
  length: number,
  show: (to: number) => (HTMLElement | string)[],
): HTMLElement {
  const element = h("div", { class: kind, dir: "auto" });
  if (length === 0) element.append(h("em", { class: "none" }, "empty"));
  element.append(...show(Math.min(length, AT_FIRST)));
  if (length > AT_FIRST) {
    const rest = button(`Show ${count(length - AT_FIRST)} more characters`, () =>
      element.replaceChildren(...show(length)),
    );
    element.append(rest);
  }
  return element;
}

/** Plain text of any length. */
export function longText(kind: string, text: string): HTMLElement {
  return unfolding(kind, text.length, (to) => [visible(text.slice(0, to))]);
}
