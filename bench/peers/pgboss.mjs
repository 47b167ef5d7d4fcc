// SPDX-License-Identifier: Apache-2.0
// pg-boss, fetching and completing in batches, without a pause while batches are full.
import { PgBoss } from 'pg-boss';
import { newPool, pgConf } from './lib.mjs';

const QUEUE = 'task';
const BULK = 10000;
const WORKERS = 4, BATCH = 100;
let boss, pool;

export const processes = 1;

const start = async (name, max) => {
  const b = new PgBoss(pgConf(name, max));
  b.on('error', (e) => console.error(e));
  b.on('warning', () => {});
  await b.start();
  return b;
};
export async function setup(name) {
  boss = await start(name, 8);
  await boss.createQueue(QUEUE);
  pool = newPool(name, 2);
}
export const enqueueOne = (payload) => boss.send(QUEUE, payload);
export async function enqueue(payloads) {
  for (let i = 0; i < payloads.length; i += BULK) {
    await boss.insert(QUEUE, payloads.slice(i, i + BULK).map((data) => ({ data })));
  }
  await pool.query('vacuum analyze pgboss.job');
}
export async function pending() {
  return +(await pool.query(`select count(*) from pgboss.job where name = $1 and state < 'completed'`, [QUEUE])).rows[0].count;
}
export async function teardown() { await pool.end(); await boss.stop({ graceful: false }); }

// In a worker process. work(payloads) does the work of a batch.
export async function startWorker(name, work) {
  const b = await start(name, WORKERS + 4);
  await b.work(QUEUE, { localConcurrency: WORKERS, batchSize: BATCH, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    (jobs) => work(jobs.map((j) => j.data)));
  return () => b.stop({ graceful: false });
}
