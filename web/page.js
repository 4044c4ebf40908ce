/* What the pages do with a script, and do without one as well: filter and sort tables, look at a file that is dropped, say when the ledger has
 * grown. */
"use strict";

for (const table of document.querySelectorAll(".wide table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < 6) continue;
  const filter = document.createElement("input");
  filter.className = "filter";
  filter.type = "search";
  filter.placeholder = "filter these rows";
  filter.setAttribute("aria-label", "filter the rows of the table below");
  (table.closest("form") ?? table.parentNode).before(filter); /* Enter there sends no form */
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });

  const key = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent;
  };
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      rows.sort((a, b) => {
        const x = key(a, i), y = key(b, i);
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
      });
      body.append(...rows);
    });
  });
}

/* A file that is dropped anywhere goes where the form of look.html sends one. */
const look = document.querySelector("header a.look");
if (look !== null) {
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    const form = document.createElement("form"), file = document.createElement("input");
    form.method = "post";
    form.enctype = "multipart/form-data";
    form.action = look.href;
    form.hidden = true;
    file.type = "file";
    file.name = "file";
    file.files = event.dataTransfer.files;
    form.append(file);
    document.body.append(form);
    form.submit();
  });
}

/* Runs that go on: their numbers as they come, and how the rate went while the page was open. */
const live = document.querySelector("[data-live]");
if (live !== null && location.protocol.startsWith("http")) {
  const known = (value) => typeof value === "number";
  const rate = (value) => (known(value) ? String(Number(value.toPrecision(4))) : "–");
  const share = (value) => (known(value) ? Math.round(100 * value) + " %" : "–");
  const time = (ns) => (!known(ns) ? "–" : ns < 1e6 ? Math.round(ns / 1e3) + " µs" : ns < 1e9 ? rate(ns / 1e6) + " ms" : rate(ns / 1e9) + " s");
  const texts = { requests_per_s: rate, tokens_per_s: rate, time_to_first_token_ns: time, end_to_end_ns: time, idle: share, steal: share };
  const phase = (run) =>
    (run.session > 0 ? "Session " + run.session + (run.sessions > 0 ? " of " + run.sessions : "") + ", " + run.precision + ": " : "") +
    run.step + (run.silent_s > 5 ? "; not heard of for " + Math.round(run.silent_s) + " s" : "");

  const drawn = new Map(); /* of each run: its rates, and the line that they are drawn as */
  const draw = (section, run) => {
    const value = run.tokens_per_s ?? run.requests_per_s;
    if (!known(value)) return;
    if (!drawn.has(run.intent)) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      svg.setAttribute("viewBox", "0 0 600 60");
      svg.setAttribute("class", "live");
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", "the rate while this page is open");
      line.setAttribute("class", "l c0");
      svg.append(line);
      section.append(svg);
      drawn.set(run.intent, { values: [], line });
    }
    const { values, line } = drawn.get(run.intent);
    values.push(value);
    if (values.length > 120) values.shift();
    const most = Math.max(...values, 1e-9);
    line.setAttribute("d", values.map((v, i) => (i === 0 ? "M" : "L") + (i * 5).toFixed(0) + " " + (56 - (52 * v) / most).toFixed(1)).join(""));
  };

  new EventSource(live.dataset.live).onmessage = (event) => {
    const runs = JSON.parse(event.data), sections = [...live.querySelectorAll("[data-run]")];
    if (runs.map((r) => r.intent).join() !== sections.map((s) => s.dataset.run).join()) return location.reload();
    runs.forEach((run, i) => {
      for (const field of sections[i].querySelectorAll("[data-field]")) {
        const key = field.dataset.field;
        if (key === "phase") field.textContent = phase(run);
        else if (key === "elapsed_s") (field.max = run.total_s || 1), (field.value = run.elapsed_s ?? 0);
        else field.textContent = (texts[key] ?? String)(run[key]);
      }
      draw(sections[i], run);
    });
  };
}

/* A page on a server says when there is something new; one that lies as a file asks for nothing. */
if (location.protocol.startsWith("http")) {
  let seen = null;
  const ask = async () => {
    try {
      const answer = await fetch(location.href, { method: "HEAD", cache: "no-store" });
      const tag = answer.headers.get("ETag");
      if (seen !== null && tag !== null && tag !== seen && document.querySelector(".news") === null) {
        const news = document.createElement("p");
        news.className = "news";
        news.setAttribute("role", "status");
        const link = document.createElement("a");
        link.href = location.href;
        link.textContent = "The ledger has grown: show it";
        news.append(link);
        document.body.append(news);
      }
      seen = tag ?? seen;
    } catch {
      /* the server is gone for now; the next one may be answered */
    }
  };
  ask();
  setInterval(ask, 15000);
}
