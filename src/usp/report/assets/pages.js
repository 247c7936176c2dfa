"use strict";
// The table of pages: of hundreds of thousands of rows only those in sight are drawn.
(async () => {
  const URL_WIDTH = 14; // of the column, at least; widths are in rem
  const EXTRA = 6; // rows drawn above and below what is in sight
  const HIGHEST = 8_000_000; // pixels; browsers draw nothing beyond some tens of millions
  const MAX_SUGGESTED = 500; // sitemaps to choose from; any part of a URL can be typed
  const ONE_LINE = 36; // characters of a URL that a phone shows in a line
  const place = document.getElementById("pages-place");
  if (!place) return;
  if (typeof DecompressionStream === "undefined") {
    place.textContent = "This browser is too old to show the table of pages.";
    return;
  }

  // Columns ----------------------------------------------------------------------------------------

  const data = await decompress("pages-data");
  const count = data.sitemaps.reduce((sum, [, pages]) => sum + pages, 0);

  // The lines of a text, of which few are needed at a time.
  function lines(text) {
    const ends = new Uint32Array(count);
    for (let at = 0, end = -1; text && at < count; at++) {
      end = text.indexOf("\n", end + 1);
      if (end < 0) end = text.length;
      ends[at] = end;
    }
    const start = (at) => (at ? ends[at - 1] + 1 : 0);
    return { text, ends, get: (at) => (text ? text.slice(start(at), ends[at]) : "") };
  }

  const urls = lines(data.urls);
  const names = lines(readable(data.urls)); // which are shown and searched
  const dates = lines(data.dates);
  const titles = lines(data.titles);
  const newsDates = lines(data.newsDates);
  const numbers = (text) => Uint32Array.from(text ? text.split("\n") : [], Number);
  const images = numbers(data.images);
  const codes = numbers(data.codes);
  const sitemapOf = new Uint32Array(count);
  let filled = 0;
  data.sitemaps.forEach(([, pages], at) => {
    sitemapOf.fill(at, filled, (filled += pages));
  });
  const home = data.origin;
  const sitemapNames = data.sitemaps.map(([name]) => readable(name));
  const whole = (path) => (path.startsWith("/") ? home + path : path);
  const codesOf = (at) => data.codeSets[codes[at] ?? 0];

  // The longest listed section that a page is in; its own name, the last part, is no folder.
  const sectionNumbers = new Map(data.sections.map((name, at) => [name, at]));
  const root = sectionNumbers.get("/") ?? sectionNumbers.set("/", data.sections.push("/") - 1).get("/");
  function findSection(folder) {
    for (let path = folder; path.length > 1; path = path.slice(0, path.lastIndexOf("/", path.length - 2) + 1)) {
      const found = sectionNumbers.get(path);
      if (found !== undefined) return found;
    }
    return root;
  }
  function folderOf(url) {
    let path = url.startsWith("/") ? url : url.replace(/^[a-z]+:\/\/[^/]*/i, "");
    const hasQuery = path.includes("?");
    path = path.split(/[?#]/, 1)[0];
    if (!hasQuery) path = path.replace(/\/(?:index|default)\.\w{2,5}$/, "").replace(/\/+$/, "");
    return path.slice(0, path.lastIndexOf("/") + 1) || "/";
  }
  const sectionOf = new Uint16Array(count);
  for (let at = 0, folder = "", found = root; at < count; at++) {
    const here = folderOf(names.get(at));
    if (here !== folder) [folder, found] = [here, findSection(here)];
    sectionOf[at] = found;
  }

  // Named as in the tables that "usp ls" writes.
  const columns = [
    { name: "url", title: "page", text: names.get, full: (at) => whole(urls.get(at)), is: true },
    { name: "lastmod", title: "last modified", width: 9.3, text: dates.get, is: data.dates },
    { name: "section", title: "section", width: 7.5, text: (at) => data.sections[sectionOf[at]], is: data.sections.length > 1 },
    { name: "news.title", title: "news title", width: 9, text: titles.get, is: data.titles },
    { name: "news.date", title: "news date", width: 9.3, text: newsDates.get, is: data.newsDates },
    { name: "image_count", title: "images", width: 5.5, text: (at) => (images[at] ? number.format(images[at]) : ""), value: (at) => images[at], is: images.length },
    { name: "sitemap", title: "sitemap", width: 8.5, text: (at) => sitemapNames[sitemapOf[at]], full: (at) => whole(data.sitemaps[sitemapOf[at]][0]), is: true },
    { name: "findings", title: "findings", width: 8.5, text: (at) => codesOf(at).join(" "), is: codes.length },
  ].filter((column) => column.is);

  // Filters ----------------------------------------------------------------------------------------

  const tools = element("div", "tools");
  function field(name, label, input, className = "") {
    input.id = `pages-${name}`;
    const labelled = element("label", className, `${label} `);
    labelled.append(input);
    tools.append(labelled);
    return input;
  }
  function input(type, more = {}) {
    return Object.assign(element("input"), { type, autocomplete: "off", spellcheck: false, ...more });
  }
  function select(options) {
    const made = element("select");
    for (const [value, text] of options) made.append(Object.assign(element("option", "", text), { value }));
    return made;
  }

  const search = field("search", "Search", input("search", { placeholder: "part of a URL or title" }), "find");
  const sections = select([["", "all"], ...[...data.sections].sort().map((name) => [name, name])]);
  if (data.sections.length > 1) field("section", "Section", sections);
  const sitemap = input("search", { placeholder: "part of its URL" });
  if (data.sitemaps.length > 1) {
    const suggested = element("datalist");
    suggested.id = "pages-sitemaps";
    const some = new Set(sitemapNames.slice(0, MAX_SUGGESTED));
    suggested.append(...[...some].map((name) => Object.assign(element("option"), { value: name })));
    tools.append(suggested);
    field("sitemap", "Sitemap", sitemap).setAttribute("list", suggested.id);
  }
  const [from, to] = [input("date"), input("date")];
  if (data.dates || data.newsDates) {
    field("from", "From", from);
    field("to", "To", to);
  }
  const pagesWith = new Map();
  for (const set of codes) for (const code of data.codeSets[set]) pagesWith.set(code, (pagesWith.get(code) ?? 0) + 1);
  const finding = select([
    ["", "all pages"], ["any", "with findings"], ["none", "without findings"],
    ...[...pagesWith].sort().map(([code, pages]) => [code, `${code} (${number.format(pages)})`]),
  ]);
  if (pagesWith.size) field("finding", "Findings", finding);
  const reset = element("button", "", "Reset");
  const save = element("button", "", "Export CSV");
  const matches = element("span", "matches");
  matches.id = "pages-matches";
  matches.setAttribute("role", "status");
  reset.type = save.type = "button";
  save.id = "pages-export";
  tools.append(reset, save, matches);

  // Texts in lower case; null where that is longer: then positions would be those of other lines.
  const lowered = new Map();
  function lower(column) {
    if (!lowered.has(column)) {
      const text = column.text.toLowerCase();
      lowered.set(column, text.length === column.text.length ? text : null);
    }
    return lowered.get(column);
  }
  // Set a bit for each row in whose line a word is; the text is searched as a whole.
  function mark(column, word, found) {
    const text = lower(column);
    if (text === null) {
      for (let at = 0; at < count; at++) if (column.get(at).toLowerCase().includes(word)) found[at] = 1;
      return;
    }
    for (let at = 0, here = text.indexOf(word); here >= 0; here = text.indexOf(word, column.ends[at - 1])) {
      while (column.ends[at] <= here) at++;
      found[at++] = 1;
      if (at >= count) break;
    }
  }

  // A test for each filter that is set.
  function tests() {
    const wanted = [];
    let word = readable(search.value.trim()).toLowerCase();
    // Rows have the path alone: what stands before it may be the end of the scheme and host.
    const path = word.indexOf("/", word.indexOf("//") + 2);
    if (path > 0 && home.toLowerCase().endsWith(word.slice(0, path))) word = word.slice(path);
    if (word) {
      const found = new Uint8Array(count);
      mark(names, word, found);
      if (titles.text) mark(titles, word, found);
      wanted.push((at) => found[at]);
    }
    if (sections.value) {
      const name = sections.value;
      const inside = data.sections.map((one) => (name === "/" ? one === name : one.startsWith(name)));
      wanted.push((at) => inside[sectionOf[at]]);
    }
    const part = readable(sitemap.value.trim()).toLowerCase();
    if (part) {
      const all = sitemapNames.map((name) => name.toLowerCase());
      const exact = all.includes(part);
      const chosen = all.map((name) => (exact ? name === part : whole(name).includes(part)));
      wanted.push((at) => chosen[sitemapOf[at]]);
    }
    if (from.value || to.value) {
      const last = to.value ? `${to.value}~` : "~"; // which follows the hours of a day
      const first = from.value || "0";
      wanted.push((at) => {
        const date = dates.get(at) || newsDates.get(at);
        return date >= first && date <= last;
      });
    }
    if (finding.value) {
      const code = finding.value;
      const fits = data.codeSets.map((set) => {
        if (code === "any" || code === "none") return (set.length > 0) === (code === "any");
        return set.includes(code);
      });
      wanted.push((at) => fits[codes[at]]);
    }
    return wanted;
  }

  // Order ------------------------------------------------------------------------------------------

  let sortedBy = null;
  let direction = 1;
  const orders = new Map();
  const inOrder = Uint32Array.from({ length: count }, (_, at) => at);

  // Row numbers in the order of a column; what is empty comes last, whichever the direction.
  function orderOf(column) {
    const key = `${column.name} ${direction}`;
    if (orders.has(key)) return orders.get(key);
    const values = Array.from({ length: count }, (_, at) => (column.value ?? column.text)(at));
    const distinct = [...new Set(values)].filter(Boolean);
    if (column.value) distinct.sort((one, other) => one - other);
    else distinct.sort();
    if (direction < 0) distinct.reverse();
    const rank = new Map(distinct.map((value, at) => [value, at]));
    const ranks = Uint32Array.from(values, (value) => rank.get(value) ?? distinct.length);
    const starts = new Uint32Array(distinct.length + 2);
    for (const one of ranks) starts[one + 1]++;
    for (let at = 1; at < starts.length; at++) starts[at] += starts[at - 1];
    const order = new Uint32Array(count);
    for (let at = 0; at < count; at++) order[starts[ranks[at]]++] = at;
    orders.set(key, order);
    return order;
  }

  // The table --------------------------------------------------------------------------------------

  const region = element("div", "scroll");
  region.id = "pages-table";
  region.tabIndex = 0;
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", "Table: Pages");
  const room = element("div", "room");
  const table = element("table", "sortable");
  table.setAttribute("role", "table");
  table.append(element("caption", "", "Pages"));
  const head = table.createTHead();
  const body = table.createTBody();
  const titlesRow = head.insertRow();
  for (const part of [head, body]) part.setAttribute("role", "rowgroup");
  titlesRow.setAttribute("role", "row");
  const classOf = (column) => `at-${column.name.replace(".", "_")}${column.value ? " number" : ""}`;
  // On a phone all rows are as high as the one with most lines.
  const isLong = (end, at) => end - (at ? names.ends[at - 1] + 1 : 0) > ONE_LINE;
  const hasDetails = Boolean(data.dates || images.length || codes.length);
  table.style.setProperty("--url-lines", names.ends.some(isLong) ? 2 : 1);
  table.style.setProperty("--lines", hasDetails + (Boolean(titles.text) || data.sitemaps.length > 1));
  table.style.setProperty("--width", `${columns.reduce((sum, one) => sum + (one.width ?? URL_WIDTH), 0)}rem`);
  table.classList.toggle("one-sitemap", data.sitemaps.length < 2);
  for (const column of columns) {
    const cell = element("th", classOf(column), column.title);
    cell.style.setProperty("--width", column.width ? `${column.width}rem` : "auto");
    cell.scope = "col";
    cell.setAttribute("role", "columnheader");
    titlesRow.append(cell);
    makeSortable(cell, (wanted) => {
      [sortedBy, direction] = [column, wanted];
      update();
    });
  }
  room.append(table);
  region.append(room);
  place.append(tools, region);

  let rows = inOrder; // what is filtered, in order
  const made = []; // elements of rows; each is used for every so many-th row, and so keeps the focus
  let height = 0;

  function urlCell(at) {
    const path = urls.get(at);
    const url = element("bdi", "url");
    url.dir = "ltr";
    const full = whole(path);
    const inside = link(full, "");
    if (inside instanceof Text) {
      url.append(readable(full));
    } else {
      // Not seen, but copied.
      if (full !== path) inside.append(element("span", "origin", home));
      inside.append(names.get(at));
      url.append(inside);
    }
    return url;
  }

  function codeCell(at) {
    const list = element("span");
    for (const code of codesOf(at)) {
      const isExplained = document.getElementById(`rule-${code}`);
      const chip = element(isExplained ? "a" : "span", "chip warn", code);
      if (isExplained) chip.href = `#rule-${code}`;
      list.append(chip, " ");
    }
    return list;
  }

  function fill(row, index) {
    const at = rows[index];
    if (row.shown === at && row.index === index) return;
    row.shown = at;
    row.index = index;
    row.setAttribute("aria-rowindex", index + 2);
    columns.forEach((column, number) => {
      const text = column.text(at);
      const inside = column.name === "url" ? urlCell(at) : column.name === "findings" ? codeCell(at) : element("span", "", text || "–");
      inside.title = column.full ? column.full(at) : text;
      row.cells[number].replaceChildren(inside);
      row.cells[number].classList.toggle("empty", !text);
    });
  }

  function newRow() {
    const row = element("tr");
    row.setAttribute("role", "row");
    for (const column of columns) {
      const cell = element("td", classOf(column));
      cell.setAttribute("role", "cell");
      cell.dataset.head = column.title;
      row.append(cell);
    }
    return row;
  }

  // Draw the rows in sight. More rows than there are pixels to scroll are gone through in steps.
  function draw() {
    if (!height) {
      body.replaceChildren(newRow());
      if (rows.length) fill(body.rows[0], 0);
      height = body.rows[0].getBoundingClientRect().height || 1;
      made.length = 0;
    }
    const needed = rows.length * height;
    const above = table.caption.offsetHeight + head.offsetHeight;
    const inner = Math.min(needed, HIGHEST);
    // As high as all rows, whichever are found: what is below the table stays where it is.
    region.style.height = `${count * height + above + region.offsetHeight - region.clientHeight}px`;
    room.style.height = `${inner + above}px`;
    const seen = Math.ceil(region.clientHeight / height);
    const longest = Math.max(1, inner + above - region.clientHeight);
    const share = needed > inner ? Math.min(1, region.scrollTop / longest) : 0;
    const top = needed > inner ? Math.round(share * (rows.length - seen + 2)) : Math.floor(region.scrollTop / height);
    const first = Math.max(0, top - EXTRA);
    const last = Math.min(rows.length, top + seen + EXTRA);
    while (made.length < seen + 2 * EXTRA) made.push(newRow());
    const shown = [];
    for (let index = first; index < last; index++) {
      const row = made[index % made.length];
      fill(row, index);
      shown.push(row);
    }
    const same = shown.length === body.rows.length && shown.every((row, at) => body.rows[at] === row);
    if (!same) arrange(shown);
    const offset = needed > inner ? region.scrollTop - (top - first) * height : first * height;
    table.style.marginTop = `${Math.max(0, Math.min(offset, inner - shown.length * height))}px`;
  }

  // Put rows into order; those that stay are not moved, for a moved element loses the focus.
  function arrange(shown) {
    const staying = new Set(shown);
    for (const row of [...body.rows]) if (!staying.has(row)) row.remove();
    const focused = document.activeElement?.closest("tr");
    const pivot = Math.max(0, shown.indexOf(focused));
    if (shown.length && shown[pivot].parentElement !== body) body.append(shown[pivot]);
    for (const row of shown.slice(0, pivot)) body.insertBefore(row, shown[pivot]);
    for (const row of shown.slice(pivot + 1)) body.append(row);
  }

  function update() {
    const wanted = tests();
    const order = sortedBy ? orderOf(sortedBy) : inOrder;
    rows = wanted.length ? order.filter((at) => wanted.every((test) => test(at))) : order;
    table.setAttribute("aria-rowcount", rows.length + 1);
    matches.textContent = wanted.length
      ? `${number.format(rows.length)} of ${number.format(count)} found`
      : `${number.format(count)} ${count === 1 ? "page" : "pages"}`;
    region.scrollTop = 0;
    for (const row of made) row.shown = -1;
    draw();
  }

  // Export -----------------------------------------------------------------------------------------

  function quoted(text) {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // else spreadsheets calculate it
    return `"${safe.replaceAll('"', '""')}"`;
  }
  function csv() {
    const head = columns.map((column) => column.name).join(",");
    const value = (column, at) => String((column.full ?? column.value ?? column.text)(at));
    const written = Array.from(rows, (at) => columns.map((column) => quoted(value(column, at))).join(","));
    return [head, ...written, ""].join("\r\n");
  }
  save.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    const download = Object.assign(element("a"), { href: url, download: "pages.csv" });
    download.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });

  const fields = [search, sections, sitemap, from, to, finding];
  reset.addEventListener("click", () => {
    for (const one of fields) one.value = "";
    update();
  });
  let waiting = 0;
  for (const one of fields) {
    one.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(update, one.type === "search" ? 80 : 0);
    });
  }
  // Another part of the report asks for the pages of a section.
  document.addEventListener("show-section", (event) => {
    for (const one of fields) one.value = "";
    sections.value = event.detail;
    update();
    document.getElementById("pages").scrollIntoView();
    sections.focus({ preventScroll: true });
  });
  region.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  new ResizeObserver(() => {
    height = 0;
    for (const row of made) row.shown = -1;
    draw();
  }).observe(place);
  update();
  place.dataset.ready = "yes";
  setTimeout(() => [names, titles].forEach(lower)); // before the first search needs it
})();
