import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { openAuditLog } from '../../src/audit/log.ts';
import { verifyAuditLog } from '../../src/audit/verify.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';

let folder: string;
let lines: string[];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-audit-'));
  const path = join(folder, 'audit.log');
  const log = await openAuditLog({ path, clock: systemClock, log: silentLogger });
  for (let index = 1; index <= 8; index += 1) {
    log.append({ action: 'canceled', client: 'tester', correlation_id: `task ${index}` });
  }
  await log.close();
  lines = readFileSync(path, 'utf8').trimEnd().split('\n');
});

after(() => rmSync(folder, { recursive: true }));

/** Forges a line with a correct hash. */
function forged(line: string, from: string, to: string): string {
  const body = line.replace(/,"hash":"[0-9a-f]{64}"\}$/, '').replace(from, to);
  return `${body},"hash":"${createHash('sha256').update(body).digest('hex')}"}`;
}

const moved = (all: string[], from: number, to: number): string[] => {
  const rest = all.toSpliced(from, 1);
  return rest.toSpliced(to, 0, all[from]!);
};

const TAMPERINGS: readonly { name: string; change: (all: string[]) => string[]; line: number; reason: RegExp }[] = [
  {
    name: 'a letter',
    change: (all) => all.with(3, all[3]!.replace('task 4', 'task 5')),
    line: 4,
    reason: /was altered/,
  },
  {
    name: 'a hash',
    change: (all) => all.with(3, all[3]!.replace(/.(?="\}$)/, 'x')),
    line: 4,
    reason: /end with its hash/,
  },
  {
    name: 'a member added',
    change: (all) => all.with(3, all[3]!.replace('{', '{"x":1,')),
    line: 4,
    reason: /was altered/,
  },
  { name: 'white space', change: (all) => all.with(3, all[3]!.replace(':', ': ')), line: 4, reason: /was altered/ },
  {
    name: 'a line rewritten with a valid hash',
    change: (all) => all.with(3, forged(all[3]!, 'task 4', 'task X')),
    line: 5,
    reason: /does not carry the hash of line 4/,
  },
  { name: 'a line removed', change: (all) => all.toSpliced(3, 1), line: 4, reason: /line 4 is missing/ },
  { name: 'lines removed', change: (all) => all.toSpliced(3, 3), line: 4, reason: /lines 4 to 6 are missing/ },
  { name: 'two lines swapped', change: (all) => moved(all, 3, 4), line: 4, reason: /number 5 after number 3/ },
  { name: 'a line moved', change: (all) => moved(all, 6, 1), line: 2, reason: /number 7 after number 1/ },
  {
    name: 'a line repeated',
    change: (all) => all.toSpliced(4, 0, all[3]!),
    line: 5,
    reason: /number 4 after number 4/,
  },
  { name: 'a foreign line', change: (all) => all.toSpliced(4, 0, '{"seq":5}'), line: 5, reason: /lacks a time/ },
  { name: 'an empty line', change: (all) => all.toSpliced(4, 0, ''), line: 5, reason: /not an audit log line/ },
  { name: 'not JSON', change: (all) => all.with(4, 'hello'), line: 5, reason: /not an audit log line/ },
  {
    name: 'a huge line',
    change: (all) => all.with(4, 'x'.repeat(1e6)),
    line: 5,
    reason: /exceeds the maximum line length/,
  },
  {
    name: 'the first line made to look like a later one',
    change: (all) => all.with(0, forged(all[0]!, '0'.repeat(64), '1'.repeat(64))),
    line: 1,
    reason: /number 1 but names a previous line/,
  },
  {
    name: 'a renumbered line with a valid hash',
    change: (all) => all.with(3, forged(all[3]!, '"seq":4', '"seq":9')),
    line: 4,
    reason: /number 9 after number 3/,
  },
];

for (const { name, change, line, reason } of TAMPERINGS) {
  test(`reports ${name}`, async () => {
    const path = join(folder, 'tampered.log');
    writeFileSync(path, `${change(lines).join('\n')}\n`);
    const { fault } = await verifyAuditLog([path]);
    assert.equal(fault?.line, line);
    assert.match(fault.reason, reason);
  });
}

test('every changed byte is detected', async () => {
  const path = join(folder, 'flipped.log');
  const bytes = Buffer.from(`${lines.slice(0, 3).join('\n')}\n`);
  for (let at = 0; at < bytes.length - 1; at += 1) {
    const flipped = Buffer.from(bytes);
    flipped[at]! ^= 1;
    writeFileSync(path, flipped);
    assert.notEqual((await verifyAuditLog([path])).fault, null, `byte ${at}`);
  }
});

test('a truncated tail is detected only with an anchor hash', async () => {
  const path = join(folder, 'cut.log');
  writeFileSync(path, `${lines.slice(0, 5).join('\n')}\n`);
  const head = /"hash":"([0-9a-f]{64})"\}$/.exec(lines[6]!)![1]!;
  assert.deepEqual((await verifyAuditLog([path])).fault, null);
  assert.equal((await verifyAuditLog([path], { anchor: head })).anchored, false);
  writeFileSync(path, `${lines.join('\n')}\n`);
  assert.equal((await verifyAuditLog([path], { anchor: head })).anchored, true);
});
