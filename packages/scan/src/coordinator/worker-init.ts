import type { ScanOptions } from '../options.ts';
import type { WorkerInit } from '../worker/protocol.ts';
import type { ScanEnvironment } from './observer.ts';

/** Segments of large objects. Each costs a little more than its bytes, and the last one delays the end. */
const SEGMENT_BYTES = 16 * 1024 * 1024;

/** Returns the startup data of a worker thread. */
export function workerInit(
  options: ScanOptions,
  { explain, segmentBytes = SEGMENT_BYTES }: ScanEnvironment,
  shared: Pick<WorkerInit, 'rules' | 'depthMax' | 'budget' | 'control'>,
  slot: number,
): WorkerInit {
  const { sources, archives, exclude, objectBytesMax, chunkBytes, threads } = options;
  const { confidence, decodeDepth, inlineIgnores, ruleTimeoutMs, contextLines, verify } = options;
  return {
    ...shared,
    sources,
    detection: { confidence, decodeDepth, inlineIgnores, ruleTimeoutMs, contextLines, verifies: verify !== null },
    archives,
    exclude,
    objectBytesMax,
    chunkBytes,
    segmentBytes,
    threads,
    slot,
    ...(explain === undefined ? {} : { explain: { path: explain.path, line: explain.line } }),
  };
}
