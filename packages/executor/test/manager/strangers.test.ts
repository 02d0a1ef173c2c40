import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createLogger } from '@heddle/base/log';
import { Fixture } from '../support/manager/fixture.ts';
import { MemoryDisk } from '../support/manager/memory-disk.ts';

test('rejections of unknown callers are a few lines and a count; those of known callers one line each', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLogger({ level: 'info', destination });
  const rejected = (): number => lines.filter(({ event }) => event === 'task_rejected').length;
  {
    await using fixture = await Fixture.open({ files: new MemoryDisk(), manager: { log } });
    for (let index = 0; index < 300; index += 1) {
      const { manager } = fixture;
      const change = (received: ReturnType<typeof fixture.received>) => ({
        ...received,
        request: { ...received.request, mac: Buffer.alloc(32) },
      });
      await manager.handle(fixture.received('submit', { event_name: 'Echo', args: {} }, { change }));
    }
    assert.ok(rejected() <= 40, `${rejected()} lines of unknown callers`);
    const before = rejected();
    for (let index = 0; index < 50; index += 1) await fixture.call('poll', { correlation_id: 'none' });
    assert.equal(rejected() - before, 50);
  }
  const summary = lines.find(({ event }) => event === 'lines_suppressed')!;
  assert.equal(summary['kind'], 'task_rejected INVALID_CHECKSUM');
  assert.ok((summary['count'] as number) >= 260);
});
