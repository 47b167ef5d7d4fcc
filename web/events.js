// SPDX-License-Identifier: Apache-2.0
// The list of events: newest first, filtered, and longer as one scrolls.
import { $, h, reconcile, setText } from './dom.js';
import { icon } from './icons.js';
import { ago, duration, moment, t, tagLabel, word } from './i18n.js';
import { ApiError, Poller, get, serverNow } from './api.js';
import { setTrouble, setWho, shell, trouble } from './shell.js';
import { openEvent } from './event-detail.js';

const PAGE = 24;
const COMMA = document.documentElement.lang === 'ja' ? '、' : ', ';
const KINDS = ['human', 'animal', 'vehicle', 'hazard', 'camera_issue', 'object_missing', 'unknown'];

let shown = []; // in the order of the list
let next = null; // cursor of what follows it
let loading = false;
let cameras = {};
let labels = {};
const fields = {};

// --- filters: they are in the address too, so that a list can be bookmarked and sent to others

function select(name, label, options) {
	const field = fields[name] = h('select', { id: `f-${name}`, name }, h('option', { value: '' }, t('all')),
		options.map(([value, text]) => h('option', { value }, text)));
	return h('div', { class: 'field' }, h('label', { for: `f-${name}` }, label), field);
}

function when(name, label) {
	const field = fields[name] = h('input', { id: `f-${name}`, name, type: 'datetime-local', step: 60 });
	return h('div', { class: 'field time' }, h('label', { for: `f-${name}` }, label), field);
}

function buildFilters() {
	const form = $('#filters');
	form.append(
		select('camera_id', t('events.camera'), []),
		select('primary_event', t('events.kind'), KINDS.map(k => [k, word('event', k)])),
		select('severity', t('events.severity'), [1, 2, 3].map(n => [n, n === 3 ? word('severity', 3) : t('events.severity_from', { s: word('severity', n) })])),
		select('state', t('events.state'), ['open', 'closed'].map(s => [s, t(`events.${s}`)])),
		when('since', t('events.from')), when('before', t('events.until')),
		h('button', { class: 'button', type: 'reset' }, t('events.reset')));
	for (const [name, value] of new URLSearchParams(location.search)) {
		if (!fields[name])
			continue;
		if (name === 'camera_id')
			fields[name].append(h('option', { value }, value)); // its name comes with the first answer
		fields[name].value = value;
	}
	form.addEventListener('submit', e => e.preventDefault());
	form.addEventListener('change', changed);
	form.addEventListener('reset', () => setTimeout(changed));
	const toggle = $('#toggle');
	toggle.append(icon('filter'), h('span', {}, t('events.filters')));
	toggle.addEventListener('click', () => toggle.setAttribute('aria-expanded', String(form.classList.toggle('open'))));
}

function chosen() {
	return Object.entries(fields).map(([name, field]) => [name, field.value]).filter(([, value]) => value !== '');
}

function query(more) {
	const parameters = new URLSearchParams({ limit: PAGE, ...more });
	for (const [name, value] of chosen())
		parameters.set(name, fields[name].type === 'datetime-local' ? new Date(value).toISOString() : value);
	return `console/events?${parameters}`;
}

function changed() {
	const search = new URLSearchParams(chosen()).toString();
	history.replaceState(null, '', (search ? `?${search}` : location.pathname) + location.hash);
	shown = [];
	next = null;
	poller.now();
}

function offerCameras() {
	const field = fields.camera_id;
	const ids = Object.keys(cameras).sort((a, b) => cameras[a].localeCompare(cameras[b]));
	const there = Array.from(field.options, o => o.value).slice(1);
	if (JSON.stringify(there) === JSON.stringify(ids))
		return;
	const { value } = field;
	field.replaceChildren(field.options[0], ...ids.map(id => h('option', { value: id }, cameras[id])));
	field.value = value;
}

// --- the list

function makeCard(event) {
	const card = {
		picture: h('div', { class: 'event-picture' }), badges: h('span', { class: 'event-badges' }),
		title: h('span', { class: 'event-title' }), where: h('span', { class: 'event-where' }), when: h('span', { class: 'event-when' }),
		tags: h('span', { class: 'event-tags' }),
	};
	const link = h('a', { class: 'event', href: `#${event.event_uuid}` }, card.picture, card.badges,
		h('span', { class: 'event-text' }, card.title, card.where, card.when, card.tags));
	const item = h('li', {}, link);
	item.card = card;
	return item;
}

