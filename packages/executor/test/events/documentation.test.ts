import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { CODE_LIMITS, RATIO_FREE_BYTES } from '../../src/events/code-limits.ts';
import { ORIGIN_MEMBERS } from '../../src/events/config/read-origin.ts';
import { LISTED_BUILTINS } from '../../src/events/scan/rules.ts';
import { readPage, tableRows } from '@heddle/test-support/docs/pages';
import { directory, eventModule, NEVER, openRegistry, runEvent, write } from '../support/events/fixture.ts';

const page = readPage('docs/executors/events.md');
const text = readFileSync(join(import.meta.dirname, '../../../../docs/executors/events.md'), 'utf8');
const MIB = 1024 * 1024;

test('the limits of a pull match the documentation', () => {
  const { archive_bytes_max, file_bytes_max, bytes_max, files_max, ratio_max, pull_secs, stall_secs } = CODE_LIMITS;
  const values = tableRows(page).map((row) => row[1]);
  const at = values.indexOf(`${archive_bytes_max / MIB} MiB`);
  assert.deepEqual(values.slice(at, at + 7), [
    `${archive_bytes_max / MIB} MiB`,
    files_max.toLocaleString('en'),
    `${file_bytes_max / MIB} MiB`,
    `${bytes_max / MIB} MiB`,
    `${ratio_max} to 1`,
    `${pull_secs} s`,
    `${stall_secs} s`,
  ]);
  assert.ok(text.includes(`beyond ${RATIO_FREE_BYTES / MIB} MiB`));
});

test('the documentation lists every member and every listed module', () => {
  const members = Object.values(ORIGIN_MEMBERS).flat();
  for (const member of members) assert.match(text, new RegExp(`^\\| .*\`${member}\`.* \\|`, 'm'), member);
  assert.ok(text.includes([...LISTED_BUILTINS].join(', ')));
});

test('digest and signature can be created with Python and OpenSSL as documented', async (t) => {
  const below = await directory(t);
  await write(below, { 'events/sum.ts': eventModule('Sum', '6'), 'events/lib/ä.js': 'export {};' });
  const shell = page.fences.filter(({ language }) => language === 'sh').map((fence) => fence.text);
  const run = (part: string, environment: Record<string, string> = {}): string => {
    const script = shell.find((each) => each.includes(part))!;
    const env = { PATH: process.env['PATH'], ...environment };
    return execFileSync('sh', ['-ec', script], { cwd: below, env, encoding: 'utf8' });
  };
  const digest = run('python3').trim();
  const [key, signature] = run('openssl', { DIGEST: digest }).trim().split('\n') as [string, string];
  await rm(join(below, 'release.pem'));
  const entry = { name: 'Sum', type: 'local', path: 'events', entry: 'sum.ts', sha256: digest };
  const events = [{ ...entry, signed_by: 'release', signature }];
  const { registry } = await openRegistry(t, below, {
    events: { require_signatures: true, signers: { release: key }, events },
  });
  using resolved = await registry.resolve('Sum', NEVER);
  assert.equal(resolved.code.digest, digest);
  assert.equal(await runEvent(resolved), 6);
});
