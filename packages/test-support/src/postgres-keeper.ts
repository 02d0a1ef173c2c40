/**
 * Runs the database that test files share when they are started one by one. It lives for as long as someone is connected
 * to its socket and a few seconds more, so that nothing stays behind; only one can own the directory.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from 'pg';

import { systemClock } from '@heddle/base/clock';
import { createLogger } from '@heddle/base/log';
import { startEmbeddedPostgres } from '@heddle/core/store/embedded/server';

const IDLE_MS = 15_000;
const LEFT_BEHIND = String.raw`select datname from pg_database where datname like 'heddle\_test\_%' or datname like 'heddle\_template\_%'`;

const directory = process.argv[2]!;
const log = createLogger({ level: 'info' });
const server = await startEmbeddedPostgres({
  dataDir: directory,
  clock: systemClock,
  log,
  maxConnections: 200,
  fsync: process.env['HEDDLE_TEST_FSYNC'] !== '0',
}).catch((error: unknown) => {
  // Mostly: another keeper was quicker, or the last one is still stopping. The process that started this one asks again.
  console.error(String(error));
  process.exit(1);
});
await dropLeftovers(server.adminUrl);

const socketPath = join(directory, 'keeper.sock');
rmSync(socketPath, { force: true });
let users = 0;
let lastUsedAt = performance.now();
const door = createServer((socket) => {
  users += 1;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    users -= 1;
    lastUsedAt = performance.now();
  });
  socket.write(`${server.url}\n`);
}).listen(socketPath);
while (users > 0 || performance.now() - lastUsedAt < IDLE_MS) await sleep(250);
door.close();
await server.stop();

async function dropLeftovers(adminUrl: string): Promise<void> {
  const client = new Client(adminUrl);
  await client.connect();
  const { rows } = await client.query<{ datname: string }>(LEFT_BEHIND);
  for (const { datname } of rows) await client.query(`drop database ${client.escapeIdentifier(datname)}`);
  await client.end();
}
