// SPDX-License-Identifier: Apache-2.0
// The camera wall and its modal: the specification's 9.1 to 9.3, seen in the browser and in the database.
import { assert, same, sleep, test, waitUntil } from './harness.mjs';

const tile = (page, camera) => page.locator(`.tile[data-key="${camera}"]`);

async function open(page, camera, state = 'playing') {
	await tile(page, camera).click();
	await page.locator(`.viewer[data-state="${state}"]`).waitFor();
}

async function cameraWithFrame(stack, front, parameters) {
	const camera = stack.camera(parameters);
	await stack.frame(front, camera);
	return camera;
}

test('a click takes a lease, shows the camera, keeps it alive, and closing gives it back', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { heartbeat_interval_sec: 1, heartbeat_grace_sec: 6, display: 'Nordeingang', location: '3F' });
	const { page, check } = await stack.visit(front);
	await tile(page, camera).locator('img:not([hidden])').waitFor();
	await open(page, camera);
	const [lease] = stack.leases(camera);
	same(lease.quality, 'sub');
	same(await page.locator('.viewer h2').textContent(), 'Nordeingang');
	assert(/残り [45]:\d\d/.test(await page.locator('.time-left').textContent()), 'the time left is shown');
	await waitUntil(() => page.locator('.viewer img.picture').evaluate(i => i.naturalWidth > 0), 'the picture');
	await waitUntil(() => stack.leases(camera)[0].last_heartbeat > lease.last_heartbeat, 'a heartbeat in the database');
	same(stack.leases(camera)[0].expires_at, lease.expires_at, 'a heartbeat does not lengthen the time');
	await page.getByRole('button', { name: /高画質/ }).click();
	await waitUntil(() => stack.leases(camera)[0]?.quality === 'main', 'the better quality');
	await page.locator('.viewer[data-state="playing"]').waitFor();
	await page.keyboard.press('Escape');
	await page.locator('.viewer').waitFor({ state: 'detached' });
	await waitUntil(() => stack.leases(camera).length === 0, 'the release');
	same(stack.endOf(camera), 'released');
	check();
});

test('the keyboard alone opens and closes a camera', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front);
	const { page, check } = await stack.visit(front, '', { lang: 'en-US' });
	await tile(page, camera).focus();
	await page.keyboard.press('Enter');
	await page.locator('.viewer[data-state="playing"]').waitFor();
	for (let i = 0; i < 6; i++) { // the focus stays in the modal, or in the browser's own bars
		await page.keyboard.press('Tab');
		assert(await page.evaluate(() => document.activeElement === document.body || document.querySelector('.viewer').contains(document.activeElement)), 'the focus left the modal');
	}
	await page.locator('.viewer-head button').focus();
	await page.keyboard.press('Enter');
	await waitUntil(() => stack.leases(camera).length === 0, 'the release');
	same(await page.evaluate(() => document.activeElement.dataset.key), camera, 'the focus is back');
	check();
});

test('refused because all units are in use: message, numbers, countdown, and then it works', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { total_units: 1, baseline_units: 0, max_ui_users: 0, modal_ttl_sec: 8 });
	const { page, check } = await stack.visit(front);
	await tile(page, camera).waitFor();
	const other = await fetch(`${front.url}/api/modal/lease`, { method: 'POST', body: JSON.stringify({ camera_id: camera }), headers: { 'Content-Type': 'application/json' } });
	same(other.status, 201);
	await open(page, camera, 'refused');
	assert((await page.locator('.panel-text').textContent()).startsWith('現在多数のアクセスがありストリーム数が上限に達しています'), 'the message');
	same(await page.locator('.panel .muted').textContent(), '必要 1 / 空き 0 ユニット');
	const retry = page.getByRole('button', { name: '再試行' });
	assert(await retry.isDisabled() && /^\d 秒後/.test(await page.locator('.retry-in').textContent()), 'the countdown');
	await waitUntil(() => retry.isEnabled(), 'the end of the countdown');
	await waitUntil(async () => {
		if (await page.locator('.viewer[data-state="refused"]').count() > 0 && await retry.isEnabled())
			await retry.click();
		return page.locator('.viewer[data-state="playing"]').count();
	}, 'the picture');
	check();
});

test('refused because the visitor watches another camera: it can be taken over', async (stack, front) => {
	const first = await cameraWithFrame(stack, front, { display: 'Erste' });
	const second = await cameraWithFrame(stack, front);
	const visitor = await stack.visit(front);
	await open(visitor.page, first);
	const tab = await visitor.open('');
	await open(tab, second, 'refused');
	same(await tab.locator('.panel-text').textContent(), '既に別のカメラを表示中です');
	same(await tab.locator('.panel .muted').textContent(), '表示中: Erste');
	await tab.getByRole('button', { name: 'そちらを閉じて表示' }).click();
	await tab.locator('.viewer[data-state="playing"]').waitFor();
	same([stack.leases(first).length, stack.leases(second).length], [0, 1]);
	visitor.check();
});

test('refused because of overload, in English too', async (stack, front) => {
	stack.camctl('setting', 'set', 'recover_hold_sec', '1');
	const camera = stack.camera();
	await stack.frame(front, camera);
	const { page, check } = await stack.visit(front, '', { lang: 'en-US' });
	await page.locator('#health[data-level="normal"]').waitFor();
	stack.load(95);
	try {
		await waitUntil(() => stack.one('SELECT overloaded FROM camserver.health'), 'the overload');
		await open(page, camera, 'refused');
		same(await page.locator('.panel-text').textContent(), 'The server is under heavy load. Please try again in a while.');
		same(await page.locator('.panel').getAttribute('data-code'), 'SYSTEM_OVERLOAD');
		await page.locator('#health[data-level="overload"]').waitFor();
	} finally {
		stack.load();
		await waitUntil(() => !stack.one('SELECT overloaded FROM camserver.health'), 'the recovery');
		stack.camctl('setting', 'set', 'recover_hold_sec', '60');
	}
	await page.getByRole('button', { name: 'Close' }).last().click();
	check();
}, { alone: true });

