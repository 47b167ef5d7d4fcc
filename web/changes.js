// SPDX-License-Identifier: Apache-2.0
// Changes that an operator makes: what, are you sure, done.
import { h, setText } from './dom.js';
import { t } from './i18n.js';
import { ApiError } from './api.js';
import { button, openDialog, toast } from './dialogs.js';

/** Asks, then calls apply(), then done(). lines: what is going to happen. */
export function confirm({ title, lines, danger, apply, done }) {
	const fault = h('p', { class: 'field-error', role: 'alert' });
	const go = button(t('ops.confirm'), async () => {
		go.disabled = true;
		try {
			await apply();
			dialog.close();
			toast(t('ops.done'));
			done();
		} catch (e) {
			if (!(e instanceof ApiError))
				throw e;
			setText(fault, e.message);
			go.disabled = false;
		}
	}, { kind: danger ? 'danger' : 'primary' });
	const dialog = openDialog({ title, kind: 'narrow', body: [...lines, h('p', { class: 'muted' }, t('ops.confirm_note')), fault],
		buttons: [button(t('cancel'), () => dialog.close()), go] });
}

const shown = value => (value === null || value === undefined ? '–' : String(value));

/** A form of whole numbers; what was changed is shown before it is applied. fields: [{name, value, min, placeholder, optional}]. */
export function edit({ title, fields, apply, done }) {
	const fault = h('p', { class: 'field-error', role: 'alert' });
	const inputs = new Map(fields.map(f => [f, h('input', { id: `e-${f.name}`, type: 'number', inputmode: 'numeric', min: f.min ?? 0, step: 1,
		required: !f.optional, value: f.value, placeholder: f.placeholder })]));
	const form = h('form', { id: 'edit', class: 'form', onsubmit(e) {
		e.preventDefault();
		const changes = {};
		const lines = [];
		for (const [f, input] of inputs) {
			const value = input.value === '' ? null : Number(input.value);
			if (value === (f.value ?? null))
				continue;
			changes[f.name] = value;
			lines.push(h('p', { class: 'change' }, h('span', {}, t(`field.${f.name}`)), h('span', { class: 'number' }, `${shown(f.value)} → `, h('strong', {}, shown(value)))));
		}
		if (lines.length === 0) {
			setText(fault, t('ops.nothing'));
			return;
		}
		dialog.close();
		confirm({ title: t('ops.confirm_title'), lines: [h('p', {}, title), ...lines], apply: () => apply(changes), done });
	} }, fields.map(f => [h('label', { for: `e-${f.name}` }, t(`field.${f.name}`)), inputs.get(f)]),
	fields.some(f => f.optional) && h('p', { class: 'hint' }, t('field.inherit')), fault);
	const dialog = openDialog({ title, kind: 'narrow', body: form,
		buttons: [button(t('cancel'), () => dialog.close()), h('button', { class: 'button primary', type: 'submit', form: 'edit' }, t('ops.change'))] });
}
