"use strict";
// The tree of sitemaps: unpacked once, and drawn as far as somebody looks.
(async () => {
  const FIRST = 40; // siblings that are shown at once
  const STEP = 200; // and when more are wanted
  const UNFOLDED = 300; // rows that a search unfolds by itself
  const number = new Intl.NumberFormat("en-US");
  const place = document.getElementById("rows");
  const search = document.getElementById("search");
  const damaged = document.getElementById("damaged");
  const matches = document.getElementById("matches");

  if (typeof DecompressionStream === "undefined") {
    place.textContent = "This browser is too old to show the tree.";
    return;
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const tree = await unpack(document.getElementById("tree-data").textContent);
  const count = tree.parent.length;
  const urls = tree.url;
  const below = Array.from({ length: count }, () => []);
  for (let at = 0; at < count; at++) {
    if (tree.parent[at] >= 0) below[tree.parent[at]].push(at);
  }
  const home = /^https?:\/\/[^/]*\/|$/.exec(urls[0])[0] || "\n";
  const lower = urls.map((url) => url.toLowerCase());
  let kept = null; // which rows a search leaves: 1 for what is above a match, 2 for a match
  let word = "";

  const children = (at) => (kept ? below[at].filter((child) => kept[child]) : below[at]);

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function address(at) {
    const url = element("bdi", "url");
    url.dir = "ltr";
    url.title = urls[at];
    const found = word ? lower[at].indexOf(word) : -1;
    let inside = url;
    if (/^https?:\/\//.test(urls[at]) && !urls[at].includes("…")) {
      inside = element("a");
      inside.href = urls[at];
      inside.rel = "noreferrer noopener";
      url.append(inside);
    }
    if (found < 0) {
      const origin = at && urls[at].startsWith(home) ? home.length - 1 : 0;
      inside.append(element("span", "origin", urls[at].slice(0, origin)), urls[at].slice(origin));
    } else {
      const end = found + word.length;
      inside.append(urls[at].slice(0, found), element("mark", "", urls[at].slice(found, end)), urls[at].slice(end));
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
    const kind = tree.kinds[tree.kind[at]] ?? "sitemap";
    name.append(element("span", kind === "missing" ? "chip bad" : "chip", kind));
    if (tree.below[at]) name.append(element("span", "chip", `${number.format(tree.below[at])} below`));
    if (tree.problems[at]) {
      name.append(element("span", "chip warn", `${number.format(tree.problems[at])} problem${tree.problems[at] > 1 ? "s" : ""}`));
    }
    if (tree.failure[at] && kind !== "missing") name.append(element("span", "chip bad", "not whole"));
    const [first, last] = [tree.first[at], tree.last[at]];
    row.append(
      name,
      element("span", "pages", kind === "missing" ? "–" : number.format(tree.pages[at])),
      element("span", "size", tree.size[at]),
      element("span", "span", first === last ? first : `${first} – ${last}`),
    );
    li.append(row);
    if (tree.failure[at]) li.append(element("div", "reason", tree.reasons[tree.failure[at] - 1]));
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
        ul.append(element("li", "left-out", `… ${number.format(leftOut)} more, for which there was no room in this file`));
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
    word = search.value.trim().toLowerCase();
    const filtered = word || damaged.checked;
    kept = filtered ? new Uint8Array(count) : null;
    let found = 0;
    for (let at = 0; filtered && at < count; at++) {
      if (word && !lower[at].includes(word)) continue;
      if (damaged.checked && !tree.problems[at] && !tree.failure[at]) continue;
      found += 1;
      kept[at] = 2;
      for (let up = tree.parent[at]; up >= 0 && !kept[up]; up = tree.parent[up]) kept[up] = 1;
    }
    matches.textContent = filtered
      ? `${number.format(found)} of ${number.format(count)} found`
      : `${number.format(count + tree.leftOut.reduce((sum, n) => sum + n, 0))} in the tree`;
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
  draw();
  place.dataset.ready = "yes";
})();
