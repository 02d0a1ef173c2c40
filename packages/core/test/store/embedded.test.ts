import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { Client } from 'pg';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { stopOrphan } from '../../src/store/embedded/postmaster.ts';
import { isPostgresOf, orphanedBackends, processStart } from '../../src/store/embedded/processes.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/store/embedded/server.ts';
import { eventually } from '@heddle/test-support/eventually';
import { databaseDirectory } from '@heddle/test-support/postgres';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';

const LINUX = process.platform === 'linux';
const AS_ROOT = process.getuid?.() === 0;
const PROCESS_SCRIPT = join(import.meta.dirname, '../../../test-support/src/embedded-process.ts');

interface Announcement {
  url: string;
  pid: number;
  watchdogPid: number;
  replacedOrphan: boolean;
  clusterDirectory: string;
}

interface Running extends Announcement {
  child: ChildProcess;
  kill(): Promise<void>;
}

const directories: string[] = [];
const children = new Set<ChildProcess>();
const servers = new Set<EmbeddedPostgres>();

after(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const server of servers) await server.stop();
  for (const directory of directories) {
    for (const pid of orphanedBackends(join(directory, 'cluster'))) process.kill(pid, 'SIGKILL');
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
});

function newDirectory(): string {
  const directory = databaseDirectory('heddle-embedded-');
  directories.push(directory);
  return directory;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, clock: systemClock, log: silentLogger });
  servers.add(server);
  return server;
}

