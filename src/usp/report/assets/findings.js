"use strict";
// Links to a finding open what is folded around it, in browsers that do not do so themselves.
(() => {
  function open() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let up = target.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    // A link to where one is already changes nothing, and its target may be folded again.
    const link = event.target.closest("a");
    if (link?.hash && link.hash === location.hash) open();
  });
  if (location.hash) open();
})();
