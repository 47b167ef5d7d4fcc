// SPDX-License-Identifier: Apache-2.0
// A stream lease, held by a web page. Use it from any page of the same site; it needs nothing else of the console:
//
//     import { LeaseClient, LeaseError } from '/console/lease-client.js';
//     const client = new LeaseClient();
//     try {
//         const lease = await client.acquire('lobby', {
//             quality: 'main', allowDowngrade: true,
//             onRemaining: seconds => { clock.textContent = seconds; },
//             onEnd: reason => stopThePicture(reason),      // once, whatever ended it
//         });
//         play(lease.streamUrl);
//         closeButton.onclick = () => lease.release();
//     } catch (e) {
//         if (e instanceof LeaseError) show(e.message, e.code, e.retryAfter);
//     }
//
// While it lives a lease has one timer and two listeners (visibilitychange, pagehide); when it ends, for whatever
// reason, they are gone, and the server has been told. Reasons of the end:
//     released   release() was called
//     hidden     the tab went to the background       pagehide   the page is left or closed
//     ttl        the time is over                     lost       the server ended it, or cannot be reached any more

const BEAT_TIMEOUT_MS = 10000;
const RETRY_MS = [1000, 2000, 4000, 8000];

/** A refusal or a failure. code: the server's error_code, or NETWORK, ABORTED, HIDDEN; message: the server's, in the
 *  language of the request; status: of HTTP, 0 if there was none; retryAfter: seconds, or null; facts: the whole answer. */
export class LeaseError extends Error {
	constructor(code, message, { status = 0, retryAfter = null, facts = {} } = {}) {
		super(message);
		this.name = 'LeaseError';
		this.code = code;
		this.status = status;
		this.retryAfter = retryAfter;
		this.facts = facts;
	}
}

/** One viewer. options: base, where the API is (default /api/); headers, a function that returns further request headers
 *  such as Authorization or Accept-Language. The server allows one lease a viewer at a time. */
export class LeaseClient {
	#base;
	#headers;
	#releasing = Promise.resolve();

	constructor({ base = '/api/', headers = () => ({}) } = {}) {
		this.#base = base;
		this.#headers = headers;
	}

	/** Asks for a lease on a camera. options: quality (sub or main); allowDowngrade: sub will do where main does not fit;
	 *  signal: to give up; onRemaining(seconds): each second; onEnd(reason, error): once. Rejects with a LeaseError. */
	async acquire(cameraId, options = {}) {
		const { quality = 'sub', allowDowngrade = false, signal } = options;
		// The id is ours, so that asking again after a lost answer is the same request, not a second one.
		const id = uuid();
		const body = { camera_id: cameraId, quality, allow_downgrade: allowDowngrade, lease_id: id };
		await this.#releasing; // our last lease would stand in the way
		let answer;
		try {
			answer = await this.#ask('POST', 'modal/lease', { body, signal }).catch(e => {
				if (e.code !== 'NETWORK')
					throw e;
				return this.#ask('POST', 'modal/lease', { body, signal });
			});
		} catch (e) {
			if (e.code === 'ABORTED')
				this.forget(id); // it may have been granted all the same
			throw e;
		}
		const lease = new Lease(this, cameraId, answer, options);
		if (signal?.aborted || document.hidden) {
			await lease.release(document.hidden ? 'hidden' : 'released');
			throw new LeaseError(signal?.aborted ? 'ABORTED' : 'HIDDEN', 'nobody is looking any more');
		}
		return lease;
	}

	/** Gives back a lease by its id, such as one that another page of this viewer holds. True if the server agrees. */
	forget(leaseId) {
		const done = this.#ask('DELETE', `modal/lease/${encodeURIComponent(leaseId)}`, { keepalive: true }).then(() => true, () => false);
		this.#releasing = done;
		return done;
	}

	/** For Lease. */
	heartbeat(leaseId, signal) {
		return this.#ask('POST', `modal/lease/${encodeURIComponent(leaseId)}/heartbeat`, { signal });
	}

	async #ask(method, path, { body, signal, keepalive = false } = {}) {
		const headers = { Accept: 'application/json', ...this.#headers() };
		if (body !== undefined)
			headers['Content-Type'] = 'application/json';
		let response, answer;
		try {
			response = await fetch(this.#base + path, { method, headers, signal, keepalive, cache: 'no-store', body: body && JSON.stringify(body) });
			answer = await response.json();
		} catch (e) {
			if (signal?.aborted)
				throw new LeaseError('ABORTED', 'given up');
			if (response && !response.ok)
				throw new LeaseError('NETWORK', response.statusText || String(response.status), { status: response.status });
			throw new LeaseError('NETWORK', e.message);
		}
		if (!response.ok)
			throw new LeaseError(answer.error_code ?? 'UNKNOWN', answer.message ?? response.statusText,
				{ status: response.status, retryAfter: answer.retry_after ?? null, facts: answer });
		return answer;
	}
}

