// What keeps people who do not see or point from using a page: gives a list of complaints.
(() => {
  const complaints = [];
  const say = (rule, element) => complaints.push(`${rule}: ${element.outerHTML.slice(0, 140)}`);
  const visible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  const name = (element) => {
    const labels = (element.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
    const said = labels.map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
    const copy = element.cloneNode(true);
    copy.querySelectorAll("[aria-hidden=true]").forEach((hidden) => hidden.remove());
    return (said || element.getAttribute("aria-label") || element.labels?.[0]?.textContent || copy.textContent).trim();
  };

  // Everything that takes the focus, and every landmark, picture and region, has a name.
  const named = "a[href], button, input, summary, [tabindex='0'], section, nav, [role=img], [role=region]";
  for (const element of document.querySelectorAll(named)) {
    if (visible(element) && !name(element)) say("without a name", element);
  }
  // Landmarks and tables of one kind can be told apart.
  for (const kind of ["section", "nav"]) {
    const names = [...document.querySelectorAll(kind)].map(name);
    names.forEach((one, at) => names.indexOf(one) === at || complaints.push(`two of one name: ${kind} ${one}`));
  }
  // Ids are unique, and what refers to one finds it.
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  ids.forEach((id, at) => ids.indexOf(id) === at || complaints.push(`id twice: ${id}`));
  for (const link of document.querySelectorAll("a[href^='#']")) {
    if (!document.getElementById(link.hash.slice(1))) say("leads nowhere", link);
  }
  // Headings have one beginning and leave no level out.
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) complaints.push(`headings: ${levels}`);
  levels.forEach((level, at) => level <= (levels[at - 1] ?? 0) + 1 || complaints.push(`headings: ${levels}`));
  // Tables have captions and heads, and remain tables however they are laid out.
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent || table.getAttribute("role") !== "table") say("table", table);
    if (table.querySelector("th:not([scope=col][role=columnheader]), td:not([role=cell]), tr:not([role=row])")) say("cells", table);
  }
  // What scrolls can be reached by keyboard.
  for (const element of document.querySelectorAll("main *")) {
    const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowY) && element.scrollHeight > element.clientHeight + 1;
    if (scrolls && visible(element) && element.tabIndex < 0 && !element.querySelector("a, button")) say("scrolls", element);
  }
  if (!document.documentElement.lang || !document.title) complaints.push("language or title");

  // Text has the contrast of WCAG AA against what is painted behind it.
  const parse = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((under, over) => under.map((value, at) => over[at] * over[3] + value * (1 - over[3])), [255, 255, 255]);
  };
  const luminance = (color) => {
    const [red, green, blue] = color.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest("svg, script, .skip") || !visible(element)) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const [one, two] = [luminance(parse(style.color)), luminance(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (two + 0.05);
    if (contrast < (large ? 3 : 4.5)) say(`contrast ${contrast.toFixed(2)}`, element);
  }
  return complaints;
})()
