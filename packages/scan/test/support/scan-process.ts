import { systemClock } from '@heddle/base/clock';
import { startScan } from '../../src/scan.ts';
import { optionsFor } from './scan-fixture.ts';

/** Scans a folder with a state file, and prints each finding as it arrives, then the summary. Intended to be killed. */
const [folder, statePath, segmentBytes] = process.argv.slice(2) as [string, string, string?];
const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const summary = await startScan(
  optionsFor(folder, { frontierCapacity: 64 }),
  { onFinding: ({ path, secret }) => print(`${path}:${secret}`), onProblem: (problem) => print(problem) },
  {
    clock: systemClock,
    statePath,
    workBytesMin: 0,
    workerEntry: new URL('./odd-worker.ts', import.meta.url),
    ...(segmentBytes === undefined ? {} : { segmentBytes: Number(segmentBytes) }),
  },
);
print({ summary });
