/**
 * Keys and certificates change on both sides of mutual TLS while the client library makes calls: no call is rejected.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { RemoteExecutor, type ClientTls } from '@heddle/executor/client';
import { openByProtocol } from '@heddle/executor/internal/client/open-transport';
import { PROTOCOLS } from '@heddle/executor/protocol/messages';
import { eventually } from '@heddle/test-support/eventually';
import { heddle } from '@heddle/test-support/app/heddle-process';
import { endpointOf, ExecutorSite } from '../../support/app/executor/executor-process.ts';

/** Longer than either side takes to detect a changed file. */
const SEEN_MS = 60_000;

/** Makes calls continuously, with one client for each protocol; keeps every failure. */
class Load {
  readonly failures: unknown[] = [];
  readonly #clients: readonly RemoteExecutor[];
  readonly #counts: number[];
  readonly #loops: Promise<void>[];
  #isOver = false;

  constructor(clients: readonly RemoteExecutor[]) {
    this.#clients = clients;
    this.#counts = clients.map(() => 0);
    this.#loops = clients.map((client, index) => this.#call(client, index));
  }

  async #call(client: RemoteExecutor, index: number): Promise<void> {
    while (!this.#isOver) {
      try {
        assert.deepEqual(await client.submit('WordCount', { text: 'a' }, { deadlineSecs: 20 }), { a: 1 });
      } catch (error) {
        this.failures.push(error);
      }
      this.#counts[index]! += 1;
    }
  }

  /** Resolves when every client has made further calls. */
  async goesOn(calls = 20): Promise<void> {
    const before = [...this.#counts];
    const haveAll = (): boolean => this.#counts.every((count, index) => count - before[index]! >= calls);
    await eventually(haveAll, 'further calls of every client', SEEN_MS);
    assert.deepEqual(this.failures, []);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

/** Files that the clients have used. */
interface Seen {
  readonly keyIds: Set<string>;
  readonly tls: ClientTls[];
}

describe('rotation, with the client library over mutual TLS', () => {
  const site = new ExecutorSite();
  const path = (...names: string[]): string => join(site.path, ...names);
  const text = (...names: string[]): string => readFileSync(path(...names), 'utf8');
  const seen: Seen[] = [];
  let load: Load;

  /** Replaces a file atomically, as a rotation should. */
  const replace = (name: string, content: string): void => {
    writeFileSync(path(`${name}.new`), content, { mode: 0o600 });
    renameSync(path(`${name}.new`), path(name));
  };
  const allHave = (fits: (each: Seen) => boolean, what: string): Promise<unknown> =>
    eventually(() => seen.every(fits), what, SEEN_MS);
  const readAgain = (): number => site.run!.stderr.split('"msg":"reloaded certificates').length - 1;

  function watchedClient(endpoint: string): RemoteExecutor {
    const own: Seen = { keyIds: new Set(), tls: [] };
    seen.push(own);
    return new RemoteExecutor({
      endpoints: [endpoint],
      credentials: site.clientFile,
      tls: { caFile: path('now/ca.pem'), certFile: path('now/client.pem'), keyFile: path('now/client-key.pem') },
      openTransport: async (to, tls, clock) => {
        own.tls.push(tls!);
        const transport = await openByProtocol(to, tls, clock);
        return {
          endpoint: to,
          call: (request, options) => {
            own.keyIds.add(request.key_id);
            return transport.call(request, options);
          },
          close: () => transport.close(),
        };
      },
    });
  }

  before(async () => {
    await site.prepare();
    const made = await heddle(['certs', 'dev', '--out', path('next'), '--client', 'laptop'], {});
    assert.equal(made.code, 0, made.stderr);
    mkdirSync(path('now'));
    for (const name of ['ca', 'server', 'server-key']) replace(`now/${name}.pem`, text(`certs/${name}.pem`));
    replace('now/client.pem', text('certs/client-laptop.pem'));
    replace('now/client-key.pem', text('certs/client-laptop-key.pem'));
    replace('now/client-ca.pem', text('certs/ca.pem'));
    const ready = await site.start({
      HEDDLE_EXECUTOR_TIER: 'pooled',
      HEDDLE_EXECUTOR_TLS_CERT: path('now/server.pem'),
      HEDDLE_EXECUTOR_TLS_KEY: path('now/server-key.pem'),
      HEDDLE_EXECUTOR_CLIENT_CA: path('now/client-ca.pem'),
    });
    load = new Load(PROTOCOLS.map((protocol) => watchedClient(endpointOf(ready, protocol))));
    await load.goesOn(1);
  });

  after(async () => {
    await load.end();
    await site.dispose();
  });

  test('a new key: callers switch, and continue when the old one is retired', async () => {
    const ring = path('keys/keys.json');
    const rotated = await heddle(['keys', 'rotate', '--ring', ring, '--client-file', site.clientFile], {});
    assert.equal(rotated.code, 0, rotated.stderr);
    const [first] = (JSON.parse(text('keys/client-laptop.json')) as { keys: { id: string }[] }).keys;
    await allHave(({ keyIds }) => keyIds.has(first!.id), 'every client signs with the new key');
    const held = JSON.parse(text('keys/keys.json')) as { keys: { id: string; state: string }[] };
    for (const key of held.keys) if (key.id !== first!.id) key.state = 'retired';
    replace('keys/keys.json', JSON.stringify(held));
    await eventually(() => text('data/audit/audit.log').includes(' retired'), 'the old key is retired', SEEN_MS);
    for (const { keyIds } of seen) keyIds.clear();
    await load.goesOn();
    assert.deepEqual(
      seen.map(({ keyIds }) => [...keyIds]),
      PROTOCOLS.map(() => [first!.id]),
    );
  });

  test('another authority: both sides trust it, switch, and stop trusting the old one', async () => {
    const both = text('certs/ca.pem') + text('next/ca.pem');
    const stages: [name: string, content: string][][] = [
      [
        ['now/ca.pem', both],
        ['now/client-ca.pem', both],
      ],
      [
        ['now/server.pem', text('next/server.pem')],
        ['now/server-key.pem', text('next/server-key.pem')],
        ['now/client.pem', text('next/client-laptop.pem')],
        ['now/client-key.pem', text('next/client-laptop-key.pem')],
      ],
      [
        ['now/ca.pem', text('next/ca.pem')],
        ['now/client-ca.pem', text('next/ca.pem')],
      ],
    ];
    for (const stage of stages) {
      const before = readAgain();
      const opened = seen.map(({ tls }) => tls.length);
      for (const [name, content] of stage) replace(name, content);
      await eventually(() => readAgain() > before, 'the executor reads its certificates again', SEEN_MS);
      await eventually(() => seen.every(({ tls }, index) => tls.length > opened[index]!), 'the clients too', SEEN_MS);
      await load.goesOn();
    }
    for (const { tls } of seen) {
      assert.equal(tls.at(-1)!.ca, text('next/ca.pem'));
      assert.equal(tls.at(-1)!.cert, text('next/client-laptop.pem'));
    }
  });
});
