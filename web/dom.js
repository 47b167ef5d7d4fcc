// SPDX-License-Identifier: Apache-2.0
// Elements are made here and nowhere else. Data becomes text or an attribute's value, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
	for (const [name, value] of Object.entries(properties ?? {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith('on') && typeof value === 'function')
			element.addEventListener(name.slice(2), value);
		else if (name === 'data')
			Object.assign(element.dataset, value);
		else if (name === 'vars')
			setVars(element, value);
		else
			element.setAttribute(name, value === true ? '' : String(value));
	}
	element.append(...children.flat(Infinity).filter(c => c !== undefined && c !== null && c !== false));
	return element;
}

/** h('a', {href, class, data: {}, vars: {}, onclick}, children...): an element. Strings among the children become text. */
export function h(tag, properties, ...children) {
	return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties, ...children) {
	return fill(document.createElementNS(SVG, tag), properties, children);
}

/** CSS custom properties, by which a number reaches a style sheet. */
export function setVars(element, values) {
	for (const [name, value] of Object.entries(values))
		element.style.setProperty(`--${name}`, value);
}

export const $ = (selector, root = document) => root.querySelector(selector);

/** Writes a text only if it differs, so that screen readers and selections are left alone. */
export function setText(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

/** Brings the children of parent in line with items: make(item) makes an element, update(element, item) fills it in, key(item) says
 *  which is which. Elements that stay are kept, so that pictures do not flicker and the focus stays where it is. */
export function reconcile(parent, items, { key, make, update }) {
	const old = new Map(Array.from(parent.children, e => [e.dataset.key, e]));
	const focused = document.activeElement;
	let place = parent.firstElementChild;
	for (const item of items) {
		const k = String(key(item));
		let element = old.get(k);
		if (element) {
			old.delete(k);
		} else {
			element = make(item);
			element.dataset.key = k;
		}
		update?.(element, item);
		if (element === place)
			place = place.nextElementSibling;
		else
			parent.insertBefore(element, place);
	}
	for (const element of old.values())
		element.remove();
	if (focused !== document.activeElement && parent.contains(focused)) // an element that is moved loses it
		focused.focus({ preventScroll: true });
}
