// SPDX-License-Identifier: Apache-2.0
// What a page weighs, before other tests fill it with their servers and changes.
import { assert, sleep, test } from './harness.mjs';

test('each page loads under 150 kB without pictures', async (stack, front) => {
	for (const name of ['', 'events.html', 'operations.html']) {
		const { page, context, check } = await stack.visit(front, name, { token: stack.token('operator') });
		const cdp = await context.newCDPSession(page);
		const kinds = new Map();
		let bytes = 0;
		await cdp.send('Network.enable');
		await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
		cdp.on('Network.responseReceived', e => kinds.set(e.requestId, e.type));
		cdp.on('Network.loadingFinished', e => { bytes += kinds.get(e.requestId) === 'Image' ? 0 : e.encodedDataLength; });
		await page.reload();
		await page.locator('.tile, .event, #numbers .value').first().waitFor();
		await sleep(500);
		console.log(`# ${front.name} ${name || 'live'}: ${Math.round(bytes / 1000)} kB`);
		assert(bytes > 5000 && bytes < 150_000, `${name}: ${bytes} bytes`);
		check();
	}
});
