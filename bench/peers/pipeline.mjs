// SPDX-License-Identifier: Apache-2.0
// The pipeline of a peer: pipeline.mjs PEER. Enqueues what the section prepared in the database, works it off, and tells the
// most memory that its workers had.
import { newPool, sleep, tell } from './lib.mjs';
import { startCrew } from './crew.mjs';

const [, , name] = process.argv;
const database = 'camserver';
const peer = await import(`./${name}.mjs`);
const pool = newPool(database, 1);
await pool.query('drop schema if exists graphile_worker cascade; drop schema if exists pgboss cascade');
await peer.setup(database);
const { rows } = await pool.query(`select j.job_id, j.locked_token as token, j.camera_id, f.frame_uuid, camserver.rfc3339(j.captured_at) as captured_at
  from camserver.inference_jobs j join camserver.frames f using (frame_id) order by j.job_id`);
await peer.enqueue(rows);
const crew = await startCrew(name, database, 'frames', { processes: peer.processes });
while (crew.count() < rows.length) await sleep(5);
while ((await peer.pending()) > 0) await sleep(5);
tell({ rss_mb: crew.rss() / 2 ** 20 });
await crew.stop();
await peer.teardown();
process.exit(0);
