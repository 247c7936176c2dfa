"use strict";
// What the other scripts share: elements, numbers, embedded data, heads that sort.
const number = new Intl.NumberFormat("en-US");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Text of a script element: base64 of gzipped JSON.
async function decompress(id) {
  const text = document.getElementById(id).textContent;
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const decoded = atob(text);
    bytes = new Uint8Array(decoded.length);
    for (let at = 0; at < decoded.length; at++) bytes[at] = decoded.charCodeAt(at);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// A URL, or lines of them, as browsers show it: letters beyond ASCII instead of their escapes.
function readable(text) {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[89a-f][0-9a-f])+/gi, (escaped) => {
    try {
      const letters = decodeURIComponent(escaped);
      return /[\p{C}\p{Z}]/u.test(letters) ? escaped : letters;
    } catch {
      return escaped;
    }
  });
}

// What a website wrote is a link only if it is on the web and was not shortened.
function link(url, shown = url) {
  if (!/^https?:\/\//.test(url) || url.includes("…")) return document.createTextNode(shown);
  const made = element("a", "", shown);
  made.href = url;
  made.rel = "noopener noreferrer";
  return made;
}

// The number in a text: a count, a size or a time such as "2 min 5 s"; null for nothing, else the text.
const UNITS = {
  ms: 0.001, s: 1, min: 60, h: 3600, "%": 1,
  B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
};
const PART = /([\d,]+(?:\.\d+)?) ?(ms|s|min|h|%|B|KiB|MiB|GiB|TiB)?(?:\s|$)/g;
function measured(text) {
  if (text === "" || text === "–") return null;
  if (text.replace(PART, "") !== "") return text;
  let sum = 0;
  for (const [, value, unit] of text.matchAll(PART)) sum += Number(value.replaceAll(",", "")) * (UNITS[unit] ?? 1);
  return sum;
}

// Make the head of a column a button; `sort` gets 1 for ascending and -1 for descending order.
function makeSortable(head, sort) {
  const button = element("button", "", head.textContent);
  button.type = "button";
  button.addEventListener("click", () => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    sort(direction);
  });
  head.replaceChildren(button);
}
