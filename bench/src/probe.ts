import { open, rm } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { median, percentile } from './statistics.ts';

/** Writes and syncs 8 KiB repeatedly; milliseconds each. */
async function syncLatencies(samples: number): Promise<number[]> {
  const path = join(tmpdir(), `heddle-bench-probe-${process.pid}`);
  const file = await open(path, 'w');
  const page = Buffer.alloc(8192, 1);
  const latencies: number[] = [];
  try {
    for (let sample = 0; sample < samples; sample++) {
      const startedAt = performance.now();
      await file.write(page, 0, page.length, sample * page.length);
      await file.datasync();
      latencies.push(performance.now() - startedAt);
    }
  } finally {
    await file.close();
    await rm(path);
  }
  return latencies;
}

/** Describes the machine's speed in a few lines. */
export async function probeMachine(): Promise<string[]> {
  const syncs = await syncLatencies(200);
  const memoryGib = Math.round(totalmem() / 1_073_741_824);
  const load = loadavg()[0]!;
  return [
    `cpu: ${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} available; memory ${memoryGib} GiB; node ${process.version}`,
    `fdatasync of 8 KiB in ${tmpdir()}: ${median(syncs).toFixed(3)} ms (p99 ${percentile(syncs, 0.99).toFixed(3)} ms)`,
    `load before the run: ${load.toFixed(2)}${load > 0.5 ? ' (others are using this machine: compare ratios, not rates)' : ''}`,
  ];
}
