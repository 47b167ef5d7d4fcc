// SPDX-License-Identifier: Apache-2.0
// Requests to the API of this server: who asks, in which language, and polling that is cheap.
import { language } from './i18n.js';

/** Where the API is, wherever the console is. */
export const base = new URL('../api/', document.baseURI).pathname;

const POLL_MS = 5000;
const TOKEN = 'camserver.token';

function stores() {
	const found = [];
	for (const name of ['localStorage', 'sessionStorage']) {
		try {
			found.push(window[name]);
		} catch {
			// forbidden; the token then lasts as long as the page
		}
	}
	return found;
}

let token = stores().map(store => store.getItem(TOKEN)).find(Boolean) ?? null;

export const hasToken = () => token !== null;

/** remember: beyond this tab's life. null signs out. */
export function setToken(value, remember) {
	token = value;
	const [local, session] = stores();
	local?.removeItem(TOKEN);
	session?.removeItem(TOKEN);
	if (value !== null)
		(remember ? local : session)?.setItem(TOKEN, value);
}

/** The headers of every request. */
export function headers() {
	return token === null ? { 'Accept-Language': language } : { 'Accept-Language': language, Authorization: `Bearer ${token}` };
}

export class ApiError extends Error {
	constructor(status, code, message, facts = {}) {
		super(facts.detail ? `${message} (${facts.detail})` : message);
		this.status = status;
		this.code = code;
		this.facts = facts;
	}
}

let ahead = 0; // of the server's clock, in ms

/** The time by the server's clock. */
export const serverNow = () => Date.now() + ahead;

/** Resolves to the answer's JSON, or null for 304; rejects with an ApiError. path is below /api/. */
export async function request(method, path, { body, etag, signal, onEtag } = {}) {
	const all = { Accept: 'application/json', ...headers() };
	if (body !== undefined)
		all['Content-Type'] = 'application/json';
	if (etag)
		all['If-None-Match'] = etag;
	let response, answer;
	try {
		response = await fetch(base + path, { method, headers: all, signal, cache: 'no-store', body: body && JSON.stringify(body) });
		const at = Date.parse(response.headers.get('Date'));
		if (at)
			ahead = at - Date.now();
		if (response.status === 304)
			return null;
		answer = await response.json();
	} catch (e) {
		if (e.name === 'AbortError')
			throw e;
		throw new ApiError(response?.status ?? 0, 'NETWORK', e.message);
	}
	if (!response.ok)
		throw new ApiError(response.status, answer.error_code, answer.message, answer);
	onEtag?.(response.headers.get('ETag'));
	return answer;
}

export const get = (path, options) => request('GET', path, options);
export const post = (path, body) => request('POST', path, { body });
export const put = (path, body) => request('PUT', path, { body });

/** Asks for path() every 5 s while somebody can see the page, and once when they come back. onData(answer) is called for what
 *  has changed, onError(error) for failures, and onAlive() when an answer of any kind has come. */
export class Poller {
	#path;
	#handlers;
	#timer;
	#etag = null;
	#asked = null;
	#under = null;

	constructor(path, handlers) {
		this.#path = path;
		this.#handlers = handlers;
		document.addEventListener('visibilitychange', () => (document.hidden ? this.#stop() : this.now()));
		if (!document.hidden)
			this.now();
	}

	/** Asks now, in place of what is under way. */
	async now() {
		this.#stop();
		const under = this.#under = new AbortController();
		const path = this.#path();
		if (path !== this.#asked)
			this.#etag = null; // it is of another answer
		this.#asked = path;
		let wait = POLL_MS;
		try {
			const answer = await get(path, { etag: this.#etag, signal: under.signal, onEtag: etag => { this.#etag = etag; } });
			this.#handlers.onAlive?.();
			if (answer !== null)
				this.#handlers.onData(answer);
		} catch (e) {
			if (under.signal.aborted)
				return;
			if (!(e instanceof ApiError))
				throw e;
			if (e.status === 401 || e.status === 403)
				wait = null; // nothing changes until somebody signs in
			this.#handlers.onError?.(e);
		} finally {
			if (this.#under === under) {
				this.#under = null;
				if (wait !== null && !document.hidden)
					this.#timer = setTimeout(() => this.now(), wait);
			}
		}
	}

	#stop() {
		clearTimeout(this.#timer);
		this.#under?.abort();
		this.#under = null;
	}
}
