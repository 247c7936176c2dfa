"use strict";
// The theme of the page, its table of contents, and its charts.
(() => {
  const root = document.documentElement;
  const number = new Intl.NumberFormat("en-US");
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
    columns: (chart) => ({
      grid: { left: 8, right: 12, top: 12, bottom: 4, containLabel: true },
      tooltip: tooltip((all) => `${all[0].name}: ${number.format(all[0].value)}`, "axis"),
      xAxis: nameAxis(chart.labels, { hideOverlap: true }),
      yAxis: valueAxis(short, true),
      series: [{
        type: "bar",
        data: chart.values,
        barMaxWidth: 40,
        barCategoryGap: "18%",
        itemStyle: { color: color("bar"), borderRadius: [3, 3, 0, 0] },
      }],
    }),
    waterfall: (chart) => ({
      grid: { left: 8, right: 64, top: 4, bottom: 4, containLabel: true },
      tooltip: tooltip((all) => `${all[0].name}: ${chart.texts[all[0].dataIndex]}`, "axis"),
      xAxis: valueAxis(seconds),
      yAxis: nameAxis(chart.labels, { width: Math.min(360, innerWidth * 0.4), overflow: "truncate", interval: 0, fontSize: 11 }),
      series: [
        { type: "bar", stack: "time", silent: true, data: chart.begin, itemStyle: { color: "transparent" } },
        {
          type: "bar", stack: "time", barMaxWidth: 16, barMinHeight: 2,
          data: chart.seconds.map((value, at) => ({
            value,
            itemStyle: { color: color(chart.color[at]), borderRadius: 3 },
          })),
          label: {
            show: true, position: "right", color: color("soft"), fontSize: 11,
            formatter: (bar) => chart.texts[bar.dataIndex],
          },
        },
      ],
    }),
    treemap: (chart) => ({
      tooltip: tooltip((box) => `${box.treePathInfo.slice(1).map((part) => part.name).join("  ")}: ${number.format(box.value)}`, "item"),
      color: [1, 2, 3, 4, 5, 6, 7, 8].map((at) => color(`c${at}`)),
      series: [{
        type: "treemap",
        data: chart.data,
        left: 0, right: 0, top: 0, bottom: 34,
        roam: false,
        breadcrumb: {
          bottom: 2,
          itemStyle: { color: color("chip"), textStyle: { color: color("ink") }, borderColor: color("card") },
          emphasis: { itemStyle: { color: color("hover"), textStyle: { color: color("ink") } } },
        },
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

  const height = (chart) => {
    const rows = chart.labels?.length ?? 0;
    if (chart.type === "bars") return rows * 27 + 16;
    return chart.type === "waterfall" ? rows * 21 + 44 : null;
  };

  function draw() {
    for (const old of drawn.splice(0)) old.dispose();
    for (const [name, chart] of Object.entries(data)) {
      const place = document.getElementById(`chart-${name}`);
      if (!place) continue;
      const high = height(chart);
      if (high) place.style.height = `${high}px`;
      const options = { ...base, textStyle, ...kinds[chart.type](chart) };
      if (options.yAxis?.type === "category") options.yAxis.inverse = true;
      const picture = window.charts.init(place, null, { renderer: "svg" });
      picture.setOption(options);
      drawn.push(picture);
    }
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
