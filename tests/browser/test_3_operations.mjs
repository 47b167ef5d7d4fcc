// SPDX-License-Identifier: Apache-2.0
// The operator's page: who gets to see it, what it shows, and that every change is confirmed, made and noted.
import { assert, same, test, unique, waitUntil } from './harness.mjs';

const audit = (stack, subject) => stack.sql("SELECT actor, action, before, after FROM camserver.audit WHERE subject = :'subject' ORDER BY audit_id DESC LIMIT 1", { subject })[0];

async function apply(page) {
	await page.getByRole('button', { name: 'Apply change' }).click();
	await page.locator('dialog').waitFor({ state: 'detached' });
}

test('viewers neither see the page nor get its data; a pasted token signs in, once', async (stack, front) => {
	const visitor = await stack.visit(front, '', { lang: 'en-US' });
	const { page, check } = visitor;
	await page.locator('#health:not(:empty)').waitFor();
	same(await page.getByRole('link', { name: 'Operations' }).count(), 0);
	for (const token of [null, stack.token('viewer')]) {
		const answer = await fetch(`${front.url}/api/console/operations`, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
		same(answer.status, token ? 403 : 401);
	}
	await page.goto(`${front.url}/console/operations.html`);
	await page.getByLabel('Token').fill('not-a-token');
	await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
	await page.getByText('The token is wrong or has expired.').waitFor();
	await page.getByLabel('Token').fill(stack.token('operator'));
	await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click();
	await page.locator('#numbers .value').first().waitFor();
	await page.getByRole('link', { name: 'Live' }).click();
	await page.getByRole('link', { name: 'Operations' }).waitFor(); // still signed in on the next page
	await page.locator('#account').click();
	await page.getByRole('button', { name: 'Sign out' }).click();
	await page.locator('#health:not(:empty)').waitFor();
	same(await page.getByRole('link', { name: 'Operations' }).count(), 0);
	check();
});

test('who the web server signs in is who they are', async (stack, front) => {
	stack.camctl('user', 'set', 'boss', 'operator');
	const boss = await stack.visit(front, 'operations.html', { lang: 'en-US', user: 'boss' });
	await boss.page.locator('#numbers .value').first().waitFor();
	same(await boss.page.locator('.account-name').textContent(), 'boss');
	const alice = await stack.visit(front, '', { lang: 'en-US', user: 'alice' });
	await waitUntil(async () => await alice.page.locator('.account-name').textContent() === 'alice', 'her name');
	same(await alice.page.getByRole('link', { name: 'Operations' }).count(), 0);
	boss.check();
	alice.check();
});

test('the board shows load, budget, queue, plots and refusals', async (stack, front) => {
	const { page, check } = await stack.visit(front, 'operations.html', { lang: 'en-US', token: stack.token('operator') });
	await page.locator('.plot canvas').first().waitFor();
	same(await page.locator('.plot canvas').count(), 6);
	assert(/^CPU and memory \(%\): CPU [\d.]+, Memory [\d.]+/.test(await page.locator('.plot canvas').first().getAttribute('aria-label')), 'the plot has numbers');
	assert(await page.locator('.plot canvas').first().evaluate(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(n => n > 0)), 'and is drawn');
	assert(/^\d+%$/.test(await page.locator('.host[data-key="default"] .ring strong').first().textContent()), 'the load');
	await waitUntil(async () => Number(await page.locator('[data-name="throughput"] .value span').textContent()) > 0, 'the demo cameras\' jobs', 150);
	await waitUntil(async () => /\d/.test(await page.locator('[data-name="latency"] .value').textContent()), 'their latency');
	assert((await page.locator('#refusals').textContent()).includes('OVER_CAPACITY'), 'refusals by reason');
	check();
});

test('an operator changes a budget, a limit, a pool, and it is noted who', async (stack, front) => {
	const camera = stack.camera({ server: unique('budget') });
	const server = stack.one("SELECT stream_server_id FROM camserver.cameras WHERE camera_id = :'camera'", { camera });
	const pool = unique('pool');
	stack.camctl('pool', 'add', pool, 'command=/bin/true', 'max_capacity=3');
	const token = stack.token('operator');
	const { page, check } = await stack.visit(front, 'operations.html', { lang: 'en-US', token });
	const budget = page.locator(`.budget[data-key="${server}"]`);
	await budget.getByRole('button', { name: 'Change' }).click();
	await page.getByLabel('Total units').fill('80');
	await page.locator('dialog').getByRole('button', { name: 'Change' }).click();
	same((await page.locator('.change').allTextContents()).join(), 'Total units50 → 80');
	same(stack.one("SELECT total_units FROM camserver.stream_servers WHERE stream_server_id = :'server'", { server }), 50, 'not before it is confirmed');
	await apply(page);
	same(stack.one("SELECT total_units FROM camserver.stream_servers WHERE stream_server_id = :'server'", { server }), 80);
	await waitUntil(async () => (await budget.textContent()).includes('80 units'), 'the new budget');
	const noted = audit(stack, server);
	same([noted.action, noted.before, noted.after], ['budget.set', { total_units: 50 }, { total_units: 80 }]);
	assert(noted.actor.startsWith('token:'), noted.actor);
	assert((await page.locator('#audit').textContent()).includes('budget.set'), 'the audit is shown');

	await page.locator(`#pools tr[data-key="${pool}"]`).getByRole('button', { name: 'Change' }).click();
	await page.getByLabel('Most workers').fill('7');
	await page.locator('dialog').getByRole('button', { name: 'Change' }).click();
	await apply(page);
	same(stack.one("SELECT max_capacity FROM camserver.pools WHERE name = :'pool'", { pool }), 7);
	same(audit(stack, pool).after, { max_capacity: 7 });

	// What the server does not take is said, and changes nothing.
	await budget.getByRole('button', { name: 'Change' }).click();
	await page.getByLabel('Total units').fill('99999999');
	await page.locator('dialog').getByRole('button', { name: 'Change' }).click();
	await page.getByRole('button', { name: 'Apply change' }).click();
	await page.locator('dialog .field-error:not(:empty)').waitFor();
	same(stack.one("SELECT total_units FROM camserver.stream_servers WHERE stream_server_id = :'server'", { server }), 80);
	await page.keyboard.press('Escape');
	stack.camctl('pool', 'remove', pool);
	check();
});

test('an operator changes the limit of a model', async (stack, front) => {
	const model = unique('model');
	stack.sql("INSERT INTO camserver.providers (provider_id, base_url) VALUES ('browser', 'http://127.0.0.1:9') ON CONFLICT DO NOTHING");
	stack.sql("INSERT INTO camserver.models (model, provider_id, upstream_name) VALUES (:'model', 'browser', :'model')", { model });
	stack.sql('SELECT camserver.limits_apply()');
	const { page, check } = await stack.visit(front, 'operations.html', { lang: 'en-US', token: stack.token('operator') });
	const row = page.locator(`#limits tr[data-key="model/${model}"]`);
	await row.getByRole('button', { name: 'Change' }).click();
	await page.getByLabel('Concurrent calls').fill('4');
	await page.locator('dialog').getByRole('button', { name: 'Change' }).click();
	await apply(page);
	await waitUntil(async () => (await row.textContent()).includes('0 / 4'), 'the new limit');
	const noted = audit(stack, `model/${model}`);
	same([noted.action, noted.after], ['limit.set', { concurrent: 4 }]);
	check();
}, { alone: true });

test('an operator retries a dead job and cancels another', async (stack, front) => {
	const camera = stack.camera();
	const jobs = stack.sql(`INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at, finished_at, attempt, last_error)
		SELECT 'archive', 'dead', :'camera', now(), now(), now(), now() + i * interval '1 day', 8, 'the disk said <b>no</b>' FROM generate_series(1, 2) i RETURNING job_id`, { camera }).map(r => r.job_id);
	const { page, check } = await stack.visit(front, 'operations.html', { lang: 'en-US', token: stack.token('operator') });
	const row = id => page.locator(`#dead tr[data-key="${id}"]`);
	await row(jobs[0]).getByRole('button', { name: 'Retry' }).click();
	await apply(page); // a dispatcher takes it at once, and finds again that it cannot be done
	await waitUntil(() => audit(stack, String(jobs[0])), 'the retry');
	await row(jobs[1]).getByRole('button', { name: 'Cancel' }).click();
	await apply(page);
	await row(jobs[1]).waitFor({ state: 'detached' });
	same(stack.one('SELECT status FROM camserver.inference_jobs WHERE job_id = ' + jobs[1]), 'cancelled');
	same(jobs.map(id => audit(stack, String(id)).action), ['job.retry', 'job.cancel']);
	check();
});

test('an operator takes a node out and puts it back', async (stack, front) => {
	const { page, check } = await stack.visit(front, 'operations.html', { lang: 'en-US', token: stack.token('operator') });
	await page.locator('#numbers .value').first().waitFor();
	const node = unique('node');
	stack.sql("INSERT INTO camserver.nodes (name, base_url, models) VALUES (:'node', 'http://127.0.0.1:9', ARRAY['nothing'])", { node });
	const row = page.locator(`#nodes tr[data-key="${node}"]`);
	await row.getByRole('button', { name: 'Drain' }).click();
	await apply(page);
	await row.getByRole('button', { name: 'Put back' }).waitFor();
	same(stack.one("SELECT draining FROM camserver.nodes WHERE name = :'node'", { node }), true);
	same([audit(stack, node).action, audit(stack, node).after], ['node.set', { draining: true }]);
	await row.getByRole('button', { name: 'Put back' }).click();
	await apply(page);
	await row.getByRole('button', { name: 'Drain' }).waitFor();
	stack.sql("DELETE FROM camserver.nodes WHERE name = :'node'", { node });
	check();
});
