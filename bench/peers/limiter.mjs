// SPDX-License-Identifier: Apache-2.0
// rate-limiter-flexible: limiter.mjs postgres|redis KEYS SECONDS CALLERS. consume() with a limit that is never reached.
import { Redis } from 'ioredis';
import { RateLimiterPostgres, RateLimiterRedis } from 'rate-limiter-flexible';
import { freshDatabase, newPool, now, REDIS_PORT, tell } from './lib.mjs';

const [, , store, keys, seconds, callers] = process.argv;
const common = { points: 1e9, duration: 3600, keyPrefix: 'rl' };
let limiter, close;
if (store === 'postgres') {
  await freshDatabase('peer_limiter');
  const pool = newPool('peer_limiter', +callers);
  await new Promise((ok, bad) => {
    limiter = new RateLimiterPostgres({ ...common, storeClient: pool, tableName: 'rl' }, (e) => (e ? bad(e) : ok()));
  });
  close = () => pool.end();
} else {
  const r = new Redis({ host: '127.0.0.1', port: REDIS_PORT });
  await r.flushall();
  limiter = new RateLimiterRedis({ ...common, storeClient: r });
  close = () => r.quit();
}
let n, turn = 0, until;
const one = async () => { while (now() < until) { await limiter.consume(`k${turn++ % +keys}`, 1); n++; } };
const all = async (ms) => { n = 0; until = now() + ms; await Promise.all(Array.from({ length: +callers }, one)); };
await all(+seconds * 200);
const t0 = now();
await all(+seconds * 1000);
tell({ rate: (n * 1000) / (now() - t0) });
await close();
process.exit(0);
