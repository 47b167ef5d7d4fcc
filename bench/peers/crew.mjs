// SPDX-License-Identifier: Apache-2.0
// The worker processes of a peer, seen from their parent.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export async function startCrew(peer, database, kind, { processes = 1, eager = false, onMessage = () => {} } = {}) {
  const kids = [], counts = [], rss = [];
  for (let p = 0; p < processes; p++) {
    const k = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), [peer, database, kind, ...(eager ? ['eager'] : [])]);
    kids.push(k);
    await new Promise((r) => k.once('message', r));
    k.on('message', (m) => {
      if (m.count != null) { counts[p] = m.count; rss[p] = Math.max(rss[p] || 0, m.rss); }
      onMessage(m);
    });
  }
  const ready = Promise.all(kids.map((k) => new Promise((r) => k.on('message', (m) => m === 'ready' && r()))));
  for (const k of kids) k.send('go');
  await ready;
  const sum = (xs) => xs.reduce((a, b) => a + (b || 0), 0);
  return {
    count: () => sum(counts),
    rss: () => sum(rss),
    stop: () => Promise.all(kids.map((k) => new Promise((r) => { k.once('exit', r); k.send('stop'); }))),
  };
}
