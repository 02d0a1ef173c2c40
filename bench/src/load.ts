import type { HttpTarget } from './subject.ts';

export type LoadKind = 'put-counters' | 'put-hot-counter' | 'post-single' | 'post-batch-1000';

export interface LoadRequest {
  kind: LoadKind;
  target: HttpTarget;
  connections: number;
  duration_ms: number;
}

export interface LoadResult {
  requests: number;
  /** Processor time of the load itself, microseconds. */
  cpu_us: number;
  elapsed_ms: number;
  p50_ms: number;
  p99_ms: number;
}

export const BATCH_SIZE = 1000;

/** The body of one task of a POST: the same for every subject. */
export function taskBody(name: string): object {
  return { name, kind: 'bench', timeout: 3600, metadata: { tenant: 'a', number: 7 } };
}
