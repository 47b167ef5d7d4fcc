// SPDX-License-Identifier: Apache-2.0
// What must hold on every page: data is text, nothing is left behind, pages are light and polling is cheap, everybody can use it.
import { assert, axeSource, same, sleep, test, waitUntil } from './harness.mjs';
import { setHidden } from './test_1_live.mjs';

const SCRIPT = '<script>globalThis.__broken = 1</script>';
const IMAGE = '"><img src=x onerror="globalThis.__broken = 1">';
const CYCLES = Number(process.env.BROWSER_CYCLES ?? 20);

const openTile = (page, camera) => page.locator(`.tile[data-key="${camera}"]`).click();

test('names, tags, boxes, errors and answers made of markup are shown as text', async (stack, front) => {
	const camera = stack.camera({ display: SCRIPT + IMAGE, location: IMAGE });
	stack.rules({ match: { path: '/v1/analyze', camera_id: camera }, result: { primary_event: 'unknown', severity: 2, detected: true, unknown_flag: true, confidence: 0.5,
		tags: [SCRIPT, IMAGE], bboxes: [{ x1: 0.1, y1: 0.1, x2: 0.6, y2: 0.6, label: IMAGE, conf: 0.5 }, { x1: 'a', label: SCRIPT }, { x1: 2, y1: 1, x2: 1 }] } });
	await stack.frame(front, camera);
	const uuid = await waitUntil(() => stack.one("SELECT event_uuid FROM camserver.events WHERE camera_id = :'camera'", { camera }), 'the event');
	stack.sql("INSERT INTO camserver.llm_reviews (event_id, frame_id, camera_id, outcome, reason, model, summary, created_at) SELECT event_id, 0, camera_id, 'ok', :'image', :'script', :'script', now()"
		+ " FROM camserver.events WHERE event_uuid = :'uuid' ON CONFLICT (event_id) DO UPDATE SET outcome = 'ok', reason = excluded.reason, model = excluded.model, summary = excluded.summary", { uuid, script: SCRIPT, image: IMAGE });
	stack.sql("UPDATE camserver.events SET summary = :'script' WHERE event_uuid = :'uuid'", { uuid, script: SCRIPT });
	const [job] = stack.sql("INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at, finished_at, last_error) VALUES ('archive', 'dead', :'camera', now(), now(), now(), now() + interval '2 days', :'image') RETURNING job_id", { camera, image: IMAGE });
	const visitor = await stack.visit(front, '', { token: stack.token('operator') });
	const { page } = visitor;
	const unbroken = async () => same(await page.evaluate(() => globalThis.__broken ?? null), null, 'something was run');
	same(await page.locator(`.tile[data-key="${camera}"] .tile-name`).textContent(), SCRIPT + IMAGE);
	await openTile(page, camera);
	await page.locator('.viewer[data-state="playing"]').waitFor();
	same(await page.locator('.viewer h2').textContent(), SCRIPT + IMAGE);
	await unbroken();
	await page.goto(page.url().replace(/console\/.*/, `console/events.html?camera_id=${camera}#${uuid}`));
	await page.locator('.box').waitFor();
	same(await page.locator('.box').count(), 1, 'boxes without a place are left out');
	assert((await page.locator('.box-label').textContent()).startsWith(IMAGE), 'the box');
	const text = await page.locator('dialog.wide').textContent();
	assert(text.includes(SCRIPT) && text.includes(IMAGE), text);
	same(await page.locator('.tag code').allTextContents().then(l => l.sort()), [SCRIPT, IMAGE].sort());
	same(await page.locator('.event-title').textContent(), SCRIPT);
	await unbroken();
	await page.goto(page.url().replace(/console\/.*/, 'console/operations.html'));
	const row = page.locator(`#dead tr[data-key="${job.job_id}"]`);
	await row.waitFor();
	assert((await row.textContent()).includes(IMAGE), 'the error');
	await unbroken();
	stack.sql(`DELETE FROM camserver.inference_jobs WHERE job_id = ${job.job_id}`);
	stack.rules();
	visitor.check();
}, { alone: true });

test('the policy of the pages is strict, and really in force', async (stack, front) => {
	for (const name of ['', 'events.html', 'operations.html', 'live.js', 'vendor/chart.min.js']) {
		const policy = (await fetch(`${front.url}/console/${name}`)).headers.get('Content-Security-Policy');
		assert(policy.includes("default-src 'none'") && policy.includes("script-src 'self';") && policy.includes("require-trusted-types-for 'script'") && !policy.includes('unsafe'), `${name}: ${policy}`);
	}
	const visitor = await stack.visit(front);
	await visitor.page.evaluate(() => {
		try {
			document.body.innerHTML = '<b>x</b>';
		} catch {
			document.body.dataset.refused = 'yes';
		}
		const script = document.createElement('script');
		try {
			script.textContent = 'globalThis.__broken = 1';
			document.body.append(script);
		} catch {
			// refused even earlier
		}
	});
	same(await visitor.page.evaluate(() => [document.body.dataset.refused, globalThis.__broken ?? null]), ['yes', null]);
	await waitUntil(() => visitor.faults.some(f => f.startsWith('CSP')), 'the report, so that its absence elsewhere means something');
});

