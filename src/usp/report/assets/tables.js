"use strict";
// Tables sort by the heads of their columns, and their addresses are links.
(() => {
  const origin = document.querySelector("#tree .note .url").textContent;
  for (const address of document.querySelectorAll("td .address")) {
    const shown = address.textContent;
    address.replaceChildren(link(shown.startsWith("/") ? origin + shown : shown, shown));
  }

  const collator = new Intl.Collator("en", { numeric: true });

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
    const keyed = bodies.flatMap((body) => [...body.rows]).map((row) => [measured(row.cells[column].textContent.trim()), row]);
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
