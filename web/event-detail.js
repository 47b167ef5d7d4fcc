// SPDX-License-Identifier: Apache-2.0
// One event: its pictures with what was seen in them, and what became of it and why.
import { h, setText } from './dom.js';
import { icon } from './icons.js';
import { date, duration, moment, number, t, tagLabel, time, word } from './i18n.js';
import { ApiError, get, put, request } from './api.js';
import { button, openDialog, toast } from './dialogs.js';
import { isOperator, setWho, trouble } from './shell.js';

let current = null;

/** Opens the event's dialog. onClose: when it is closed; onChange: when the event was changed here. */
export async function openEvent(uuid, { onClose, onChange }) {
	current?.close();
	const body = h('div', { class: 'detail' }, h('p', { class: 'muted' }, t('loading')));
	const dialog = current = openDialog({ title: t('detail.title'), kind: 'wide', body, onClose: () => {
		if (current === dialog) {
			current = null;
			onClose();
		}
	} });
	const load = async () => {
		try {
			const event = await get(`console/events/${uuid}`);
			setWho(event.who);
			setText(dialog.querySelector('h2'), `${word('event', event.primary_event)} · ${event.display_name ?? event.camera_id}`);
			body.replaceChildren(pictures(event, dialog), facts(event, async () => {
				await load();
				onChange();
			}));
		} catch (e) {
			if (!(e instanceof ApiError))
				throw e;
			body.replaceChildren(h('p', { class: 'field-error', role: 'alert' }, e.message));
			if (e.status === 401)
				trouble(e);
		}
	};
	await load();
}

// --- pictures

/** Numbers within the picture, 0 to 1; models also give pixels. null for what is none. */
function boxPlace(box, image) {
	let numbers = [box?.x1, box?.y1, box?.x2, box?.y2];
	if (numbers.some(n => typeof n !== 'number' || !Number.isFinite(n)))
		return null;
	if (numbers.some(n => n > 1.5) && image.naturalWidth > 0)
		numbers = numbers.map((n, i) => n / (i % 2 === 0 ? image.naturalWidth : image.naturalHeight));
	const [x1, y1, x2, y2] = numbers.map(n => Math.min(1, Math.max(0, n)));
	return x2 > x1 && y2 > y1 ? { x: x1, y: y1, w: x2 - x1, h: y2 - y1 } : null;
}

function boxes(frame, image) {
	return frame.bboxes.map(box => [box, boxPlace(box, image)]).filter(([, place]) => place).map(([box, place]) =>
		h('div', { class: 'box', vars: place }, h('span', { class: 'box-label' },
			[box.label, typeof box.conf === 'number' && `${Math.round(box.conf * 100)}%`].filter(Boolean).join(' '))));
}

