"use strict";
// Shows what Python computed: every number on the page is one of the JSON's, written with its digits.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { audit, stops, digits, shown, partitions } = data;
  const byId = (id) => document.getElementById(id);
  const before = audit.figures;
  const state = { stop: stops.length ? startingStop() : null, measure: null, part: 0, kind: null };
  const SYMBOLS = ["circle", "diamond", "square", "triangle-up", "cross", "star", "x", "hexagon"];
  const MOST_GAPS = 40;

  function startingStop() {  // half of the gap is often most of the fairness for little of the price
    const half = stops[0].epsilon / 2;
    let best = 0;
    stops.forEach((one, i) => {
      if (Math.abs(one.epsilon - half) < Math.abs(stops[best].epsilon - half)) best = i;
    });
    return best;
  }

  const written = (value, places) => {
    if (value === null || value === undefined) return "–";
    const text = value.toFixed(places);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
  const figure = (name, value) => written(value, digits[name]);
  const signed = (name, value) => (Number(value.toFixed(digits[name])) > 0 ? "+" : "") + figure(name, value);
  const percent = (value) => `${value > 0 ? "+" : ""}${written(100 * value, 1)} %`;
  const epsilonText = (value) => value === 0 ? "0" : Number(value.toPrecision(3)).toString();
  // plotly reads tags in its texts: names are to be shown as they are
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // ---------------------------------------------------------------- charts
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const groupColor = (q) => style(`--group-${q % 8}`);

  function layout(extra) {
    const axis = { gridcolor: style("--rule"), zerolinecolor: style("--rule"), automargin: true,
      linecolor: style("--rule"), tickfont: { size: 12 }, fixedrange: true };
    const made = {
      font: { family: getComputedStyle(document.body).fontFamily, color: style("--ink"), size: 13 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 50, r: 12, t: 8, b: 40 }, showlegend: false, hovermode: "closest",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { bgcolor: style("--card"), bordercolor: style("--rule"), font: { color: style("--ink") } },
      ...extra,
    };
    made.xaxis = { ...axis, ...(extra.xaxis || {}) };
    made.yaxis = { ...axis, ...(extra.yaxis || {}) };
    return made;
  }

  function draw(id, traces, extra) {
    const place = byId(id);
    if (!place) return place;
    const printing = document.documentElement.classList.contains("printing");
    const made = layout(extra);
    if (printing) {  // at once, as nothing waits for a second pass
      Object.assign(made, { width: place.clientWidth, height: place.clientHeight });
      made.margin = { ...made.margin, t: made.showlegend ? 64 : made.margin.t };
      made.xaxis.tickfont = { size: 9 };
    } else made.autosize = true;
    Plotly.react(place, traces, made, { displayModeBar: false, responsive: true });
    return place;
  }

  function drawPrice() {
    const name = state.measure;
    const xs = stops.map((one) => one.figures[name].value);
    const ys = stops.map((one) => one.figures.error.value);
    const texts = stops.map((one) => `epsilon ${epsilonText(one.epsilon)}`);
    const hover = "%{text}<br>error %{y:.4~g}<br>" + plain(before[name].title) + " %{x:.4~g}<extra></extra>";
    const color = style("--accent");
    const traces = [
      { x: xs, y: ys, text: texts, mode: "lines", line: { color, width: 2 }, hovertemplate: hover },
      { x: xs.filter((_, i) => stops[i].breakpoint), y: ys.filter((_, i) => stops[i].breakpoint),
        text: texts.filter((_, i) => stops[i].breakpoint), mode: "markers", hovertemplate: hover,
        marker: { color, size: 6 } },
      { x: [before[name].value], y: [before.error.value], mode: "markers", name: "audited",
        hovertemplate: "audited predictions<br>error %{y:.4~g}<extra></extra>",
        marker: { symbol: "star", size: 14, color: style("--ink") } },
      { x: [xs[state.stop]], y: [ys[state.stop]], mode: "markers", hoverinfo: "skip",
        marker: { size: 17, color: "rgba(0,0,0,0)", line: { color: style("--group-1"), width: 4 } } },
    ];
    const shapes = [];
    const chance = stops[state.stop].figures[name].chance;
    if (chance) shapes.push({ type: "rect", xref: "x", yref: "paper", x0: 0, x1: chance.high, y0: 0, y1: 1,
      fillcolor: style("--band"), opacity: .35, line: { width: 0 }, layer: "below" });
    draw("chart-price", traces, { shapes,
      xaxis: { title: { text: plain(before[name].title) }, range: [0, 1.08 * Math.max(before[name].value, ...xs, chance?.high ?? 0) || 1] },
      yaxis: { title: { text: "error" } } });
  }

  function drawChance() {
    const name = state.measure, xs = stops.map((one) => one.epsilon);
    const values = stops.map((one) => one.figures[name].value);
    const traces = [];
    const band = (low, high, color, title) => {
      traces.push({ x: xs, y: high, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false });
      traces.push({ x: xs, y: low, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: color,
        hoverinfo: "skip", name: title });
    };
    if (stops[0].figures[name].chance) {
      const chance = stops.map((one) => one.figures[name].chance);
      band(chance.map(() => 0), chance.map((one) => one.high), faded("--band", .55), "95 % of chance");
      traces.push({ x: xs, y: chance.map((one) => one.mean), mode: "lines", name: "chance, mean",
        line: { color: style("--faint"), dash: "dot", width: 1.5 }, hoverinfo: "skip" });
    }
    if (stops[0].figures[name].interval) {
      const ranges = stops.map((one) => one.figures[name].interval);
      band(ranges.map((one) => one[0]), ranges.map((one) => one[one.length - 1]), faded("--accent", .18), "interval");
    }
    traces.push({ x: xs, y: values, mode: "lines", line: { color: style("--accent"), width: 2.5 },
      name: plain(before[name].title), hovertemplate: "epsilon %{x:.3~g}: %{y:.4~g}<extra></extra>" });
    traces.push({ x: [xs[state.stop]], y: [values[state.stop]], mode: "markers", hoverinfo: "skip",
      showlegend: false, marker: { size: 17, color: "rgba(0,0,0,0)", line: { color: style("--group-1"), width: 4 } } });
    draw("chart-chance", traces, { showlegend: true, margin: { l: 50, r: 12, t: 40, b: 40 },
      xaxis: { title: { text: "epsilon (more fairness →)" }, autorange: "reversed" },
      yaxis: { title: { text: plain(before[name].title) }, rangemode: "tozero" } });
  }

  function faded(name, opacity) {
    const hex = style(name).replace("#", "");
    const [r, g, b] = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  }

  function cellsOf(part) {  // the audited model's cells, as tables (K, Q)
    const { name, groups } = partitions[part];
    const cells = audit.cells.filter((cell) => cell.attribute === name);
    const table = (field) => audit.label_bins.map((_, k) =>
      groups.map((_, q) => cells[k * groups.length + q][field]));
    return { label: table("label"), prediction: table("prediction"), rate: table("rate"),
      interval: table("rate_interval"), count: table("count") };
  }

  const legendMark = (name, symbol, color) => ({ x: [null], y: [null], mode: "markers", name,
    marker: { symbol, size: 11, color, line: { width: symbol === "line-ew" ? 2.5 : 0, color } } });
  const legendOf = (groups, symbol) =>
    groups.map((group, q) => legendMark(plain(shorten(group)), symbol(q), groupColor(q)));

  function binTexts(part) {
    const { groups, counts } = partitions[part];
    const wide = window.innerWidth > 768 && groups.length <= 3;
    return audit.label_bins.map((bin, k) =>
      plain(bin) + (wide ? `<br><span style="font-size:.9em">${counts[k].join(" | ")}</span>` : ""));
  }

  function drawRates() {
    const part = state.part, cells = cellsOf(part), { groups, counts } = partitions[part];
    const now = state.stop === null ? cells.rate : stops[state.stop].rates[part];
    const xs = audit.label_bins.map((_, k) => k);
    const width = .84 / groups.length;
    const traces = [...legendOf(groups, () => "square")];
    if (state.stop !== null) traces.push(legendMark("before", "line-ew", style("--ink")));
    groups.forEach((group, q) => {
      const at = xs.map((k) => k + (q - (groups.length - 1) / 2) * width);
      const error = state.stop === null ? { error_y: { type: "data", symmetric: false, thickness: 1.2, width: 2,
        color: style("--faint"),
        array: xs.map((k) => cells.interval[k][q] ? cells.interval[k][q].at(-1) - cells.rate[k][q] : 0),
        arrayminus: xs.map((k) => cells.interval[k][q] ? cells.rate[k][q] - cells.interval[k][q][0] : 0) } } : {};
      traces.push({ type: "bar", x: at, y: xs.map((k) => now[k][q]), width: width * .92, name: plain(group),
        showlegend: false, customdata: xs.map((k) => counts[k][q]), marker: { color: groupColor(q),
          opacity: xs.map((k) => counts[k][q] < audit.settings.small_cell_size ? .4 : 1) }, ...error,
        hovertemplate: `${plain(group)}: %{y:.3f} of %{customdata} rows<extra></extra>` });
      if (state.stop !== null) traces.push({ x: at, y: xs.map((k) => cells.rate[k][q]), mode: "markers",
        showlegend: false, hovertemplate: "before: %{y:.3f}<extra></extra>", marker: { size: 1, color: style("--ink") },
        error_x: { type: "constant", value: .46 * width, thickness: 2.5, width: 0, color: style("--ink") } });
    });
    draw("chart-rates", traces, { showlegend: true, barmode: "overlay", margin: { l: 50, r: 12, t: 40, b: 40 },
      xaxis: { tickvals: xs, ticktext: binTexts(part), title: { text: "label bin" } },
      yaxis: { range: [0, 1], title: { text: "share" } } });
  }

  function drawMeans() {
    const part = state.part, cells = cellsOf(part), { groups, counts } = partitions[part];
    const now = state.stop === null ? cells.prediction : stops[state.stop].predictions[part];
    const xs = audit.label_bins.map((_, k) => k);
    const traces = [...legendOf(groups, (q) => SYMBOLS[q % 8]), legendMark("mean label", "line-ew", style("--faint"))];
    const spread = Math.min(.5, .16 * groups.length);
    groups.forEach((group, q) => {
      const at = xs.map((k) => k + (groups.length > 1 ? (q / (groups.length - 1) - .5) * spread : 0));
      traces.push({ x: at, y: xs.map((k) => cells.label[k][q]), mode: "markers", showlegend: false, hovertemplate: "mean label %{y:.4~g}<extra></extra>",
        marker: { symbol: "line-ew", size: 12, line: { width: 2, color: style("--faint") } } });
      if (state.stop !== null) traces.push({ x: at, y: xs.map((k) => cells.prediction[k][q]), mode: "markers",
        showlegend: false, hovertemplate: "before %{y:.4~g}<extra></extra>",
        marker: { symbol: `${SYMBOLS[q % 8]}-open`, size: 10, color: groupColor(q), opacity: .75 } });
      traces.push({ x: at, y: xs.map((k) => now[k][q]), mode: "markers", showlegend: false,
        customdata: xs.map((k) => counts[k][q]),
        hovertemplate: `${plain(group)}: %{y:.4~g}, %{customdata} rows<extra></extra>`,
        marker: { symbol: SYMBOLS[q % 8], size: 11, color: groupColor(q),
          opacity: xs.map((k) => counts[k][q] < audit.settings.small_cell_size ? .4 : 1) } });
    });
    draw("chart-means", traces, { showlegend: true, margin: { l: 50, r: 12, t: 40, b: 40 },
      xaxis: { tickvals: xs, ticktext: binTexts(part), title: { text: "label bin" } },
      yaxis: { title: { text: "mean prediction" } } });
  }

  function drawGaps() {
    const all = audit.gaps.filter((gap) => gap.kind === state.kind);
    const excess = (gap) => gap.null_low === null ? Math.abs(gap.value)
      : Math.max(gap.null_low - gap.value, gap.value - gap.null_high);
    const kept = new Set([...all].sort((a, b) => excess(b) - excess(a)).slice(0, MOST_GAPS));
    const gaps = all.filter((gap) => kept.has(gap)).reverse();
    byId("hidden-gaps").textContent = all.length > gaps.length
      ? `The ${gaps.length} of ${all.length} differences that chance explains least.` : "";
    const narrow = window.innerWidth < 768;
    const ys = gaps.map((_, i) => i);
    const of = (gap) => partitions.length > 1 ? `${plain(shorten(gap.attribute))}, ` : "";
    const named = (gap) => of(gap) + plain(gap.label_bin) + (narrow ? ""
      : `  ${plain(shorten(gap.groups[0]))} − ${plain(shorten(gap.groups[1]))}`);
    const beyond = (gap) => gap.null_low !== null && (gap.value < gap.null_low || gap.value > gap.null_high);
    const color = gaps.map((gap) => beyond(gap) ? style("--group-1") : style("--group-0"));
    const traces = [];
    if (gaps.some((gap) => gap.null_low !== null)) traces.push({ type: "bar", orientation: "h", y: ys,
      base: gaps.map((gap) => gap.null_low), x: gaps.map((gap) => gap.null_high - gap.null_low), width: .7,
      marker: { color: faded("--band", .6) }, hoverinfo: "skip", name: "95 % of chance" });
    traces.push({ x: gaps.map((gap) => gap.value), y: ys, mode: "markers", name: "difference", showlegend: false,
      marker: { size: 9, color: gaps.map((gap, i) => gap.small ? style("--card") : color[i]),
        line: { width: 2, color } },
      error_x: { type: "data", symmetric: false, thickness: 1.6, width: 0, color: style("--faint"),
        array: gaps.map((gap) => gap.high === null ? 0 : gap.high - gap.value),
        arrayminus: gaps.map((gap) => gap.low === null ? 0 : gap.value - gap.low) },
      text: gaps.map((gap) => `${of(gap)}${plain(gap.label_bin)}: ${plain(gap.groups[0])} (${gap.counts[0]} rows) − ${plain(gap.groups[1])} (${gap.counts[1]} rows)`),
      hovertemplate: "%{text}<br>%{x:.3~g}<extra></extra>" });
    byId("chart-gaps").style.height = `${Math.max(12, 5 + 1.6 * gaps.length)}rem`;
    draw("chart-gaps", traces, { margin: { l: 20, r: 12, t: 8, b: 40 },
      xaxis: { title: { text: `difference of ${{ rate: "rates", prediction: "mean predictions", residual: "mean residuals", error: "mean errors" }[state.kind]},${narrow ? "<br>" : " "}first group minus second` }, zeroline: true, zerolinecolor: style("--ink"), zerolinewidth: 1.2 },
      yaxis: { tickvals: ys, ticktext: gaps.map(named), showgrid: false, zeroline: false, range: [-.7, gaps.length - .3] } });
  }

  const shorten = (text) => text.length > 24 ? `${text.slice(0, 23)}…` : text;

  // ---------------------------------------------------------------- numbers
  function showCards() {  // a figure on its way from 0, beside what chance alone gives
    for (const card of document.querySelectorAll(".card")) {
      const name = card.dataset.card;
      const now = state.stop === null ? before[name] : stops[state.stop].figures[name];
      const put = (role, text) => { card.querySelector(`[data-role="${role}"]`).textContent = text; };
      put("now", figure(name, now.value));
      put("was", state.stop === null ? "" : `before ${figure(name, before[name].value)}`);
      put("floor", now.chance ? `chance ${figure(name, now.chance.mean)}` : "");
      const seen = stops.map((stop) => stop.figures[name].value);
      const high = stops.map((stop) => stop.figures[name].chance?.high ?? 0);
      const end = 1.05 * Math.max(before[name].value, before[name].chance?.high ?? 0, ...seen, ...high) || 1;
      const place = (value) => `${100 * Math.min(value / end, 1)}%`;
      card.querySelector(".floor").style.width = place(now.chance?.high ?? 0);
      card.querySelector(".was").style.left = place(before[name].value);
      card.querySelector(".dot").style.left = place(now.value);
    }
  }

  function showStop() {
    const stop = stops[state.stop];
    byId("epsilon").textContent = epsilonText(stop.epsilon);
    byId("epsilon").dataset.value = stop.epsilon;
    byId("breakpoint").classList.toggle("on", stop.breakpoint);
    for (const name of shown) {
      const row = document.querySelector(`tr[data-figure="${name}"]`);
      const { value, interval, chance } = stop.figures[name];
      const put = (role, text, exact) => {
        const place = row.querySelector(`[data-role="${role}"]`);
        place.textContent = text;
        place.dataset.value = exact;
        return place;
      };
      put("value", figure(name, value), value);
      put("interval", interval ? `[${figure(name, interval[0])}, ${figure(name, interval.at(-1))}]` : "", "");
      put("chance", chance ? figure(name, chance.mean) : "–", chance ? chance.mean : "");
      const known = value !== null && before[name].value !== null;
      const change = known ? value - before[name].value : null;
      const place = put("change", known ? signed(name, change) : "–", change);
      place.className = !known || Math.abs(change) < .5 * 10 ** -digits[name] ? "" : change < 0 ? "better" : "worse";
    }
    const name = state.measure, now = stop.figures[name], was = before[name];
    const readout = `error ${figure("error", stop.figures.error.value)}, ${was.title} ${figure(name, now.value)}`;
    byId("readout").textContent = readout;
    byId("slider").setAttribute("aria-valuetext", `epsilon ${epsilonText(stop.epsilon)}: ${readout}`);
    const share = stop.figures.error.value / before.error.value - 1;
    const chance = now.chance ? ` Chance alone gives ${figure(name, now.chance.mean)} on average and less than ${figure(name, now.chance.high)} in 95 % of shuffles, so what is left is ${now.chance.p < .05 ? "more than chance" : "no more than chance"} (p = ${written(now.chance.p, 3)}).` : "";
    byId("sentence").textContent = `At epsilon ${epsilonText(stop.epsilon)} the error on these rows is ${figure("error", stop.figures.error.value)} (${percent(share)}), and ${was.title} is ${figure(name, now.value)} instead of ${figure(name, was.value)}.${chance} The training objective is ${written(100 * stop.price, 1)} % above that of the plain model.`;
  }

  function moveTo(stop) {
    state.stop = stop;
    byId("slider").value = stop;
    refresh();
  }

  function refresh() {
    showCards();
    if (stops.length) { showStop(); drawPrice(); drawChance(); }
    if (byId("chart-rates")) drawRates();
    if (byId("chart-means")) drawMeans();
  }

  function redraw() {
    refresh();
    if (byId("chart-gaps")) drawGaps();
  }

  // ---------------------------------------------------------------- controls
  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    redraw();
  }

  function listen() {
    if (stops.length) {
      byId("slider").addEventListener("input", (event) => moveTo(Number(event.target.value)));
      const places = { plain: 0, half: startingStop(), fairest: stops.length - 1 };
      for (const button of document.querySelectorAll("[data-stop]")) {
        button.addEventListener("click", () => moveTo(places[button.dataset.stop]));
      }
      byId("measure").addEventListener("change", (event) => { state.measure = event.target.value; refresh(); });
    }
    byId("attribute")?.addEventListener("change", (event) => { state.part = Number(event.target.value); refresh(); });
    byId("kind")?.addEventListener("change", (event) => { state.kind = event.target.value; drawGaps(); });
    byId("theme").addEventListener("click", () =>
      setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    byId("print").addEventListener("click", () => window.print());
    byId("download").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
      link.download = "fairness-report.json";
      link.click();
      URL.revokeObjectURL(link.href);
    });
    let theme = null;  // paper is white
    window.addEventListener("beforeprint", () => {
      theme = document.documentElement.dataset.theme;
      document.documentElement.classList.add("printing");
      setTheme("light");
    });
    window.addEventListener("afterprint", () => {
      document.documentElement.classList.remove("printing");
      setTheme(theme);
    });
    let waiting = null;  // names of bins depend on the room there is
    window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 200); });
  }

  function begin() {
    if (stops.length) state.measure = byId("measure").value;
    if (byId("kind")) {
      const titles = { rate: "rates of right predictions", prediction: "mean predictions", residual: "mean residuals", error: "mean errors" };
      for (const kind of [...new Set(audit.gaps.map((gap) => gap.kind))]) byId("kind").add(new Option(titles[kind], kind));
      state.kind = byId("kind").value;
    }
    listen();
    if (stops.length) byId("slider").value = state.stop;
    setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    byId("chart-price")?.on("plotly_click", (event) => {
      const x = event.points[0].x;
      const place = stops.findIndex((one) => one.figures[state.measure].value === x);
      if (place >= 0) moveTo(place);
    });
  }
  begin();
})();
