// SPDX-License-Identifier: Apache-2.0
// A worker process, forked by the measurements: worker.mjs PEER DATABASE KIND [eager]
// KIND: nothing, times (tells its parent when each job started), frames (the work of frames.mjs).
import { now } from './lib.mjs';

const [, , peer, database, kind, eager] = process.argv;
const { startWorker } = await import(`./${peer}.mjs`);
let count = 0, stop;
const kinds = {
  nothing: async () => async (payloads) => { count += payloads.length; },
  times: async () => async (payloads) => { const t = now(); for (const p of payloads) process.send({ i: p.i, t }); },
  frames: async () => {
    const { analyze } = await import('./frames.mjs');
    return async (payloads) => { await analyze(database, payloads); count += payloads.length; };
  },
};
process.on('message', async (m) => {
  if (m === 'go') {
    stop = await startWorker(database, await kinds[kind](), eager === 'eager');
    process.send('ready');
    setInterval(() => process.send({ count, rss: process.memoryUsage().rss }), 10);
  } else if (m === 'stop') {
    setTimeout(() => process.exit(0), 5000).unref();
    try { await stop(); } catch {}
    process.exit(0);
  }
});
process.send('up');
