import assert from 'node:assert/strict';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import type { SignedRequest } from '../../src/protocol/envelope.ts';
import { signRequest } from '../../src/protocol/mac.ts';
import { systemClock } from '@heddle/base/clock';
import { COMMAND_ENVIRONMENT } from '@heddle/test-support/cli/command-process';
import { eventually } from '@heddle/test-support/eventually';
import { CATALOG_OPTIONS } from '@heddle/test-support/modules/catalog';
import { AUDIENCE, inDirectory, newNonce, signingKeys } from '../support/security/fixture.ts';

/** A process that authenticates requests, and its answers. */
class Executor {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly codes = new Map<string, string>();

  static async start(directory: string, bootId: string): Promise<Executor> {
    const program = join(import.meta.dirname, '../support/security/authenticating-process.ts');
    const args = [...CATALOG_OPTIONS, program, directory, bootId];
    const child = spawn(process.execPath, args, { env: COMMAND_ENVIRONMENT });
    child.stderr.pipe(process.stderr);
    const executor = new Executor(child);
    await eventually(() => executor.codes.has('ready'), 'the process is ready');
    return executor;
  }

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [nonce = '', code = ''] = line.split(' ');
      this.codes.set(nonce, code);
    });
    // Requests sent when it is killed are lost by design.
    child.stdin.on('error', () => undefined);
  }

  send(request: SignedRequest): void {
    const { payload, mac, ...texts } = request;
    const bytes = { payload: Buffer.from(payload).toString('base64'), mac: Buffer.from(mac).toString('base64') };
    this.#child.stdin.write(`${JSON.stringify({ ...texts, ...bytes })}\n`);
  }

  /** Returns the codes of all requests once each is answered. */
  async answers(requests: readonly SignedRequest[]): Promise<(string | undefined)[]> {
    await eventually(() => requests.every(({ nonce }) => this.codes.has(nonce)), 'every request is answered');
    return requests.map(({ nonce }) => this.codes.get(nonce));
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'close');
  }
}

const CLIENTS = ['alice', 'bob', 'carol'];
const KEYS = CLIENTS.map((client) => signingKeys(client));

function requests(count: number): SignedRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const client = CLIENTS[index % CLIENTS.length]!;
    const times = { timestamp_ms: systemClock.now(), nonce: newNonce() };
    const fields = { key_id: 'k1', client, audience: AUDIENCE, method: 'submit' as const, payload: Buffer.from('{}') };
    return signRequest({ ...fields, ...times }, KEYS[index % CLIENTS.length]!);
  });
}

test('killed at any time: accepted requests are never accepted again, unanswered ones may be', async () => {
  await inDirectory(async (directory) => {
    for (let round = 0; round < 4; round++) {
      const executor = await Executor.start(directory, 'boot-1');
      const sent = requests(3_000);
      for (const request of sent) executor.send(request);
      // Killed in between, after some answers and before others.
      const wanted = 100 + round * 700;
      await eventually(() => executor.codes.size > wanted, `${wanted} answers`);
      await executor.kill();
      const letIn = sent.filter(({ nonce }) => executor.codes.get(nonce) === 'ok');
      assert.ok(letIn.length >= wanted - 1);

      const again = await Executor.start(directory, 'boot-1');
      for (const request of sent) again.send(request);
      const answers = await again.answers(sent);
      const twice = letIn.filter(({ nonce }) => again.codes.get(nonce) !== 'REPLAYED');
      assert.deepEqual(twice, []);
      assert.ok(answers.every((code) => code === 'ok' || code === 'REPLAYED'));
      const fresh = requests(1);
      fresh.forEach((request) => again.send(request));
      assert.deepEqual(await again.answers(fresh), ['ok']);
      await again.kill();
    }
  });
});

test('after a reboot, earlier requests are rejected, because the end of the replay memory may be lost', async () => {
  await inDirectory(async (directory) => {
    const first = await Executor.start(directory, 'boot-1');
    const before = requests(10);
    before.forEach((request) => first.send(request));
    assert.deepEqual(new Set(await first.answers(before)), new Set(['ok']));
    const unseen = requests(10);
    await first.kill();

    const second = await Executor.start(directory, 'boot-2');
    [...before, ...unseen].forEach((request) => second.send(request));
    assert.deepEqual(new Set(await second.answers([...before, ...unseen])), new Set(['EXPIRED']));
    const fresh = requests(10);
    fresh.forEach((request) => second.send(request));
    assert.deepEqual(new Set(await second.answers(fresh)), new Set(['ok']));
    await second.kill();

    const third = await Executor.start(directory, 'boot-2');
    [...before, ...fresh].forEach((request) => third.send(request));
    assert.deepEqual(new Set(await third.answers(before)), new Set(['EXPIRED']), 'a restart keeps the horizon');
    assert.deepEqual(new Set(await third.answers(fresh)), new Set(['REPLAYED']));
    await third.kill();
  });
});

test('without the previous replay memory, requests signed before the start are rejected', async () => {
  await inDirectory(async (directory) => {
    const before = requests(3);
    const executor = await Executor.start(join(directory, 'new'), 'boot-1');
    before.forEach((request) => executor.send(request));
    assert.deepEqual(new Set(await executor.answers(before)), new Set(['EXPIRED']));
    await executor.kill();
  });
});

test('a torn end of the replay memory loses nothing that was acted on', async () => {
  await inDirectory(async (directory) => {
    const first = await Executor.start(directory, 'boot-1');
    const before = requests(50);
    before.forEach((request) => first.send(request));
    await first.answers(before);
    await first.kill();
    for (const name of readdirSync(directory)) appendFileSync(join(directory, name), Buffer.from([0, 0, 1, 0, 9, 9]));

    const second = await Executor.start(directory, 'boot-1');
    before.forEach((request) => second.send(request));
    assert.deepEqual(new Set(await second.answers(before)), new Set(['REPLAYED']));
    await second.kill();
  });
});
