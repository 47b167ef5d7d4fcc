// SPDX-License-Identifier: Apache-2.0
// The list of events and the details of one, from frames that went the whole way.
import { assert, same, test, waitUntil } from './harness.mjs';

const uuidOf = (stack, camera) => stack.one("SELECT event_uuid FROM camserver.events WHERE camera_id = :'camera' ORDER BY event_id LIMIT 1", { camera });

/** Events in a row, as if they had happened, a minute apart, the newest a minute ago. */
function past(stack, camera, n, kind = 'human') {
	stack.sql(`INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event, severity_max, retention_class, created_at, updated_at)
		SELECT :'camera', at, at, at, 'closed', 'gap', :'kind', 1 + i % 3, 'normal', at, at FROM (SELECT i, now() - i * interval '1 minute' AS at FROM generate_series(1, ${Number(n)}) i) x`, { camera, kind });
}

test('an event appears by itself, with its picture, boxes, tags, and what became of it', async (stack, front) => {
	const camera = stack.camera({ display: '北門', location: '屋外' });
	stack.rules({ match: { path: '/v1/analyze', camera_id: camera }, result: { primary_event: 'hazard', severity: 3, detected: true, tags: ['hazard.smoke', 'human.presence'],
		confidence: 0.8, unknown_flag: false, bboxes: [{ x1: 0.25, y1: 0.5, x2: 0.5, y2: 0.75, label: 'smoke', conf: 0.8 }] } });
	try {
		const { page, check } = await stack.visit(front, 'events.html');
		await page.locator('.filters').waitFor();
		const start = Date.now();
		for (const sec of [40, 30, 10])
			await stack.frame(front, camera, { at: new Date(start - sec * 1000) });
		const card = page.locator('.event', { hasText: '北門' });
		await card.waitFor();
		await waitUntil(() => card.locator('img').evaluate(i => i.naturalWidth > 0), 'the picture');
		assert((await card.textContent()).includes('煙、人物'), 'the labels of the tags');
		await waitUntil(() => stack.one("SELECT count(*) FROM camserver.archive_objects JOIN camserver.frames USING (frame_id) WHERE camera_id = :'camera'", { camera }) === 3, 'the archive');
		await card.click();
		const dialog = page.locator('dialog.wide');
		await dialog.locator('.box').waitFor();
		same(await dialog.locator('h2').textContent(), '危険 · 北門');
		const [image, box] = [await dialog.locator('.frame-image').boundingBox(), await dialog.locator('.box').boundingBox()];
		for (const [is, wanted] of [[box.x, image.x + image.width * 0.25], [box.y, image.y + image.height * 0.5], [box.width, image.width * 0.25], [box.height, image.height * 0.25]])
			assert(Math.abs(is - wanted) < 2, `the box is at ${JSON.stringify(box)} of ${JSON.stringify(image)}`);
		same(await dialog.locator('.box-label').textContent(), 'smoke 80%');
		same(await dialog.locator('.tag').allTextContents(), ['煙hazard.smoke', '人物human.presence']);
		same(await dialog.locator('.thumb').count(), 3);
		const text = await dialog.textContent();
		assert(text.includes('隔離') && text.includes('hazard.smoke') && text.includes('アーカイブ済み 3 枚'), `retention and why: ${text}`);
		const at = () => dialog.locator('.caption').textContent();
		const before = await at();
		await page.keyboard.press('ArrowLeft');
		await page.keyboard.press('ArrowLeft');
		await page.keyboard.press('ArrowLeft');
		assert((await at()).startsWith('1 / 3') && await at() !== before || before.startsWith('1 / 3'), 'the keys go through the frames');
		await dialog.locator('.slider').fill('2');
		assert((await at()).startsWith('3 / 3'), 'so does the slider');
		await page.keyboard.press('Escape');
		await dialog.waitFor({ state: 'detached' });
		check();
	} finally {
		stack.rules();
	}
}, { alone: true });

