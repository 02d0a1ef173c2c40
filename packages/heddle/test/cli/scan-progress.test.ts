import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';

import type { ScanProgress } from '@heddle/scan/result';
import { progressText, scanDisplayFor } from '@heddle/scan/internal/command/progress';
import { VirtualClock } from '@heddle/base/clock';
import { Capture } from '../support/cli/run-command.ts';

const PROGRESS: ScanProgress = {
  objects_discovered: 20_000,
  objects_completed: 1204,
  bytes_scanned: 12_300_000,
  findings: 2,
  problems: 0,
  in_flight: 40,
  current: 'src/a\u001b[2J.env',
  discovery_done: false,
};

test('the line shows progress, and whether the total is known', () => {
  assert.equal(progressText(PROGRESS, 1000), '1,204 objects, 20,000 found so far, 12.3 MB at 12 MB/s, 2 findings');
  assert.equal(
    progressText({ ...PROGRESS, discovery_done: true, problems: 3 }, 2000),
    '1,204 of 20,000 objects, 12.3 MB at 6 MB/s, 2 findings, 3 problems',
  );
  assert.match(progressText({ ...PROGRESS, findings: 1, problems: 1 }, 1000), /, 1 finding, 1 problem$/);
});

test('on a terminal it is redrawn below the findings, and removed at the end', async () => {
  const terminal = new Capture(true);
  const display = scanDisplayFor({ stdout: terminal, stderr: terminal, clock: new VirtualClock(), enabled: true });
  display.print('before\n');
  display.update(PROGRESS);
  display.print('a finding\n');
  await terminal.until(/1,204 objects/);
  assert.match(stripVTControlCharacters(terminal.text), /src\/a \[2J\.env/);
  display.stop();
  display.print('the summary\n');
  const shown = stripVTControlCharacters(terminal.text);
  assert.ok(shown.indexOf('before') < shown.indexOf('a finding'));
  assert.ok(shown.endsWith('the summary\n'));
  display.update(PROGRESS);
  assert.ok(terminal.text.endsWith('the summary\n'), 'nothing is drawn after its end');
});

test('elsewhere it is a line from time to time, and a short scan prints none', async () => {
  const clock = new VirtualClock();
  const stderr = new Capture();
  const display = scanDisplayFor({ stdout: new Capture(), stderr, clock, enabled: true });
  display.update(PROGRESS);
  assert.equal(stderr.text, '');
  for (let second = 0; second < 25; second += 1) {
    await clock.advance(1000);
    display.update(PROGRESS);
  }
  assert.equal(stderr.lines.length, 2);
  assert.match(stderr.lines[0]!, /^\[10\.0 s\] 1,204 objects/);
});

test('when disabled it prints nothing', async () => {
  const stderr = new Capture(true);
  const clock = new VirtualClock();
  const display = scanDisplayFor({ stdout: new Capture(true), stderr, clock, enabled: false });
  await clock.advance(100_000);
  display.update(PROGRESS);
  display.stop();
  assert.equal(stderr.text, '');
});
