/** Runner processes of a server: what they know, how they reach it, and what they run. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { TokenStore } from '@heddle/core/store/tokens';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { DEADLINE_MS, HeddlePool } from '../../support/app/pool/heddle-pool.ts';

const ONE_RUNNER = { HEDDLE_POOL_MAX_RUNNERS: '1' };
const ON_LARGE = { requirements: { resource_class: 'large' } };

/** Remote ports of the TCP connections of a process, and the number of its other sockets. */
function socketsOf(pid: number): { ports: number[]; others: number } {
  const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
      return inode === undefined ? [] : [inode];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
  const rows = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1),
  );
  const portOf = new Map(
    rows
      .map((row) => row.trim().split(/\s+/))
      .map((cells) => [cells[9], parseInt((cells[2] ?? '').split(':')[1]!, 16)]),
  );
  const ports = inodes.flatMap((inode) => portOf.get(inode) ?? []);
  return { ports, others: inodes.length - ports.length };
}

describe('a runner process', () => {
  let heddle: HeddlePool;
  let pid: number;

  before(async () => {
    const { url, database } = await createTestDatabase();
    heddle = new HeddlePool(url);
    const tokens = new TokenStore({ database, clock: systemClock, random: systemRandom });
    const { text: token } = await tokens.create('test', ['admin'], null);
    heddle.token = token;
    await heddle.start({
      HOST: '0.0.0.0',
      ...ONE_RUNNER,
      HOST_URL: 'http://heddle.invalid',
      PGPASSWORD: 'of-the-database',
      HEDDLE_TOKEN: token,
      HEDDLE_SMTP_URL: 'smtps://mail:password@mail.internal',
    });
    await heddle.provision(1);
    const [runner] = await heddle.runners('idle', 1);
    pid = heddle.processOf(runner!.id);
  });
  after(() => heddle.close());

  it('knows nothing of the database, of keys and of tokens, and connects to its server only', async () => {
    await heddle.ended(await heddle.submit('one', 'pool-quick'));
    assert.equal((await heddle.run('one')).pid, pid);
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    assert.ok(environment.some((variable) => variable.startsWith('HEDDLE_DATA_DIR=')));
    const telling = /^(DATABASE_URL|QUEUE_URL|PG|HEDDLE_(TOKEN|SMTP|SECRET|LISTEN))|postgres|hdl_|hdr_/;
    assert.deepEqual(
      environment.filter((variable) => telling.test(variable)),
      [],
    );
    assert.doesNotMatch(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /hd[lr]_|postgres/);
    const { ports, others } = socketsOf(pid);
    assert.ok(ports.length > 0 && ports.every((port) => port === heddle.port), ports.join(' '));
    assert.ok(others <= 1, 'the other one is the standard input');
  });

  it('runs what needs no database, and says which kinds it lacks', async () => {
    const { tasks } = await heddle.client.submit([
      { name: 'scan', kind: 'TcpSyn', metadata: { targets: ['127.0.0.1'], ports: String(heddle.port) }, ...ON_LARGE },
      { name: 'unknown', kind: 'Misspelled', ...ON_LARGE },
    ]);
    assert.equal((await heddle.ended(tasks[0]!.id)).status, 'Success');
    await heddle.ended(tasks[1]!.id);
    const { failure_reason: reason } = await heddle.client.getTask(tasks[1]!.id);
    assert.equal(
      reason,
      'no kind Misspelled in this process: name the module that defines it (--module), or correct the kind of the task',
    );
  });

  it('stops a canceled task, and runs the next one', async () => {
    const id = await heddle.submit('canceled', 'pool-patient');
    await heddle.run('canceled');
    await heddle.client.cancelTask(id);
    await heddle.runners('idle', 1);
    await heddle.ended(await heddle.submit('next', 'pool-quick'));
    assert.equal((await heddle.run('next')).pid, pid);
  });

  it('goes on with another server of the machine if its own is killed', async () => {
    const id = await heddle.submit('continued', 'pool-patient');
    await heddle.run('continued');
    const { server: launcher } = heddle;
    await heddle.start({ HOST: '127.0.0.1', ...ONE_RUNNER });
    await launcher.end('SIGKILL');
    heddle.letGo('continued');
    assert.deepEqual(await heddle.ended(id), { status: 'Success', attempt: 1 });
    await eventually(() => socketsOf(pid).ports.includes(heddle.port), 'it is connected to the other', DEADLINE_MS);
    assert.equal(await heddle.server.end('SIGTERM'), 0);
    assert.deepEqual(heddle.processes, [], 'which ends it as its own');
  });
});
