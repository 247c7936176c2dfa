"use strict";
// The tree of sitemaps: decompressed once, and drawn as far as it is expanded.
(async () => {
  const FIRST = 40; // siblings that are shown at first
  const STEP = 200; // and with each click on more
  const UNFOLDED = 300; // rows that a search expands
  const place = document.getElementById("rows");
  const search = document.getElementById("search");
  const damaged = document.getElementById("damaged");
  const order = document.getElementById("order");
  const matches = document.getElementById("matches");

  if (typeof DecompressionStream === "undefined") {
    place.textContent = "This browser is too old to show the tree.";
    return;
  }

  const tree = await decompress("tree-data");
  const count = tree.parent.length;
  const urls = tree.url;
  const below = Array.from({ length: count }, () => []);
  for (let at = 0; at < count; at++) {
    if (tree.parent[at] >= 0) below[tree.parent[at]].push(at);
  }
  const home = tree.origin ? `${tree.origin}/` : "\n";
  const total = count - tree.website + tree.leftOut.reduce((sum, n) => sum + n, 0);
  const isWebsite = (at) => at === 0 && tree.website;
  const names = urls.map(readable);
  const shown = (at) => (isWebsite(at) || !names[at].startsWith(home) ? names[at] : names[at].slice(home.length - 1));
  const lower = names.map((name) => name.toLowerCase());
  const all = matches.textContent;
  let kept = null; // rows that a search keeps: 1 for an ancestor of a match, 2 for a match
  let word = "";

  // Siblings are in the order of the document, or of these numbers, the largest first.
  const ORDERS = {
    pages: (at) => tree.pages[at],
    size: (at) => measured(tree.size[at]) ?? -1,
    last: (at) => tree.last[at],
    findings: (at) => Number(tree.findings[at].split(" ")[0].replaceAll(",", "")),
  };
  function children(at) {
    const key = ORDERS[order.value];
    const rows = kept ? below[at].filter((child) => kept[child]) : below[at];
    return key ? [...rows].sort((one, other) => (key(one) < key(other)) - (key(one) > key(other))) : rows;
  }

  function address(at) {
    const url = element("bdi", "url");
    url.dir = "ltr";
    url.title = urls[at];
    const path = shown(at);
    // A match in the hidden part shows that part again.
    const text = word && lower[at].includes(word) && !path.toLowerCase().includes(word) ? names[at] : path;
    const found = word ? text.toLowerCase().indexOf(word) : -1;
    let inside = link(urls[at], "");
    if (inside instanceof Text) inside = url;
    else url.append(inside);
    if (found < 0) {
      inside.append(text);
    } else {
      const end = found + word.length;
      inside.append(text.slice(0, found), element("mark", "", text.slice(found, end)), text.slice(end));
    }
    return url;
  }

  function item(at) {
    const li = element("li");
    const row = element("div", "row");
    const name = element("div", "name");
    if (children(at).length || tree.leftOut[at]) {
      const toggle = element("button", "toggle");
      toggle.type = "button";
      toggle.setAttribute("aria-expanded", "false");
      toggle.setAttribute("aria-label", `Sitemaps below ${urls[at]}`);
      toggle.addEventListener("click", () => fold(li, at, toggle));
      name.append(toggle);
    } else {
      name.append(element("span", "leaf"));
    }
    name.append(address(at));
    const kind = tree.kinds[tree.kind[at]];
    const state = tree.states[tree.state[at]];
    const unread = kind === undefined && state;
    if (!unread) name.append(element("span", "chip", kind ?? "sitemap"));
    if (tree.below[at]) name.append(element("span", "chip", tree.below[at]));
    if (tree.findings[at]) name.append(element("span", "chip warn", tree.findings[at]));
    if (state) name.append(element("span", state === "not followed" ? "chip" : "chip bad", state));
    const [first, last] = [tree.first[at], tree.last[at]];
    const pages = element("span", "pages", unread ? "–" : number.format(tree.pages[at]));
    if (!unread) pages.dataset.noun = tree.pages[at] === 1 ? "page" : "pages";
    row.append(
      name,
      pages,
      element("span", "size", tree.size[at]),
      element("span", "span", first === last ? first : `${first} – ${last}`),
    );
    li.append(row);
    if (tree.reason[at]) {
      const mild = state === "not followed" ? "reason mild" : "reason";
      li.append(element("div", mild, tree.reasons[tree.reason[at] - 1]));
    }
    return li;
  }

  function fold(li, at, toggle) {
    const open = toggle.getAttribute("aria-expanded") === "true";
    toggle.setAttribute("aria-expanded", String(!open));
    if (open) li.querySelector(":scope > ul").remove();
    else li.append(list(children(at), tree.leftOut[at]));
  }

  function list(rows, leftOut) {
    const ul = element("ul");
    let shown = 0;
    const more = (step) => {
      for (const at of rows.slice(shown, shown + step)) ul.append(item(at));
      shown += step;
      if (shown < rows.length) {
        const li = element("li");
        const button = element("button", "more-rows", `… ${number.format(rows.length - shown)} more`);
        button.type = "button";
        button.addEventListener("click", () => {
          const before = li.previousElementSibling;
          li.remove();
          more(STEP);
          before.nextElementSibling?.querySelector("a, button")?.focus();
        });
        li.append(button);
        ul.append(li);
      } else if (leftOut && !kept) {
        ul.append(element("li", "left-out", `… ${number.format(leftOut)} more, left out to limit the size of this file`));
      }
    };
    more(FIRST);
    return ul;
  }

  function unfold(most) {
    const waiting = [...place.querySelectorAll(":scope > ul > li")];
    let rows = waiting.length;
    while (waiting.length && rows < most) {
      const li = waiting.shift();
      const toggle = li.querySelector(":scope > .row .toggle");
      if (!toggle) continue;
      toggle.click();
      const inner = [...li.querySelectorAll(":scope > ul > li")];
      rows += inner.length;
      waiting.push(...inner);
    }
  }

  function draw() {
    word = readable(search.value.trim()).toLowerCase();
    const filtered = word || damaged.checked;
    kept = filtered ? new Uint8Array(count) : null;
    let found = 0;
    for (let at = 0; filtered && at < count; at++) {
      if (word && !lower[at].includes(word)) continue;
      if (isWebsite(at)) continue;
      if (damaged.checked && !tree.findings[at] && !tree.state[at]) continue;
      found += 1;
      kept[at] = 2;
      for (let up = tree.parent[at]; up >= 0 && !kept[up]; up = tree.parent[up]) kept[up] = 1;
    }
    matches.textContent = filtered
      ? `${number.format(found)} of ${number.format(total)} found`
      : all;
    place.replaceChildren();
    if (filtered && !found) return;
    place.append(list([0], 0));
    if (filtered) unfold(UNFOLDED);
    else unfold(Math.min(30, count));
  }

  place.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const toggles = [...place.querySelectorAll("button, a")];
    const at = toggles.indexOf(document.activeElement);
    if (step && at >= 0) {
      event.preventDefault();
      toggles[at + step]?.focus();
    }
    const opened = document.activeElement.getAttribute("aria-expanded");
    if ((event.key === "ArrowRight" && opened === "false") || (event.key === "ArrowLeft" && opened === "true")) {
      event.preventDefault();
      document.activeElement.click();
    }
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 80);
  });
  damaged.addEventListener("change", draw);
  order.addEventListener("change", draw);
  draw();
  place.dataset.ready = "yes";
})();
