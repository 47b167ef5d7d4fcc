// SPDX-License-Identifier: Apache-2.0
// The modal that shows one camera: it asks for a lease, plays while it lasts, and says why not otherwise.
import { h, setText, setVars } from './dom.js';
import { icon } from './icons.js';
import { countdown, t, word } from './i18n.js';
import { base, headers } from './api.js';
import { button } from './dialogs.js';
import { LeaseClient, LeaseError } from './lease-client.js';
import { play } from './player.js';

const client = new LeaseClient({ base, headers });
let open = null;

/** Shows the camera as console_live() describes it; nameOf(id) says what another camera is called. */
export function view(camera, nameOf) {
	open?.close();
	open = new Viewer(camera, nameOf);
}

class Viewer {
	#camera;
	#nameOf;
	#dialog;
	#stage = h('div', { class: 'stage' });
	#panel = h('div', { class: 'panel', role: 'alertdialog', 'aria-labelledby': 'panel-title', hidden: true });
	#left = h('span', { class: 'time-left', role: 'timer' });
	#kind = h('span', { class: 'chip kind' });
	#note = h('p', { class: 'viewer-note', role: 'status' });
	#qualities = {};
	#quality = 'sub';
	#lease = null;
	#total = 1;
	#player = null;
	#asking = null;
	#retryTimer = null;

	constructor(camera, nameOf) {
		this.#camera = camera;
		this.#nameOf = nameOf;
		this.#dialog = this.#build();
		document.body.append(this.#dialog);
		this.#dialog.showModal();
		this.#connect();
	}

	#build() {
		const camera = this.#camera;
		const dialog = h('dialog', { class: 'viewer', 'aria-labelledby': 'viewer-title' },
			h('header', { class: 'viewer-head' },
				h('div', { class: 'viewer-names' }, h('h2', { id: 'viewer-title' }, camera.display_name),
					camera.location_label && h('p', { class: 'muted' }, camera.location_label)),
				h('button', { class: 'icon-button', type: 'button', 'aria-label': t('close'), onclick: () => this.close() }, icon('close'))),
			h('div', { class: 'screen' }, this.#stage, this.#panel),
			h('footer', { class: 'viewer-foot' }, this.#kind, this.#left, this.#note,
				h('div', { class: 'segments', role: 'group', 'aria-label': t('modal.quality') }, ['sub', 'main'].map(q => {
					const cost = camera.costs[q];
					return this.#qualities[q] = h('button', { class: 'segment', type: 'button', 'aria-pressed': 'false', onclick: () => this.#choose(q) },
						h('span', {}, t(`quality.${q}`)), h('small', {}, t(cost === 1 ? 'unit' : 'units', { n: cost })));
				}))));
		dialog.addEventListener('close', () => this.close(), { once: true }); // also Escape
		dialog.addEventListener('click', e => e.target === dialog && this.close());
		return dialog;
	}

	close() {
		if (open === this)
			open = null;
		this.#halt();
		this.#lease?.release();
		this.#lease = null;
		if (this.#dialog.open)
			this.#dialog.close(); // gives the focus back to the tile
		this.#dialog.remove();
	}

	/** Stops the picture, a request under way and the countdown; the lease is another matter. */
	#halt() {
		this.#player?.stop();
		this.#player = null;
		this.#asking?.abort();
		this.#asking = null;
		clearInterval(this.#retryTimer);
	}

	#choose(quality) {
		if (quality === this.#quality && this.#lease)
			return;
		this.#quality = quality;
		this.#connect();
	}

	async #connect() {
		this.#halt();
		const asking = this.#asking = new AbortController();
		const old = this.#lease;
		this.#lease = null;
		old?.release();
		this.#showPanel(null);
		this.#show('connecting');
		setText(this.#note, '');
		setText(this.#kind, t('modal.connecting'));
		this.#press();
		try {
			const lease = await client.acquire(this.#camera.camera_id, {
				quality: this.#quality, allowDowngrade: this.#quality === 'main', signal: asking.signal,
				onRemaining: seconds => this.#countDown(seconds),
				onEnd: reason => this.#ended(reason),
			});
			this.#lease = lease;
			this.#play(lease);
		} catch (e) {
			if (!(e instanceof LeaseError))
				throw e;
			if (e.code === 'HIDDEN')
				this.#ended('hidden');
			else if (e.code !== 'ABORTED')
				this.#refused(e);
		}
	}

	#play(lease) {
		this.#total = lease.remaining;
		this.#countDown(lease.remaining);
		this.#show('starting');
		this.#press();
		setText(this.#note, lease.quality !== this.#quality ? t('modal.downgraded') : '');
		this.#player = play(this.#stage, {
			cameraId: this.#camera.camera_id, streamUrl: lease.streamUrl, quality: lease.quality,
			onKind: kind => setText(this.#kind, t(kind === 'snapshots' ? 'modal.snapshots' : 'modal.video')),
			onFault: () => setText(this.#note, t('modal.no_stream')),
			onPicture: () => this.#show('playing'),
		});
	}

	#show(state) {
		this.#dialog.dataset.state = state;
	}

