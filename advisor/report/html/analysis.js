"use strict";
// Everything on the page comes from the JSON block beside this script, and gets into it as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const causeOf = new Map(data.causes.map((cause) => [cause.key, cause]));
  const inOrder = [...data.causes.filter((cause) => cause.fusible), ...data.causes.filter((cause) => !cause.fusible)];

  // Figures, in the same words as the terminal's; no line ends before a unit.

  const SPACE_BEFORE_UNIT = "\u00a0";

  function fixed(value, digits) {
    const scaled = value * 10 ** digits;
    // Halves go to the even digit, as in the program that wrote the page; only these are exact in binary.
    if (Number.isInteger(value * 8) && scaled - Math.floor(scaled) === 0.5) {
      return ((2 * Math.round(scaled / 2)) / 10 ** digits).toFixed(digits);
    }
    return value.toFixed(digits);
  }

  function grouped(text) {
    return String(text).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  }

  function duration(ns) {
    for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
      const value = ns / size;
      const magnitude = Math.abs(value);
      if (magnitude >= 0.9995) {
        const [whole, rest] = fixed(value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0).split(".");
        return `${grouped(whole)}${rest === undefined ? "" : `.${rest}`}${SPACE_BEFORE_UNIT}${unit}`;
      }
    }
    return `${fixed(ns, 0)}${SPACE_BEFORE_UNIT}ns`;
  }

  function durationRange([low, high]) {
    const [first, last] = [duration(low), duration(high)];
    if (first === last) return last;
    if (low < high / 100) return `at most ${last}`;
    const [number, unit] = first.split(SPACE_BEFORE_UNIT);
    return `${last.endsWith(SPACE_BEFORE_UNIT + unit) ? number : first} to ${last}`;
  }

  function percent(ratio) {
    if (ratio === null || ratio === undefined) return "-";
    const value = 100 * ratio;
    if (value && Math.abs(value) < 0.1) return `<0.1${SPACE_BEFORE_UNIT}%`;
    if (value >= 99.5 && value < 100) return `>99${SPACE_BEFORE_UNIT}%`;
    return `${fixed(value, Math.abs(value) < 10 ? 1 : 0)}${SPACE_BEFORE_UNIT}%`;
  }

  const unit = data.device === "GPU" ? "kernel" : "node";
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;

  // Elements.

  function el(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
      else if (key === "class") node.className = value;
      else if (key === "data") Object.assign(node.dataset, value);
      else if (key === "style") Object.assign(node.style, value);
      else node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** Sentences of the program, in which `names` stand between backticks; no line ends between a number and its unit. */
  function prose(text) {
    return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part.replace(/(\d) (?=%|[nµm]?s\b)/g, `$1${SPACE_BEFORE_UNIT}`)));
  }

  function section(id, link) {
    const node = document.getElementById(id);
    node.hidden = false;
    document.getElementById("contents").append(el("a", { href: `#${id}` }, link));
    return node;
  }

  function button(text, label, listener) {
    return el("button", { type: "button", class: "button", "aria-label": label, title: label, on: { click: listener } }, text);
  }

  function swatch(cause) {
    return el("span", { class: `swatch ${cause.key}`, style: { backgroundColor: cause.colour }, "aria-hidden": "true" });
  }

  /** A stacked bar of [cause or "busy", ns]; `whole` is its full width. */
  function bar(parts, whole, thin = false) {
    const said = parts.map(([key, ns]) => `${key} ${duration(ns)} (${percent(ns / whole)})`);
    const node = el("div", { class: thin ? "bar thin" : "bar", role: "img", "aria-label": said.join(", ") });
    parts.forEach(([key, ns], index) => {
      const cause = causeOf.get(key) || { colour: data.busy, ink: "#fff" };
      const labelled = !thin && ns / whole > 0.07;
      const style = { backgroundColor: cause.colour, color: cause.ink, flexBasis: `${(100 * ns) / whole}%` };
      node.append(el("span", { class: `${key}${labelled ? " labelled" : ""}`, style, title: said[index] }, labelled ? key : ""));
    });
    return node;
  }

  function timeParts(causes, busy) {
    const parts = inOrder.filter((cause) => causes[cause.key]).map((cause) => [cause.key, causes[cause.key]]);
    return busy ? [["busy", busy], ...parts] : parts;
  }

  /** The causes as a list with their times, the largest first. */
  function causeList(causes, whole, heading = null) {
    const listed = inOrder.filter((cause) => causes[cause.key]).sort((a, b) => causes[b.key] - causes[a.key]);
    if (!listed.length) return null;
    const items = listed.map((cause) =>
      el("li", {},
        el("span", {}, swatch(cause), cause.key, el("small", {}, cause.words)),
        el("span", {}, duration(causes[cause.key])),
        el("span", {}, percent(causes[cause.key] / whole))));
    return el("div", {}, heading, el("ul", {}, ...items));
  }

  /**
   * A table that sorts by any column with a `value`, and shows `limit` rows until asked for more.
   * Returns its element and a function that shows only the rows that a filter lets through.
   */
  function table(columns, rows, { sort = null, descending = true, limit = 50, caption }) {
    let order = sort === null ? null : { column: columns[sort], descending };
    let everything = false;
    let filter = () => true;
    const head = el("tr");
    const body = el("tbody");
    const more = el("button", { type: "button", class: "button more", on: { click: () => { everything = true; fill(); } } });
    for (const column of columns) {
      const heading = el("th", { scope: "col", class: column.number ? "number" : "" });
      if (column.value) {
        const sortBy = () => {
          const again = order && order.column === column;
          order = { column, descending: again ? !order.descending : column.number === true };
          fill();
        };
        heading.append(el("button", { type: "button", on: { click: sortBy } }, column.title));
      } else {
        heading.append(column.title);
      }
      column.heading = heading;
      head.append(heading);
    }
    function fill() {
      const shown = rows.filter(filter);
      if (order) {
        const { value } = order.column;
        const sign = order.descending ? -1 : 1;
        // What has no value stands last, whichever way.
        const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -sign : sign);
        shown.sort((a, b) => compare(value(a), value(b)));
      }
      for (const column of columns) {
        if (order && order.column === column) column.heading.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
        else column.heading.removeAttribute("aria-sort");
      }
      const listed = everything ? shown : shown.slice(0, limit);
      body.replaceChildren(...listed.map((row) =>
        el("tr", {}, ...columns.map((column) => {
          const cell = column.cell(row);
          const classes = [column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim();
          return el("td", { class: classes, data: { label: column.title } }, ...(Array.isArray(cell) ? cell : [cell]));
        }))));
      more.hidden = listed.length === shown.length;
      more.textContent = `Show all ${grouped(shown.length)}`;
      return shown.length;
    }
    fill();
    const node = el("div", {}, el("table", { class: "cards", "aria-label": caption }, el("thead", {}, head), body), more);
    return { node, show: (next) => { filter = next; return fill(); } };
  }

  /** A name in few letters, whole when it is asked for. */
  function nameCell(short, whole, label = null) {
    const name = el("span", {}, short);
    const node = el("button", { type: "button", class: "name", title: whole, "aria-expanded": "false" }, label && el("b", {}, label), name);
    node.addEventListener("click", () => {
      const open = node.getAttribute("aria-expanded") !== "true";
      node.setAttribute("aria-expanded", String(open));
      name.textContent = open ? whole : short;
    });
    return node;
  }

  // Sections.

  function showFigures() {
    const { totals, graphs: [graph], device } = data;
    const run = graph.source === "trace" ? "of the trace" : "of a run";
    const figures = [
      ["Gap ratio", percent(graph.gap_ratio), graph.gap_ratio === null ? "not decidable" : `threshold ${percent(data.threshold)}`],
      ["Gaps to remove", percent(graph.most_share), `by fusion, at most, ${run}`],
      [`${device} busy`, percent(totals.busy_ns / totals.span_ns), `${duration(totals.busy_ns)} of ${duration(totals.span_ns)}`],
      [unit === "kernel" ? "Kernels" : "Nodes", grouped(totals.kernels),
        unit === "kernel" ? plural(totals.launch_calls, "launch call") : plural(data.graphs_in_all, "graph")],
    ];
    if (graph.source !== "trace") {
      figures.splice(2, 0, ["A run takes", duration(graph.time_ns), `median of ${plural(graph.instances - (graph.instances > graph.warmup ? graph.warmup : 0), "run")}`]);
    }
    document.getElementById("figures").append(...figures.map(([term, value, note]) =>
      el("div", {}, el("dt", {}, term), el("dd", {}, value, el("small", {}, note)))));
  }

  function evidenceValue(key, value) {
    if (value === null) return "-";
    if (Array.isArray(value)) {
      if (key.endsWith("_ns") && value.length === 2 && value.every(Number.isFinite)) return durationRange(value);
      return value.map((each) => evidenceValue(key, each)).join("; ");
    }
    if (typeof value === "object") {
      return Object.entries(value).map(([name, each]) => `${words(name)} ${evidenceValue(name, each)}`).join(", ");
    }
    if (typeof value !== "number") return String(value);
    if (key.endsWith("_ns")) return duration(value);
    if (/(ratio|share|threshold|certainty)$/.test(key)) return percent(value);
    return grouped(Number.isInteger(value) ? value : fixed(value, 2));
  }

  const words = (key) => key.replace(/_ns$/, "").replace(/_/g, " ");

  function showFindings() {
    if (!data.findings.length) return;
    const node = section("findings", "What to do");
    for (const finding of data.findings) {
      const evidence = Object.entries(finding.evidence).flatMap(([key, value]) => [
        el("dt", {}, words(key)), el("dd", {}, evidenceValue(key, value))]);
      const per = finding.graph === null ? "" : " a run";
      node.append(el("article", { class: "finding" },
        el("p", { class: "severity", data: { level: finding.severity } }, finding.severity),
        el("div", {},
          el("p", {}, ...prose(finding.message)),
          el("p", { class: "advice" }, ...prose(finding.advice)),
          el("footer", {},
            finding.saving_ns ? el("span", {}, `Predicted saving: ${durationRange(finding.saving_ns)}${per}`) : null,
            el("span", {}, "What it means: ", el("code", {}, `advisor explain ${finding.id}`)),
            evidence.length ? el("details", {}, el("summary", {}, "Evidence"), el("dl", { class: "evidence" }, ...evidence)) : null))));
    }
  }

  function showCauses() {
    const { totals, devices } = data;
    const node = section("causes", "Causes");
    node.querySelector("h2").textContent = `Why the ${data.device} was idle`;
    if (!totals.exposed_gap_ns) {
      node.append(el("p", {}, `The ${data.device} was never idle between its first and last work.`));
      return;
    }
    const bars = el("div", { class: "bars" });
    const labelled = devices.length > 1;
    for (const figures of labelled ? devices : [totals]) {
      if (labelled) bars.append(el("span", {}, `${data.device} ${figures.device}`));
      bars.append(bar(timeParts(figures.causes, figures.busy_ns), figures.span_ns));
    }
    const heading = (text, causes) =>
      el("h3", {}, text, el("b", {}, `${duration(sum(Object.values(causes)))}, ${percent(sum(Object.values(causes)) / totals.span_ns)}`));
    const part = (fusible) => Object.fromEntries(Object.entries(totals.causes).filter(([key]) => causeOf.get(key).fusible === fusible));
    const several = labelled ? `the ${devices.length} devices together` : "from first to last work";
    node.append(el("p", { class: "hint" }, `Shares are of ${duration(totals.span_ns)}, ${several}.`), bars, el("div", { class: "legend" },
      causeList(part(true), totals.span_ns, heading("Launch overhead", part(true))),
      causeList(part(false), totals.span_ns, heading("Other causes", part(false)))));
    const lines = data.longest.lines.map((line) => el("li", {}, ...prose(line)));
    if (lines.length) node.append(el("h3", {}, data.longest.title), el("ul", { class: "notes" }, ...lines));
  }

  function graphName(name, variant) {
    return variant ? `${name} (sequence ${variant + 1})` : name;
  }

  function showGraphs(timeline) {
    const node = section("graphs", "Graphs");
    const sources = { nvtx: unit === "kernel" ? "NVTX range" : "run of the session", cuda_graph: "CUDA graph", iteration: "found from repetition", trace: "the whole trace" };
    const name = (graph) => {
      const place = data.graphs.indexOf(graph);
      const drawn = data.drawings.findIndex((drawing) => drawing.graph === place);
      const text = graphName(graph.name, graph.variant);
      const title = drawn < 0 ? el("span", { class: "mono" }, text)
        : el("button", { type: "button", class: "plain-button mono", title: "Show its timeline", on: { click: () => { timeline.choose(drawn); document.getElementById("timeline").scrollIntoView(); } } }, text);
      return [title, el("small", {}, sources[graph.source] || graph.source)];
    };
    const columns = [
      { title: "graph", wide: true, value: (graph) => graph.name, cell: name },
      { title: "verdict", value: (graph) => graph.verdict, cell: (graph) => el("span", { class: graph.flagged ? "verdict flagged" : "verdict" }, graph.verdict) },
      { title: data.graphs[0].source === "trace" ? "time" : "a run's time", cell: (graph) => bar(timeParts(graph.causes, graph.busy_ns), graph.busy_ns + sum(Object.values(graph.causes)) || 1, true) },
      { title: "gap ratio", number: true, value: (graph) => graph.gap_ratio, cell: (graph) => [percent(graph.gap_ratio), el("small", {}, `p95 ${percent(graph.p95_gap_ratio)}`)] },
      { title: "removable gaps, at most", number: true, value: (graph) => graph.most_share, cell: (graph) => percent(graph.most_share) },
      { title: "time", number: true, value: (graph) => graph.time_ns, cell: (graph) => [duration(graph.time_ns), data.graphs[0].source === "trace" ? null : el("small", {}, `all runs ${percent(graph.time_share)}`)] },
      { title: `${unit}s`, number: true, value: (graph) => graph.kernels_per_instance, cell: (graph) => grouped(graph.kernels_per_instance) },
      { title: "runs", number: true, value: (graph) => graph.instances, cell: (graph) => [grouped(graph.instances), graph.warmup ? el("small", {}, `${grouped(graph.warmup)} warm-up`) : null] },
    ];
    const hidden = data.graphs_in_all - data.graphs.length;
    node.append(
      el("p", { class: "hint" }, `Executions with one name and one sequence of ${unit}s. Figures are medians over the runs, warm-up apart. Flagged over a gap ratio of ${percent(data.threshold)}.`),
      table(columns, data.graphs, { caption: "Graphs", limit: 25 }).node);
    if (hidden) node.append(el("p", { class: "note" }, `${grouped(hidden)} more graphs are in the JSON report.`));
  }

  function showCandidates() {
    if (!data.candidates.length) return;
    const node = section("candidates", "Candidates");
    node.querySelector("h2").textContent = `Chains of ${unit}s that could be one`;
    node.append(el("p", { class: "hint" }, `Consecutive on one stream, of classes that may merge. A trace does not tell whether one ${unit} reads what the one before wrote: these are places to look at, and what they would save is predicted.`));
    const run = data.graphs[0].source === "trace" ? "in the trace" : "in a run";
    const levers = data.levers.filter((lever) => lever.chains || lever.capture_ns);
    if (levers.length) {
      const columns = [
        { title: "graph", wide: true, cell: (lever) => el("span", { class: "mono" }, graphName(lever.graph, lever.variant)) },
        { title: "chains", number: true, cell: (lever) => grouped(lever.chains) },
        { title: "fuse all of them", number: true, cell: (lever) => durationRange(lever.fusion_ns) },
        ...(unit === "kernel" ? [{ title: "or: CUDA graph", number: true, cell: (lever) => (lever.capture_ns ? durationRange(lever.capture_ns) : "-") }] : []),
        { title: "why", wide: true, cell: (lever) => el("small", {}, lever.capture_basis) },
      ];
      node.append(el("h3", {}, `What each lever would save ${run}`), table(columns, levers, { caption: "Levers", limit: 5 }).node);
    }
    const several = data.graphs.length > 1;
    const columns = [
      { title: "chain", wide: true, value: (row) => row.chain, cell: (row) => nameCell(row.chain, row.kernels.join("\n→ ")) },
      ...(several ? [{ title: "graph", value: (row) => row.graph, cell: (row) => el("span", { class: "mono" }, graphName(row.graph, row.variant)) }] : []),
      { title: run, number: true, value: (row) => row.occurrences, cell: (row) => `${grouped(row.occurrences)} ×` },
      { title: `saving ${run}, predicted`, number: true, value: (row) => row.saving_ns[0], cell: (row) => durationRange(row.saving_ns) },
    ];
    node.append(el("h3", { class: "more" }, "Chains"), table(columns, data.candidates, { sort: columns.length - 1, caption: "Candidates", limit: 12 }).node);
  }

  /** The word for what a kernel computes is not just the beginning of its name. */
  function saysMore(row) {
    const own = row.whole.split(/[<(]/)[0].split("::").pop();
    return !own.startsWith(row.label) && !row.whole.startsWith(row.label);
  }

  function showKernels() {
    const title = unit === "kernel" ? "Kernels" : "Operators";
    const node = section("kernels", title);
    node.querySelector("h2").textContent = title;
    const columns = [
      { title: "name", wide: true, value: (row) => row.label.toLowerCase(), cell: (row) => nameCell(row.short, row.name, saysMore(row) ? row.label : null) },
      { title: "class", value: (row) => row.op_class, cell: (row) => row.op_class },
      { title: "count", number: true, value: (row) => row.count, cell: (row) => grouped(row.count) },
      { title: `${data.device} time`, number: true, value: (row) => row.duration_ns, cell: (row) => duration(row.duration_ns) },
      { title: "idle before", number: true, value: (row) => row.exposed_gap_ns, cell: (row) => duration(row.exposed_gap_ns) },
      { title: "why", cell: (row) => (row.exposed_gap_ns ? bar(timeParts(row.causes, 0), row.exposed_gap_ns, true) : "") },
      { title: "fusible", number: true, value: (row) => row.fusible_gap_ns, cell: (row) => duration(row.fusible_gap_ns) },
      { title: "gap ratio", number: true, value: (row) => row.gap_ratio, cell: (row) => percent(row.gap_ratio) },
    ];
    const listed = table(columns, data.kernels, { sort: 6, caption: "Kernels", limit: 25 });
    const count = el("span", { class: "hint", "aria-live": "polite" });
    const tell = (shown) => { count.textContent = shown === data.kernels.length ? plural(shown, "name") : `${grouped(shown)} of ${plural(data.kernels.length, "name")}`; };
    const search = el("input", { type: "search", placeholder: "Search name or class", "aria-label": "Search kernels by name or class", on: {
      input: () => {
        const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        tell(listed.show((row) => parts.every((part) => row.name.toLowerCase().includes(part) || row.op_class.includes(part))));
      },
    } });
    tell(data.kernels.length);
    node.append(el("div", { class: "tools" }, search, count), listed.node);
    const hidden = data.kernels_in_all - data.kernels.length;
    if (hidden) node.append(el("p", { class: "note" }, `The ${grouped(hidden)} names with the smallest fusible gaps are left out here; the JSON report has them.`));
  }

  function showCoverage() {
    const node = section("coverage", "Coverage");
    if (data.notes.length) node.append(el("ul", { class: "notes" }, ...data.notes.map((note) => el("li", {}, ...prose(note)))));
    else node.append(el("p", {}, "Every work has its launch call, and nothing is known to be missing."));
    const { coverage, source } = data;
    const facts = [
      ["works on a device", coverage.work],
      ["with their launch call", coverage.matched],
      ["without", coverage.orphans],
      ["launch calls without work", coverage.launches_without_work],
      ["of these, launches of CUDA graphs", coverage.graph_launches_without_work],
      ["launch calls while capturing a CUDA graph", coverage.captured_launches],
      ["CUDA graph launches recorded as a whole", coverage.graph_level],
      ["works that start before their launch call", coverage.skewed],
      ["records without a start or an end", coverage.zero_time],
      ["NVTX ranges without an end", coverage.unclosed_ranges],
      ["works outside of all graphs", coverage.outside_graphs],
    ];
    node.append(
      el("dl", { class: "facts" }, ...facts.filter(([, count], place) => count || place < 2).map(([term, count]) => el("div", {}, el("dt", {}, term), el("dd", {}, grouped(count))))),
      el("p", { class: "hint more" }, `Read from ${source.path}${source.schema_version ? `, schema ${source.schema_version}` : ""}. Busy and idle time add up to the time from first to last work on every device, to the nanosecond.`));
  }

  // The timeline: host calls above, the device's streams below, and between them why the device was idle.

  const AXIS = 24, OVERVIEW = 14, LABEL = 17, RANGE = 16, CALLS = 20, GAPS = 30, WORKS = 22, SPACE = 7;
  const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const LEAST_SPAN = 40;

  class Timeline {
    constructor(node) {
      this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Timeline of one run. Arrow keys move, plus and minus zoom, 0 shows all, N and P go from gap to gap." });
      this.context = this.canvas.getContext("2d");
      this.tip = el("div", { class: "tip", hidden: "" });
      this.details = el("div", { class: "details", "aria-live": "polite" });
      this.words = el("p", { class: "hint" });
      this.longest = el("details", { class: "longest" });
      this.pointers = new Map();
      const buttons = el("div", { class: "buttons" },
        button("−", "Zoom out", () => this.zoom(2)),
        button("+", "Zoom in", () => this.zoom(0.5)),
        button("All", "Show the whole run", () => this.fit()),
        button("‹ gap", "Previous gap", () => this.step(-1)),
        button("gap ›", "Next gap", () => this.step(1)),
        button("Longest", "Select the longest gap", () => this.selectLongest()));
      this.select = el("select", { "aria-label": "Graph", on: { change: () => this.choose(Number(this.select.value)) } },
        ...data.drawings.map((drawing, index) => el("option", { value: String(index) }, graphName(data.graphs[drawing.graph].name, data.graphs[drawing.graph].variant))));
      this.select.hidden = data.drawings.length < 2;
      node.append(
        this.words,
        el("div", { class: "tools" }, this.select, buttons),
        el("div", { class: "timeline" }, this.canvas, this.tip),
        el("p", { class: "hint" }, "Drag or swipe to move; click a gap for its causes. The wheel zooms once the timeline has been clicked, or with Ctrl; on a keyboard, arrows, + and −, 0, N and P."),
        this.details, this.longest);
      if (data.graphs_in_all > data.drawings.length) node.append(el("p", { class: "note" }, `Drawn are the ${plural(data.drawings.length, "graph")} that stand first, of ${grouped(data.graphs_in_all)}.`));
      this.listen();
      this.choose(0);
    }

    choose(index) {
      const drawing = data.drawings[index];
      this.drawing = drawing;
      this.select.value = String(index);
      this.words.textContent = drawing.words;
      const margin = Math.max(drawing.span_ns / 100, 1);
      this.whole = [-margin, drawing.span_ns + margin];
      this.view = [...this.whole];
      this.selected = null;
      this.pieces = drawing.gaps.start.map(() => []);
      drawing.pieces.gap.forEach((gap, piece) => this.pieces[gap].push(piece));
      this.inTime = drawing.gaps.start.map((_, gap) => gap).sort((a, b) => drawing.gaps.start[a] - drawing.gaps.start[b]);
      this.gapOfWork = new Map(drawing.gaps.work.map((work, gap) => [work, gap]));
      this.worksOfCall = new Map();
      drawing.works.call.forEach((call, work) => {
        if (call >= 0) this.worksOfCall.set(call, [...(this.worksOfCall.get(call) || []), work]);
      });
      this.layOut();
      this.listLongest();
      this.describe();
      this.draw();
    }

    layOut() {
      const { drawing } = this;
      const lanes = [];
      let y = AXIS;
      const add = (kind, height, of, items, depth = 0) => { lanes.push({ kind, y, height, of, items, depth }); y += height; };
      add("overview", OVERVIEW, 0, []);
      y += SPACE;
      const where = (column, index) => column.flatMap((value, place) => (value === index ? [place] : []));
      drawing.threads.forEach((label, thread) => {
        add("label", LABEL, `${label}: ${unit === "kernel" ? "API calls" : "executor"}`, []);
        const ranges = where(drawing.ranges.thread, thread);
        const deepest = Math.max(-1, ...ranges.map((range) => drawing.ranges.depth[range]));
        for (let depth = 0; depth <= deepest; depth += 1) add("ranges", RANGE, thread, ranges.filter((range) => drawing.ranges.depth[range] === depth));
        add("calls", CALLS, thread, where(drawing.calls.thread, thread));
        y += SPACE;
      });
      drawing.devices.forEach((label, device) => {
        add("label", LABEL, `${label}: idle, by cause`, []);
        add("gaps", GAPS, device, where(drawing.gaps.device, device));
        drawing.streams.forEach((stream, index) => {
          if (drawing.device_of_stream[index] !== device) return;
          add("label", LABEL, stream, []);
          add("works", WORKS, index, where(drawing.works.stream, index));
        });
        y += SPACE;
      });
      this.lanes = lanes;
      this.height = y;
      this.canvas.style.height = `${y}px`;
      // For whoever drives the page by a program: where the lanes are.
      this.canvas.dataset.lanes = JSON.stringify(lanes.filter((lane) => lane.kind !== "label").map((lane) => [lane.kind, lane.of, lane.y, lane.height]));
    }

    // Drawing.

    get width() { return this.canvas.clientWidth; }
    x(time) { return ((time - this.view[0]) / (this.view[1] - this.view[0])) * this.width; }
    time(x) { return this.view[0] + (x / this.width) * (this.view[1] - this.view[0]); }

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.paint(); });
    }

    paint() {
      const { canvas, context, width, height } = this;
      const ratio = window.devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      canvas.dataset.from = String(this.view[0]);
      canvas.dataset.to = String(this.view[1]);
      const style = getComputedStyle(canvas);
      this.ink = style.getPropertyValue("--text").trim();
      this.muted = style.getPropertyValue("--muted").trim();
      this.line = style.getPropertyValue("--line").trim();
      this.track = style.getPropertyValue("--track").trim();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = FONT;
      context.textBaseline = "middle";
      this.paintAxis();
      for (const lane of this.lanes) this[`paint_${lane.kind}`](lane);
      this.paintSelection();
    }

    paintAxis() {
      const { context, width, height } = this;
      const span = this.view[1] - this.view[0];
      const least = (span / width) * 84;
      const power = 10 ** Math.floor(Math.log10(least));
      const step = Math.max([1, 2, 5, 10].map((each) => each * power).find((each) => each >= least), 1);
      const first = Math.ceil(this.view[0] / step);
      const last = Math.floor(this.view[1] / step);
      context.textAlign = "left";
      for (let number = first; number <= last; number += 1) {
        const x = Math.round(this.x(number * step)) + 0.5;
        context.fillStyle = this.line;
        context.fillRect(x, AXIS - 6, 1, height - AXIS + 6);
        context.fillStyle = this.muted;
        const label = number === 0 ? "0" : this.axisLabel(number * step, step);
        if (x + 4 + context.measureText(label).width < width) context.fillText(label, x + 4, AXIS / 2);
      }
    }

    /** A time on the axis, exact enough to tell one tick from the next. */
    axisLabel(time, step) {
      const size = Math.abs(time) >= 1e9 ? [1e9, "s"] : Math.abs(time) >= 1e6 ? [1e6, "ms"] : Math.abs(time) >= 1e3 ? [1e3, "µs"] : [1, "ns"];
      const digits = Math.max(0, Math.ceil(Math.log10(size[0] / step)));
      return `${(time / size[0]).toFixed(digits)} ${size[1]}`;
    }

    paint_label(lane) {
      this.context.textAlign = "left";
      this.context.fillStyle = this.muted;
      this.context.fillText(this.fitted(lane.of, this.width - 12), 6, lane.y + lane.height / 2 + 1);
    }

    paint_overview(lane) {
      const { context, drawing, width } = this;
      const scale = width / (this.whole[1] - this.whole[0]);
      context.fillStyle = this.track;
      context.fillRect(0, lane.y, width, lane.height);
      drawing.pieces.start.forEach((start, piece) => {
        context.fillStyle = data.causes[drawing.pieces.cause[piece]].colour;
        context.fillRect((start - this.whole[0]) * scale, lane.y, drawing.pieces.duration[piece] * scale, lane.height);
      });
      const [from, to] = this.view.map((time) => (time - this.whole[0]) * scale);
      context.strokeStyle = this.ink;
      context.lineWidth = 2;
      context.strokeRect(Math.max(from, 1), lane.y - 1, Math.min(to, width - 1) - Math.max(from, 1), lane.height + 2);
    }

    /** The places among ITEMS that are in view. */
    visible(items, column) {
      return items.filter((place) => column.start[place] < this.view[1] && column.start[place] + column.duration[place] >= this.view[0]);
    }

    box(column, place, lane, { least = 1, inset = 0 } = {}) {
      const from = Math.max(this.x(column.start[place]), -2);
      const to = Math.min(this.x(column.start[place] + column.duration[place]), this.width + 2);
      return { x: from, y: lane.y + inset, width: Math.max(to - from, least), height: lane.height - 2 * inset };
    }

    fitted(text, room) {
      const { context } = this;
      if (room < 14) return "";
      if (context.measureText(text).width <= room) return text;
      let length = Math.floor((text.length * room) / context.measureText(text).width);
      while (length > 0 && context.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
      return length > 1 ? `${text.slice(0, length)}…` : "";
    }

    write(text, box, colour) {
      const from = Math.max(box.x, 0);
      const label = this.fitted(text, Math.min(box.x + box.width, this.width) - from - 8);
      if (!label) return;
      this.context.fillStyle = colour;
      this.context.textAlign = "left";
      this.context.fillText(label, from + 4, box.y + box.height / 2 + 1);
    }

    trackOf(lane) {
      this.context.fillStyle = this.track;
      this.context.fillRect(0, lane.y, this.width, lane.height);
    }

    paint_ranges(lane) {
      const { context, drawing } = this;
      for (const range of this.visible(lane.items, drawing.ranges)) {
        const box = this.box(drawing.ranges, range, lane, { inset: 1 });
        context.fillStyle = this.track;
        context.fillRect(box.x, box.y, box.width, box.height);
        context.fillStyle = this.muted;
        context.fillRect(box.x, box.y, 1, box.height);
        this.write(drawing.ranges.name[range], box, this.ink);
      }
    }

    callCause(call) {
      const { drawing } = this;
      return causeOf.get(drawing.call_classes[drawing.calls.class[call]]);
    }

    paint_calls(lane) {
      const { context, drawing } = this;
      this.trackOf(lane);
      let covered = -Infinity;
      let outer = -Infinity;
      for (const call of this.visible(lane.items, drawing.calls)) {
        const end = drawing.calls.start[call] + drawing.calls.duration[call];
        // A call inside another one is drawn smaller.
        const box = this.box(drawing.calls, call, lane, { inset: end <= outer ? 4 : 0 });
        outer = Math.max(outer, end);
        if (box.x + box.width <= covered && box.width <= 1) continue;
        covered = Math.max(covered, box.x + box.width);
        const cause = this.callCause(call);
        context.fillStyle = cause.colour;
        context.fillRect(box.x, box.y, box.width > 3 ? box.width - 0.5 : box.width, box.height);
        this.write(drawing.call_names[drawing.calls.name[call]], box, cause.ink);
      }
    }

    paint_gaps(lane) {
      const { context, drawing } = this;
      this.trackOf(lane);
      for (const gap of this.visible(lane.items, drawing.gaps)) {
        for (const piece of this.pieces[gap]) {
          const box = this.box(drawing.pieces, piece, lane, { least: 0 });
          if (box.x > this.width || box.x + box.width < 0) continue;
          const cause = data.causes[drawing.pieces.cause[piece]];
          context.fillStyle = cause.colour;
          context.fillRect(box.x, box.y, box.width, box.height);
          if (cause.key === "unknown") this.hatch(box);
          this.write(cause.key, box, cause.ink);
        }
        // Where one gap ends and the next begins at once, an edge tells them apart.
        const edge = this.x(drawing.gaps.start[gap] + drawing.gaps.duration[gap]);
        if (this.box(drawing.gaps, gap, lane).width > 4) {
          context.fillStyle = this.track;
          context.fillRect(edge - 0.5, lane.y, 1, lane.height);
        }
      }
    }

    hatch(box) {
      const { context } = this;
      context.save();
      context.beginPath();
      context.rect(box.x, box.y, box.width, box.height);
      context.clip();
      context.strokeStyle = "rgb(255 255 255 / 0.4)";
      context.lineWidth = 1.5;
      context.beginPath();
      for (let x = box.x - box.height; x < box.x + box.width; x += 6) {
        context.moveTo(x, box.y + box.height);
        context.lineTo(x + box.height, box.y);
      }
      context.stroke();
      context.restore();
    }

    paint_works(lane) {
      const { context, drawing } = this;
      this.trackOf(lane);
      let covered = -Infinity;
      for (const work of this.visible(lane.items, drawing.works)) {
        const box = this.box(drawing.works, work, lane);
        if (box.x + box.width <= covered && box.width <= 1) continue;
        covered = box.x + box.width;
        context.globalAlpha = drawing.works.own[work] ? 1 : 0.5;
        context.fillStyle = data.busy;
        context.fillRect(box.x, box.y, box.width > 3 ? box.width - 0.5 : box.width, box.height);
        context.globalAlpha = 1;
        this.write(drawing.labels[drawing.works.name[work]], box, drawing.works.own[work] ? "#fff" : this.ink);
      }
    }

    laneOf(kind, of) { return this.lanes.find((lane) => lane.kind === kind && lane.of === of); }

    outline(column, place, lane) {
      const box = this.box(column, place, lane, { least: 2 });
      this.context.strokeRect(box.x, box.y, box.width, box.height);
    }

    paintSelection() {
      const { context, drawing, selected } = this;
      if (!selected) return;
      context.strokeStyle = this.ink;
      context.lineWidth = 2;
      const [call, work] = this.chain();
      if (selected.kind === "gap") {
        const lane = this.laneOf("gaps", drawing.gaps.device[selected.place]);
        const box = this.box(drawing.gaps, selected.place, lane, { least: 2 });
        const top = AXIS + OVERVIEW + SPACE;
        context.globalAlpha = 0.1;
        context.fillStyle = this.ink;
        context.fillRect(box.x, top, box.width, box.y - top);
        context.fillRect(box.x, box.y + box.height, box.width, this.height - SPACE - box.y - box.height);
        context.globalAlpha = 1;
        this.outline(drawing.gaps, selected.place, lane);
      }
      if (selected.kind === "range") {
        const lane = this.lanes.find((each) => each.kind === "ranges" && each.items.includes(selected.place));
        this.outline(drawing.ranges, selected.place, lane);
      }
      if (work !== null) this.outline(drawing.works, work, this.laneOf("works", drawing.works.stream[work]));
      if (call !== null) this.outline(drawing.calls, call, this.laneOf("calls", drawing.calls.thread[call]));
      if (work !== null && call !== null) {
        const from = this.laneOf("calls", drawing.calls.thread[call]);
        const to = this.laneOf("works", drawing.works.stream[work]);
        const [x1, y1] = [this.x(drawing.calls.start[call] + drawing.calls.duration[call]), from.y + from.height];
        const [x2, y2] = [this.x(drawing.works.start[work]), to.y];
        context.lineWidth = 1.25;
        context.beginPath();
        context.moveTo(x1, y1);
        context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2 - 5);
        context.stroke();
        context.fillStyle = this.ink;
        context.beginPath();
        context.moveTo(x2, y2);
        context.lineTo(x2 - 3.5, y2 - 7);
        context.lineTo(x2 + 3.5, y2 - 7);
        context.fill();
      }
    }

    /** The launch call and the work that the selection is about. */
    chain() {
      const { drawing, selected } = this;
      if (selected.kind === "call") return [selected.place, (this.worksOfCall.get(selected.place) || [null])[0]];
      const work = selected.kind === "gap" ? drawing.gaps.work[selected.place] : selected.kind === "work" ? selected.place : null;
      if (work === null) return [null, null];
      return [drawing.works.call[work] < 0 ? null : drawing.works.call[work], work];
    }

    // What the pointer is on.

    at(x, y) {
      const { drawing } = this;
      const lane = this.lanes.find((each) => each.kind !== "label" && y >= each.y && y < each.y + each.height);
      if (!lane || lane.kind === "overview") return null;
      const slack = 3 * ((this.view[1] - this.view[0]) / this.width);
      const time = this.time(x);
      const nearest = (items, column) => {
        let found = null;
        let best = slack;
        for (const place of items) {
          const away = Math.max(column.start[place] - time, time - column.start[place] - column.duration[place], 0);
          if (away <= best) [best, found] = [away, place];
        }
        return found;
      };
      const kinds = { calls: "call", works: "work", ranges: "range", gaps: "gap" };
      const place = nearest(lane.items, drawing[lane.kind]);
      if (place !== null) return { kind: kinds[lane.kind], place };
      if (lane.kind !== "works") return null;
      const gaps = this.laneOf("gaps", drawing.device_of_stream[lane.of]);
      const gap = nearest(gaps.items, drawing.gaps);
      return gap === null ? null : { kind: "gap", place: gap };
    }

    listen() {
      const { canvas } = this;
      const point = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left - canvas.clientLeft, event.clientY - box.top - canvas.clientTop];
      };
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        canvas.setPointerCapture(event.pointerId);
        const [x, y] = point(event);
        this.pointers.set(event.pointerId, { x, y, from: x });
        this.moved = this.pointers.size > 1;
        this.inOverview = y >= AXIS && y < AXIS + OVERVIEW;
        if (this.inOverview) this.centre(x);
        this.hideTip();
      });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = point(event);
        const held = this.pointers.get(event.pointerId);
        if (!held) {
          this.hover(x, y);
          return;
        }
        if (Math.abs(x - held.from) > 4) this.moved = true;
        if (this.inOverview) this.centre(x);
        else if (this.pointers.size > 1) this.pinch(event.pointerId, x);
        else if (this.moved) {
          canvas.classList.add("dragging");
          this.pan(held.x - x);
        }
        [held.x, held.y] = [x, y];
      });
      const release = (event, clicked) => {
        const held = this.pointers.get(event.pointerId);
        this.pointers.delete(event.pointerId);
        canvas.classList.remove("dragging");
        if (held && clicked && !this.moved && !this.inOverview) this.pick(this.at(...point(event)));
      };
      canvas.addEventListener("pointerup", (event) => release(event, true));
      canvas.addEventListener("pointercancel", (event) => release(event, false));
      canvas.addEventListener("pointerleave", () => this.hideTip());
      canvas.addEventListener("dblclick", (event) => this.zoom(0.4, point(event)[0]));
      canvas.addEventListener("wheel", (event) => {
        const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        // Until it is selected, the page under the wheel scrolls on.
        if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
        event.preventDefault();
        this.hideTip();
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (sideways) this.pan(unit * (event.deltaX || event.deltaY));
        else this.zoom(Math.exp(Math.max(-60, Math.min(60, unit * event.deltaY)) / 180), point(event)[0]);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const actions = {
          ArrowLeft: () => this.pan(-this.width / 8),
          ArrowRight: () => this.pan(this.width / 8),
          "+": () => this.zoom(0.6),
          "=": () => this.zoom(0.6),
          "-": () => this.zoom(1 / 0.6),
          0: () => this.fit(),
          Home: () => this.look(this.whole[0], this.whole[0] + this.view[1] - this.view[0]),
          End: () => this.look(this.whole[1] - this.view[1] + this.view[0], this.whole[1]),
          n: () => this.step(1),
          p: () => this.step(-1),
          l: () => this.selectLongest(),
          Escape: () => this.pick(null),
        };
        const action = actions[event.key] || actions[event.key.toLowerCase()];
        if (!action) return;
        event.preventDefault();
        action();
      });
      new ResizeObserver(() => this.draw()).observe(canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    hover(x, y) {
      const found = this.at(x, y);
      if (!found) {
        this.hideTip();
        return;
      }
      this.tip.textContent = this.title(found);
      this.tip.hidden = false;
      const room = this.width - this.tip.offsetWidth;
      this.tip.style.left = `${Math.max(0, Math.min(x + 12, room))}px`;
      this.tip.style.top = `${y + 18}px`;
    }

    hideTip() { this.tip.hidden = true; }

    // Moving and zooming.

    look(from, to) {
      const [low, high] = this.whole;
      const span = Math.min(Math.max(to - from, LEAST_SPAN), high - low);
      const start = Math.min(Math.max(from, low), high - span);
      this.view = span === high - low ? [low, high] : [start, start + span];
      this.draw();
    }

    fit() { this.look(...this.whole); }

    pan(pixels) {
      const shift = (pixels / this.width) * (this.view[1] - this.view[0]);
      this.look(this.view[0] + shift, this.view[1] + shift);
    }

    zoom(factor, x = this.width / 2) {
      const time = this.time(x);
      const span = Math.max((this.view[1] - this.view[0]) * factor, LEAST_SPAN);
      const from = time - (x / this.width) * span;
      this.look(from, from + span);
    }

    centre(x) {
      const half = (this.view[1] - this.view[0]) / 2;
      const time = this.whole[0] + (x / this.width) * (this.whole[1] - this.whole[0]);
      this.look(time - half, time + half);
    }

    pinch(id, x) {
      const held = this.pointers.get(id);
      const other = [...this.pointers].find(([each]) => each !== id)[1];
      const [before, after] = [Math.abs(held.x - other.x), Math.abs(x - other.x)];
      if (before > 4 && after > 4) this.zoom(before / after, other.x);
    }

    step(direction) {
      if (!this.inTime.length) return;
      const { drawing } = this;
      const middle = (this.view[0] + this.view[1]) / 2;
      let place;
      if (this.selected && this.selected.kind === "gap") place = this.inTime.indexOf(this.selected.place) + direction;
      else {
        place = this.inTime.findIndex((gap) => drawing.gaps.start[gap] >= middle);
        if (place < 0) place = this.inTime.length;
        if (direction < 0) place -= 1;
      }
      this.showGap(this.inTime[Math.min(Math.max(place, 0), this.inTime.length - 1)]);
    }

    byLength() {
      const { gaps } = this.drawing;
      return [...this.inTime].sort((a, b) => gaps.duration[b] - gaps.duration[a]);
    }

    selectLongest() { if (this.inTime.length) this.showGap(this.byLength()[0]); }

    /** Select a gap and bring it into view, large enough to be seen. */
    showGap(gap) {
      const { start, duration: length } = this.drawing.gaps;
      const span = this.view[1] - this.view[0];
      const wide = (length[gap] / span) * this.width >= 12;
      const inside = start[gap] >= this.view[0] && start[gap] + length[gap] <= this.view[1];
      if (!wide || !inside) {
        const next = wide ? Math.max(span, 1.5 * length[gap]) : Math.max(length[gap] * 8, LEAST_SPAN);
        const middle = start[gap] + length[gap] / 2;
        this.look(middle - next / 2, middle + next / 2);
      }
      this.pick({ kind: "gap", place: gap });
    }

    pick(found) {
      this.selected = found;
      this.describe();
      this.draw();
    }

    // Words for what is selected.

    title({ kind, place }) {
      const { drawing } = this;
      if (kind === "gap") return `idle ${duration(drawing.gaps.duration[place])}: ${this.gapCauses(place).map(([key]) => key).join(", ")}`;
      if (kind === "work") return `${drawing.labels[drawing.works.name[place]]} ${duration(drawing.works.duration[place])}: ${drawing.short[drawing.works.name[place]]}`;
      if (kind === "call") return `${drawing.call_names[drawing.calls.name[place]]} ${duration(drawing.calls.duration[place])}`;
      return `${drawing.ranges.name[place]} ${duration(drawing.ranges.duration[place])}`;
    }

    gapCauses(gap) {
      const { pieces } = this.drawing;
      const causes = {};
      for (const piece of this.pieces[gap]) {
        const { key } = data.causes[pieces.cause[piece]];
        causes[key] = (causes[key] || 0) + pieces.duration[piece];
      }
      return Object.entries(causes).sort((a, b) => b[1] - a[1]);
    }

    describe() {
      const { details, selected } = this;
      if (!selected) {
        details.replaceChildren(el("p", { class: "muted" }, "Nothing selected. Click a gap, a kernel or a call, or press N in the timeline for the next gap."));
        return;
      }
      details.replaceChildren(...this[`describe_${selected.kind}`](selected.place));
    }

    workItem(work) {
      const { drawing } = this;
      const { works } = drawing;
      const stream = drawing.streams.length > 1 ? ` on ${drawing.streams[works.stream[work]]}` : "";
      const kind = drawing.op_classes[works.name[work]];
      return el("li", {}, el("b", {}, "Work: "), el("code", {}, drawing.names[works.name[work]]), ` (${kind}), ran for ${duration(works.duration[work])}${stream}`,
        works.own[work] ? "" : "; no part of this run");
    }

    callItem(work) {
      const { calls, works, call_names: names, threads } = this.drawing;
      const call = works.call[work];
      if (call < 0) return el("li", {}, el("b", {}, "Launch call: "), "none recorded");
      const end = calls.start[call] + calls.duration[call];
      const wait = works.start[work] - end;
      const then = wait >= 0 ? `the work started ${duration(wait)} after it returned` : `the work started ${duration(-wait)} before it returned`;
      return el("li", {}, el("b", {}, "Launch call: "), el("code", {}, names[calls.name[call]]), ` on ${threads[calls.thread[call]]}, took ${duration(calls.duration[call])}; ${then}`);
    }

    /** Where the launch call stood when the device ran dry. */
    callBegan(gap) {
      const { calls, works, gaps } = this.drawing;
      const call = works.call[gaps.work[gap]];
      if (call < 0) return null;
      const away = calls.start[call] - gaps.start[gap];
      const text = away >= 0 ? `began ${duration(away)} after the ${data.device} had run dry` : `had begun ${duration(-away)} before the ${data.device} ran dry`;
      return el("li", {}, el("b", {}, "When: "), `the launch call ${text}`);
    }

    describe_gap(gap) {
      const { drawing } = this;
      const { gaps, pieces } = drawing;
      const causes = this.gapCauses(gap);
      const whole = gaps.duration[gap];
      const fusible = sum(causes.filter(([key]) => causeOf.get(key).fusible).map(([, ns]) => ns));
      const parts = this.pieces[gap].map((piece) => [data.causes[pieces.cause[piece]].key, pieces.duration[piece]]);
      const legend = causeList(Object.fromEntries(causes), whole);
      return [
        el("h3", {}, `Idle for ${duration(whole)}, ended by `, el("code", {}, drawing.labels[drawing.works.name[gaps.work[gap]]])),
        bar(parts, whole),
        el("div", { class: "legend" }, legend),
        el("ul", {},
          this.workItem(gaps.work[gap]), this.callItem(gaps.work[gap]), this.callBegan(gap),
          el("li", {}, el("b", {}, "Launch overhead: "), fusible ? `at most ${duration(fusible)} of it (${percent(fusible / whole)})` : "nothing of it")),
      ];
    }

    describe_work(work) {
      const { drawing } = this;
      const gap = this.gapOfWork.get(work);
      const before = gap === undefined ? `the ${data.device} was busy until it began`
        : el("button", { type: "button", class: "plain-button", on: { click: () => this.showGap(gap) } }, `the ${data.device} was idle for ${duration(drawing.gaps.duration[gap])}`);
      return [
        el("h3", {}, el("code", {}, drawing.labels[drawing.works.name[work]]), ` ran for ${duration(drawing.works.duration[work])}`),
        el("ul", {}, this.workItem(work), this.callItem(work), el("li", {}, el("b", {}, "Before: "), before)),
      ];
    }

    describe_call(call) {
      const { drawing } = this;
      const { calls, works } = drawing;
      const launched = this.worksOfCall.get(call) || [];
      const items = launched.slice(0, 5).map((work) => this.workItem(work));
      if (launched.length > 5) items.push(el("li", {}, `and ${grouped(launched.length - 5)} more`));
      const blocks = { sync: "waits for the device", memory: "manages memory", module: "loads code", launch: "puts work on a device", api: "other" };
      return [
        el("h3", {}, el("code", {}, drawing.call_names[calls.name[call]]), ` took ${duration(calls.duration[call])}`),
        el("ul", {},
          el("li", {}, el("b", {}, "Kind: "), blocks[drawing.call_classes[calls.class[call]]], `, on ${drawing.threads[calls.thread[call]]}`), ...items,
          launched.length ? this.callItem(launched[0]) : null),
      ];
    }

    describe_range(range) {
      const { ranges } = this.drawing;
      return [el("h3", {}, el("code", {}, ranges.name[range]), ` took ${duration(ranges.duration[range])}`),
        el("ul", {}, el("li", {}, `Range on ${this.drawing.threads[ranges.thread[range]]}`))];
    }

    listLongest() {
      const { drawing } = this;
      const rows = this.byLength().slice(0, 12);
      const columns = [
        { title: "length", number: true, cell: (gap) => el("button", { type: "button", class: "plain-button", on: { click: () => { this.showGap(gap); this.canvas.scrollIntoView({ block: "nearest" }); } } }, duration(drawing.gaps.duration[gap])) },
        { title: "causes", cell: (gap) => bar(this.gapCauses(gap), drawing.gaps.duration[gap], true) },
        { title: "mostly", cell: (gap) => this.gapCauses(gap)[0][0] },
        { title: "ended by", wide: true, cell: (gap) => { const name = drawing.works.name[drawing.gaps.work[gap]]; return nameCell(drawing.short[name], drawing.names[name]); } },
        { title: "begins at", number: true, cell: (gap) => duration(drawing.gaps.start[gap]) },
      ];
      this.longest.hidden = !rows.length;
      this.longest.replaceChildren(el("summary", {}, rows.length === 1 ? "The only gap of this run" : `The ${rows.length} longest of ${grouped(this.inTime.length)} gaps, as a table`),
        table(columns, rows, { caption: "Longest gaps" }).node);
    }
  }

  showFigures();
  showFindings();
  showCauses();
  const drawn = document.getElementById("timeline");
  // Its place in the contents is behind the graphs; they need it, so it is made first.
  const timeline = new Timeline(drawn);
  showGraphs(timeline);
  section("timeline", "Timeline");
  if (data.graphs[0].source === "trace") drawn.querySelector("h2").textContent = "Timeline";
  timeline.draw();
  showCandidates();
  showKernels();
  showCoverage();
})();
