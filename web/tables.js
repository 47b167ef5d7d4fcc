// SPDX-License-Identifier: Apache-2.0
// Tables whose rows stay where they are while their numbers change.
import { h, reconcile } from './dom.js';

/** Makes place a table. columns: [{title, numeric, cell(row)}]; what cell returns becomes the cell's content. Returns a function
 *  that draws rows; key(row) says which is which, empty is shown where there are none. */
export function makeTable(place, columns, { key, empty, label }) {
	const body = h('tbody');
	const table = h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': label }, h('table', {},
		h('thead', {}, h('tr', {}, columns.map(c => h('th', { scope: 'col', class: c.numeric && 'numeric' }, c.title)))), body));
	const none = h('p', { class: 'muted' }, empty);
	place.replaceChildren(table, none);
	return rows => {
		table.hidden = rows.length === 0;
		none.hidden = rows.length > 0;
		reconcile(body, rows, { key, make: () => h('tr'), update: (element, row) => fill(element, columns, row) });
	};
}

/** A row is written anew only when its data changed; the focus stays on the button that had it. */
function fill(element, columns, row) {
	const known = JSON.stringify(row);
	if (element.known === known)
		return;
	element.known = known;
	const focused = Array.from(element.querySelectorAll('button')).indexOf(document.activeElement);
	element.replaceChildren(...columns.map(c => h('td', { class: c.numeric && 'numeric' }, c.cell(row))));
	if (focused >= 0)
		element.querySelectorAll('button')[focused]?.focus();
}