test('nothing is left of a modal that was opened and closed', async (stack, front) => {
	const camera = stack.camera();
	await stack.frame(front, camera);
	const { page, context, check } = await stack.visit(front, '', { init: () => {
		// What the page has running.
		const timers = globalThis.__timers = new Set();
		for (const [set, clear] of [['setTimeout', 'clearTimeout'], ['setInterval', 'clearInterval']]) {
			const [realSet, realClear] = [globalThis[set], globalThis[clear]];
			globalThis[set] = (f, ms, ...rest) => {
				const id = realSet(() => {
					if (set === 'setTimeout')
						timers.delete(id);
					f(...rest);
				}, ms);
				timers.add(id);
				return id;
			};
			globalThis[clear] = id => {
				timers.delete(id);
				realClear(id);
			};
		}
		const urls = globalThis.__urls = new Set();
		const [make, revoke] = [URL.createObjectURL, URL.revokeObjectURL];
		URL.createObjectURL = b => {
			const url = make.call(URL, b);
			urls.add(url);
			return url;
		};
		URL.revokeObjectURL = url => {
			urls.delete(url);
			revoke.call(URL, url);
		};
	} });
	const cdp = await context.newCDPSession(page);
	await cdp.send('Performance.enable');
	async function measure() {
		await page.evaluate(() => new Promise(done => { requestIdleCallback(done, { timeout: 2000 }); }));
		for (let i = 0; i < 3; i++)
			await cdp.send('HeapProfiler.collectGarbage');
		const { metrics } = await cdp.send('Performance.getMetrics');
		const of = name => metrics.find(m => m.name === name).value;
		return { listeners: of('JSEventListeners'), nodes: of('Nodes'), heap: of('JSHeapUsedSize'), ...await page.evaluate(() => ({ timers: globalThis.__timers.size, urls: globalThis.__urls.size })) };
	}
	async function cycle() {
		await openTile(page, camera);
		await page.locator('.viewer[data-state="playing"]').waitFor();
		await page.keyboard.press('Escape');
		await page.locator('.viewer').waitFor({ state: 'detached' });
	}
	for (let i = 0; i < 5; i++)
		await cycle();
	const before = await measure();
	for (let i = 0; i < CYCLES; i++)
		await cycle();
	const after = await measure();
	const story = JSON.stringify({ cycles: CYCLES, before, after });
	console.log(`# ${front.name}: ${story}`);
	// The page polls meanwhile: a timer more or less is its own. One thing left by each cycle would be far more.
	const few = Math.max(3, CYCLES / 10);
	assert(after.timers - before.timers <= 1 && after.urls - before.urls <= 1, story);
	assert(after.listeners - before.listeners <= few && after.nodes - before.nodes <= 10 * few, story);
	assert(after.heap - before.heap <= Math.max(1_000_000, before.heap * 0.2), story);
	await waitUntil(() => stack.leases(camera).length === 0, 'the last release');
	check();
}, { alone: true });

/** One tab: what it asks while somebody looks, while nothing changes, and while nobody looks. */
async function polling(stack, front, name, path) {
	const visitor = await stack.visit(front, name, { token: stack.token('operator') });
	const { page, check } = visitor;
	const polls = () => visitor.requests.filter(r => r.url.includes('/api/'));
	await page.locator('.tile, .event, #numbers .value').first().waitFor();
	const start = Date.now();
	const had = polls().length;
	await sleep(11000);
	const asked = polls().slice(had);
	assert(asked.length >= 1 && asked.length <= Math.ceil((Date.now() - start) / 5000), `${asked.length} requests: ${asked.map(r => r.url)}`);
	assert(asked.every(r => new URL(r.url).pathname === path), asked.map(r => r.url).join());
	if (name !== 'operations.html') // where the load alone changes all the time
		await waitUntil(async () => (await Promise.all(polls().slice(-2).map(async r => (await r.request.response())?.status()))).every(status => status === 304), '304', 90);
	await setHidden(page, true);
	await sleep(200);
	const before = polls().length;
	await sleep(6000);
	same(polls().length, before, 'requests while hidden');
	await setHidden(page, false);
	await waitUntil(() => polls().length === before + 1, 'a request at once');
	check();
}

test('polling is one request every 5 s, 304 while nothing changes, nothing while hidden', async stack => {
	stack.stack('stop', 'demo');
	try {
		await Promise.all(Object.values(stack.fronts).flatMap(front => [['', '/api/console/live'], ['events.html', '/api/console/events'], ['operations.html', '/api/console/operations']]
			.map(([name, path]) => polling(stack, front, name, path))));
	} finally {
		stack.stack('start', 'demo');
	}
}, { alone: true, fronts: ['lighttpd'] });

