/** The settings that bound what callers can make an executor hold, in memory and on the disk. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { openAuditLog } from '@heddle/executor/audit/log';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { RawConnection, u32 } from '@heddle/test-support/executor/tcp/raw-connection';
import { eventually } from '@heddle/test-support/eventually';
import { endpointOf, ExecutorSite } from '../../support/app/executor/executor-process.ts';

const MIB = 1024 * 1024;
const UNFINISHED_BYTES = 3 * MIB;
const CONNECTIONS = 10;
const HANDSHAKES = 300;

test('unfinished requests of unknown callers share the memory of the setting', async () => {
  const site = await new ExecutorSite().prepare();
  const connections: RawConnection[] = [];
  try {
    const ready = await site.start({ HEDDLE_EXECUTOR_TIER: 'process', HEDDLE_EXECUTOR_UNAUTHENTICATED_MAX_MB: '16' });
    const port = Number(new URL(endpointOf(ready, 'tcp')).port);
    for (let number = 0; number < CONNECTIONS; number += 1) {
      const connection = await RawConnection.open(port, null);
      connections.push(connection);
      connection.socket.write(
        Buffer.concat([u32(UNFINISHED_BYTES + 1_000), u32(500), Buffer.alloc(UNFINISHED_BYTES, 0x20)]),
      );
    }
    const refused = (): number =>
      connections.filter(({ answers }) => answers[0]?.payload['code'] === 'QUEUE_FULL').length;
    await eventually(() => refused() >= CONNECTIONS - 5, 'the requests beyond 16 MiB to be refused');
  } finally {
    for (const { socket } of connections) socket.destroy();
    await site.dispose();
  }
});

test('failed handshakes are a few lines of the log and a count', async () => {
  const site = await new ExecutorSite().prepare();
  try {
    const ready = await site.start({ ...site.mutualTls, HEDDLE_EXECUTOR_TIER: 'process', RUST_LOG: 'debug' });
    const port = Number(new URL(endpointOf(ready, 'tcp')).port);
    for (let number = 0; number < HANDSHAKES; number += 1) {
      const socket = connect(port, '127.0.0.1').resume();
      socket.on('error', () => undefined).end('no handshake\r\n');
      await once(socket, 'close');
    }
    assert.equal(await site.run!.end('SIGTERM'), 0);
    const lines = site.run!.stderr.split('\n').filter((line) => line.includes('TLS handshake failed'));
    assert.ok(lines.length > 0 && lines.length < HANDSHAKES / 3, `${lines.length} lines of ${HANDSHAKES} handshakes`);
  } finally {
    await site.dispose();
  }
});

test('the audit log is kept up to the size of the setting', async () => {
  const site = await new ExecutorSite().prepare();
  const folder = join(site.path, 'data/audit');
  const path = join(folder, 'audit.log');
  const bytes = (): number => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  try {
    const log = await openAuditLog({ path, clock: systemClock, log: silentLogger, fileBytesMax: MIB / 8 });
    for (let entry = 0; entry < 10_000; entry += 1) {
      log.append({ action: 'canceled', client: 'tester', correlation_id: `task ${entry}` });
    }
    await log.close();
    assert.ok(bytes() > 1.5 * MIB, `${bytes()} bytes before`);
    const ready = await site.start({ HEDDLE_EXECUTOR_TIER: 'process', HEDDLE_EXECUTOR_AUDIT_MAX_MB: '1' });
    const client = site.client(endpointOf(ready, 'tcp'));
    try {
      await client.submit('WordCount', { text: 'a' });
    } finally {
      await client.close();
    }
    await eventually(() => bytes() <= MIB, 'the oldest files to be deleted');
  } finally {
    await site.dispose();
  }
});
