/**
 * Authenticates requests, one per line, and prints a line with the code of each; its tests kill it. Arguments:
 * directory of the replay memory, boot id.
 */
import { createInterface } from 'node:readline';

import type { SignedRequest } from '../../../src/protocol/envelope.ts';
import { openAuthenticator } from '../../../src/security/authenticator.ts';
import { memoryKeyRing } from '../../../src/security/key-ring.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { AUDIENCE, outcome, received, RING_KEYS } from './fixture.ts';

const [, , replayDirectory, bootId] = process.argv;

const authenticator = await openAuthenticator({
  keys: memoryKeyRing(RING_KEYS, systemClock),
  audiences: [AUDIENCE],
  replayDirectory: replayDirectory!,
  bootId: bootId!,
  tokens: null,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
process.stdout.write('ready\n');

for await (const line of createInterface({ input: process.stdin })) {
  const { payload, mac, ...texts } = JSON.parse(line) as Record<string, string>;
  const bytes = { payload: Buffer.from(payload!, 'base64'), mac: Buffer.from(mac!, 'base64') };
  const request = { ...texts, ...bytes } as unknown as SignedRequest;
  void outcome(authenticator.authenticate(received(request))).then(({ code }) =>
    process.stdout.write(`${request.nonce} ${code}\n`),
  );
}
