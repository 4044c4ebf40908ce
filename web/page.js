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
