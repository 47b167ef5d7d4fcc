// SPDX-License-Identifier: Apache-2.0
// What a job of the pipeline does: read the image, POST it to the inference node, apply the completion, as cam-dispatcher does.
import http from 'node:http';
import { readFile } from 'node:fs/promises';
import { inFlight, newPool } from './lib.mjs';

const IN_FLIGHT = 16, CONNECTIONS = 32;
const BOUNDARY = 'frame-7d1a';
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
let pool;

const field = (name, value) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

function post(job, image) {
  const head = Buffer.from(field('camera_id', job.camera_id) + field('captured_at', job.captured_at) +
    field('schema_version', '2025-12-28.1') + field('request_id', job.job_id) + `--${BOUNDARY}\r\n` +
    'Content-Disposition: form-data; name="infer_image"; filename="frame.jpg"\r\nContent-Type: image/jpeg\r\n\r\n');
  const tail = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  return new Promise((ok, bad) => {
    const r = http.request({ agent, host: '127.0.0.1', port: process.env.PEER_NODE_PORT, method: 'POST', path: '/v1/analyze', headers: {
      'Content-Type': `multipart/form-data; boundary=${BOUNDARY}`, 'Content-Length': head.length + image.length + tail.length } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (d) => { text += d; });
      answer.on('end', () => (answer.statusCode === 200 ? ok(JSON.parse(text)) : bad(new Error(`status ${answer.statusCode}`))));
    });
    r.on('error', bad);
    r.write(head);
    r.write(image);
    r.end(tail);
  });
}

const item = (job, a) => ({ job_id: +job.job_id, token: +job.token, result: a, schema_version: a.schema_version, detected: a.detected,
  primary_event: a.primary_event, unknown_flag: false, severity: a.severity, confidence: a.confidence, blur_score: a.blur_score,
  count_hint: a.count_hint, tags: a.tags, retention_class: 'normal', retention_reason: 'default', best_score: a.severity + a.confidence,
  suggest_score: 20 * a.severity, hazard: false, archive: false, escalate: false });

export async function analyze(database, jobs) {
  pool ??= newPool(database, CONNECTIONS);
  const items = [];
  await inFlight(jobs, IN_FLIGHT, async (job) => {
    const image = await readFile(`${process.env.PEER_SPOOL}/infer/${job.frame_uuid}.jpg`);
    items.push(item(job, await post(job, image)));
  });
  await pool.query('select camserver.analysis_complete($1, $2)', ['00000000-0000-4000-8000-000000000000', JSON.stringify(items)]);
}