function pictures(event, dialog) {
	const { frames } = event;
	const image = h('img', { class: 'frame-image', alt: '' });
	const layer = h('div', { class: 'boxes' });
	const none = h('p', { class: 'no-picture', hidden: true }, icon('camera_issue'), h('span', {}, t('events.no_image')));
	const caption = h('p', { class: 'caption' });
	const toggle = h('input', { type: 'checkbox', id: 'show-boxes', checked: true });
	const slider = h('input', { type: 'range', class: 'slider', min: 0, max: Math.max(0, frames.length - 1), step: 1, 'aria-label': t('detail.timeline') });
	const strip = h('ol', { class: 'strip' });
	const ticks = h('div', { class: 'ticks', 'aria-hidden': 'true' });
	let at = Math.max(0, frames.findIndex(f => f.frame_uuid === event.best_frame_uuid));

	function step(n) {
		at = Math.min(frames.length - 1, Math.max(0, n));
		const frame = frames[at];
		layer.replaceChildren();
		image.hidden = !frame.image;
		none.hidden = Boolean(frame.image);
		if (frame.image)
			image.src = frame.image;
		image.alt = `${word('event', frame.primary_event ?? event.primary_event)} ${time(frame.captured_at)}`;
		slider.value = at;
		slider.setAttribute('aria-valuetext', `${t('detail.frame_of', { n: at + 1, all: frames.length })}, ${time(frame.captured_at)}`);
		setText(caption, [t('detail.frame_of', { n: at + 1, all: frames.length }), moment(frame.captured_at),
			frame.confidence !== null && `${t('detail.confidence')} ${Math.round(frame.confidence * 100)}%`].filter(Boolean).join(' · '));
		for (const [i, item] of Array.from(strip.children).entries())
			item.firstChild.setAttribute('aria-current', String(i === at));
		for (const [i, tick] of Array.from(ticks.children).entries())
			tick.classList.toggle('now', i === at);
		const chosen = strip.children[at];
		strip.scrollTo({ left: chosen.offsetLeft - strip.clientWidth / 2 + chosen.clientWidth / 2, behavior: 'smooth' });
	}
	image.addEventListener('load', () => {
		none.hidden = true;
		layer.replaceChildren(...boxes(frames[at], image));
	});
	image.addEventListener('error', () => {
		image.hidden = true;
		none.hidden = false;
	});
	toggle.addEventListener('change', () => { layer.hidden = !toggle.checked; });
	slider.addEventListener('input', () => step(Number(slider.value)));
	dialog.onkeydown = e => { // wherever the focus is, except where keys have a meaning of their own
		if ((e.key === 'ArrowLeft' || e.key === 'ArrowRight') && !(e.target instanceof HTMLInputElement)) {
			step(at + (e.key === 'ArrowLeft' ? -1 : 1));
			e.preventDefault();
		}
	};
	if (frames.length === 0)
		return h('section', { class: 'pictures' }, h('div', { class: 'frame' }, h('p', { class: 'no-picture' }, icon('camera_issue'), h('span', {}, t('events.no_image')))));

	const first = new Date(frames[0].captured_at);
	const span = new Date(frames.at(-1).captured_at) - first;
	strip.append(...frames.map((f, i) => h('li', {}, h('button', { class: 'thumb', type: 'button', tabindex: -1, onclick: () => step(i),
		data: { severity: f.severity ?? 0 } },
	f.image && h('img', { src: f.image, alt: '', loading: 'lazy', decoding: 'async' }),
	f.frame_uuid === event.best_frame_uuid && h('span', { class: 'thumb-best' }, t('detail.best')), h('span', { class: 'thumb-time' }, time(f.captured_at))))));
	ticks.append(...frames.map(f => h('span', { class: 'tick', data: { severity: f.severity ?? 0 },
		vars: { x: span > 0 ? (new Date(f.captured_at) - first) / span : 0.5 } })));
	const section = h('section', { class: 'pictures' },
		h('div', { class: 'frame' }, h('div', { class: 'frame-fit' }, image, layer), none),
		h('div', { class: 'frame-bar' }, h('button', { class: 'icon-button', type: 'button', 'aria-label': t('detail.prev'), onclick: () => step(at - 1) }, icon('left')),
			caption, h('label', { class: 'check', for: 'show-boxes' }, toggle, t('detail.boxes')),
			h('button', { class: 'icon-button', type: 'button', 'aria-label': t('detail.next'), onclick: () => step(at + 1) }, icon('right'))),
		h('div', { class: 'timeline' }, slider, ticks, h('div', { class: 'span muted' }, h('span', {}, time(first)), span > 0 && h('span', {}, time(frames.at(-1).captured_at)))),
		strip);
	step(at);
	return section;
}

// --- facts

const row = (name, ...value) => h('div', { class: 'row' }, h('dt', {}, name), h('dd', {}, value));
const card = (title, symbol, ...children) => h('section', { class: 'facts' }, h('h3', {}, icon(symbol), h('span', {}, title)), children);

