import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Preloaded into a program: writes its peak resident memory in kilobytes on exit. */
const target = process.env['HEDDLE_TEST_PEAK_FILE'];
if (isMainThread && target !== undefined) {
  process.on('exit', () => {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    writeFileSync(target, peak ?? '');
  });
}
