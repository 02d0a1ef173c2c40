/** Started in a directory on a small file system: fills it, calls an executor meanwhile, and prints the results. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { openAuditLog } from '../../../src/audit/log.ts';
import { openAuthenticator } from '../../../src/security/authenticator.ts';
import { memoryKeyRing } from '../../../src/security/key-ring.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { AUDIENCE, Fixture, KEY_ID } from './fixture.ts';

const base = process.argv[2]!;
const environment = { clock: systemClock, log: silentLogger };
const audit = await openAuditLog({ path: join(base, 'audit', 'audit.jsonl'), ...environment });
const keys = memoryKeyRing([{ id: KEY_ID, secret: Buffer.alloc(32, 7) }], systemClock);
const authenticator = await openAuthenticator({
  ...{ keys, audiences: [AUDIENCE], replayDirectory: join(base, 'requests'), tokens: null },
  ...{ random: systemRandom, ...environment },
});
const fixture = await Fixture.open({ directory: join(base, 'journal'), manager: { authenticator, audit } });
fixture.tier.answer = () => ({ status: 'success', result: Buffer.from('1') });

async function answers(count: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {};
  for (let index = 0; index < count; index += 1) {
    const { code, status } = await fixture.submit({ filler: 'x'.repeat(20_000) });
    seen[code ?? status] = (seen[code ?? status] ?? 0) + 1;
  }
  return seen;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;
const ballast = join(base, 'ballast');
function fill(): void {
  try {
    for (;;) writeFileSync(ballast, Buffer.alloc(4_096), { flag: 'a' });
  } catch {
    // It is full.
  }
}

const healthy = await answers(5);
fill();
await answers(1);
const before = descriptors();
const full = await answers(200);
const leaked = Math.max(0, descriptors() - before);
const left = readdirSync(join(base, 'requests')).length;
const { status } = fixture.manager.health();
rmSync(ballast);
await eventually(() => answers(1).then(({ success }) => success === 1), 'tasks are accepted again');
const again = fixture.manager.health().status;
fill();
await answers(1);
await fixture.manager.drain(100);
await fixture[Symbol.asyncDispose]();
await authenticator.close();
await audit.close();
process.stdout.write(JSON.stringify({ healthy, full, leaked, left: left <= 2, status, again }));
process.exit();
