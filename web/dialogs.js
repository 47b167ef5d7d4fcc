// SPDX-License-Identifier: Apache-2.0
// Dialogs: <dialog> keeps the focus inside, and Escape closes it.
import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './i18n.js';

/** Opens a dialog with a title, a body and buttons; it is removed when it closes. Returns it. onClose is called once. */
export function openDialog({ title, body, buttons = [], kind = '', onClose }) {
	const id = `d${Math.random().toString(36).slice(2)}`;
	const dialog = h('dialog', { class: `dialog ${kind}`, 'aria-labelledby': id },
		h('header', { class: 'dialog-head' }, h('h2', { id }, title),
			h('button', { class: 'icon-button', type: 'button', 'aria-label': t('close'), onclick: () => dialog.close() }, icon('close'))),
		h('div', { class: 'dialog-body' }, body),
		buttons.length > 0 && h('footer', { class: 'dialog-foot' }, buttons));
	dialog.addEventListener('close', () => {
		dialog.remove();
		onClose?.();
	}, { once: true });
	dialog.addEventListener('click', e => { // beside it
		if (e.target === dialog)
			dialog.close();
	});
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}

export const button = (text, onclick, { kind = '', name, disabled, type = 'button' } = {}) =>
	h('button', { class: `button ${kind}`, type, onclick, disabled }, name && icon(name), h('span', {}, text));

let noteTimer;

/** A short word at the edge of the page. */
export function toast(text, kind = 'good') {
	let place = document.querySelector('.toast');
	if (!place) {
		place = h('div', { class: 'toast', role: 'status' });
		document.body.append(place);
	}
	place.textContent = text;
	place.className = `toast shown ${kind}`;
	clearTimeout(noteTimer);
	noteTimer = setTimeout(() => place.classList.remove('shown'), 4000);
}
