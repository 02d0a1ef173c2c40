import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Loaded before a program: writes the most memory it ever had resident, in kilobytes, when it ends. */
const target = process.env['HEDDLE_TEST_PEAK_FILE'];
if (isMainThread && target !== undefined) {
  process.on('exit', () => {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    writeFileSync(target, peak ?? '');
  });
}
