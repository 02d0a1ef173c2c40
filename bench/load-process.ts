import { Client } from 'undici';
import { BATCH_SIZE, taskBody } from './src/load.ts';
import type { LoadKind, LoadRequest, LoadResult } from './src/load.ts';
import { serve } from './src/remote.ts';
import { percentile } from './src/statistics.ts';

interface RequestShape {
  method: 'PUT' | 'POST';
  path: string;
  body: string;
  status: number;
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const COUNTERS = JSON.stringify({ new_success: 1, new_failures: 0 });
const SINGLE = JSON.stringify([taskBody('single')]);
const BATCH = JSON.stringify(Array.from({ length: BATCH_SIZE }, (_, at) => taskBody(`task ${at}`)));

function requestShape(kind: LoadKind, taskIds: readonly string[], sequence: number): RequestShape {
  switch (kind) {
    case 'put-counters':
      return { method: 'PUT', path: `/task/${taskIds[sequence % taskIds.length]!}`, body: COUNTERS, status: 202 };
    case 'put-hot-counter':
      return { method: 'PUT', path: `/task/${taskIds[0]!}`, body: COUNTERS, status: 202 };
    case 'post-single':
      return { method: 'POST', path: '/task', body: SINGLE, status: 201 };
    case 'post-batch-1000':
      return { method: 'POST', path: '/task', body: BATCH, status: 201 };
  }
}

/** Each connection sends its next request after the last response, until the time has passed. */
async function run(request: LoadRequest): Promise<LoadResult> {
  const latencies: number[] = [];
  let sequence = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + request.duration_ms;
  const connection = async (): Promise<void> => {
    const client = new Client(`http://127.0.0.1:${request.target.port}`, { pipelining: 1 });
    try {
      while (performance.now() < endsAt) {
        const { method, path, body, status } = requestShape(request.kind, request.target.task_ids, sequence++);
        const sentAt = performance.now();
        const response = await client.request({ method, path, body, headers: JSON_HEADERS });
        if (response.statusCode !== status) {
          throw new Error(`${method} ${path}: ${response.statusCode}, not ${status}: ${await response.body.text()}`);
        }
        await response.body.dump();
        latencies.push(performance.now() - sentAt);
      }
    } finally {
      await client.close();
    }
  };
  await Promise.all(Array.from({ length: request.connections }, connection));
  return {
    requests: latencies.length,
    elapsed_ms: performance.now() - startedAt,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
  };
}

serve({ run }, () => Promise.resolve());
