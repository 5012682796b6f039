// Tables of records.

import { byId, element, scrolling } from './dom.js';

// columns: [title, row -> text or node, 'number' | 'wide' | undefined]
export function table(rows, columns, caption) {
  const tableNode = element('table');
  if (caption) tableNode.append(element('caption', caption, 'sr'));
  const head = tableNode.createTHead().insertRow();
  for (const [title, , kind] of columns) {
    const cell = element('th', title, kind);
    if (!title) cell.append(element('span', 'Actions', 'sr'));
    cell.scope = 'col';
    head.append(cell);
  }
  const body = tableNode.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const [, cell, kind] of columns) {
      const content = cell(row);
      const node = element('td', content instanceof Node ? null : content, kind);
      if (content instanceof Node) node.append(content);
      line.append(node);
    }
  }
  return tableNode;
}

// The heading over a table is its caption, for those who do not see that it stands there.
function captionOf(node) {
  const heading = node.closest('section') && node.closest('section').querySelector('h2');
  return (heading || document.querySelector('h1')).textContent;
}

export function fill(id, rows, columns, nothing) {
  const caption = captionOf(byId(id));
  byId(id).replaceChildren(rows.length ? scrolling(table(rows, columns, caption), caption) : element('p', nothing, 'empty'));
}
