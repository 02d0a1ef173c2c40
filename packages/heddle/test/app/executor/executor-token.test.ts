/** Callers with bearer tokens, against `heddle executor` as a real process. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { PROTOCOLS } from '@heddle/executor/protocol/messages';
import { systemClock } from '@heddle/base/clock';
import { ISSUER, makeToken, writeKeys, type TokenOptions } from '@heddle/test-support/executor/security/token-fixture';
import { heddle } from '@heddle/test-support/app/heddle-process';
import { endpointOf, ExecutorSite, type Ready } from '../../support/app/executor/executor-process.ts';

const EVERYTHING = 'task:execute:WordCount task:poll task:cancel events:list status:read';

describe('an executor that requires tokens', () => {
  const site = new ExecutorSite();
  const tokenFile = join(site.path, 'token');
  let ready: Ready;

  before(async () => {
    await site.prepare();
    ready = await site.start({
      HEDDLE_EXECUTOR_TIER: 'pooled',
      HEDDLE_EXECUTOR_JWT_KEYS: await writeKeys(site.path),
      HEDDLE_EXECUTOR_JWT_ISSUER: ISSUER,
    });
  });

  after(() => site.dispose());

  const write = (claims: Record<string, unknown>, options: Partial<TokenOptions> = {}): void =>
    writeFileSync(tokenFile, `${makeToken(systemClock.now(), { claims: { sub: 'laptop', ...claims }, ...options })}\n`);

  const event = (protocol: string, args: string[], environment: Record<string, string> = {}) =>
    heddle(['event', ...args], {
      HEDDLE_EXECUTORS: endpointOf(ready, protocol),
      HEDDLE_EXECUTOR_CLIENT: site.clientFile,
      HEDDLE_EXECUTOR_TOKEN: tokenFile,
      ...environment,
    });

  for (const protocol of PROTOCOLS) {
    test(`accepts a call with a token over ${protocol}, and none without`, async () => {
      write({ scope: EVERYTHING });
      const taken = await event(protocol, ['submit', 'WordCount', '{"text":"a b a"}']);
      assert.deepEqual(JSON.parse(taken.stdout), { a: 2, b: 1 }, taken.stderr);
      const without = await event(protocol, ['submit', 'WordCount', '{}'], { HEDDLE_EXECUTOR_TOKEN: '' });
      assert.equal(without.code, 5);
      assert.match(without.stderr, /^error\[UNAUTHENTICATED\]: /);
    });
  }

  test('a token allows what its scopes name, and no more', async () => {
    write({ scope: 'task:execute:WordCount' });
    for (const args of [['submit', 'Primes', '{}'], ['list']]) {
      const { code, stderr } = await event('tcp', args);
      assert.equal(code, 5, stderr);
      assert.match(stderr, /^error\[FORBIDDEN\]: /);
    }
    write({ scopes: ['task:execute:*', 'task:poll'] });
    assert.equal((await event('tcp', ['submit', 'Primes', '{"below":10}'])).code, 0);
  });

  test('a token of another caller or issuer, or an expired one, is rejected', async () => {
    const refused = async (): Promise<void> => {
      const { code, stderr } = await event('grpc', ['list']);
      assert.equal(code, 5, stderr);
      assert.match(stderr, /^error\[UNAUTHENTICATED\]: /);
    };
    write({ sub: 'other', scope: EVERYTHING });
    await refused();
    write({ iss: 'https://elsewhere.example', scope: EVERYTHING });
    await refused();
    write({ exp: -120, scope: EVERYTHING });
    await refused();
    write({ scope: EVERYTHING }, { key: 'foreign-ed' });
    await refused();
    const absent = await event('grpc', ['list'], { HEDDLE_EXECUTOR_TOKEN: join(site.path, 'absent') });
    assert.equal(absent.code, 2);
    assert.match(absent.stderr, /^error\[UNUSABLE\]: .*absent.*\n.*--token-file/s);
  });
});
