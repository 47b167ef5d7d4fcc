// SPDX-License-Identifier: Apache-2.0
// Jobs that do nothing: drain.mjs PEER JOBS. The clock runs from the first tenth's end to the last durable completion.
import { freshDatabase, now, sleep, tell } from './lib.mjs';
import { startCrew } from './crew.mjs';

const [, , name, jobs] = process.argv;
const total = +jobs, warm = total / 10;
const peer = await import(`./${name}.mjs`);
await freshDatabase('peer_queue');
await peer.setup('peer_queue');
await peer.enqueue(Array.from({ length: total }, (_, i) => ({ i })));
const crew = await startCrew(name, 'peer_queue', 'nothing', { processes: peer.processes });
while (crew.count() < warm) await sleep(2);
const t0 = now(), base = crew.count();
while (crew.count() < total) await sleep(2);
while ((await peer.pending()) > 0) await sleep(2);
tell({ rate: ((total - base) * 1000) / (now() - t0) });
await crew.stop();
await peer.teardown();
process.exit(0);
