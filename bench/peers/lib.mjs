// SPDX-License-Identifier: Apache-2.0
// Shared helpers. libpq's variables in the environment say where PostgreSQL is.
import pg from 'pg';

export const REDIS_PORT = +process.env.PEER_REDIS_PORT;
export const pgConf = (database, max) => ({ host: process.env.PGHOST, user: process.env.PGUSER, database, max });
export const now = () => Number(process.hrtime.bigint()) / 1e6;
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export const tell = (result) => console.log(JSON.stringify(result));

export function newPool(database, max) {
  const pool = new pg.Pool(pgConf(database, max));
  pool.on('error', () => {});
  pool.on('connect', (c) => c.on('error', () => {}));
  return pool;
}

export async function freshDatabase(name) {
  const c = new pg.Client(pgConf('postgres'));
  await c.connect();
  await c.query(`drop database if exists ${name} with (force)`);
  await c.query(`create database ${name}`);
  await c.end();
}

// Keeps `width` calls of fn(item) in flight.
export async function inFlight(items, width, fn) {
  let i = 0;
  const one = async () => { while (i < items.length) await fn(items[i++]); };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, one));
}