test('when the time is over: dialog, reconnect, close', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { modal_ttl_sec: 3 });
	const { page, check } = await stack.visit(front);
	await open(page, camera);
	const first = stack.leases(camera)[0].lease_id;
	await page.getByRole('alertdialog', { name: '表示時間が終了しました' }).waitFor();
	same(await page.locator('.panel-text').textContent(), '続けて表示しますか？');
	same(await page.locator('.stage').evaluate(e => e.childElementCount), 0, 'the picture is stopped');
	await waitUntil(() => stack.leases(camera).length === 0, 'the end in the database');
	await page.getByRole('button', { name: '再接続' }).click();
	await page.locator('.viewer[data-state="playing"]').waitFor();
	assert(stack.leases(camera)[0].lease_id !== first, 'a new lease');
	await page.getByRole('alertdialog', { name: '表示時間が終了しました' }).waitFor();
	await page.locator('.panel').getByRole('button', { name: '閉じる' }).click();
	await page.locator('.viewer').waitFor({ state: 'detached' });
	check();
});

/** What the browser does to a tab in the background, where headless Chromium has no windows to put in front. */
export async function setHidden(page, hidden) {
	await page.evaluate(h => {
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => h });
		Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (h ? 'hidden' : 'visible') });
		document.dispatchEvent(new Event('visibilitychange'));
	}, hidden);
}

test('a hidden tab gives its lease back, and goes on when it is seen again', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front);
	const { page, check } = await stack.visit(front);
	await open(page, camera);
	await setHidden(page, true);
	await waitUntil(() => stack.leases(camera).length === 0, 'the release');
	same(stack.endOf(camera), 'released');
	await setHidden(page, false);
	await page.getByRole('button', { name: '再接続' }).click();
	await page.locator('.viewer[data-state="playing"]').waitFor();
	same(stack.leases(camera).length, 1);
	check();
});

test('a closed page, and one that is left, give their lease back', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { heartbeat_interval_sec: 2, heartbeat_grace_sec: 4 });
	const visitor = await stack.visit(front);
	await open(visitor.page, camera);
	await visitor.page.goto(`${front.url}/console/events.html`);
	await waitUntil(() => stack.leases(camera).length === 0, 'the release of a page that is left');
	same(stack.endOf(camera), 'released');
	const tab = await visitor.open('');
	await open(tab, camera);
	await tab.close();
	// Told, or not heard from any more: by the end of the grace it is over.
	await waitUntil(() => stack.leases(camera).length === 0, 'the end of a closed page');
});

test('a heartbeat that fails is repeated; a lease that cannot be kept is said to be lost', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { heartbeat_interval_sec: 1, heartbeat_grace_sec: 8 });
	const { page, context, check } = await stack.visit(front);
	await open(page, camera);
	await context.setOffline(true);
	await sleep(2500);
	await context.setOffline(false);
	const before = stack.leases(camera)[0].last_heartbeat;
	await waitUntil(() => stack.leases(camera)[0]?.last_heartbeat > before, 'a heartbeat after the gap');
	same(await page.locator('.viewer').getAttribute('data-state'), 'playing');
	stack.camctl('leases', 'revoke', stack.leases(camera)[0].lease_id);
	await page.getByRole('alertdialog', { name: '接続が切れました' }).waitFor();
	check();
});

test('a camera that sends nothing is marked, a new picture is shown without another click', async (stack, front) => {
	const camera = stack.camera();
	const silent = stack.camera();
	await stack.frame(front, camera);
	const { page, check } = await stack.visit(front);
	await tile(page, silent).locator('.badge.off').waitFor();
	const picture = tile(page, camera).locator('img');
	await waitUntil(() => picture.evaluate(i => !i.hidden && i.naturalWidth > 0), 'the first picture');
	same(await tile(page, camera).locator('.badge.off').count(), 0);
	const before = await picture.getAttribute('src');
	await stack.frame(front, camera, { picture: stack.picture('parking', 5) });
	await waitUntil(async () => await picture.getAttribute('src') !== before, 'the next picture');
	same(await picture.evaluate(i => i.naturalWidth > 0 && !i.hidden), true);
	check();
});

test('the suggested camera comes first and stands out', async (stack, front) => {
	const camera = await cameraWithFrame(stack, front, { display: 'Hier' });
	stack.sql("SELECT camserver.suggest_clear()");
	stack.sql("UPDATE camserver.suggest_state SET camera_id = :'camera', score = 500, reason = 'hazard.fire', started_at = now(), scored_at = now(), expires_at = now() + interval '60 s'", { camera });
	const { page, check } = await stack.visit(front);
	await page.locator(`.tile.suggested[data-key="${camera}"]`).waitFor();
	same(await page.locator('.tile').first().getAttribute('data-key'), camera);
	same(await page.locator('#suggest').textContent(), 'Hier');
	stack.sql("UPDATE camserver.suggest_state SET expires_at = '-infinity'");
	await page.locator(`.tile:not(.suggested)[data-key="${camera}"]`).waitFor(); // the demo cameras may have taken over
	check();
}, { alone: true });
