// Building elements so that text can only ever be text.

type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

// Controls, line separators, lone surrogates, and the invisible characters that reorder or hide
// text; those of `cbcore.texts.visible`.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** The text with every unseen character but line breaks and tabs written out. */
export function visible(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(UNSEEN, (found) => {
    const code = found.codePointAt(0) ?? 0;
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** An element. Strings among the children are text; attributes of false or null are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(key, value === true ? "" : visible(String(value)));
  }
  add(element, ...children);
  return element;
}

export function add(parent: Element, ...children: Child[]): void {
  for (const child of children) {
    if (!child) continue;
    parent.append(typeof child === "string" ? visible(child) : child);
  }
}

/** A name or a text of unknown direction, which does not disturb what is around it. */
export function bdi(text: string, attributes: Attributes = {}): HTMLElement {
  return h("bdi", attributes, text);
}

export function button(label: string, act: () => void, attributes: Attributes = {}) {
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", act);
  return element;
}

/** The element with this id, which the document is known to have. */
export function byId<T extends HTMLElement>(id: string): T | null {
  return document.getElementById(id) as T | null;
}
