import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { openSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { openSource } from '../../src/source/open-source.ts';
import { conforms } from '../support/source/conformance.ts';
import { temporaryDirectory } from '../support/source/tree.ts';

const SCRIPT = fileURLToPath(new URL('../support/source/read-stdin.ts', import.meta.url));
const MIB = 1024 * 1024;

interface Result {
  path: string;
  bytes: number;
  sha256: string;
  problem: unknown;
  done: boolean;
  cpu_ms: number;
  rss_bytes: number;
}

/** Runs `command` in a shell, where `READ` reads standard input. */
async function shell(command: string, stdin: 'pipe' | 'ignore' | number | Socket = 'ignore'): Promise<Result> {
  const READ = `'${process.execPath}' '${SCRIPT}'`;
  const child = spawn('bash', ['-c', command.replaceAll('READ', READ)], { stdio: [stdin, 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout!) text += String(chunk);
  // A terminal also echoes what was typed.
  return JSON.parse(text.slice(text.lastIndexOf('{"path"'))) as Result;
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

describe('standard input', () => {
  conforms({ name: 'stdin', open: () => openSource({ type: 'stdin', name: 'x' }), objects: 1 });

  it('is read from a pipe in bounded memory', async () => {
    const { path, bytes, rss_bytes, done, problem } = await shell(`head -c ${512 * MIB} /dev/zero | READ`);
    assert.deepEqual(
      { path, bytes, done, problem },
      { path: 'input.txt', bytes: 512 * MIB, done: true, problem: null },
    );
    assert.ok(rss_bytes < 200 * MIB, `${rss_bytes} bytes`);
  });

  it('is read from a file, from its current position', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, 'first\nsecond\n');
    assert.equal((await shell('READ', openSync(file, 'r'))).sha256, sha256('first\nsecond\n'));
    assert.equal((await shell(`{ read line; READ; } < '${file}'`)).sha256, sha256('second\n'));
    assert.equal((await shell('READ < /dev/null')).bytes, 0);
  });

  it('is awaited without spinning', async () => {
    // fixed wait: the time without data is measured
    const { bytes, cpu_ms } = await shell('{ echo one; sleep 2; echo two; } | READ');
    const base = await shell('echo | READ');
    assert.equal(bytes, 8);
    assert.ok(cpu_ms < base.cpu_ms + 1000, `${cpu_ms} ms of CPU time, ${base.cpu_ms} without waiting`);
  });

  it('is read from a socket', async () => {
    const content = 'x'.repeat(3 * MIB);
    const server = createServer((connection) => connection.end(content)).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    assert.equal((await shell(`exec 3<>/dev/tcp/127.0.0.1/${port}; READ <&3`)).sha256, sha256(content));
    server.close();
  });

  it('is read from a terminal', async (t) => {
    if (spawnSync('script', ['--version']).error !== undefined) {
      t.skip('script(1), which makes a terminal, is not installed');
      return;
    }
    const typed = `{ echo typed; sleep 1; printf '\\004'; sleep 1; } | script -qec "READ" /dev/null`;
    assert.equal((await shell(typed)).sha256, sha256('typed\n'));
  });
});
