import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { after, before, test, type TestContext } from 'node:test';
import { withChecksum } from '@heddle/test-support/scan/with-checksum';

const MAIN = new URL('../../heddle/src/cli/main.ts', import.meta.url).pathname;
const REPORT_PEAK = new URL('./support/report-peak.ts', import.meta.url).href;

/** The limit that docs/scanning/secrets.md promises with two threads. */
const PEAK_MB_MAX = 256;

const isLinux = process.platform === 'linux';
const isLong = process.env['HEDDLE_TEST_LONG'] === '1';
const onLinux = { skip: isLinux ? false : 'the most memory a process had is read from /proc' };
const long = { skip: !isLinux ? onLinux.skip : isLong ? false : 'takes minutes; HEDDLE_TEST_LONG=1 runs it' };

let root = '';
before(() => {
  root = mkdtempSync(join(tmpdir(), 'heddle-scan-memory-'));
});
after(() => rmSync(root, { recursive: true, force: true }));

interface Scanned {
  exit: number | null;
  lines: number;
  peakMb: number;
}

/** Scans a folder with two threads in a separate process; counts the lines of its report. */
async function scan(t: TestContext, folder: string): Promise<Scanned> {
  const peakFile = join(root, 'peak');
  const args = ['--import', REPORT_PEAK, MAIN, 'scan', '--threads', '2', '--no-config', '--format', 'jsonl', '--quiet'];
  const child = spawn(process.execPath, [...args, folder], {
    env: { ...process.env, HEDDLE_TEST_PEAK_FILE: peakFile },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let lines = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  });
  const [exit] = (await once(child, 'close')) as [number | null];
  const peakMb = Number(readFileSync(peakFile, 'utf8')) / 1024;
  t.diagnostic(`${peakMb.toFixed(0)} MB at most`);
  return { exit, lines, peakMb };
}

function assertSmall({ peakMb }: Scanned): void {
  assert.ok(peakMb > 0 && peakMb < PEAK_MB_MAX, `${peakMb.toFixed(0)} MB are not below ${PEAK_MB_MAX}`);
}

function folderOf(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

function sparseFile(name: string, bytes: number): string {
  const folder = folderOf(name);
  const path = join(folder, 'large.bin');
  writeFileSync(path, '');
  truncateSync(path, bytes);
  return folder;
}

function emptyFiles(name: string, count: number): string {
  const folder = folderOf(name);
  for (let index = 0; index < count; index++) {
    closeSync(openSync(join(folder, `a-file-of-a-large-directory-${String(index).padStart(7, '0')}`), 'w'));
  }
  return folder;
}

/** A token of a real form with made-up letters. */
function token(index: number): string {
  let text = '';
  for (let state = index + 1; text.length < 36; state = (state * 48_271) % 2_147_483_647) {
    text += 'ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789'[state % 60]!;
  }
  return withChecksum('crc32-base62', `ghp_${text}`);
}

async function writeTokens(path: string, from: number, count: number): Promise<void> {
  const file = createWriteStream(path);
  for (let index = from; index < from + count; index++) file.write(`token = ${token(index)}\n`);
  file.end();
  await once(file, 'close');
}

test('one large file', onLinux, async (t) => {
  const scanned = await scan(t, sparseFile('gigabyte', 1024 ** 3));
  assert.equal(scanned.exit, 0);
  assertSmall(scanned);
});

test('a hundred thousand files in one directory', onLinux, async (t) => {
  const scanned = await scan(t, emptyFiles('many', 100_000));
  assert.equal(scanned.exit, 0);
  assertSmall(scanned);
});

test('a hundred thousand findings after one slow object', onLinux, async (t) => {
  const folder = sparseFile('findings', 256 * 1024 ** 2);
  for (let file = 0; file < 200; file++) await writeTokens(join(folder, `tokens-${file}`), file * 500, 500);
  const scanned = await scan(t, folder);
  assert.equal(scanned.exit, 1);
  assert.ok(scanned.lines >= 100_000, `${scanned.lines} lines`);
  assertSmall(scanned);
});

test('ten thousand small gzip files', onLinux, async (t) => {
  const folder = folderOf('gzip');
  for (let index = 0; index < 10_000; index++) {
    const lines = Array.from({ length: 50 }, (_, line) => `const value_${index}_${line} = compute(${index * line});`);
    writeFileSync(join(folder, `${index}.gz`), gzipSync(lines.join('\n'), { level: 1 }));
  }
  const scanned = await scan(t, folder);
  assert.equal(scanned.exit, 0);
  assertSmall(scanned);
});

test('one file of 5 GB', long, async (t) => {
  assertSmall(await scan(t, sparseFile('large', 5 * 1024 ** 3)));
});

test('a million files in one directory', long, async (t) => {
  assertSmall(await scan(t, emptyFiles('million', 1_000_000)));
});