/** Starts the server from a process of its own, which a test can kill. */
async function startProcess(dataDir: string, options: { uid?: number; gid?: number } = {}): Promise<Running> {
  const child = spawn(process.execPath, [...CATALOG_OPTIONS, PROCESS_SCRIPT, dataDir], {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: '/',
    ...options,
  });
  children.add(child);
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await eventually(() => output.includes('\n') || child.exitCode !== null, 'the server process is up', 60_000);
  if (child.exitCode !== null) throw new Error(errors);
  const kill = async (): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { ...(JSON.parse(output) as Announcement), child, kill };
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Live servers of a data directory, sessions and workers left out. */
function postmasters(cluster: string): number[] {
  return orphanedBackends(cluster).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0-D\0'));
}

describe('a first start', () => {
  test('makes a durable, private database that its own user runs; a second start finds the data', async () => {
    const dataDir = newDirectory();
    const first = await start(dataDir);
    assert.deepEqual(await query(first.url, 'select current_user as who, current_database() as db'), [
      { who: 'heddle', db: 'heddle' },
    ]);
    const [settings] = await query(
      first.adminUrl,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sc, current_setting('full_page_writes') as fpw,
        current_setting('listen_addresses') as tcp, current_setting('jit') as jit`,
    );
    assert.deepEqual(settings, { fsync: 'on', sc: 'on', fpw: 'on', tcp: '', jit: 'off' });
    if (AS_ROOT) assert.notEqual(statSync(first.clusterDirectory).uid, 0);
    await query(first.url, 'create table kept as select 7 as n');
    await first.stop();
    assert.equal(isPostgresOf(first.pid, first.clusterDirectory), false);
    const second = await start(dataDir);
    assert.equal(second.url, first.url);
    assert.equal(second.replacedOrphan, false);
    assert.deepEqual(await query(second.url, 'select n from kept'), [{ n: 7 }]);
    await second.stop();
    await second.stop();
  });

  test('lets no one in without the secret, which is private', async () => {
    const dataDir = newDirectory();
    const server = await start(dataDir);
    assert.equal(statSync(join(dataDir, 'secret')).mode & 0o777, 0o600);
    assert.equal(statSync(join(dataDir, 'socket')).mode & 0o777, 0o700);
    assert.equal(statSync(server.clusterDirectory).mode & 0o077, 0);
    for (const url of [server.url, server.adminUrl]) {
      await assert.rejects(query(url.replace(/:[^:@/]+@/, ':guess@'), 'select 1'), { code: '28P01' });
    }
    const hba = await query(server.adminUrl, `select distinct auth_method from pg_hba_file_rules`);
    assert.deepEqual(hba, [{ auth_method: 'scram-sha-256' }]);
    await server.stop();
  });

  test('recovers from an initdb that was killed half-way', async () => {
    const dataDir = newDirectory();
    mkdirSync(join(dataDir, 'initdb-Ab12Cd', 'base'), { recursive: true });
    writeFileSync(join(dataDir, 'initdb-Ab12Cd', 'PG_VERSION'), '18\n');
    const server = await start(dataDir);
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('initdb-')),
      [],
    );
    await server.stop();
  });

  test('killed at any moment leaves a directory that starts', async () => {
    const dataDir = newDirectory();
    for (const waitFor of ['secret', /^initdb-/, 'cluster', 'cluster/postmaster.pid']) {
      const child = spawn(process.execPath, [...CATALOG_OPTIONS, PROCESS_SCRIPT, dataDir], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      children.add(child);
      const exited = once(child, 'exit');
      await eventually(
        () =>
          typeof waitFor === 'string'
            ? existsSync(join(dataDir, waitFor))
            : readdirSync(dataDir).some((name) => waitFor.test(name)) || existsSync(join(dataDir, 'cluster')),
        `${waitFor} appears`,
      );
      child.kill('SIGKILL');
      await exited;
    }
    const server = await start(dataDir);
    assert.deepEqual(await query(server.url, 'select 1 as one'), [{ one: 1 }]);
    await server.stop();
  });

  test('works where the path is too long for a socket', async () => {
    const dataDir = join(
      newDirectory(),
      'a-directory-name-of-forty-characters-here',
      'and-another-one-of-thirty-five-char',
    );
    const server = await start(dataDir);
    assert.deepEqual(await query(server.url, 'select 1 as one'), [{ one: 1 }]);
    const outside = decodeURIComponent(new URL(server.url).searchParams.get('host')!);
    assert.ok(outside.length < 60 && existsSync(outside));
    await server.stop();
    assert.equal(existsSync(outside), false);
  });
});

describe('a data directory', () => {
  test('serves one Heddle at a time', async () => {
    const dataDir = newDirectory();
    const owner = await startProcess(dataDir);
    await assert.rejects(start(dataDir), new RegExp(`in use by the Heddle with process number ${owner.child.pid}`));
    assert.equal(isPostgresOf(owner.pid, owner.clusterDirectory), true);
    assert.deepEqual(await query(owner.url, 'select 1 as one'), [{ one: 1 }]);
    const exited = once(owner.child, 'exit');
    owner.child.stdin!.end();
    await exited;
    assert.equal(processStart(owner.pid), undefined);
    const next = await start(dataDir);
    await next.stop();
  });

  test('goes to one of several that start at once', async () => {
    const dataDir = newDirectory();
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => startProcess(dataDir)));
    const winners = results.filter((result) => result.status === 'fulfilled');
    assert.equal(winners.length, 1);
    for (const result of results) if (result.status === 'rejected') assert.match(String(result.reason), /is in use by/);
    await winners[0]!.value.kill();
  });

  test('of another version of PostgreSQL is refused with the remedy', async () => {
    const dataDir = newDirectory();
    const server = await start(dataDir);
    await server.stop();
    writeFileSync(join(server.clusterDirectory, 'PG_VERSION'), '17\n');
    await assert.rejects(start(dataDir), /PostgreSQL 17, but the installed binaries are 18\.\d+: .*pg_upgrade/);
  });
});

describe('kill -9', () => {
  test('of Heddle leaves no process behind, and the data is whole', async () => {
    const dataDir = newDirectory();
    const killed = await startProcess(dataDir);
    await query(killed.url, 'create table kept as select generate_series(1, 1000) as n');
    await killed.kill();
    await eventually(
      () => processStart(killed.pid) === undefined && processStart(killed.watchdogPid) === undefined,
      'server and watchdog are gone',
    );
    const next = await start(dataDir);
    assert.equal(next.replacedOrphan, false);
    assert.deepEqual(await query(next.url, 'select count(*)::int as n from kept'), [{ n: 1000 }]);
    await next.stop();
  });

  test('of Heddle and its watchdog: the next start replaces the server that was left', async () => {
    const dataDir = newDirectory();
    const killed = await startProcess(dataDir);
    await query(killed.url, 'create table kept as select generate_series(1, 1000) as n');
    // The watchdog second: while Heddle lives, it would start another.
    killed.child.kill('SIGSTOP');
    process.kill(killed.watchdogPid, 'SIGKILL');
    await killed.kill();
    assert.equal(isPostgresOf(killed.pid, killed.clusterDirectory), true, 'the server is left behind');
    const next = await start(dataDir);
    assert.equal(next.replacedOrphan, true);
    assert.equal(processStart(killed.pid), undefined);
    if (LINUX) assert.deepEqual(postmasters(next.clusterDirectory), [next.pid]);
    assert.deepEqual(await query(next.url, 'select count(*)::int as n from kept'), [{ n: 1000 }]);
    await next.stop();
  });

  test('of Heddle: a server that ends by itself while the next start looks at it is no obstacle', async () => {
    const dataDir = newDirectory();
    const killed = await startProcess(dataDir);
    killed.child.kill('SIGSTOP');
    process.kill(killed.watchdogPid, 'SIGKILL');
    await killed.kill();
    // As its watchdog would have done it, at the moment that is hardest to tell from a server that cannot be stopped.
    const endNow = (): void => {
      process.kill(killed.pid, 'SIGKILL');
      while (processStart(killed.pid) !== undefined);
    };
    const log = { ...silentLogger, warn: endNow };
    assert.equal(await stopOrphan(killed.clusterDirectory, systemClock, log), true);
    assert.equal(await stopOrphan(killed.clusterDirectory, systemClock, silentLogger), false);
  });

  test('of Heddle, and a start at once: one server, nothing lost', async () => {
    const dataDir = newDirectory();
    for (let round = 0; round < 4; round += 1) {
      const killed = await startProcess(dataDir);
      await query(killed.url, 'create table if not exists log (n int); insert into log values (1)');
      await killed.kill();
    }
    const next = await start(dataDir);
    if (LINUX) assert.deepEqual(postmasters(next.clusterDirectory), [next.pid]);
    assert.deepEqual(await query(next.url, 'select count(*)::int as n from log'), [{ n: 4 }]);
    await next.stop();
  });

  test('of the server: it runs again on the same address, nothing acknowledged is lost', async () => {
    const dataDir = newDirectory();
    const server = await start(dataDir);
    await query(server.url, 'create table kept (n int)');
    // A session at work holds on to the shared memory of the killed server: hours of it here, and nothing on disk.
    const work = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b';
    const busy = query(server.url, work).catch(() => undefined);
    await eventually(async () => {
      const rows = await query(
        server.adminUrl,
        `select 1 from pg_stat_activity where query like '%generate_series%' and usename = 'heddle'`,
      );
      return rows.length > 0;
    }, 'the session works');
    await query(server.url, 'insert into kept values (1)');
    const before = server.pid;
    process.kill(before, 'SIGKILL');
    await eventually(() => server.pid !== 0 && server.pid !== before, 'another server runs', 120_000);
    await busy;
    assert.deepEqual(await query(server.url, 'select n from kept'), [{ n: 1 }]);
    if (LINUX) assert.deepEqual(postmasters(server.clusterDirectory), [server.pid]);
    await server.stop();
  });

  test('of the watchdog: another one takes its place and does its work', async () => {
    const dataDir = newDirectory();
    const running = await startProcess(dataDir);
    process.kill(running.watchdogPid, 'SIGKILL');
    const other = await eventually(() => {
      const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      return found
        .map(Number)
        .find((pid) => pid !== running.watchdogPid && isWatchdogOf(pid, running.clusterDirectory));
    }, 'another watchdog runs');
    await running.kill();
    await eventually(
      () => processStart(running.pid) === undefined && processStart(other) === undefined,
      'all are gone',
    );
  });
});

function isWatchdogOf(pid: number, cluster: string): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return args.includes('heddle-watchdog') && args.includes(cluster);
  } catch {
    return false;
  }
}

describe('a process number in the file of a dead server', () => {
  test('that belongs to another program does not stop the start, nor that program', async () => {
    const dataDir = newDirectory();
    const server = await start(dataDir);
    await server.stop();
    const pidFile = join(server.clusterDirectory, 'postmaster.pid');
    writeFileSync(
      pidFile,
      `${process.pid}\n${server.clusterDirectory}\n1700000000\n5432\n${dataDir}/socket\n\n1 1\nready\n`,
    );
    const next = await start(dataDir);
    assert.equal(next.replacedOrphan, false);
    await next.stop();
  });
});

describe('as root', { skip: AS_ROOT ? false : 'these tests need root' }, () => {
  test('data under a directory that only root can enter goes elsewhere, and is found again', async () => {
    const home = newDirectory();
    chmodSync(home, 0o700);
    const dataDir = join(home, 'data');
    const server = await start(dataDir);
    directories.push(join(server.clusterDirectory, '..'));
    assert.ok(!server.clusterDirectory.startsWith(home));
    assert.equal(join(readFileSync(join(dataDir, 'location'), 'utf8').trim(), 'cluster'), server.clusterDirectory);
    await query(server.url, 'create table kept as select 7 as n');
    await server.stop();
    const next = await start(dataDir);
    assert.equal(next.clusterDirectory, server.clusterDirectory);
    assert.deepEqual(await query(next.url, 'select n from kept'), [{ n: 7 }]);
    await next.stop();
  });

  test('a strict umask does not lock the database out of its directory', async () => {
    const dataDir = join(newDirectory(), 'made', 'by-heddle');
    const umask = process.umask(0o077);
    const server = await start(dataDir).finally(() => process.umask(umask));
    assert.equal(server.clusterDirectory, join(dataDir, 'cluster'));
    await server.stop();
  });

  test('an ordinary user can run it too', async () => {
    const dataDir = join(newDirectory(), 'data');
    mkdirSync(dataDir);
    chmodSync(join(dataDir, '..'), 0o777);
    chmodSync(dataDir, 0o777);
    const running = await startProcess(dataDir, { uid: 65534, gid: 65534 });
    assert.equal(statSync(running.clusterDirectory).uid, 65534);
    await running.kill();
    await eventually(() => processStart(running.pid) === undefined, 'the server is gone');
  });
});
