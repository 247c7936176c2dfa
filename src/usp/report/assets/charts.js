"use strict";
// The theme of the page, its table of contents, and its charts.
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("charts-data").textContent);
  const drawn = [];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const state = document.getElementById("theme-state");
  const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // For axes, whose steps are not known in advance; all other numbers come formatted.
  const seconds = (value) => `${number.format(value)} s`;
  const short = (value) =>
    value >= 1e6 ? `${number.format(value / 1e6)}M` : value >= 1e4 ? `${number.format(value / 1e3)}k` : number.format(value);

  const axisText = () => ({ color: color("soft"), fontSize: 12 });
  const valueAxis = (format, whole) => ({
    type: "value",
    axisLabel: { ...axisText(), formatter: format, hideOverlap: true },
    splitLine: { lineStyle: { color: color("line") } },
    splitNumber: 4,
    minInterval: whole ? 1 : 0,
  });
  const nameAxis = (labels, more) => ({
    type: "category",
    data: labels,
    axisLabel: { ...axisText(), ...more },
    axisLine: { lineStyle: { color: color("line") } },
    axisTick: { show: false },
  });
  // Rich text is drawn, not parsed as HTML: what a website wrote stays text.
  const tooltip = (formatter, trigger) => ({
    trigger,
    renderMode: "richText",
    axisPointer: { type: "shadow", shadowStyle: { color: color("soft"), opacity: 0.12 } },
    backgroundColor: color("card"),
    borderColor: color("line"),
    textStyle: { color: color("ink") },
    formatter,
  });
  const base = { animation: !still, animationDuration: 500, aria: { enabled: false } };
  const textStyle = { fontFamily: "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif" };

  const kinds = {
    bars: (chart) => ({
      grid: { left: 8, right: 64, top: 4, bottom: 4, containLabel: true },
      tooltip: tooltip((all) => `${all[0].name}: ${number.format(all[0].value)}`, "axis"),
      xAxis: { ...valueAxis(short), axisLabel: { show: false }, splitLine: { show: false } },
      yAxis: nameAxis(chart.labels, { width: 150, overflow: "truncate", interval: 0 }),
      series: [{
        type: "bar",
        data: chart.values,
        barMaxWidth: 22,
        itemStyle: { color: color("bar"), borderRadius: [0, 4, 4, 0] },
        label: {
          show: true, position: "right", color: color("soft"),
          formatter: (bar) => number.format(bar.value),
        },
      }],
    }),
    columns: (chart) => {
      const series = chart.series ?? [{ name: "", values: chart.values, color: "bar" }];
      const said = (all) => all.map((one) => `${one.seriesName || one.name}: ${number.format(one.value)}`);
      return {
        grid: { left: 8, right: 12, top: 12, bottom: 4, containLabel: true },
        tooltip: tooltip((all) => [...(chart.series ? [all[0].name] : []), ...said(all)].join("\n"), "axis"),
        xAxis: nameAxis(chart.labels, { hideOverlap: true }),
        yAxis: valueAxis(short, true),
        series: series.map((one) => ({
          type: "bar",
          stack: "all",
          name: one.name,
          data: one.values,
          barMaxWidth: 40,
          barCategoryGap: "18%",
          itemStyle: { color: color(one.color), borderRadius: chart.series ? 0 : [3, 3, 0, 0] },
        })),
      };
    },
    // Every attempt is a bar; what lies between them is a bar that is not seen.
    waterfall: (chart) => {
      const rows = chart.seconds.map((took, at) => [...chart.earlier[at], [chart.begin[at], took]]);
      const most = Math.max(...rows.map((attempts) => attempts.length));
      const gap = (attempts, at) => attempts[at][0] - (at ? attempts[at - 1][0] + attempts[at - 1][1] : 0);
      const bar = (attempts, row, at) => ({
        value: attempts[at][1],
        label: { show: at === attempts.length - 1 },
        itemStyle: { color: color(chart.color[row]), opacity: at < attempts.length - 1 ? 0.45 : 1, borderRadius: 3 },
      });
      const said = (row) => {
        const before = rows[row].length - 1;
        const more = before ? ` in attempt ${before + 1}, ${number.format(rows[row][before][0] - rows[row][0][0])} s after the first` : "";
        return `${chart.labels[row]}: ${chart.texts[row]}${more}`;
      };
      return {
        grid: { left: 8, right: 64, top: 4, bottom: 4, containLabel: true },
        tooltip: tooltip((all) => said(all[0].dataIndex), "axis"),
        xAxis: valueAxis(seconds),
        yAxis: nameAxis(chart.labels, { width: Math.min(360, innerWidth * 0.4), overflow: "truncate", interval: 0, fontSize: 11 }),
        series: Array.from({ length: most }, (_, at) => [
          {
            type: "bar", stack: "time", silent: true, itemStyle: { color: "transparent" },
            data: rows.map((attempts) => (at < attempts.length ? Math.max(0, gap(attempts, at)) : null)),
          },
          {
            type: "bar", stack: "time", barMaxWidth: 16, barMinHeight: 2,
            data: rows.map((attempts, row) => (at < attempts.length ? bar(attempts, row, at) : null)),
            label: { position: "right", color: color("soft"), fontSize: 11, formatter: (one) => chart.texts[one.dataIndex] },
          },
        ]).flat(),
      };
    },
    treemap: (chart, boxes) => ({
      // The space between boxes belongs to the chart itself.
      tooltip: tooltip((box) => box.treePathInfo.length > 1 && `${box.treePathInfo.slice(1).map((part) => part.name).join("  ")}: ${number.format(box.value)}`, "item"),
      color: [1, 2, 3, 4, 5, 6, 7, 8].map((at) => color(`c${at}`)),
      series: [{
        type: "treemap",
        data: boxes,
        left: 0, right: 0, top: 0, bottom: 0,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        label: { formatter: (box) => `${box.name}\n${number.format(box.value)}`, color: "#fff", overflow: "truncate", lineHeight: 17 },
        upperLabel: { show: true, height: 24, color: color("ink"), fontWeight: 600, formatter: (box) => `${box.name}   ${number.format(box.value)}` },
        itemStyle: { borderColor: color("card"), borderWidth: 0, gapWidth: 2 },
        levels: [
          { itemStyle: { gapWidth: 4 }, upperLabel: { show: false } },
          { itemStyle: { gapWidth: 2, borderWidth: 0 } },
          { colorAlpha: [0.78, 0.9] },
        ],
        name: "all",
      }],
    }),
  };

  // A treemap shows all sections or, after a click, what is inside one of them; a path above it says
  // which, and leads back.
  const opened = {}; // names of sections by the name of the chart
  function boxesOf(name, chart) {
    const section = chart.data.find((one) => one.name === opened[name]);
    return section ? section.children ?? [section] : chart.data;
  }
  function drawPath(name, chart, place) {
    const path = element("nav", "crumbs");
    path.setAttribute("aria-label", `Shown in the chart ${place.getAttribute("aria-label")}`);
    const step = (text, section) => {
      const button = element("button", "", text);
      button.type = "button";
      if (section === opened[name]) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => open(name, section));
      path.append(button);
    };
    step("All sections", undefined);
    if (opened[name]) {
      step(opened[name], opened[name]);
      if (opened[name].startsWith("/") && document.getElementById("pages-place")) {
        const pages = element("button", "chip", "show its pages");
        pages.type = "button";
        pages.addEventListener("click", () => {
          document.dispatchEvent(new CustomEvent("show-section", { detail: opened[name] }));
        });
        path.append(pages);
      }
    }
    const old = place.parentElement.querySelector(".crumbs");
    const hadFocus = old?.contains(document.activeElement);
    old?.remove();
    place.before(path);
    if (hadFocus) path.querySelector("[aria-current]").focus();
  }
  function open(name, section) {
    opened[name] = section;
    draw();
  }

  const height = (chart) => {
    const rows = chart.labels?.length ?? 0;
    if (chart.type === "bars") return rows * 27 + 16;
    return chart.type === "waterfall" ? rows * 21 + 44 : null;
  };

  function draw() {
    for (const old of drawn.splice(0)) old.dispose();
    const places = Object.keys(data).map((name) => document.getElementById(`chart-${name}`));
    // All heights first: charts that stand side by side stretch each other.
    Object.values(data).forEach((chart, at) => {
      const high = height(chart);
      if (high) places[at].style.minHeight = places[at].style.height = `${high}px`;
    });
    Object.entries(data).forEach(([name, chart], at) => {
      const place = places[at];
      const isTreemap = chart.type === "treemap";
      if (isTreemap) drawPath(name, chart, place);
      const options = { ...base, textStyle, ...kinds[chart.type](chart, isTreemap && boxesOf(name, chart)) };
      if (options.yAxis?.type === "category") options.yAxis.inverse = true;
      const picture = window.charts.init(place, null, { renderer: "svg" });
      picture.setOption(options);
      if (isTreemap) {
        picture.on("click", (box) => {
          const section = opened[name] ?? box.treePathInfo[1]?.name;
          if (section !== opened[name]) open(name, section);
        });
      }
      drawn.push(picture);
    });
  }

  function show(theme) {
    root.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    state.textContent = theme === "dark" ? "on" : "off";
    draw();
  }

  let chosen = null;
  const wanted = () => chosen ?? (dark.matches ? "dark" : "light");
  button.addEventListener("click", () => {
    chosen = wanted() === "dark" ? "light" : "dark";
    show(chosen);
  });
  dark.addEventListener("change", () => show(wanted()));
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(wanted()));
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawn.forEach((picture) => picture.resize()), 100);
  });

  const contents = document.getElementById("contents");
  for (const title of document.querySelectorAll("main h2")) {
    const link = document.createElement("a");
    link.href = `#${title.parentElement.id}`;
    link.textContent = title.textContent;
    contents.append(link);
  }
  show(wanted());
})();
