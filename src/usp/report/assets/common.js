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

// What a website wrote is a link only if it is on the web and was not shortened.
function link(url, shown = url) {
  if (!/^https?:\/\//.test(url) || url.includes("…")) return document.createTextNode(shown);
  const made = element("a", "", shown);
  made.href = url;
  made.rel = "noopener noreferrer";
  return made;
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
