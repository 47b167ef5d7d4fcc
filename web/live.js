// SPDX-License-Identifier: Apache-2.0
// The camera wall.
import { $, h, reconcile, setText, setVars } from './dom.js';
import { icon } from './icons.js';
import { ago, t, number, word } from './i18n.js';
import { Poller, serverNow } from './api.js';
import { setHealth, setTrouble, setWho, shell, trouble } from './shell.js';
import { view } from './viewer.js';

let cameras = new Map();
const tiles = new WeakMap(); // element → its parts

// Pictures are loaded for tiles that can be seen, or nearly.
const seen = new IntersectionObserver(entries => {
	for (const entry of entries) {
		const tile = tiles.get(entry.target);
		tile.near = entry.isIntersecting;
		showPicture(tile);
	}
}, { rootMargin: '200px' });

function makeTile(camera) {
	const tile = {
		wanted: null, shown: null, near: false,
		image: h('img', { class: 'tile-picture', alt: '', hidden: true }),
		empty: h('span', { class: 'tile-empty' }, icon('camera'), h('span', {}, t('live.no_picture'))),
		name: h('span', { class: 'tile-name' }), place: h('span', { class: 'tile-place' }), age: h('span', { class: 'tile-age' }),
		badges: h('span', { class: 'tile-badges' }),
	};
	const element = h('button', { class: 'tile', type: 'button', onclick: () => view(cameras.get(camera.camera_id), nameOf) },
		tile.empty, tile.image, tile.badges,
		h('span', { class: 'tile-text' }, h('span', { class: 'tile-names' }, tile.name, tile.place), tile.age));
	tile.element = element;
	tiles.set(element, tile);
	seen.observe(element);
	return element;
}

function updateTile(element, { camera, suggest }) {
	const tile = tiles.get(element);
	const suggested = suggest?.camera_id === camera.camera_id;
	const event = camera.open_event;
	tile.at = camera.latest_frame?.captured_at;
	tile.wanted = camera.latest_frame?.spooled ? camera.latest_frame.image ?? null : null;
	tile.frame = camera.latest_frame?.frame_uuid;
	setText(tile.name, camera.display_name);
	setText(tile.place, camera.location_label ?? '');
	element.classList.toggle('suggested', suggested);
	element.classList.toggle('offline', !camera.online);
	element.dataset.severity = event?.severity_max ?? '';
	const badges = [
		suggested && ['badge look', 'star', t('live.suggested')],
		!camera.online && ['badge off', 'camera_issue', t('live.offline')],
		event && [`badge sev${event.severity_max}`, event.primary_event, word('event', event.primary_event)],
	].filter(Boolean);
	const key = JSON.stringify(badges);
	if (tile.key !== key) {
		tile.key = key;
		tile.badges.replaceChildren(...badges.map(([c, name, text]) => h('span', { class: c }, icon(name), h('span', {}, text))));
	}
	showPicture(tile);
}

/** The new picture takes the old one's place only when it is ready to be drawn. */
async function showPicture(tile) {
	if (!tile.near || tile.loading || tile.shown === tile.frame || !tile.wanted)
		return;
	const frame = tile.frame;
	const next = new Image();
	tile.loading = true;
	next.src = tile.wanted;
	try {
		await next.decode();
		tile.image.src = next.src;
		tile.image.hidden = false;
		tile.empty.hidden = true;
		tile.shown = frame;
	} catch {
		tile.shown = frame; // it is gone; the next frame will do
	} finally {
		tile.loading = false;
	}
	showPicture(tile);
}

const nameOf = id => cameras.get(id)?.display_name ?? id;

function showSummary({ cameras: list, budget, viewers, health, suggest }) {
	setText($('#online'), t('live.online', { n: list.filter(c => c.online).length, all: list.length }));
	setText($('#streams'), t('live.free', { n: number(budget.remaining), all: number(budget.modal_budget) }));
	setVars($('#streams-bar'), { part: budget.modal_budget > 0 ? Math.min(1, budget.modal_usage / budget.modal_budget) : 1 });
	setText($('#viewers'), t('live.viewers_n', { n: number(viewers) }));
	const at = suggest && nameOf(suggest.camera_id);
	setText($('#suggest'), at ?? t('live.suggest_none'));
	$('#suggest').classList.toggle('muted', !at);
	$('#suggest-card').classList.toggle('on', Boolean(at));
	setHealth(health);
}

function show(data) {
	cameras = new Map(data.cameras.map(c => [c.camera_id, c]));
	setWho(data.who);
	const rank = c => (c.camera_id === data.suggest?.camera_id ? 0 : 1);
	reconcile($('#wall'), data.cameras.toSorted((a, b) => rank(a) - rank(b)).map(camera => ({ camera, suggest: data.suggest })),
		{ key: item => item.camera.camera_id, make: item => makeTile(item.camera), update: updateTile });
	$('#empty').hidden = data.cameras.length > 0;
	showSummary(data);
	showAges();
}

function showAges() {
	const now = serverNow();
	for (const element of $('#wall').children) {
		const tile = tiles.get(element);
		setText(tile.age, tile.at ? ago(tile.at, now) : '');
	}
}

shell('live');
new Poller(() => 'console/live', { onData: show, onError: trouble, onAlive: () => { setTrouble(null); showAges(); } });