	#press() {
		for (const [quality, b] of Object.entries(this.#qualities))
			b.setAttribute('aria-pressed', String(quality === (this.#lease?.quality ?? this.#quality)));
	}

	#countDown(seconds) {
		setText(this.#left, t('modal.left', { time: countdown(seconds) }));
		setVars(this.#left, { part: seconds / this.#total });
		this.#left.classList.toggle('soon', seconds <= 30);
	}

	/** The lease is over, and not because the visitor closed the modal. */
	#ended(reason) {
		if (reason === 'released' || open !== this)
			return;
		this.#halt();
		this.#lease = null;
		const name = { ttl: 'ttl', hidden: 'hidden', pagehide: 'hidden' }[reason] ?? 'lost';
		this.#show('ended');
		this.#showPanel({
			symbol: name === 'hidden' ? 'pause' : 'clock', title: t(`modal.${name}_title`), text: t(`modal.${name}_text`),
			buttons: [button(t('modal.reconnect'), () => this.#connect(), { kind: 'primary' }), button(t('close'), () => this.close())],
		});
	}

	#refused(error) {
		const { facts, code } = error;
		const retry = button(t('modal.retry'), () => this.#connect(), { kind: 'primary' });
		const wait = h('p', { class: 'retry-in', role: 'timer' });
		const lines = [];
		let seconds = error.retryAfter;
		const buttons = [retry, button(t('close'), () => this.close())];
		if (code === 'USER_ALREADY_HAS_MODAL' && facts.lease_id) {
			lines.push(t('modal.other', { name: this.#nameOf(facts.camera_id) }));
			buttons.unshift(button(t('modal.take_over'), async () => {
				await client.forget(facts.lease_id);
				this.#connect();
			}, { kind: 'primary' }));
			retry.classList.remove('primary');
		} else if (code === 'OVER_CAPACITY') {
			lines.push(t('modal.numbers', { need: facts.units_needed, free: facts.units_available }));
		}
		this.#show('refused');
		this.#showPanel({ symbol: 'hazard', title: t('modal.refused'), text: error.message, lines, buttons, extra: wait, code });
		const tick = () => {
			retry.disabled = seconds > 0;
			setText(wait, seconds > 0 ? t('modal.retry_in', { n: seconds }) : t('modal.retry_now'));
			if (seconds-- <= 0)
				clearInterval(this.#retryTimer);
		};
		if (seconds === null)
			return;
		this.#retryTimer = setInterval(tick, 1000);
		tick();
	}

	/** null takes it away. */
	#showPanel(content) {
		this.#panel.hidden = content === null;
		this.#panel.replaceChildren();
		setText(this.#left, '');
		if (content === null)
			return;
		setText(this.#kind, '');
		setText(this.#note, '');
		this.#panel.dataset.code = content.code ?? '';
		this.#panel.append(h('div', { class: 'panel-symbol' }, icon(content.symbol)), h('h3', { id: 'panel-title' }, content.title),
			h('p', { class: 'panel-text' }, content.text), ...(content.lines ?? []).map(l => h('p', { class: 'muted' }, l)),
			...[content.extra].filter(Boolean), h('div', { class: 'panel-buttons' }, content.buttons));
		(content.buttons.find(b => !b.disabled) ?? this.#panel).focus();
	}
}