test('endless scroll shows every event once, and filters choose', async (stack, front) => {
	const camera = stack.camera({ display: 'Scroll' });
	past(stack, camera, 130);
	past(stack, camera, 3, 'vehicle');
	const visitor = await stack.visit(front, `events.html?camera_id=${camera}`, { lang: 'en-US' });
	const { page, check } = visitor;
	await page.locator('.event').first().waitFor();
	assert(await page.locator('.event').count() < 100, 'not all at once');
	await waitUntil(async () => {
		await page.mouse.wheel(0, 4000);
		return await page.locator('.event').count() === 133;
	}, 'all events', 60);
	await page.locator('#end').waitFor();
	const uuids = await page.locator('.event').evaluateAll(list => list.map(e => e.getAttribute('href')));
	same(new Set(uuids).size, 133, 'each once');
	assert(visitor.requests.filter(r => r.url.includes('cursor=')).length >= 5, 'page by page');
	await page.evaluate(() => scrollTo(0, 0));
	await page.locator('#f-primary_event').selectOption('vehicle');
	await waitUntil(async () => await page.locator('.event').count() === 3, 'three vehicles');
	assert(page.url().includes('primary_event=vehicle'), 'the filter is in the address');
	await page.locator('#f-severity').selectOption('3');
	await waitUntil(async () => await page.locator('.event').count() === 1, 'one of them severe');
	await page.locator('#f-state').selectOption('open');
	await page.locator('#empty').waitFor();
	await page.getByRole('button', { name: 'Clear' }).click();
	await page.locator('.event').first().waitFor();
	await page.locator('#f-camera_id').selectOption(camera);
	const noon = new Date(Date.now() - 30 * 60000);
	await page.locator('#f-before').fill(new Date(noon - noon.getTimezoneOffset() * 60000).toISOString().slice(0, 16));
	await waitUntil(async () => await page.locator('.event').count() > 10 && (await page.locator('.event-when').first().textContent()).includes('3'), 'events before half an hour ago');
	check();
});

test('why nobody was told, and what the language model said', async (stack, front) => {
	const camera = stack.camera({ display: 'Outcomes' });
	const channel = `c${camera}`;
	past(stack, camera, 1, 'unknown');
	const uuid = uuidOf(stack, camera);
	stack.camctl('channel', 'add', channel, 'kind=slack', 'url=http://127.0.0.1:9/hook');
	stack.sql(`INSERT INTO camserver.notifications (channel_id, state, camera_id, event_id, primary_event, severity, rule, reason, created_at, updated_at)
		SELECT c.channel_id, 'suppressed', e.camera_id, e.event_id, 'unknown', 1, 'unknown', 'cooldown: told 20 s ago', now(), now()
		FROM camserver.channels c, camserver.events e WHERE c.name = :'channel' AND e.event_uuid = :'uuid'`, { channel, uuid });
	stack.sql(`INSERT INTO camserver.llm_reviews (event_id, frame_id, camera_id, outcome, reason, model, created_at)
		SELECT event_id, 0, camera_id, 'skipped', 'the camera asked 40 s ago', NULL, now() FROM camserver.events WHERE event_uuid = :'uuid'`, { uuid });
	const { page, check } = await stack.visit(front, `events.html#${uuid}`, { lang: 'en-US' });
	const text = await waitUntil(async () => {
		const all = await page.locator('dialog.wide').textContent();
		return all.includes('Language model') && all;
	}, 'the details');
	for (const part of ['Held back', channel, 'cooldown: told 20 s ago', 'Not asked', 'the camera asked 40 s ago', 'nothing more was seen'])
		assert(text.includes(part), `${part} is not in ${text}`);
	same(await page.locator('.case-form').count(), 0, 'a viewer cannot attach a case');
	stack.sql("DELETE FROM camserver.channels WHERE name = :'channel'", { channel });
	check();
});

test('an operator attaches a case and takes it off again', async (stack, front) => {
	const camera = stack.camera({ display: 'Case' });
	past(stack, camera, 1);
	const uuid = uuidOf(stack, camera);
	stack.sql(`INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, event_id, image_removed_at)
		SELECT gen_random_uuid(), camera_id, start_at, start_at, 1, event_id, now() FROM camserver.events WHERE event_uuid = :'uuid'`, { uuid });
	const { page, check } = await stack.visit(front, `events.html?camera_id=${camera}#${uuid}`, { lang: 'en-US', token: stack.token('operator') });
	await page.getByLabel('Case ID').fill('2026-014');
	await page.getByRole('button', { name: 'Attach to case' }).click();
	await page.getByText('1 of its images had expired before').waitFor();
	await page.getByText('for ever', { exact: true }).waitFor();
	same(stack.one("SELECT case_id FROM camserver.events WHERE event_uuid = :'uuid'", { uuid }), '2026-014');
	await page.getByRole('button', { name: 'Detach' }).click();
	await page.getByLabel('Case ID').waitFor();
	same(stack.one("SELECT case_id FROM camserver.events WHERE event_uuid = :'uuid'", { uuid }), null);
	same(stack.sql("SELECT action, actor LIKE 'token:t%' AS by_token FROM camserver.audit WHERE subject = :'uuid' ORDER BY audit_id", { uuid }),
		[{ action: 'case.attach', by_token: true }, { action: 'case.detach', by_token: true }]);
	check();
});
