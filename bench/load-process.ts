import { BATCH_SIZE, taskBody } from './src/load.ts';
import type { LoadKind, LoadRequest, LoadResult } from './src/load.ts';
import { LoadConnection, requestBytes } from './src/load-connection.ts';
import { serve } from './src/remote.ts';
import { percentile } from './src/statistics.ts';

interface RequestShape {
  method: 'PUT' | 'POST';
  path: string;
  body: string;
  status: number;
}

const COUNTERS = JSON.stringify({ new_success: 1, new_failures: 0 });
const SINGLE = JSON.stringify([taskBody('single')]);
const BATCH = JSON.stringify(Array.from({ length: BATCH_SIZE }, (_, at) => taskBody(`task ${at}`)));

/** The requests that are sent in turns. */
function requestShapes(kind: LoadKind, taskIds: readonly string[]): RequestShape[] {
  switch (kind) {
    case 'put-counters':
      return taskIds.map((id) => ({ method: 'PUT', path: `/task/${id}`, body: COUNTERS, status: 202 }));
    case 'put-hot-counter':
      return [{ method: 'PUT', path: `/task/${taskIds[0]!}`, body: COUNTERS, status: 202 }];
    case 'post-single':
      return [{ method: 'POST', path: '/task', body: SINGLE, status: 201 }];
    case 'post-batch-1000':
      return [{ method: 'POST', path: '/task', body: BATCH, status: 201 }];
  }
}

/** Each connection sends its next request after the last response, until the time has passed. */
async function run(request: LoadRequest): Promise<LoadResult> {
  const { port } = request.target;
  const shapes = requestShapes(request.kind, request.target.task_ids);
  const requests = shapes.map(({ method, path, body, status }) => ({
    what: `${method} ${path}`,
    bytes: requestBytes(method, path, port, body),
    status,
  }));
  const latencies: number[] = [];
  let sequence = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + request.duration_ms;
  const cpuBefore = process.cpuUsage();
  const send = async (): Promise<void> => {
    const connection = new LoadConnection(port);
    try {
      while (performance.now() < endsAt) {
        const { what, bytes, status } = requests[sequence++ % requests.length]!;
        const sentAt = performance.now();
        const answered = await connection.send(bytes);
        if (answered !== status) throw new Error(`${what}: ${answered}, not ${status}`);
        latencies.push(performance.now() - sentAt);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: request.connections }, send));
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    requests: latencies.length,
    cpu_us: user + system,
    elapsed_ms: performance.now() - startedAt,
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
  };
}

serve({ run }, () => Promise.resolve());