function facts(event, reload) {
	const lasted = (new Date(event.last_seen_at) - new Date(event.start_at)) / 1000;
	return h('div', { class: 'fact-list' },
		card(t('detail.facts'), event.primary_event,
			event.summary && h('p', { class: 'lead' }, event.summary),
			h('dl', {},
				row(t('detail.when'), `${moment(event.start_at)}${lasted >= 1 ? ` · ${t('events.lasted', { time: duration(lasted) })}` : ''}`),
				row(t('events.camera'), event.display_name ?? event.camera_id, event.location_label && h('span', { class: 'muted' }, ` ${event.location_label}`)),
				row(t('events.severity'), h('span', { class: `chip sev${event.severity_max}` }, word('severity', event.severity_max))),
				row(t('events.state'), event.state === 'open' ? h('span', { class: 'chip accent' }, t('events.open'))
					: `${t('events.closed')} (${word('close', event.close_reason)})`),
				event.confidence_max !== null && row(t('detail.confidence'), `${Math.round(event.confidence_max * 100)}%`))),
		card(t('detail.tags'), 'list', event.tags.length === 0 ? h('p', { class: 'muted' }, t('detail.no_tags'))
			: h('ul', { class: 'tags' }, event.tags.map(tag => h('li', { class: 'tag' }, h('span', {}, tagLabel(tag.tag_id, event.labels)), h('code', {}, tag.tag_id))))),
		card(t('detail.retention'), 'lock', h('dl', {},
			row(word('class', event.retention_class), event.retention_class === 'case' ? t('detail.forever')
				: event.kept_until ? t('detail.until', { date: date(event.kept_until) }) : t('detail.days', { n: event.keep_days })),
			event.retention_reason && row(t('detail.why'), event.retention_reason)),
		h('p', { class: 'muted' }, t('detail.archived', { n: number(event.frames.filter(f => f.archived).length) }))),
		card(t('detail.notifications'), 'bell', event.notifications.length === 0 ? h('p', { class: 'muted' }, t('detail.no_notifications')) : [
			event.notification_rules.length > 0 && h('p', { class: 'muted' }, `${t('detail.why')}: ${event.notification_rules.map(r => word('rule', r)).join(', ')}`),
			h('ul', { class: 'outcomes' }, event.notifications.map(n => h('li', {},
				h('span', { class: `chip ${{ sent: 'good', dead: 'bad', suppressed: 'warn' }[n.state] ?? ''}` }, word('notify', n.state)), h('strong', {}, n.channel),
				n.count > 1 && h('span', { class: 'muted' }, `×${n.count}`), n.sent_at && h('span', { class: 'muted' }, moment(n.sent_at)),
				n.reason && h('span', { class: 'outcome-why' }, n.reason))))]),
		card(t('detail.review'), 'chat', !event.review ? h('p', { class: 'muted' }, t('detail.no_review')) : [
			h('p', {}, h('span', { class: `chip ${{ ok: 'good', error: 'bad' }[event.review.outcome] ?? 'warn'}` }, word('review', event.review.outcome)),
				event.review.model && h('span', { class: 'muted' }, ` ${event.review.model}`)),
			event.review.summary && h('p', { class: 'lead' }, event.review.summary),
			event.review.reason && h('p', { class: 'muted' }, `${t('detail.why')}: ${event.review.reason}`)]),
		caseCard(event, reload));
}

function caseCard(event, reload) {
	const fault = h('p', { class: 'field-error', role: 'alert' });
	const change = async call => {
		setText(fault, '');
		try {
			const { images_gone: gone } = await call();
			toast(gone ? t('detail.images_gone', { n: gone }) : t('ops.done'), gone ? 'bad' : 'good');
			await reload();
		} catch (e) {
			if (!(e instanceof ApiError))
				throw e;
			setText(fault, e.message);
		}
	};
	const path = `events/${event.event_uuid}/case`;
	const attached = event.case_id && h('p', {}, h('span', { class: 'chip accent' }, icon('folder'), event.case_id),
		event.case_by && h('span', { class: 'muted' }, ` ${t('detail.case_by', { who: event.case_by })}`));
	if (!isOperator())
		return event.case_id ? card(t('detail.case'), 'folder', attached) : null;
	if (event.case_id)
		return card(t('detail.case'), 'folder', attached, button(t('detail.case_detach'), () => change(() => request('DELETE', path)), { kind: 'small' }), fault);
	const field = h('input', { id: 'case-id', required: true, maxlength: 64, pattern: '[A-Za-z0-9][A-Za-z0-9_.\\-]*', title: t('detail.case_bad'), placeholder: '2026-014' });
	return card(t('detail.case'), 'folder', h('form', { class: 'case-form', onsubmit(e) {
		e.preventDefault();
		change(() => put(path, { case_id: field.value }));
	} }, h('label', { class: 'hidden-text', for: 'case-id' }, t('detail.case_id')), field, h('button', { class: 'button', type: 'submit' }, t('detail.case_attach'))),
	h('p', { class: 'muted' }, t('detail.case_note')), fault);
}
