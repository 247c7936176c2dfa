"use strict";
// Tables sort by the heads of their columns.
(() => {
  const UNITS = {
    ms: 0.001, s: 1, min: 60, h: 3600, "%": 1,
    B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
  };
  const PART = /([\d,]+(?:\.\d+)?) ?(ms|s|min|h|%|B|KiB|MiB|GiB|TiB)?(?:\s|$)/g;
  const collator = new Intl.Collator("en", { numeric: true });

  // A number for numbers, sizes and times such as "2 min 5 s"; null for nothing; else the text.
  function keyOf(cell) {
    const text = cell.textContent.trim();
    if (text === "" || text === "–") return null;
    if (text.replace(PART, "") !== "") return text;
    let sum = 0;
    for (const [, value, unit] of text.matchAll(PART)) sum += Number(value.replaceAll(",", "")) * (UNITS[unit] ?? 1);
    return sum;
  }

  function compare(one, other, direction) {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return direction * (one - other);
    return direction * collator.compare(String(one), String(other));
  }

  // The rest of a long table is folded below it: both are sorted as one.
  function bodiesOf(table) {
    const rest = table.parentElement.nextElementSibling?.querySelector(":scope > .scroll > table");
    const isRest = rest?.caption.textContent === table.caption.textContent;
    return isRest ? [table.tBodies[0], rest.tBodies[0]] : [table.tBodies[0]];
  }

  function sort(table, column, direction) {
    const bodies = bodiesOf(table);
    const counts = bodies.map((body) => body.rows.length);
    const keyed = bodies.flatMap((body) => [...body.rows]).map((row) => [keyOf(row.cells[column]), row]);
    keyed.sort(([one], [other]) => compare(one, other, direction));
    const rows = keyed.map(([, row]) => row);
    bodies.forEach((body, at) => body.replaceChildren(...rows.splice(0, counts[at])));
  }

  for (const table of document.querySelectorAll("main table")) {
    if (table.tBodies[0].rows.length < 2) continue;
    table.classList.add("sortable");
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      makeSortable(head, (direction) => sort(table, column, direction));
    });
  }
})();
