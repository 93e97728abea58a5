(() => {
  "use strict";

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    if (cell.classList.contains("num")) return null;
    return cell.textContent.trim() || null;
  };

  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });

  // Rows without a value come last in either direction.
  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => [valueOf(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return direction * compare(a, b);
    });
    body.append(...keyed.map(([, row]) => row));
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const headers = Array.from(table.tHead.rows[0].cells);
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const ascending = header.getAttribute("aria-sort") !== "ascending";
        for (const other of headers) other.removeAttribute("aria-sort");
        header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sort(table, column, ascending ? 1 : -1);
      });
    });
  }

  const body = document.getElementById("rows");
  if (!body) return;
  const input = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const rows = Array.from(body.rows, (row) => [row.textContent.toLowerCase(), row]);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [text, row] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      count += !row.hidden;
    }
    shown.textContent = words.length ? `${count} of ${rows.length} shown` : "";
  });
  input.closest(".tools").hidden = false;
})();
