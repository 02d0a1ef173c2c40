import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';

import type { ClientTransport } from '../../../src/client/port.ts';
import { deriveClientKey, deriveSigningKeys, signRequest, verifyResponse } from '../../../src/protocol/mac.ts';
import type { SignedRequest } from '../../../src/protocol/envelope.ts';
import type { RemoteMethod } from '../../../src/protocol/messages.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { AUDIENCE, Fixture, KEY_ID, OpenTier } from '../manager/fixture.ts';
import { MemoryDisk } from '../manager/memory-disk.ts';
import { certificates, quiet, type TransportUnderTest } from './suite.ts';

interface RequestAttack {
  readonly name: string;
  readonly method?: RemoteMethod;
  readonly payload?: string;
  readonly payload_hex?: string;
  readonly payload_repeat?: readonly [string, string, number, string, string];
  /** Changes before and after signing. */
  readonly signed_fields?: Partial<SignedRequest>;
  readonly signed_at_ms?: number;
  readonly fields?: Partial<SignedRequest> & { mac_hex?: string; timestamp_offset_ms?: number };
  readonly flip_mac?: boolean;
  readonly code: string;
  readonly signed?: false;
}

const ATTACKS = JSON.parse(
  readFileSync(new URL('request-attacks.json', import.meta.url), 'utf8'),
) as readonly RequestAttack[];
const CLIENT = 'alice';
const KEYS = deriveSigningKeys(deriveClientKey(Buffer.alloc(32, 7), CLIENT));
const HELLO = '{"event_name":"Echo","args":{"text":"hello"}}';

function requestOf(attack: Omit<RequestAttack, 'name' | 'code'>): SignedRequest {
  const request = signRequest(
    {
      key_id: KEY_ID,
      timestamp_ms: systemClock.now() + (attack.signed_at_ms ?? 0),
      nonce: Buffer.from(systemRandom.bytes(16)).toString('base64url'),
      client: CLIENT,
      audience: AUDIENCE,
      method: attack.method ?? 'submit',
      payload: payloadOf(attack),
      ...attack.signed_fields,
    },
    KEYS,
  );
  const { mac_hex, timestamp_offset_ms = 0, ...fields } = attack.fields ?? {};
  const mac = Buffer.from(mac_hex === undefined ? request.mac : Buffer.from(mac_hex, 'hex'));
  if (attack.flip_mac === true) mac[31]! ^= 1;
  return { ...request, ...fields, timestamp_ms: request.timestamp_ms + timestamp_offset_ms, mac };
}

function payloadOf({ payload, payload_hex, payload_repeat }: Omit<RequestAttack, 'name' | 'code'>): Buffer {
  if (payload_hex !== undefined) return Buffer.from(payload_hex, 'hex');
  if (payload_repeat === undefined) return Buffer.from(payload ?? HELLO);
  const [before, left, times, right, after] = payload_repeat;
  return Buffer.from(before + left.repeat(times) + right.repeat(times) + after);
}

/** The real manager with its authenticator and journal behind a listener; tasks return their arguments. */
async function connect(t: TestContext, under: TransportUnderTest): Promise<ClientTransport> {
  const { authority, server } = await certificates();
  const tier = new OpenTier();
  tier.answer = (job) => ({ status: 'success', result: job.args });
  const fixture = await Fixture.open({ tier, files: new MemoryDisk() });
  const tls = { cert: server.pem, key: server.key, ca: null };
  const { manager } = fixture;
  const given = { manager, host: '127.0.0.1', port: 0, tls, clock: systemClock, log: silentLogger };
  const listener = await under.open(given);
  const endpoint = { protocol: under.protocol, host: '127.0.0.1', port: listener.address.port, tls: true };
  const transport = under.transport(endpoint, { ca: authority.pem }, systemClock);
  t.after(async () => {
    await transport.close();
    await listener.close(0);
    await fixture[Symbol.asyncDispose]();
  });
  return transport;
}

async function said(
  transport: ClientTransport,
  request: SignedRequest,
  signed = true,
): Promise<Record<string, unknown>> {
  const response = await transport.call(request, quiet);
  if (!signed) assert.equal(response.mac.length, 0);
  else if (request.client === CLIENT) assert.ok(verifyResponse(response, KEYS.response));
  return JSON.parse(Buffer.from(response.payload).toString()) as Record<string, unknown>;
}

/** Rejections of the manager must be the same over every protocol. */
export function describeRequestAttacks(under: TransportUnderTest): void {
  describe(`attacks on requests over ${under.protocol}`, () => {
    it('returns the code of each, while others are served', async (t) => {
      const transport = await connect(t, under);
      for (const attack of ATTACKS) {
        await t.test(attack.name, async () => {
          const answer = await said(transport, requestOf(attack), attack.signed ?? true);
          assert.deepEqual([answer['status'], answer['code']], ['error', attack.code]);
          assert.deepEqual((await said(transport, requestOf({})))['result'], { text: 'hello' });
        });
      }
    });

    it('rejects the same bytes when sent again', async (t) => {
      const transport = await connect(t, under);
      const request = requestOf({});
      assert.deepEqual((await said(transport, request))['result'], { text: 'hello' });
      assert.equal((await said(transport, request))['code'], 'REPLAYED');
    });
  });
}
