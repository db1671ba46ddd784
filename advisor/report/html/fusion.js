"use strict";
// Tables sort by a click on a heading; without this script they are as they were written.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const number = table.tBodies[0].rows[0].cells[column].dataset.key !== undefined;
      const key = (row) => (number ? row.cells[column].dataset.key : row.cells[column].textContent);
      const compare = (a, b) => {
        const [one, other] = [key(a), key(b)];
        // What has no value stands last, whichever way.
        if (one === "" || other === "") return (one === "") - (other === "");
        return (number ? one - other : one.localeCompare(other)) * (ascending ? 1 : -1);
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    });
  });
}
