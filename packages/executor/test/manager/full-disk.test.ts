import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const mayMount = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

test(
  'with a full disk an executor responds, leaks no descriptors, and recovers once there is space',
  { skip: mayMount ? false : 'NOT RUN: this user may not mount file systems' },
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'heddle-full-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const script = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" "$1"';
    const program = join(import.meta.dirname, '../support/manager/full-disk.ts');
    const args = ['--mount', 'sh', '-c', script, 'sh', directory, process.execPath, program];
    const { stdout } = await promisify(execFile)('unshare', args);
    assert.deepEqual(JSON.parse(stdout), {
      healthy: { success: 5 },
      full: { QUEUE_FULL: 200 },
      leaked: 0,
      left: true,
      status: 'degraded',
      again: 'healthy',
    });
  },
);
