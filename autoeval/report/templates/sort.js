"use strict";
function sortKey(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
}
function compare(a, b, sign) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  if (typeof a === "number") return sign * (a - b);
  return sign * a.localeCompare(b, undefined, { numeric: true });
}
function sortBy(table, header) {
  const descending = header.getAttribute("aria-sort") === "ascending";
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const body = table.tBodies[0], column = header.cellIndex;
  const rows = Array.from(body.rows);
  rows.sort((a, b) => compare(sortKey(a, column), sortKey(b, column), descending ? -1 : 1));
  body.append(...rows);
}
for (const table of document.querySelectorAll("table.sortable"))
  for (const header of table.tHead.rows[0].cells)
    header.addEventListener("click", () => sortBy(table, header));