class Lease {
	#client;
	#onRemaining;
	#onEnd;
	#timer;
	#gone = new AbortController(); // takes listeners and a heartbeat under way along
	#expires;
	#interval;
	#grace;
	#lastBeat = Date.now();
	#nextBeat;
	#failures = 0;
	#beating = false;
	#shown = -1;

	constructor(client, cameraId, answer, { onRemaining, onEnd }) {
		this.id = answer.lease_id;
		this.cameraId = cameraId;
		this.quality = answer.allowed_quality;
		this.streamUrl = answer.stream_url;
		this.ended = null; // or the reason
		this.#client = client;
		this.#onRemaining = onRemaining;
		this.#onEnd = onEnd;
		this.#interval = answer.heartbeat_interval_sec * 1000;
		this.#grace = answer.heartbeat_grace_sec * 1000;
		// The server's clock decides; ours only counts down from what it said.
		this.#expires = Date.now() + answer.remaining_sec * 1000;
		this.#nextBeat = Date.now() + this.#interval;
		document.addEventListener('visibilitychange', () => {
			if (document.hidden)
				this.release('hidden');
		}, { signal: this.#gone.signal });
		window.addEventListener('pagehide', () => this.release('pagehide'), { signal: this.#gone.signal });
		this.#timer = setInterval(() => this.#tick(), 1000);
	}

	/** Seconds to the end of the time, never negative. */
	get remaining() {
		return Math.max(0, Math.ceil((this.#expires - Date.now()) / 1000));
	}

	/** Ends the lease and tells the server, also while the page is being closed. Resolves when the server has answered,
	 *  true if it agreed; if it cannot be reached, the lease ends by itself there. Calling it again does nothing more. */
	release(reason = 'released') {
		if (this.ended !== null)
			return Promise.resolve(true);
		const done = this.#client.forget(this.id);
		this.#end(reason);
		return done;
	}

	#end(reason, error) {
		this.ended = reason;
		clearInterval(this.#timer);
		this.#gone.abort();
		const onEnd = this.#onEnd;
		this.#onEnd = this.#onRemaining = undefined;
		onEnd?.(reason, error);
	}

	#tick() {
		const remaining = this.remaining;
		if (remaining === 0) {
			this.release('ttl');
			return;
		}
		if (remaining !== this.#shown) {
			this.#shown = remaining;
			this.#onRemaining?.(remaining);
		}
		if (!this.#beating && Date.now() >= this.#nextBeat)
			this.#beat();
	}

	async #beat() {
		const sent = Date.now();
		this.#beating = true;
		try {
			const answer = await this.#client.heartbeat(this.id, AbortSignal.any([this.#gone.signal, AbortSignal.timeout(BEAT_TIMEOUT_MS)]));
			this.#lastBeat = sent;
			this.#failures = 0;
			this.#expires = Date.now() + answer.remaining_sec * 1000;
			this.#nextBeat = sent + this.#interval;
		} catch (e) {
			this.#beatFailed(e);
		} finally {
			this.#beating = false;
		}
	}

	#beatFailed(error) {
		if (this.ended !== null)
			return;
		if (error.status === 410 || error.status === 404) { // it is over there, there is nothing to give back
			this.#end(error.facts.end_reason === 'ttl' ? 'ttl' : 'lost', error);
		} else if (error.status === 401 || error.status === 403 || Date.now() - this.#lastBeat > this.#grace) {
			this.#client.forget(this.id);
			this.#end('lost', error);
		} else {
			this.#nextBeat = Date.now() + RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)];
		}
	}
}

// crypto.randomUUID() is there only on https and localhost.
function uuid() {
	const b = crypto.getRandomValues(new Uint8Array(16));
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	const hex = Array.from(b, x => x.toString(16).padStart(2, '0')).join('');
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
