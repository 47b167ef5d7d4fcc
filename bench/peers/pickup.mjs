// SPDX-License-Identifier: Apache-2.0
// Pickup of a peer on an idle queue: pickup.mjs PEER SAMPLES. Producer and worker are two processes; times are of one clock.
import { freshDatabase, now, sleep, tell } from './lib.mjs';
import { startCrew } from './crew.mjs';

const [, , name, samples] = process.argv;
const peer = await import(`./${name}.mjs`);
await freshDatabase('peer_pickup');
await peer.setup('peer_pickup');
let hit;
const crew = await startCrew(name, 'peer_pickup', 'times', { eager: true, onMessage: (m) => { if (m.t != null) hit(m); } });
await sleep(500);
const waits = [];
for (let i = -5; i < +samples; i++) {
  const started = new Promise((r) => { hit = r; });
  await peer.enqueueOne({ i });
  const committed = now();
  const m = await started;
  if (i >= 0) waits.push(m.t - committed);
  await sleep(5 + Math.random() * 15);
}
tell({ waits });
await crew.stop();
await peer.teardown();
process.exit(0);
