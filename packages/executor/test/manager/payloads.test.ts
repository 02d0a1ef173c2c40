/** Payloads as docs/executors/protocol.md describes them: what is accepted, and where the limits are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { Fixture } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

const withArgs = (value: string): string => `{"event_name":"Echo","mode":"async","args":{"value":${value}}}`;
const withMember = (member: string): string => `{"event_name":"Echo","mode":"async","args":{},${member}}`;
const levels = (count: number): string => withArgs('['.repeat(count - 2) + ']'.repeat(count - 2));

const ACCEPTED: Readonly<Record<string, string>> = {
  'floats of 64 bits': withArgs('[6.02e23,1e300,-1e-300,0.1]'),
  'the largest integer without loss': withArgs('[9007199254740991,-9007199254740991]'),
  'an integer beyond it that keeps its digits': withArgs('1152921504606847000'),
  '64 levels': levels(64),
  'a fraction of a second': withMember('"timeout_secs":0.001'),
  'a week': withMember('"timeout_secs":604800'),
  'a deadline': withMember('"deadline_ms":4102444800000'),
};

const MALFORMED: Readonly<Record<string, string>> = {
  'an integer that would lose digits': withArgs('9007199254740993'),
  'U+0000, escaped': withArgs(String.raw`"a\u0000b"`),
  'a lone surrogate': withArgs(String.raw`"\ud800"`),
  'U+0000 in a name': withArgs(String.raw`{"\u0000":1}`),
  'a number beyond 64 bits': withArgs('1e999'),
  '65 levels': levels(65),
  'a timeout of more than a week': withMember('"timeout_secs":604801'),
  'a negative timeout': withMember('"timeout_secs":-1'),
  'a deadline with a fraction': withMember('"deadline_ms":1.5'),
  'a deadline before 1970': withMember('"deadline_ms":-1'),
};

for (const [accepts, payloads] of [
  [true, ACCEPTED],
  [false, MALFORMED],
] as const) {
  for (const [name, payload] of Object.entries(payloads)) {
    test(`${accepts ? 'accepts' : 'rejects'} ${name}`, async () => {
      await using fixture = await Fixture.open({ files: new MemoryDisk() });
      const { code } = await fixture.call('submit', Buffer.from(payload));
      assert.equal(code, accepts ? undefined : 'MALFORMED');
    });
  }
}

test('expires_at is the time of the answer plus the retention, and moves until the task has ended', async () => {
  const clock = new VirtualClock();
  await using fixture = await Fixture.open({ files: new MemoryDisk(), clock });
  const first = await fixture.submit({}, { mode: 'async' });
  const { correlation_id = '' } = first;
  await clock.advance(30_000);
  const later = await fixture.call('poll', { correlation_id });
  const ms = (answer: object): number => Date.parse((answer as { expires_at: string }).expires_at);
  assert.equal(ms(later) - clock.now(), 10 * 60_000);
  assert.equal(ms(later) - ms(first), 30_000);
});
