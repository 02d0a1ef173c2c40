import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');
/** What is no part of the repository. */
const LEFT_OUT = ['/node_modules', '/bench/node_modules', '/dist', '/coverage', '/keys', '/build', '/.git'].flatMap(
  (path) => ['--exclude', path],
);

test('a scan of the repository finds no secret but those that .heddleignore lists', () => {
  const args = ['packages/heddle/src/cli/main.ts', 'scan', '.', '--json', '--quiet', '--threads', '2', ...LEFT_OUT];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.toString().trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(records.at(-1)?.['type'], 'summary', stderr.toString());
  const found = records.filter(({ type }) => type === 'finding');
  assert.deepEqual(
    found.map(
      ({ path, line, rule_id, fingerprint }) =>
        `${String(path)}:${String(line)} ${String(rule_id)} ${String(fingerprint)}`,
    ),
    [],
    'a made-up secret of a test is written in pieces, or its fingerprint into .heddleignore',
  );
});

test(
  'git ignores the keys that the README has made',
  { skip: !existsSync(join(ROOT, '.gitignore')) && 'no repository' },
  () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
    assert.ok(ignored.includes('/keys/'));
  },
);