function showPicture(place, event) {
	if (place.dataset.frame === String(event.best_frame_uuid))
		return;
	place.dataset.frame = String(event.best_frame_uuid);
	const none = () => place.replaceChildren(h('span', { class: 'no-picture' }, icon(event.primary_event), h('span', {}, t('events.no_image'))));
	if (event.image)
		place.replaceChildren(h('img', { src: event.image, alt: '', loading: 'lazy', decoding: 'async', onerror: none }));
	else
		none();
}

function updateCard(item, event) {
	const { card } = item;
	const key = JSON.stringify([event, cameras[event.camera_id]]);
	setText(card.when, whenText(event));
	if (item.known === key)
		return;
	item.known = key;
	showPicture(card.picture, event);
	item.firstChild.dataset.severity = event.severity_max;
	card.badges.replaceChildren(
		h('span', { class: `badge sev${event.severity_max}` }, icon(event.primary_event), h('span', {}, word('event', event.primary_event))),
		...(event.state === 'open' ? [h('span', { class: 'badge open' }, t('events.open'))] : []),
		...(event.case_id ? [h('span', { class: 'badge case' }, icon('folder'), h('span', {}, t('events.case', { id: event.case_id })))] : []));
	setText(card.title, event.summary ?? tagText(event));
	setText(card.where, cameras[event.camera_id] ?? event.camera_id);
	card.tags.replaceChildren(h('span', { class: 'chip' }, `${t('events.severity')} ${word('severity', event.severity_max)}`),
		h('span', { class: 'chip' }, t(event.frame_count === 1 ? 'events.frame1' : 'events.frames', { n: event.frame_count })),
		...(event.retention_class !== 'normal' ? [h('span', { class: 'chip' }, word('class', event.retention_class))] : []));
}

const tagText = event => event.tags.map(tag => tagLabel(tag, labels)).join(COMMA) || word('event', event.primary_event);

function whenText(event) {
	const now = serverNow();
	const lasted = (new Date(event.last_seen_at) - new Date(event.start_at)) / 1000;
	return [`${moment(event.start_at, now)} (${ago(event.start_at, now)})`, lasted >= 1 && t('events.lasted', { time: duration(lasted) })].filter(Boolean).join(' · ');
}

function draw() {
	reconcile($('#list'), shown, { key: e => e.event_uuid, make: makeCard, update: updateCard });
	$('#empty').hidden = shown.length > 0;
	$('#more').hidden = next === null;
	$('#end').hidden = next !== null || shown.length < PAGE;
}

function take(answer) {
	setWho(answer.who);
	Object.assign(cameras, answer.cameras);
	Object.assign(labels, answer.labels);
}

/** The newest page again: what is new comes first, what has changed changes in place, what no longer fits goes. */
function refresh(answer) {
	take(answer);
	offerCameras();
	const fresh = new Set(answer.events.map(e => e.event_uuid));
	const last = answer.events.at(-1);
	const older = last && answer.next ? shown.filter(e => !fresh.has(e.event_uuid) && e.start_at < last.start_at) : [];
	if (older.length === 0)
		next = answer.next;
	shown = [...answer.events, ...older];
	draw();
}

async function more() {
	if (loading || next === null)
		return;
	const cursor = next;
	loading = true;
	try {
		const answer = await get(query({ cursor }));
		if (next !== cursor)
			return; // other filters were chosen meanwhile
		take(answer);
		const known = new Set(shown.map(e => e.event_uuid));
		shown = [...shown, ...answer.events.filter(e => !known.has(e.event_uuid))];
		next = answer.next;
		draw();
	} catch (e) {
		if (!(e instanceof ApiError))
			throw e;
		trouble(e);
	} finally {
		loading = false;
	}
	if (nearEnd && next !== null)
		more();
}

let nearEnd = false;
new IntersectionObserver(entries => {
	nearEnd = entries.at(-1).isIntersecting;
	if (nearEnd)
		more();
}, { rootMargin: '600px' }).observe($('.list-end'));
$('#more').addEventListener('click', more);

function showNamed() {
	const uuid = location.hash.slice(1);
	if (/^[0-9a-f-]{36}$/i.test(uuid))
		openEvent(uuid, { onClose: () => history.replaceState(null, '', location.pathname + location.search), onChange: () => poller.now() });
}

shell('events');
buildFilters();
const poller = new Poller(() => query(), { onData: refresh, onError: trouble, onAlive: () => { setTrouble(null); draw(); } });
addEventListener('hashchange', showNamed);
showNamed();
