// Tables of the document: sorted by a click on a header.

function cellValue(row: HTMLTableRowElement, column: number): number | string | null {
  const cell = row.cells[column];
  if (cell === undefined) return null;
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  if (cell.classList.contains("num")) return null;
  return cell.textContent?.trim() || null;
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true });
}

// Rows without a value come last in either direction.
function sort(table: HTMLTableElement, column: number, direction: number): void {
  const body = table.tBodies[0];
  if (!body) return;
  const keyed = Array.from(body.rows, (row) => ({ row, value: cellValue(row, column) }));
  keyed.sort(({ value: a }, { value: b }) =>
    a === null || b === null ? Number(a === null) - Number(b === null) : direction * compare(a, b),
  );
  body.append(...keyed.map(({ row }) => row));
}

export function makeSortable(table: HTMLTableElement): void {
  const headers = Array.from(table.tHead?.rows[0]?.cells ?? []);
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const isNumber = header.classList.contains("num");
      const was = header.getAttribute("aria-sort");
      const descending = was === null ? isNumber : was === "ascending";
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(table, column, descending ? -1 : 1);
    });
  });
}