async function axe(page, what) {
	await page.evaluate(axeSource);
	const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
	const serious = found.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => `${v.id}: ${v.nodes.map(n => `${n.target} ${n.failureSummary}`).join('; ')}`);
	same(serious, [], what);
}

// One theme and one language through each server.
test('axe finds no serious problem on any page in either language', async (stack, front) => {
	const [theme, lang] = front.name === 'lighttpd' ? ['light', 'ja-JP'] : ['dark', 'en-US'];
	const camera = stack.camera({ display: 'Axe', total_units: 1, baseline_units: 0, max_ui_users: 0 });
	await stack.frame(front, camera);
	const token = stack.token('operator');
	const uuid = await waitUntil(() => stack.one("SELECT event_uuid FROM camserver.events JOIN camserver.cameras USING (camera_id) WHERE best_frame_id IS NOT NULL AND camera_id LIKE 'demo%' LIMIT 1"), 'an event of the demo cameras', 120);
	const { page } = await stack.visit(front, '', { lang, theme, token });
	await page.locator('.tile img:not([hidden])').first().waitFor();
	await axe(page, `live ${lang} ${theme}`);
	await openTile(page, camera);
	await page.locator('.viewer[data-state="playing"]').waitFor();
	await axe(page, `modal ${lang}`);
	const guest = await stack.visit(front, '', { lang, theme });
	await openTile(guest.page, camera);
	await guest.page.locator('.viewer[data-state="refused"]').waitFor();
	await axe(guest.page, `refusal ${lang}`);
	await guest.page.goto(guest.page.url().replace(/console\/.*/, 'console/operations.html'));
	await guest.page.locator('#token').waitFor();
	await axe(guest.page, `sign-in ${lang}`);
	await page.goto(page.url().replace(/console\/.*/, 'console/events.html'));
	await page.locator('.event img').first().waitFor();
	await axe(page, `events ${lang} ${theme}`);
	await page.goto(page.url().replace(/console\/.*/, `console/events.html#${uuid}`));
	await page.reload();
	await page.locator('.facts').first().waitFor();
	await axe(page, `detail ${lang} ${theme}`);
	await page.goto(page.url().replace(/console\/.*/, 'console/operations.html'));
	await page.locator('.plot canvas').first().waitFor();
	await axe(page, `operations ${lang} ${theme}`);
	await page.locator('.budget button').first().click();
	await page.locator('dialog').waitFor();
	await axe(page, `change ${lang} ${theme}`);
});

test('screenshots of every page, in both themes and languages, and on a phone', async (stack, front) => {
	const token = stack.token('operator');
	const uuid = await waitUntil(() => stack.one("SELECT event_uuid FROM camserver.events WHERE camera_id LIKE 'demo%' AND frame_count > 3 LIMIT 1"), 'an event of the demo cameras', 120);
	for (const [theme, lang] of [['light', 'ja-JP'], ['dark', 'en-US']]) {
		for (const [size, width, height] of [['desktop', 1440, 900], ['phone', 390, 844]]) {
			const visitor = await stack.visit(front, '', { theme, lang, width, height, token });
			const { page } = visitor;
			const shot = (name, fullPage = false) => page.screenshot({ path: `${stack.screenshots}/${name}-${theme}-${size}.png`, fullPage });
			const narrow = async name => assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the ${size}`);
			await page.locator('.tile img:not([hidden])').first().waitFor();
			await narrow('live');
			await shot('live');
			await page.locator('.tile').first().click();
			await page.locator('.viewer[data-state="playing"]').waitFor();
			await shot('modal');
			await page.goto(page.url().replace(/console\/.*/, 'console/events.html'));
			await waitUntil(() => page.locator('.event img').first().evaluate(i => i.complete && i.naturalWidth > 0), 'a picture');
			await narrow('events');
			await shot('events');
			await page.goto(page.url().replace(/console\/.*/, `console/events.html#${uuid}`));
			await page.reload();
			await page.locator('.box, .thumb').first().waitFor();
			await sleep(300);
			await shot('event');
			await page.goto(page.url().replace(/console\/.*/, 'console/operations.html'));
			await page.locator('.plot canvas').first().waitFor();
			await narrow('operations');
			await shot('operations', true);
			visitor.check();
			await visitor.context.close();
		}
	}
}, { fronts: ['lighttpd'] });

test('theme and language are the browser\'s until they are switched, and stay so', async (stack, front) => {
	const { page, check } = await stack.visit(front, '', { lang: 'fr-FR', theme: 'dark' });
	const looks = () => page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.body).backgroundColor]);
	same(await looks(), ['en', 'rgb(11, 15, 20)']);
	await page.locator('.bar-end .icon-button').click();
	same(await looks(), ['en', 'rgb(243, 245, 248)']);
	await page.locator('.text-button').click();
	await page.getByRole('link', { name: 'イベント' }).click();
	await page.locator('.filters').waitFor();
	same(await looks(), ['ja', 'rgb(243, 245, 248)']);
	check();
});
