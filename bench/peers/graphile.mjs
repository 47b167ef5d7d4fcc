// SPDX-License-Identifier: Apache-2.0
// graphile-worker, as its performance page advises: local queue, completions in batches without delay.
import { run, makeWorkerUtils, Logger } from 'graphile-worker';
import { newPool } from './lib.mjs';

const logger = new Logger(() => () => {});
const TASK = 'task';
const BULK = 10000;
let utils, pool, database;

export const processes = 2;
const CONCURRENCY = 24, LOCAL_QUEUE = 500;

export async function setup(name) {
  database = name;
  pool = newPool(database, 8);
  utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
}
export const enqueueOne = (payload) => utils.addJob(TASK, payload);
export async function enqueue(payloads) {
  for (let i = 0; i < payloads.length; i += BULK) {
    await utils.addJobs(payloads.slice(i, i + BULK).map((payload) => ({ identifier: TASK, payload })));
  }
  await pool.query('vacuum analyze graphile_worker._private_jobs');
}
export const pending = async () => +(await pool.query('select count(*) from graphile_worker._private_jobs')).rows[0].count;
export async function teardown() { await utils.release(); await pool.end().catch(() => {}); }

// In a worker process. work(payloads) does the work of one job at a time here.
// eager: for an idle queue, where nothing is gained by fetching ahead.
export async function startWorker(name, work, eager = false) {
  const workers = newPool(name, CONCURRENCY + 2);
  const runner = await run({
    logger, noHandleSignals: true, pgPool: workers,
    taskList: { [TASK]: (payload) => work([payload]) },
    preset: { worker: {
      concurrentJobs: eager ? 4 : CONCURRENCY,
      ...(eager ? {} : { localQueue: { size: LOCAL_QUEUE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }),
    } },
  });
  return () => runner.stop();
}
