import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { after, test } from 'node:test';

import { LogFile } from '../../src/app/log-file.ts';
import { filedLog } from '../../src/app/process-log.ts';
import { temporaryDirectory } from '@heddle/test-support/postgres';

const SETTINGS = { logLevel: 'info', logFormat: 'json' } as const;
const directory = temporaryDirectory('heddle-log-');
after(() => rmSync(directory, { recursive: true }));

function linesTo(lines: string[]): { write(line: string): void } {
  return { write: (line) => void lines.push(line) };
}

test('a log that is kept in a file shows errors on the terminal, with `verbose` everything', () => {
  const kept: string[] = [];
  for (const [verbose, shown] of [
    [false, ['broken']],
    [true, ['started', 'broken']],
  ] as const) {
    const terminal: string[] = [];
    const log = filedLog(SETTINGS, { file: linesTo(kept), terminal: linesTo(terminal), verbose });
    log.info({}, 'started');
    log.error({}, 'broken');
    const messages = terminal.map((line) => (JSON.parse(line) as { msg: string }).msg);
    assert.deepEqual(messages, shown);
  }
  assert.equal(kept.length, 4);
});

test('lines that the file rejects are shown', () => {
  const terminal: string[] = [];
  const file = {
    write(): void {
      throw new Error('no space left on device');
    },
  };
  filedLog(SETTINGS, { file, terminal: linesTo(terminal), verbose: false }).info({}, 'started');
  assert.equal(terminal.length, 1);
});

test('a full file is rotated, and one old file is kept', async () => {
  const file = await LogFile.open(directory, 10);
  for (const line of ['first line\n', 'second line\n', 'third line\n']) file.write(line);
  const again = await LogFile.open(directory, 100);
  again.write('fourth line\n');
  assert.equal(readFileSync(`${file.path}.1`, 'utf8'), 'second line\n');
  assert.equal(readFileSync(file.path, 'utf8'), 'third line\nfourth line\n');
});
