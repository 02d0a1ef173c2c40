import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { TokenVerifier } from '../../src/security/token-verifier.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { inDirectory, openFixture, outcome, received, signed, type Fixture } from '../support/security/fixture.ts';
import {
  ISSUER,
  makeToken,
  privateJwk,
  publicJwk,
  publicPem,
  writeKeys,
  type TokenOptions,
} from '@heddle/test-support/executor/security/token-fixture';

type Attack = TokenOptions & { name: string; text?: string | null; peer?: string[]; code: string; says?: string };

const FILE = join(import.meta.dirname, 'token-attacks.json');
const { tokens } = JSON.parse(readFileSync(FILE, 'utf8')) as { tokens: Attack[] };

async function withTokens(keys: string | undefined, run: (fixture: Fixture, keysFile: string) => Promise<void>) {
  await inDirectory(async (directory) => {
    const keysFile = await writeKeys(directory, keys);
    const fixture = await openFixture({ tokens: { keysFile, issuer: ISSUER, audience: 'heddle-executor' } });
    try {
      await run(fixture, keysFile);
    } finally {
      await fixture.authenticator.close();
    }
  });
}

function call({ clock, authenticator }: Fixture, token: string | null, peer: string[] | null = null) {
  const certificate = peer === null ? null : { names: peer, fingerprint: '', der: new Uint8Array(0) };
  return outcome(authenticator.authenticate(received(signed(clock), { token, peer: certificate })));
}

function textOf(attack: Attack, now: number): string | null {
  if (attack.text === undefined) return makeToken(now, attack);
  return attack.text === 'x*9000' ? 'x'.repeat(9_000) : attack.text;
}

for (const attack of tokens) {
  test(`${attack.code}: ${attack.name}`, () =>
    withTokens(undefined, async (fixture) => {
      const text = textOf(attack, fixture.clock.now());
      const found = await call(fixture, text, attack.peer);
      assert.equal(found.code, attack.code, found.message);
      assert.match(found.message, new RegExp(attack.says ?? ''));
      // A rejected token must not be accepted from a cache.
      assert.equal((await call(fixture, text, attack.peer)).code, attack.code);
      assert.equal((await call(fixture, makeToken(fixture.clock.now(), {}))).code, 'ok');
    }));
}

test('a cached token expires', () =>
  withTokens(undefined, async (fixture) => {
    const token = makeToken(fixture.clock.now(), { claims: { exp: 100 } });
    assert.equal((await call(fixture, token)).code, 'ok');
    await fixture.clock.advance(99_000);
    assert.equal((await call(fixture, token)).code, 'ok');
    await fixture.clock.advance(6_001);
    assert.match((await call(fixture, token)).message, /has expired/);
  }));

test('removing a key ends its tokens, including cached ones; others stay valid', () =>
  withTokens(undefined, async (fixture, keysFile) => {
    const claims = { exp: 1_000_000 };
    const of = (alg: string, kid: string): string => makeToken(fixture.clock.now(), { alg, kid, claims });
    const [ed, ec] = [of('EdDSA', 'ed'), of('ES256', 'ec')];
    assert.deepEqual([(await call(fixture, ed)).code, (await call(fixture, ec)).code], ['ok', 'ok']);
    writeFileSync(keysFile, '{"keys": [');
    await fixture.clock.advance(2_000);
    assert.equal((await call(fixture, ed)).code, 'ok', 'a broken file changes nothing');
    writeFileSync(keysFile, JSON.stringify({ keys: [publicJwk('ec', 'ec')] }));
    await fixture.clock.advance(2_000);
    // Files are read in real time rather than virtual time.
    await eventually(async () => {
      await fixture.clock.advance(2_000);
      return (await call(fixture, ed)).code === 'UNAUTHENTICATED';
    }, "the removed key's token to be rejected");
    assert.equal((await call(fixture, ec)).code, 'ok');
  }));

test('PEM: key ids of tokens are ignored; every key is tried; certificates work as well', () =>
  withTokens(publicPem('second-ed') + publicPem('ed') + publicPem('rsa'), async (fixture) => {
    const now = fixture.clock.now();
    assert.equal((await call(fixture, makeToken(now, { kid: 'whatever' }))).code, 'ok');
    assert.equal((await call(fixture, makeToken(now, { key: 'second-ed' }))).code, 'ok');
    assert.equal((await call(fixture, makeToken(now, { alg: 'RS256' }))).code, 'ok');
    assert.match((await call(fixture, makeToken(now, { key: 'foreign-ed' }))).message, /not signed with a known key/);
    assert.match((await call(fixture, makeToken(now, { alg: 'ES256' }))).message, /not signed with a known key/);
  }));

test('scopes: separated by spaces, or a list', async () => {
  await inDirectory(async (directory) => {
    const clock = new VirtualClock();
    const keysFile = await writeKeys(directory);
    const settings = { keysFile, issuer: ISSUER, audience: 'heddle-executor' };
    const verifier = await TokenVerifier.open({ ...settings, clock, log: silentLogger });
    const scopesOf = async (claims: object): Promise<unknown> => {
      const token = makeToken(clock.now(), { claims: claims as Record<string, unknown> });
      return (await verifier.verify(token)).scopes;
    };
    assert.deepEqual(await scopesOf({}), []);
    assert.deepEqual(await scopesOf({ scope: '  task:poll  events:list ' }), ['task:poll', 'events:list']);
    assert.deepEqual(await scopesOf({ scopes: ['task:execute:A B'] }), ['task:execute:A B']);
    const token = makeToken(clock.now(), {});
    const [one, other] = [verifier.verify(token), verifier.verify(token)];
    assert.equal(one, other, 'concurrent calls share one verification');
    await one;
    assert.ok(!(verifier.verify(token) instanceof Promise), 'a cached token is verified synchronously');
    await verifier.close();
  });
});

const FILES: readonly [string, string, RegExp][] = [
  ['a private key in PEM', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', /private key/],
  ['a private key in a JWKS', JSON.stringify({ keys: [privateJwk('ed')] }), /keys\[0\]: is a secret key/],
  ['a shared secret', JSON.stringify({ keys: [{ kty: 'oct', k: 'AAAA' }] }), /keys\[0\]: is a secret key/],
  ['no keys', '{"keys":[]}', /must contain 1 to 100 keys/],
  ['not a list', '{"keys":{}}', /must be a list/],
  ['nothing', '', /must contain 1 to 100 keys/],
  ['a duplicate member', '{"keys":[],"keys":[]}', /more than once/],
  ['an invalid key', '{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}', /not a public key/],
];

for (const [name, text, fault] of FILES) {
  test(`rejects a file of public keys: ${name}`, () =>
    assert.rejects(
      withTokens(text, () => Promise.resolve()),
      (error) => error instanceof Error && error.name === 'KeyFileError' && fault.test(error.message),
    ));
}

test('algorithms with a shared secret cannot be configured', async () => {
  const settings = { keysFile: '/none', issuer: ISSUER, audience: 'a', clock: new VirtualClock(), log: silentLogger };
  for (const algorithms of [['HS256'], ['none'], ['EdDSA', 'HS512'], []]) {
    await assert.rejects(TokenVerifier.open({ ...settings, algorithms }), TypeError);
  }
});
