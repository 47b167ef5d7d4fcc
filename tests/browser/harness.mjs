// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: the running stack, Chromium, visitors that notice what must not happen, and waiting.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const npm = resolve(process.env.NPM_DIR);
const { chromium } = await import(`${npm}/node_modules/playwright-core/index.mjs`);
export const axeSource = readFileSync(`${npm}/node_modules/axe-core/axe.min.js`, 'utf8');
const source = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export const TESTS = [];

/** A test gets the stack and a front, and runs through each web server unless fronts names fewer; side by side with the other
 *  server's tests unless it is to be alone, since it changes what concerns everybody. It passes unless it throws. */
export function test(name, run, { fronts = ['lighttpd', 'apache'], alone = false } = {}) {
	TESTS.push({ name, run, fronts, alone });
}

export function assert(truth, what) {
	if (!truth)
		throw new Error(typeof what === 'function' ? what() : what ?? 'it is not so');
}

export function same(is, wanted, what = '') {
	assert(JSON.stringify(is) === JSON.stringify(wanted), `${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
}

/** Polls until the condition's value is true, and returns it; a generous limit for slow machines, not a measurement. */
export async function waitUntil(condition, what, limitSec = 30) {
	for (const end = Date.now() + limitSec * 1000; ;) {
		const value = await condition();
		if (value)
			return value;
		assert(Date.now() < end, `${what} did not come within ${limitSec} s`);
		await sleep(100);
	}
}

let number = 0;
export const unique = prefix => `${prefix}${process.pid}x${++number}`;

export class Stack {
	#visitors = [];
	#cameras = [];

	constructor(directory) {
		this.directory = directory;
		this.settings = Object.fromEntries(readFileSync(`${directory}/settings`, 'utf8').split('\n').filter(l => l.includes('='))
			.map(l => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]));
		this.conf = `${directory}/camserver.conf`;
		const at = name => `http://127.0.0.1:${this.settings[name]}`;
		this.fronts = {
			lighttpd: { name: 'lighttpd', url: at('HTTP_PORT'), authUrl: at('AUTH_PORT') },
			apache: { name: 'apache', url: at('APACHE_PORT'), authUrl: at('APACHE_AUTH_PORT') },
		};
		this.env = { ...process.env };
		for (const line of execFileSync(`${source}/scripts/stack`, [directory, 'env'], { encoding: 'utf8' }).trim().split('\n'))
			this.env[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
		this.screenshots = `${directory}/screenshots`;
		mkdirSync(this.screenshots, { recursive: true });
	}

	/** Rows as objects. Parameters are put in as psql variables: :'name'. */
	sql(statement, variables = {}) {
		const words = Object.entries(variables).flatMap(([k, v]) => ['-v', `${k}=${v}`]);
		const wrapped = /^\s*(select|with|insert.*returning|update.*returning|delete.*returning)/is.test(statement)
			? `WITH rows AS (${statement}) SELECT coalesce(json_agg(rows), '[]') FROM rows` : statement;
		const out = execFileSync('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...words], { env: this.env, encoding: 'utf8', input: wrapped });
		return wrapped === statement ? [] : JSON.parse(out);
	}

	one(statement, variables) {
		return Object.values(this.sql(statement, variables)[0] ?? {})[0];
	}

	camctl(...words) {
		return execFileSync(`${this.settings.PREFIX}/bin/camctl`, ['-c', this.conf, ...words], { encoding: 'utf8', stdio: 'pipe' }).trim();
	}

	stack(...words) {
		execFileSync(`${source}/scripts/stack`, [this.directory, ...words], { stdio: 'ignore' });
	}

	token(role) {
		return this.camctl('token', 'create', unique('t'), '--role', role);
	}

	/** A camera; on a stream server of its own if that is to have parameters or a name. Returns its id. */
	camera({ name = unique('cam'), display, location, url, server, ...parameters } = {}) {
		if (Object.keys(parameters).length > 0)
			server ??= unique('s');
		if (server)
			this.camctl('server', 'set', server, ...Object.entries(parameters).map(([k, v]) => `${k}=${v}`));
		this.camctl('camera', 'add', name, `stream_server_id=${server ?? 'default'}`, `display_name=${display ?? name}`,
			...(location ? [`location_label=${location}`] : []), ...(url ? [`stream_url=${url}`] : []));
		this.#cameras.push(name);
		return name;
	}

	/** A drawn JPEG. */
	picture(kind = 'entrance', at = 3) {
		const file = `${this.directory}/tmp/picture.jpg`;
		this.camctl('demo-cameras', '--draw', file, '--camera', kind, '--at', String(at));
		return readFileSync(file);
	}

	/** A frame of the camera, over HTTP like a camera's; returns its uuid. */
	async frame(front, camera, { picture = this.aPicture ??= this.picture(), at = new Date() } = {}) {
		this.ingest ??= this.token('ingest');
		const answer = await fetch(`${front.url}/api/frames?camera_id=${camera}&captured_at=${encodeURIComponent(at.toISOString())}`,
			{ method: 'POST', body: picture, headers: { 'Content-Type': 'image/jpeg', Authorization: `Bearer ${this.ingest}` } });
		assert(answer.status === 202, `a frame got ${answer.status}`);
		return (await answer.json()).frame_uuid;
	}

	/** What the analyzer shall answer for these cameras; others are looked at. */
	rules(...entries) {
		writeFileSync(`${this.directory}/analyzer.script`, JSON.stringify({ rules: entries }));
		process.kill(Number(readFileSync(`${this.directory}/analyzer.pid`, 'utf8')), 'SIGHUP');
	}

	/** The load of the host as the dispatchers see it. */
	load(memoryPercent = 30) {
		const total = 16000000;
		writeFileSync(`${this.directory}/proc/meminfo`, `MemTotal: ${total} kB\nMemFree: 1 kB\nMemAvailable: ${total * (100 - memoryPercent) / 100} kB\n`
			+ 'SwapTotal: 2000000 kB\nSwapFree: 2000000 kB\n');
	}

	leases(camera) {
		return this.sql("SELECT lease_id, user_id, quality, expires_at, last_heartbeat FROM camserver.modal_leases WHERE camera_id = :'camera'", { camera });
	}

	endOf(camera) {
		return this.one("SELECT end_reason FROM camserver.modal_lease_log WHERE camera_id = :'camera' ORDER BY ended_at DESC LIMIT 1", { camera });
	}

	/** A visitor with cookies of their own: a page of the console. What a page must not do is noted, and is a failure in check(). */
	async visit(front, page = '', { lang = 'ja-JP', theme = 'light', width = 1440, height = 900, token, user, init, url } = {}) {
		const context = await (await browser()).newContext({ locale: lang, colorScheme: theme, viewport: { width, height },
			httpCredentials: user && { username: user, password: 'secret' }, ignoreHTTPSErrors: true });
		const visitor = { context, faults: [], requests: [] };
		this.#visitors.push(visitor);
		await context.exposeBinding('__violation', (_, text) => visitor.faults.push(`CSP: ${text}`));
		await context.addInitScript(() => document.addEventListener('securitypolicyviolation', e =>
			globalThis.__violation(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)));
		if (token)
			await context.addInitScript(t => localStorage.setItem('camserver.token', t), token);
		if (init)
			await context.addInitScript(init);
		visitor.open = async where => {
			const tab = await context.newPage();
			tab.on('pageerror', e => visitor.faults.push(`error: ${e.stack}`));
			tab.on('console', m => /Content Security Policy|Trusted ?Type/i.test(m.text()) && visitor.faults.push(`console: ${m.text()}`));
			tab.on('dialog', d => visitor.faults.push(`dialog: ${d.message()}`) && d.dismiss());
			tab.on('request', r => visitor.requests.push({ url: r.url(), method: r.method(), at: Date.now(), request: r }));
			await tab.goto(`${url ?? (user ? front.authUrl : front.url)}/console/${where}`);
			return tab;
		};
		visitor.page = await visitor.open(page);
		visitor.check = () => same(visitor.faults, [], 'faults');
		return visitor;
	}

	/** After each test: its visitors are gone, and have seen nothing that must not happen. */
	async tidy() {
		for (const visitor of this.#visitors.splice(0))
			await visitor.context.close().catch(() => {});
		const cameras = this.#cameras.splice(0);
		if (cameras.length > 0)
			this.sql("UPDATE camserver.cameras SET enabled = false WHERE camera_id = ANY (string_to_array(:'cameras', ','))", { cameras: cameras.join() });
	}
}

let launched = null;
const browser = () => launched ??= chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
	'--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-features=WebRtcHideLocalIpsWithMdns'] });

export async function closeBrowser() {
	await (await launched)?.close();
}

/** What every test finds: demo cameras that are running, and a host that is not under load. */
export async function prepare(stack) {
	stack.load();
	stack.stack('start', 'demo');
	await waitUntil(() => stack.one("SELECT level FROM camserver.health") === 'normal', 'a normal load');
}

export { sleep };
