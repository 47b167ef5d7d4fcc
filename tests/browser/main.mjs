// SPDX-License-Identifier: Apache-2.0
// main.mjs DIRECTORY STATE BUILD [NAME]: every test_*.mjs of the directory, against the running stack in STATE. Prints TAP.
import { readdirSync } from 'node:fs';
import { Stack, TESTS, closeBrowser, prepare } from './harness.mjs';

const [directory, state, , only] = process.argv.slice(2);
const names = readdirSync(directory).filter(n => /^test_.*\.mjs$/.test(n)).sort();
for (const name of names)
	await import(`${directory}/${name}`);

let count = 0;
let failed = 0;

async function run(stack, { name, run: body }, front) {
	const title = `${name} (${front})`;
	const start = Date.now();
	try {
		await body(stack, stack.fronts[front]);
		console.log(`ok ${++count} - browser: ${title} # ${((Date.now() - start) / 1000).toFixed(1)} s`);
	} catch (e) {
		failed++;
		console.log(`not ok ${++count} - browser: ${title}\n${String(e.stack ?? e).replaceAll(/^/gm, '# ')}`);
	} finally {
		await stack.tidy();
	}
}

const chosen = TESTS.filter(({ name }) => !only || new RegExp(only).test(name.replaceAll(' ', '_')));
await prepare(new Stack(state));
// The web servers side by side, each with its own visitors and cameras; they mostly wait.
await Promise.all(['lighttpd', 'apache'].map(async front => {
	const stack = new Stack(state);
	for (const t of chosen)
		if (!t.alone && t.fronts.includes(front))
			await run(stack, t, front);
}));
const stack = new Stack(state);
for (const t of chosen)
	for (const front of t.alone ? t.fronts : [])
		await run(stack, t, front);
console.log(`1..${count}`);
await closeBrowser();
process.exit(failed > 0 || count === 0 ? 1 : 0);
